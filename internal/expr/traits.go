package expr

import "github.com/streamsql/streamsql/internal/types"

// Raises reports that e may fail for some row: a cast of text, a division, an
// overflow. Such an expression is never moved across a filter or a CASE.
func (e *Expr) Raises() bool {
	var in []types.Type
	e.Walk(func(x *Expr) bool {
		if x.Kind == Column {
			for len(in) <= x.Col {
				in = append(in, types.Type{})
			}
			in[x.Col] = x.Type
		}
		return true
	})
	c := compiler{p: &Program{in: in}, seen: make(map[nodeKey]*node)}
	n, err := c.compile(e)
	return err != nil || n.raises
}

// Volatility is the highest volatility of the functions in e.
func (e *Expr) Volatility() Volatility {
	v := Immutable
	e.Walk(func(x *Expr) bool {
		if x.Kind == Call {
			if f, ok := LookupFunc(x.Fn); ok && f.Volatility > v {
				v = f.Volatility
			}
		}
		return true
	})
	return v
}
