package rules

import (
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/planner/logical"
)

// foldConstants evaluates what depends on no column. An expression that may raise is
// left alone: whether it is ever evaluated is for the rows to decide.
func foldConstants(roots []logical.Node) ([]logical.Node, error) {
	return logical.Rewrite(roots, func(n logical.Node) logical.Node {
		n = mapExprs(n, fold)
		if f, ok := n.(*logical.Filter); ok && isTrue(f.Pred) {
			return f.Input
		}
		return n
	}), nil
}

func isTrue(e *expr.Expr) bool {
	return e.Kind == expr.Literal && !e.Val.Null && e.Val.I != 0
}

func fold(e *expr.Expr) *expr.Expr {
	if e.Kind == expr.Literal || e.Kind == expr.Column {
		return e
	}
	if e.IsConst() && e.Volatility() == expr.Immutable && !e.Raises() {
		if v, err := expr.EvalConst(e); err == nil {
			v.Type = e.Type
			return expr.LitAt(v, e.Pos)
		}
		return e
	}
	out := e
	for i, a := range e.Args {
		if m := fold(a); m != a {
			if out == e {
				c := *e
				c.Args = append([]*expr.Expr(nil), e.Args...)
				out = &c
			}
			out.Args[i] = m
		}
	}
	return dropNeutral(out)
}

// dropNeutral leaves TRUE out of an AND and FALSE out of an OR.
func dropNeutral(e *expr.Expr) *expr.Expr {
	if e.Kind != expr.And && e.Kind != expr.Or {
		return e
	}
	var keep []*expr.Expr
	for _, a := range e.Args {
		if a.Kind != expr.Literal || a.Val.Null || (a.Val.I != 0) != (e.Kind == expr.And) {
			keep = append(keep, a)
		}
	}
	switch len(keep) {
	case len(e.Args), 0:
		return e
	case 1:
		return keep[0]
	}
	return &expr.Expr{Kind: e.Kind, Type: e.Type, Args: keep, Pos: e.Pos}
}
