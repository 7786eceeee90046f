package parser

import (
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/streamsql/streamsql/parser/tree"
)

// parseTable parses a fragment that is SELECT * FROM and one chain of joins.
func (f *fragment) parseTable() (tree.TableExpr, error) {
	stmt, err := f.parse()
	if err != nil {
		return nil, err
	}
	s, ok := stmt.(*ast.SelectStmt)
	if !ok {
		return nil, f.internal("unexpected statement %T", stmt)
	}
	body, err := f.core(s, 0)
	if err != nil {
		return nil, err
	}
	sel, ok := body.(*tree.Select)
	if !ok || len(sel.From) != 1 {
		return nil, f.internal("unexpected parts of a join")
	}
	return sel.From[0], f.allTaken()
}

// tableVal is a decoded table expression; join is the join that its left-most table
// was brought in by.
type tableVal struct {
	table tree.TableExpr
	join  *joinMark
	lo    int
	hi    int
}

// from decodes FROM, one entry per comma; nil for the stand-in.
func (f *fragment) from(c *ast.TableRefsClause) ([]tree.TableExpr, error) {
	if c == nil || c.TableRefs == nil {
		return nil, f.internal("no FROM came back")
	}
	vals, err := f.commaList(c.TableRefs)
	if err != nil {
		return nil, err
	}
	if len(vals) == 1 && vals[0].table == nil {
		return nil, nil
	}
	out := make([]tree.TableExpr, 0, len(vals))
	for _, v := range vals {
		if v.join != nil || v.table == nil {
			return nil, f.internal("a join got lost")
		}
		out = append(out, v.table)
	}
	return out, nil
}

// commaList takes a chain of comma joins apart.
func (f *fragment) commaList(n ast.ResultSetNode) ([]tableVal, error) {
	j, ok := n.(*ast.Join)
	if !ok || j.Right != nil && j.Tp != ast.CrossJoin {
		v, err := f.tableOf(n)
		return []tableVal{v}, err
	}
	if err := f.plainJoin(j); err != nil {
		return nil, err
	}
	if j.Right == nil {
		return f.commaList(j.Left)
	}
	if j.On != nil {
		return nil, f.internal("unexpected condition of a comma")
	}
	left, err := f.commaList(j.Left)
	if err != nil {
		return nil, err
	}
	right, err := f.tableOf(j.Right)
	return append(left, right), err
}

func (f *fragment) plainJoin(j *ast.Join) error {
	if len(j.Using) > 0 || j.NaturalJoin || j.StraightJoin || j.ExplicitParens {
		return f.internal("unexpected parts of a join")
	}
	return nil
}

func (f *fragment) tableOf(n ast.ResultSetNode) (tableVal, error) {
	switch n := n.(type) {
	case *ast.TableSource:
		t, ok := n.Source.(*ast.TableName)
		if !ok || n.AsName.O != "" || n.Lateral || len(n.ColumnNames) > 0 || t.Schema.O != "" ||
			len(t.IndexHints) > 0 || len(t.PartitionNames) > 0 || t.TableSample != nil || t.AsOf != nil {
			return tableVal{}, f.internal("unexpected parts of a table")
		}
		m, err := f.take(t.Name.O, mTable)
		if err != nil {
			return tableVal{}, err
		}
		return tableVal{table: m.table, join: m.join, lo: m.lo, hi: m.hi}, nil
	case *ast.Join:
		if err := f.plainJoin(n); err != nil {
			return tableVal{}, err
		}
		if n.Right == nil {
			return f.tableOf(n.Left)
		}
		if n.Tp != ast.LeftJoin || n.On == nil {
			return tableVal{}, f.internal("unexpected kind of join")
		}
		return f.joinOf(n)
	}
	return tableVal{}, f.internal("unexpected table %T", n)
}

func (f *fragment) joinOf(n *ast.Join) (tableVal, error) {
	l, err := f.tableOf(n.Left)
	if err != nil {
		return tableVal{}, err
	}
	r, err := f.tableOf(n.Right)
	if err != nil {
		return tableVal{}, err
	}
	j := r.join
	if j == nil || l.table == nil || r.table == nil {
		return tableVal{}, f.internal("a join came back otherwise")
	}
	out := &tree.Join{
		Kind: j.kind, Natural: j.natural, Left: l.table, Right: r.table, Using: j.using,
		OpPos: f.p.pos(j.tok), Span: f.p.span(l.lo, j.hi),
	}
	if m := f.peekMark(n.On.Expr); m != nil && m.kind == mOn {
		if m.used || m.join != j {
			return tableVal{}, f.internal("a join condition came back in the wrong place")
		}
		m.used = true
	} else {
		if j.kind == tree.CrossJoin || j.natural || j.using != nil {
			return tableVal{}, f.internal("unexpected join condition")
		}
		v, err := f.decode(n.On.Expr)
		if err != nil {
			return tableVal{}, err
		}
		out.On = v.expr
	}
	return tableVal{table: out, join: l.join, lo: l.lo, hi: j.hi}, nil
}
