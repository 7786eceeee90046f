package bind

import (
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner/logical"
)

// setOp binds UNION and UNION ALL. A chain of UNION ALL becomes one node.
func (b *Binder) setOp(op *tree.SetOp, with *cte) (logical.Node, error) {
	switch op.Kind {
	case tree.Intersect:
		return nil, sqlerr.NotSupported(op.OpPos, "INTERSECT")
	case tree.Except:
		return nil, sqlerr.NotSupported(op.OpPos, "EXCEPT")
	}
	if !op.All {
		return nil, sqlerr.NotSupported(op.OpPos, "UNION without ALL")
	}
	left, err := b.body(op.Left, with)
	if err != nil {
		return nil, err
	}
	right, err := b.body(op.Right, with)
	if err != nil {
		return nil, err
	}
	nl, nr := len(left.Columns()), len(right.Columns())
	if nl != nr {
		return nil, sqlerr.New(sqlerr.CodeSyntax, op.Right.Extent().Pos, "each UNION query must have the same number of columns").
			WithDetail("The first has %d, the second %d.", nl, nr)
	}
	want := make([]types.Type, nl)
	for i, l := range left.Columns() {
		r := right.Columns()[i]
		t, ok := expr.CommonOf([]*expr.Expr{openColumn(left, i), openColumn(right, i)})
		if !ok {
			return nil, sqlerr.New(sqlerr.CodeDatatypeMismatch, op.Right.Extent().Pos, "UNION types %s and %s cannot be matched", l.Type, r.Type).
				WithDetail("Column %d, %q.", i+1, l.Name)
		}
		want[i] = t
	}
	names := logical.Schema(left).Names()
	if left, err = closeLiterals(left, want); err != nil {
		return nil, err
	}
	if right, err = closeLiterals(right, want); err != nil {
		return nil, err
	}
	if left, err = columnsAs(left, want, names); err != nil {
		return nil, err
	}
	if right, err = columnsAs(right, want, names); err != nil {
		return nil, err
	}
	if u, ok := left.(*logical.Union); ok {
		return &logical.Union{In: append(append([]logical.Node(nil), u.In...), right)}, nil
	}
	return &logical.Union{In: []logical.Node{left, right}}, nil
}

// openLiteral gives the literal of a select list that had no type of its own ('x', NULL)
// and became TEXT for want of a better one; nil for any other column.
func openLiteral(n logical.Node, i int) *expr.Expr {
	p, ok := n.(*logical.Project)
	if !ok || p.Exprs[i].Kind != expr.Literal || p.Exprs[i].Type != types.TText {
		return nil
	}
	v := *p.Exprs[i].Val
	v.Type = types.Type{}
	return expr.LitAt(v, p.Exprs[i].Pos)
}

// openColumn is column i of n, or the open literal that it is.
func openColumn(n logical.Node, i int) *expr.Expr {
	if e := openLiteral(n, i); e != nil {
		return e
	}
	return expr.Col(i, n.Columns()[i].Type)
}

// closeLiterals gives the open literals of a branch the types of the other branch.
func closeLiterals(n logical.Node, want []types.Type) (logical.Node, error) {
	var out *logical.Project
	for i, t := range want {
		e := openLiteral(n, i)
		if e == nil || t == types.TText {
			continue
		}
		closed, err := coerce(e, t)
		if err != nil {
			return nil, err
		}
		if out == nil {
			p := *n.(*logical.Project)
			p.Exprs = append([]*expr.Expr(nil), p.Exprs...)
			out = &p
		}
		out.Exprs[i] = closed
	}
	if out == nil {
		return n, nil
	}
	return out, nil
}

// columnsAs casts columns implicitly to the wanted types.
func columnsAs(n logical.Node, want []types.Type, names []string) (logical.Node, error) {
	same := true
	p := &logical.Project{Input: n, Names: names}
	for i, c := range n.Columns() {
		e := expr.Col(i, c.Type)
		if c.Type != want[i] {
			same = false
			var err error
			if e, err = coerce(e, want[i]); err != nil {
				return nil, err
			}
		}
		p.Exprs = append(p.Exprs, e)
	}
	if same {
		return n, nil
	}
	return p, nil
}

// valuesRows binds VALUES: constant rows, columns of the rows' common types.
func (b *Binder) valuesRows(v *tree.Values, with *cte) (logical.Node, error) {
	rows := make([][]*expr.Expr, len(v.Rows))
	x := &exprBinder{b: b, sc: &scope{}, clause: "VALUES"}
	for i, r := range v.Rows {
		if len(r.Elems) != len(v.Rows[0].Elems) {
			return nil, sqlerr.New(sqlerr.CodeSyntax, r.Pos, "VALUES lists must all be the same length")
		}
		for _, el := range r.Elems {
			e, err := x.bind(el)
			if err != nil {
				return nil, err
			}
			rows[i] = append(rows[i], e)
		}
	}
	out := &logical.Values{Rows: make([][]types.Value, len(rows))}
	for c := range v.Rows[0].Elems {
		column := make([]*expr.Expr, len(rows))
		ts := make([]types.Type, len(rows))
		for i := range rows {
			column[i], ts[i] = rows[i][c], rows[i][c].Type
		}
		t, ok := expr.CommonOf(column)
		if !ok {
			return nil, sqlerr.New(sqlerr.CodeDatatypeMismatch, v.Rows[1].Elems[c].Extent().Pos, "VALUES types %s and %s cannot be matched", ts[0], firstOther(ts))
		}
		notNull := true
		for i := range rows {
			val, err := constant(rows[i][c], t, v.Rows[i].Elems[c].Extent().Pos)
			if err != nil {
				return nil, err
			}
			notNull = notNull && !val.Null
			out.Rows[i] = append(out.Rows[i], val)
		}
		out.Names = append(out.Names, types.Column{Name: "column" + itoa(c+1), Type: t, NotNull: notNull})
	}
	return out, nil
}

func firstOther(ts []types.Type) types.Type {
	for _, t := range ts {
		if t != ts[0] {
			return t
		}
	}
	return ts[0]
}
