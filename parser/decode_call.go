package parser

import (
	"strconv"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// postfixOf decodes the COLLATEs that spell the number of a postfix mark.
func (f *fragment) postfixOf(n *ast.SetCollationExpr) (val, error) {
	num := 0
	var inner ast.ExprNode = n
	for i := 0; i < postfixDigits; i++ {
		c, ok := inner.(*ast.SetCollationExpr)
		if !ok {
			return val{}, f.internal("a postfix came apart")
		}
		d, ok := digitValue[c.Collate]
		if !ok {
			return val{}, f.internal("unexpected collation %s", c.Collate)
		}
		num |= d << (4 * i)
		inner = c.Expr
	}
	m, err := f.take(strconv.Itoa(num), mPostfix)
	if err != nil {
		return val{}, err
	}
	v, err := f.decode(inner)
	if err != nil {
		return val{}, err
	}
	s := f.p.span(v.lo, m.hi)
	switch e := m.expr.(type) {
	case nil:
		return val{v.expr, v.lo, m.hi}, nil
	case *tree.CastExpr:
		e.X, e.Span = v.expr, s
	case *tree.SubscriptExpr:
		e.X, e.Span = v.expr, s
	case *tree.FieldExpr:
		e.X, e.Span = v.expr, s
	default:
		return val{}, f.internal("unexpected postfix %T", e)
	}
	return val{m.expr, v.lo, m.hi}, nil
}

// carrier decodes a call: what it means is in its mark.
func (f *fragment) carrier(n *ast.FuncCallExpr) (val, error) {
	if n.Schema.O != "" {
		return val{}, f.internal("unexpected qualified call")
	}
	m, err := f.take(n.FnName.O, mWrap, mCall, mRow, mArray, mMap, mCast, mExtract)
	if err != nil {
		return val{}, err
	}
	args, err := f.decodeVals(n.Args)
	if err != nil {
		return val{}, err
	}
	one := len(args) == 1
	s := f.p.span(m.lo, m.hi)
	exprs := make([]tree.Expr, len(args))
	for i, a := range args {
		exprs[i] = a.expr
	}
	switch m.kind {
	case mWrap:
		if !one {
			break
		}
		return args[0], nil
	case mCall:
		c := m.expr.(*tree.CallExpr)
		c.Args = exprs
		if c.Distinct && len(args) != 1 && c.FuncName() == "count" {
			return val{}, sqlerr.New(sqlerr.CodeUndefinedFunction, c.Pos, "COUNT(DISTINCT …) takes one argument").
				WithHint("Count the rows of a subquery: SELECT COUNT(*) FROM (SELECT DISTINCT a, b FROM …).")
		}
		return val{c, m.lo, m.hi}, nil
	case mRow:
		r := m.expr.(*tree.RowExpr)
		r.Elems, r.Span = exprs, s
		return val{r, m.lo, m.hi}, nil
	case mArray:
		return val{&tree.ArrayExpr{Span: s, Elems: exprs}, m.lo, m.hi}, nil
	case mMap:
		if len(exprs)%2 != 0 {
			return val{}, sqlerr.New(sqlerr.CodeSyntax, s.Pos, "MAP[…] needs an even number of elements")
		}
		return val{&tree.MapExpr{Span: s, Elems: exprs}, m.lo, m.hi}, nil
	case mCast:
		if !one {
			break
		}
		c := m.expr.(*tree.CastExpr)
		c.X, c.Span = exprs[0], s
		return val{c, m.lo, m.hi}, nil
	case mExtract:
		if !one {
			break
		}
		e := m.expr.(*tree.ExtractExpr)
		e.X, e.Span = exprs[0], s
		return val{e, m.lo, m.hi}, nil
	}
	return val{}, f.internal("a carrier came back with %d arguments", len(args))
}

func (f *fragment) decodeVals(nodes []ast.ExprNode) ([]val, error) {
	out := make([]val, 0, len(nodes))
	for _, n := range nodes {
		v, err := f.decode(n)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}
