package bind

import (
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner/logical"
)

// item is one bound column of a select list.
type item struct {
	e    *expr.Expr
	name string
}

// selectCore binds one SELECT.
func (b *Binder) selectCore(s *tree.Select, with *cte) (logical.Node, error) {
	if len(s.Windows) > 0 {
		return nil, sqlerr.NotSupported(s.Windows[0].Name.Pos, "the WINDOW clause")
	}
	node, sc, err := b.from(s.From, with)
	if err != nil {
		return nil, err
	}
	if s.Where != nil {
		x := &exprBinder{b: b, sc: sc, clause: "WHERE"}
		pred, err := x.condition(s.Where, "WHERE")
		if err != nil {
			return nil, err
		}
		if err := judgedOnce(pred, node); err != nil {
			return nil, err
		}
		node = &logical.Filter{Input: node, Pred: pred}
	}
	g := &grouping{b: b, sel: s, sc: sc, node: node}
	if err := g.bindGroupBy(); err != nil {
		return nil, err
	}
	x := &exprBinder{b: b, sc: sc, clause: "the select list", group: g}
	items, err := b.selectItems(s, x)
	if err != nil {
		return nil, err
	}
	var having *expr.Expr
	if s.Having != nil {
		h := &exprBinder{b: b, sc: sc, clause: "HAVING", group: g}
		if having, err = h.condition(s.Having, "HAVING"); err != nil {
			return nil, err
		}
	}
	if s.GroupBy != nil || s.Having != nil || len(g.aggs) > 0 {
		if node, items, err = g.build(items, having); err != nil {
			return nil, err
		}
	}
	p := &logical.Project{Input: node}
	for _, it := range items {
		p.Exprs = append(p.Exprs, it.e)
		p.Names = append(p.Names, it.name)
	}
	if !s.Distinct {
		return p, nil
	}
	d := &logical.GroupAgg{Input: p, Clause: logical.ClauseDistinct, Pos: s.Pos}
	for i := range items {
		d.Keys = append(d.Keys, i)
	}
	return d, nil
}

// selectItems binds the select list, stars expanded. Literals of unknown type become
// TEXT.
func (b *Binder) selectItems(s *tree.Select, x *exprBinder) ([]item, error) {
	var out []item
	for _, it := range s.Items {
		if star, ok := it.Expr.(*tree.Star); ok {
			cols, err := x.sc.star(star)
			if err != nil {
				return nil, err
			}
			out = append(out, cols...)
			continue
		}
		e, err := x.bind(it.Expr)
		if err != nil {
			return nil, err
		}
		if e.Type.Kind == types.Unknown {
			if e, err = coerce(e, types.TText); err != nil {
				return nil, err
			}
		}
		out = append(out, item{e: e, name: x.outputName(it, e)})
	}
	return out, nil
}

// outputName is PostgreSQL's name of a column; a plain column keeps the declared one.
func (x *exprBinder) outputName(it tree.SelectItem, e *expr.Expr) string {
	if _, ok := it.Expr.(*tree.ColumnRef); ok && it.Alias == nil {
		return x.sc.exprName(e, it.OutputName())
	}
	return it.OutputName()
}

// star expands * or t.*.
func (s *scope) star(st *tree.Star) ([]item, error) {
	rels := s.rels
	switch len(st.Qualifier) {
	case 0:
		if len(rels) == 0 {
			return nil, sqlerr.New(sqlerr.CodeSyntax, st.Pos, "SELECT * with no tables specified is not valid")
		}
	case 1:
		r, err := s.relation(st.Qualifier[0])
		if err != nil {
			return nil, err
		}
		rels = []relation{*r}
	default:
		return nil, sqlerr.New(sqlerr.CodeUndefinedTable, st.Pos, "invalid reference to FROM-clause entry for table %q", st.Qualifier[len(st.Qualifier)-1].Text)
	}
	var out []item
	for _, r := range rels {
		for i, c := range r.cols {
			e := expr.Col(r.first+i, c.Type)
			e.Pos = st.Pos
			out = append(out, item{e: e, name: c.Name})
		}
	}
	return out, nil
}
