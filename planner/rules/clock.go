package rules

import (
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/planner/logical"
)

// stampRows gives every NOW() and PROCTIME() a column: a Stamp at the node where the row
// came to be, which is a scan or a grouping, and from there up through all that passes
// rows on. Whoever asks for the moment of a row, and however often, gets the same. Under
// a window over processing time the Stamp makes the watermark too.
func stampRows(roots []logical.Node) ([]logical.Node, error) {
	c := &clocked{plain: map[place]logical.Node{}, stamped: map[place]logical.Node{}}
	out := make([]logical.Node, len(roots))
	for i, r := range roots {
		out[i] = c.visit(place{r, false})
	}
	return out, nil
}

// place is a node as one of its consumers wants it. timed: the consumer is a window over
// processing time, or passes rows on to one.
type place struct {
	node  logical.Node
	timed bool
}

type clocked struct {
	plain, stamped map[place]logical.Node
}

// visit gives the node with the same columns and without calls of the clock.
func (c *clocked) visit(p place) logical.Node {
	if out, ok := c.plain[p]; ok {
		return out
	}
	out := c.rebuild(p)
	c.plain[p] = out
	return out
}

func (c *clocked) rebuild(p place) logical.Node {
	switch n := p.node.(type) {
	case *logical.Filter:
		if n.Pred.Clock() == nil {
			break
		}
		return first(c.stamp(p), len(n.Columns()))
	case *logical.Project:
		if !calls(n) {
			break
		}
		in := c.stamp(place{n.Input, p.timed})
		return &logical.Project{Input: in, Exprs: withColumns(n.Exprs, in), Names: n.Names}
	}
	in := p.node.Inputs()
	next := make([]logical.Node, len(in))
	changed := false
	for i, x := range in {
		next[i] = c.visit(place{x, timedBelow(p)})
		changed = changed || next[i] != x
	}
	if !changed {
		return p.node
	}
	return p.node.WithInputs(next)
}

// timedBelow reports whether the inputs of a node are to be timed by the clock.
func timedBelow(p place) bool {
	switch n := p.node.(type) {
	case *logical.Assign:
		return n.Proc()
	case *logical.Filter, *logical.Project, *logical.Union:
		return p.timed
	}
	return false
}

// stamp gives the node with the columns of a Stamp behind its own.
func (c *clocked) stamp(p place) logical.Node {
	if out, ok := c.stamped[p]; ok {
		return out
	}
	out := c.extend(p)
	c.stamped[p] = out
	return out
}

func (c *clocked) extend(p place) logical.Node {
	switch n := p.node.(type) {
	case *logical.Filter:
		in := c.stamp(place{n.Input, p.timed})
		return &logical.Filter{Input: in, Pred: withColumns([]*expr.Expr{n.Pred}, in)[0]}
	case *logical.Project:
		in := c.stamp(place{n.Input, p.timed})
		out := &logical.Project{Input: in, Exprs: withColumns(n.Exprs, in), Names: append([]string(nil), n.Names...)}
		for i := len(in.Columns()) - stamps; i < len(in.Columns()); i++ {
			out.Exprs, out.Names = append(out.Exprs, logical.Ref(in, i)), append(out.Names, in.Columns()[i].Name)
		}
		return out
	case *logical.Union:
		out := &logical.Union{}
		for _, x := range n.In {
			out.In = append(out.In, c.stamp(place{x, p.timed}))
		}
		return out
	case *logical.Assign:
		if p.timed && !n.Proc() {
			break // its own watermark is the event time's
		}
		return assigned(n, c.stamp(place{n.Input, n.Proc()}))
	}
	return logical.NewStamp(c.visit(p), p.timed)
}

// assigned is n over a stamped input, with the stamps behind the window's columns.
func assigned(n *logical.Assign, in logical.Node) logical.Node {
	a := n.WithInputs([]logical.Node{in})
	k, w := len(n.Input.Columns()), len(logical.WindowNames)
	out := &logical.Project{Input: a}
	add := func(from, to int) {
		for i := from; i < to; i++ {
			out.Exprs, out.Names = append(out.Exprs, logical.Ref(a, i)), append(out.Names, a.Columns()[i].Name)
		}
	}
	add(0, k)
	add(k+stamps, k+stamps+w)
	add(k, k+stamps)
	return out
}

// stamps is the number of columns of a new Stamp.
const stamps = 2

// withColumns puts the last columns of in, which are those of a Stamp, in the place of
// the calls of the clock.
func withColumns(list []*expr.Expr, in logical.Node) []*expr.Expr {
	n := len(in.Columns())
	out := make([]*expr.Expr, len(list))
	for i, e := range list {
		out[i] = e.WithClock(func(call *expr.Expr) *expr.Expr {
			at := n - 1
			if call.IsProctime() {
				at = n - stamps
			}
			ref := logical.Ref(in, at)
			ref.Pos = call.Pos
			return ref
		})
	}
	return out
}

func calls(p *logical.Project) bool {
	for _, e := range p.Exprs {
		if e.Clock() != nil {
			return true
		}
	}
	return false
}

// first keeps the first n columns of a node.
func first(in logical.Node, n int) logical.Node {
	p := &logical.Project{Input: in}
	for i, c := range in.Columns()[:n] {
		p.Exprs, p.Names = append(p.Exprs, logical.Ref(in, i)), append(p.Names, c.Name)
	}
	return p
}
