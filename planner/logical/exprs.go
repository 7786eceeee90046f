package logical

import "github.com/streamsql/streamsql/internal/expr"

// Uses reports that e reads a column for which in is true.
func Uses(e *expr.Expr, in func(col int) bool) bool {
	return !e.Walk(func(x *expr.Expr) bool { return x.Kind != expr.Column || !in(x.Col) })
}

// Conjuncts splits e at its ANDs, left to right; none for nil.
func Conjuncts(e *expr.Expr) []*expr.Expr {
	if e == nil {
		return nil
	}
	if e.Kind != expr.And {
		return []*expr.Expr{e}
	}
	var out []*expr.Expr
	for _, a := range e.Args {
		out = append(out, Conjuncts(a)...)
	}
	return out
}

// AndAll joins conjuncts; nil for none.
func AndAll(list []*expr.Expr) *expr.Expr {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return &expr.Expr{Kind: expr.And, Type: list[0].Type, Args: list}
}
