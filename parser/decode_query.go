package parser

import (
	"strconv"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// parseQuery parses and decodes a query's fragment.
func (f *fragment) parseQuery() (*tree.Query, error) {
	stmt, err := f.parse()
	if err != nil {
		return nil, err
	}
	q := &tree.Query{}
	switch s := stmt.(type) {
	case *ast.SelectStmt:
		if s.With != nil || len(f.cores) != 1 {
			return nil, f.internal("unexpected parts of a SELECT")
		}
		if q.Body, err = f.core(s, 0); err != nil {
			return nil, err
		}
		err = f.tailOf(q, s.OrderBy, s.Limit)
	case *ast.SetOprStmt:
		if s.With != nil || s.SelectList == nil || s.SelectList.With != nil || s.SelectList.OrderBy != nil || s.SelectList.Limit != nil {
			return nil, f.internal("unexpected parts of a set operation")
		}
		if q.Body, err = f.setOps(s.SelectList.Selects); err != nil {
			return nil, err
		}
		err = f.tailOf(q, s.OrderBy, s.Limit)
	default:
		return nil, f.internal("unexpected statement %T", stmt)
	}
	if err != nil {
		return nil, err
	}
	return q, f.allTaken()
}

func (f *fragment) tailOf(q *tree.Query, order *ast.OrderByClause, limit *ast.Limit) error {
	if order != nil {
		items, err := f.sortItems(order.Items)
		if err != nil {
			return err
		}
		for _, it := range items {
			if err := ordinalOnly(it.Expr, "ORDER BY"); err != nil {
				return err
			}
		}
		q.OrderBy = items
	}
	if limit == nil {
		return nil
	}
	for _, part := range []struct {
		from ast.ExprNode
		to   **tree.Count
	}{{limit.Count, &q.Limit}, {limit.Offset, &q.Offset}} {
		if part.from == nil {
			continue
		}
		v, ok := part.from.(ast.ValueExpr)
		if !ok {
			return f.internal("unexpected row count %T", part.from)
		}
		n, ok := v.GetValue().(uint64)
		if !ok {
			return f.internal("unexpected row count %v", v.GetValue())
		}
		m, err := f.take(strconv.FormatUint(n, 10), mCount)
		if err != nil {
			return err
		}
		*part.to = m.count
	}
	return nil
}

// ordinalOnly refuses constants that are no column number, as PostgreSQL does.
func ordinalOnly(e tree.Expr, clause string) error {
	switch c := e.(type) {
	case *tree.NumberLit:
		if _, err := strconv.ParseInt(c.Text, 10, 32); err == nil {
			return nil
		}
	case *tree.StringLit, *tree.BoolLit, *tree.NullLit:
	default:
		return nil
	}
	return sqlerr.New(sqlerr.CodeSyntax, e.Extent().Pos, "non-integer constant in %s", clause)
}

func (f *fragment) sortItems(items []*ast.ByItem) ([]tree.SortItem, error) {
	out := make([]tree.SortItem, 0, len(items))
	for _, it := range items {
		if it.Desc {
			return nil, f.internal("unexpected DESC")
		}
		s, err := f.sortItem(it.Expr)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (f *fragment) sortItem(n ast.ExprNode) (tree.SortItem, error) {
	call, ok := n.(*ast.FuncCallExpr)
	if !ok || len(call.Args) != 1 {
		return tree.SortItem{}, f.internal("unexpected sort item %T", n)
	}
	m, err := f.take(call.FnName.O, mSort)
	if err != nil {
		return tree.SortItem{}, err
	}
	v, err := f.decode(call.Args[0])
	if err != nil {
		return tree.SortItem{}, err
	}
	m.sort.Expr = v.expr
	return m.sort, nil
}

// setOps groups the flat list that TiDB makes: INTERSECT first, then from left to
// right.
func (f *fragment) setOps(nodes []ast.Node) (tree.QueryBody, error) {
	if len(nodes) != len(f.cores) {
		return nil, f.internal("%d branches came back for %d", len(nodes), len(f.cores))
	}
	var bodies []tree.QueryBody
	var ops []setOpTok
	for i, n := range nodes {
		s, ok := n.(*ast.SelectStmt)
		if !ok {
			return nil, f.internal("unexpected branch %T", n)
		}
		if s.OrderBy != nil || s.Limit != nil || s.With != nil || (i > 0) != (s.AfterSetOperator != nil) {
			return nil, f.internal("unexpected parts of a branch")
		}
		b, err := f.core(s, i)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			op := setOpTok{*s.AfterSetOperator, f.cores[i-1].hi}
			if op.kind == ast.Intersect || op.kind == ast.IntersectAll {
				last := len(bodies) - 1
				bodies[last] = f.joinBodies(op, bodies[last], b)
				continue
			}
			ops = append(ops, op)
		}
		bodies = append(bodies, b)
	}
	out := bodies[0]
	for i, b := range bodies[1:] {
		out = f.joinBodies(ops[i], out, b)
	}
	return out, nil
}

// setOpTok is a set operator and its token.
type setOpTok struct {
	kind ast.SetOprType
	tok  int
}

func (f *fragment) joinBodies(op setOpTok, l, r tree.QueryBody) tree.QueryBody {
	s := &tree.SetOp{
		Left: l, Right: r, OpPos: f.p.pos(op.tok),
		All:  op.kind == ast.UnionAll || op.kind == ast.ExceptAll || op.kind == ast.IntersectAll,
		Span: tree.Span{Pos: l.Extent().Pos, End: r.Extent().End},
	}
	switch op.kind {
	case ast.Intersect, ast.IntersectAll:
		s.Kind = tree.Intersect
	case ast.Except, ast.ExceptAll:
		s.Kind = tree.Except
	}
	return s
}

// core decodes the i-th SELECT of the fragment.
func (f *fragment) core(s *ast.SelectStmt, i int) (tree.QueryBody, error) {
	if err := f.plainSelect(s); err != nil {
		return nil, err
	}
	c := f.cores[i]
	fields := s.Fields.Fields
	if len(fields) == 1 && fields[0].Expr != nil {
		if m := f.peekMark(fields[0].Expr); m != nil && m.kind == mBody {
			if s.From != nil || s.Where != nil || s.GroupBy != nil || s.Having != nil || fields[0].AsName.O != "" {
				return nil, f.internal("unexpected parts of a branch")
			}
			m.used = true
			if q, ok := m.body.(*tree.Query); ok && len(q.With) == 0 && len(q.OrderBy) == 0 && q.Limit == nil && q.Offset == nil {
				return q.Body, nil
			}
			return m.body, nil
		}
	}
	out := &tree.Select{Span: f.p.span(c.lo, c.hi), Distinct: s.Distinct, Windows: c.windows}
	for _, fd := range fields {
		it, err := f.selectItemOf(fd)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, it)
	}
	var err error
	if out.From, err = f.from(s.From); err != nil {
		return nil, err
	}
	if c.noFrom != (out.From == nil) {
		return nil, f.internal("FROM came back otherwise")
	}
	if s.Where != nil {
		v, err := f.decode(s.Where)
		if err != nil {
			return nil, err
		}
		out.Where = v.expr
	}
	if s.GroupBy != nil {
		if out.GroupBy, err = f.groupByOf(s.GroupBy); err != nil {
			return nil, err
		}
	}
	if s.Having != nil {
		v, err := f.decode(s.Having.Expr)
		if err != nil {
			return nil, err
		}
		out.Having = v.expr
	}
	return out, nil
}

// plainSelect refuses everything of TiDB's SELECT that is not on our list.
func (f *fragment) plainSelect(s *ast.SelectStmt) error {
	o := s.SelectStmtOpts
	switch {
	case s.Kind != ast.SelectStmtKindSelect, s.Fields == nil, len(s.Lists) > 0, s.LockInfo != nil,
		len(s.TableHints) > 0, s.SelectIntoOpt != nil, len(s.WindowSpecs) > 0, s.AsViewSchema:
		return f.internal("unexpected parts of a SELECT")
	case o != nil && (o.SQLBigResult || o.SQLBufferResult || o.SQLSmallResult || !o.SQLCache || o.CalcFoundRows ||
		o.StraightJoin || o.Priority != 0 || len(o.TableHints) > 0 || o.ExplicitAll):
		return f.internal("unexpected options of a SELECT")
	}
	return nil
}

func (f *fragment) selectItemOf(fd *ast.SelectField) (tree.SelectItem, error) {
	if fd.WildCard != nil || fd.Auxiliary {
		return tree.SelectItem{}, f.internal("unexpected select item")
	}
	if m := f.peekMark(fd.Expr); m != nil && m.kind == mStar {
		if m.used || fd.AsName.O != "" {
			return tree.SelectItem{}, f.internal("unexpected star")
		}
		m.used = true
		return tree.SelectItem{Span: m.expr.Extent(), Expr: m.expr}, nil
	}
	v, err := f.decode(fd.Expr)
	if err != nil {
		return tree.SelectItem{}, err
	}
	it := tree.SelectItem{Span: f.p.span(v.lo, v.hi), Expr: v.expr}
	if fd.AsName.O != "" {
		m, err := f.take(fd.AsName.O, mAlias)
		if err != nil {
			return tree.SelectItem{}, err
		}
		it.Alias = &m.name
		it.End = m.name.End
	}
	return it, nil
}

func (f *fragment) groupByOf(g *ast.GroupByClause) (*tree.GroupBy, error) {
	if g.Rollup {
		return nil, f.internal("unexpected ROLLUP")
	}
	out := &tree.GroupBy{}
	for _, it := range g.Items {
		if it.Desc {
			return nil, f.internal("unexpected DESC")
		}
		if m := f.peekMark(it.Expr); m != nil && m.kind == mGroup {
			if _, err := f.take(it.Expr.(*ast.ColumnNameExpr).Name.Name.O, mGroup); err != nil {
				return nil, err
			}
			out.Items = append(out.Items, m.group)
			continue
		}
		v, err := f.decode(it.Expr)
		if err != nil {
			return nil, err
		}
		if err := ordinalOnly(v.expr, "GROUP BY"); err != nil {
			return nil, err
		}
		out.Items = append(out.Items, groupOf(v.expr))
	}
	out.Span = tree.Span{Pos: out.Items[0].Pos, End: out.Items[len(out.Items)-1].End}
	return out, nil
}

// parseList parses a fragment that is a list of expressions.
func (f *fragment) parseList() ([]val, error) {
	fields, err := f.fields()
	if err != nil {
		return nil, err
	}
	out := make([]val, 0, len(fields))
	for _, e := range fields {
		v, err := f.decode(e)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, f.allTaken()
}

// parseSorts parses a fragment that is a list of sort items.
func (f *fragment) parseSorts() ([]tree.SortItem, error) {
	fields, err := f.fields()
	if err != nil {
		return nil, err
	}
	out := make([]tree.SortItem, 0, len(fields))
	for _, e := range fields {
		s, err := f.sortItem(e)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, f.allTaken()
}

// fields parses a fragment that is SELECT and a list only.
func (f *fragment) fields() ([]ast.ExprNode, error) {
	stmt, err := f.parse()
	if err != nil {
		return nil, err
	}
	s, ok := stmt.(*ast.SelectStmt)
	if !ok || s.From != nil || s.Where != nil || s.GroupBy != nil || s.Having != nil || s.OrderBy != nil || s.Limit != nil || s.Distinct || s.With != nil {
		return nil, f.internal("unexpected parts of a list")
	}
	if err := f.plainSelect(s); err != nil {
		return nil, err
	}
	out := make([]ast.ExprNode, 0, len(s.Fields.Fields))
	for _, fd := range s.Fields.Fields {
		if fd.WildCard != nil || fd.AsName.O != "" || fd.Auxiliary {
			return nil, f.internal("unexpected list item")
		}
		out = append(out, fd.Expr)
	}
	return out, nil
}
