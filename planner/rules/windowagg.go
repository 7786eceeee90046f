package rules

import (
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/planner/logical"
)

// windowAggregation turns a grouping by both ends of a window into one operator that
// assigns windows and aggregates. What lies between the window and the grouping is
// computed before the window is assigned, and what depends on the window alone after
// it closes.
func windowAggregation(roots []logical.Node) ([]logical.Node, error) {
	var failed error
	roots = logical.Rewrite(roots, func(n logical.Node) logical.Node {
		g, ok := n.(*logical.GroupAgg)
		if !ok || failed != nil || !g.Windowed() {
			return n
		}
		out, err := windowAgg(g)
		if err != nil {
			failed = err
			return n
		}
		return out
	})
	return roots, failed
}

// flat is a chain of projections and filters over an Assign with the Assign taken out.
type flat struct {
	node logical.Node
	// col gives for each column of the chain its column of node, or -1 when it depends
	// on the window; then prop is it as an expression over start, end and time.
	col  []int
	prop []*expr.Expr
	time int
	// lifted are filters over start, end and time.
	lifted []*expr.Expr
	assign *logical.Assign
}

func windowAgg(g *logical.GroupAgg) (logical.Node, error) {
	f, err := flatten(g.Input)
	if err != nil {
		return nil, err
	}
	w := &logical.WindowAgg{
		Input: f.node, Window: f.assign.Window, Time: f.time,
		AggNames: g.AggNames, Props: logical.WindowProps, Pos: g.Pos,
	}
	for _, k := range g.Keys {
		if f.col[k] >= 0 {
			w.Keys = append(w.Keys, f.col[k])
		}
	}
	for _, a := range g.Aggs {
		args := make([]int, len(a.Args))
		for i, c := range a.Args {
			if args[i] = f.col[c]; args[i] < 0 {
				return nil, sqlerr.NotSupported(a.Pos, "an aggregate of a window column inside its own window")
			}
		}
		a.Args = args
		if a.Filter >= 0 {
			if a.Filter = f.col[a.Filter]; a.Filter < 0 {
				return nil, sqlerr.NotSupported(a.Pos, "FILTER on a window column inside its own window")
			}
		}
		w.Aggs = append(w.Aggs, a)
	}
	props := make([]*expr.Expr, len(w.Props))
	first := len(w.Keys) + len(w.Aggs)
	for i := range props {
		props[i] = logical.Ref(w, first+i)
	}
	var out logical.Node = w
	if len(f.lifted) > 0 {
		out = &logical.Filter{Input: w, Pred: logical.AndAll(f.lifted).Substitute(props)}
	}
	p := &logical.Project{Input: out}
	names := logical.Schema(g).Names()
	next := 0
	for i, k := range g.Keys {
		if f.col[k] >= 0 {
			p.Exprs = append(p.Exprs, logical.Ref(w, next))
			next++
		} else {
			p.Exprs = append(p.Exprs, f.prop[k].Substitute(props))
		}
		p.Names = append(p.Names, names[i])
	}
	for i := range g.Aggs {
		p.Exprs = append(p.Exprs, logical.Ref(w, len(w.Keys)+i))
		p.Names = append(p.Names, g.AggNames[i])
	}
	return p, nil
}

func flatten(n logical.Node) (*flat, error) {
	switch n := n.(type) {
	case *logical.Assign:
		f := &flat{node: n.Input, time: n.Time, assign: n}
		for i := range n.Input.Columns() {
			f.col, f.prop = append(f.col, i), append(f.prop, nil)
		}
		for i := range logical.WindowNames {
			f.col, f.prop = append(f.col, -1), append(f.prop, expr.Col(i, n.Window.TimeType))
		}
		return f, nil
	case *logical.Filter:
		f, err := flatten(n.Input)
		if err != nil {
			return nil, err
		}
		return f, f.filter(n.Pred)
	case *logical.Project:
		f, err := flatten(n.Input)
		if err != nil {
			return nil, err
		}
		return f, f.project(n)
	}
	return nil, sqlerr.Internalf("a window column came through %T", n)
}

// split translates e: over f.node (real), or over the window alone (prop).
func (f *flat) split(e *expr.Expr) (real, prop *expr.Expr) {
	window := func(c int) bool { return f.col[c] < 0 }
	if !logical.Uses(e, window) {
		return e.Map(func(c int) int { return f.col[c] }), nil
	}
	if !logical.Uses(e, func(c int) bool { return !window(c) }) {
		return nil, e.Substitute(f.prop)
	}
	return nil, nil
}

func (f *flat) filter(pred *expr.Expr) error {
	var keep []*expr.Expr
	for _, c := range logical.Conjuncts(pred) {
		real, prop := f.split(c)
		switch {
		case real != nil:
			keep = append(keep, real)
		case prop != nil:
			f.lifted = append(f.lifted, prop)
		default:
			return sqlerr.NotSupported(c.Pos, "a condition on a window column and another column inside the window")
		}
	}
	if len(keep) > 0 {
		f.node = &logical.Filter{Input: f.node, Pred: logical.AndAll(keep)}
	}
	return nil
}

func (f *flat) project(p *logical.Project) error {
	out := &logical.Project{Input: f.node}
	var col []int
	var prop []*expr.Expr
	time := -1
	for i, e := range p.Exprs {
		real, window := f.split(e)
		if real == nil && window == nil {
			return sqlerr.NotSupported(e.Pos, "an expression of a window column and another column inside the window")
		}
		prop = append(prop, window)
		if real == nil {
			col = append(col, -1)
			continue
		}
		if real.Kind == expr.Column && real.Col == f.time {
			time = len(out.Exprs)
		}
		col = append(col, len(out.Exprs))
		out.Exprs, out.Names = append(out.Exprs, real), append(out.Names, p.Names[i])
	}
	if time < 0 {
		time = len(out.Exprs)
		out.Exprs = append(out.Exprs, logical.Ref(f.node, f.time))
		out.Names = append(out.Names, f.node.Columns()[f.time].Name)
	}
	f.node, f.col, f.prop, f.time = out, col, prop, time
	return nil
}
