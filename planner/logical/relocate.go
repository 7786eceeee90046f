package logical

import (
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Relocate gives n with every place in the text set to pos: the definition of a view
// stands in another text, and its mention is the place that the user can look at.
func Relocate(n Node, pos sqlerr.Pos) Node {
	return Rewrite([]Node{n}, func(n Node) Node {
		switch n := n.(type) {
		case *Scan:
			c := *n
			c.Pos = pos
			return &c
		case *Filter:
			return &Filter{Input: n.Input, Pred: RelocateExpr(n.Pred, pos)}
		case *Project:
			out := &Project{Input: n.Input, Names: n.Names}
			for _, e := range n.Exprs {
				out.Exprs = append(out.Exprs, RelocateExpr(e, pos))
			}
			return out
		case *Assign:
			c := *n
			c.Pos = pos
			return &c
		case *GroupAgg:
			c := *n
			c.Pos, c.Aggs = pos, nil
			for _, a := range n.Aggs {
				a.Pos = pos
				c.Aggs = append(c.Aggs, a)
			}
			return &c
		}
		return n
	})[0]
}

// RelocateExpr gives e with every place set to pos.
func RelocateExpr(e *expr.Expr, pos sqlerr.Pos) *expr.Expr {
	c := *e
	c.Pos = pos
	if len(e.Args) > 0 {
		c.Args = make([]*expr.Expr, len(e.Args))
		for i, a := range e.Args {
			c.Args[i] = RelocateExpr(a, pos)
		}
	}
	return &c
}
