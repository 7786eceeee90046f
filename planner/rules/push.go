package rules

import (
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/planner/logical"
)

// pushPredicates moves filters towards the sources: below projections, unions, window
// assignment and grouping, and into the scan, where they run behind the watermark
// generator, so that rows which a query does not want still move its time. A filter
// stops above a node that others use too. A condition that may raise is not moved, nor
// is one moved past a projection or condition that may raise: it would decide for
// which rows that is evaluated.
func pushPredicates(roots []logical.Node) ([]logical.Node, error) {
	for {
		uses := logical.Consumers(roots)
		changed := false
		roots = logical.Rewrite(roots, func(n logical.Node) logical.Node {
			f, ok := n.(*logical.Filter)
			if !ok || uses[f.Input] != 1 {
				return n
			}
			if out := pushFilter(f); out != nil {
				changed = true
				return out
			}
			return n
		})
		if !changed {
			return roots, nil
		}
	}
}

// pushFilter moves what it can of f below its input; nil when that is nothing.
func pushFilter(f *logical.Filter) logical.Node {
	switch in := f.Input.(type) {
	case *logical.Filter:
		all := append(logical.Conjuncts(in.Pred), logical.Conjuncts(f.Pred)...)
		return &logical.Filter{Input: in.Input, Pred: logical.AndAll(all)}
	case *logical.Project:
		for _, e := range in.Exprs {
			if e.Raises() || e.Volatility() == expr.Volatile {
				return nil
			}
		}
		return below(f, func(c *expr.Expr) *expr.Expr { return c.Substitute(in.Exprs) },
			func(pred *expr.Expr) logical.Node {
				return &logical.Project{Input: &logical.Filter{Input: in.Input, Pred: pred}, Exprs: in.Exprs, Names: in.Names}
			})
	case *logical.Union:
		out := make([]logical.Node, len(in.In))
		for i, b := range in.In {
			out[i] = &logical.Filter{Input: b, Pred: f.Pred}
		}
		return &logical.Union{In: out}
	case *logical.Assign, *logical.Stamp:
		// What they append is not known below.
		n := len(in.Inputs()[0].Columns())
		return below(f, func(c *expr.Expr) *expr.Expr {
			if logical.Uses(c, func(col int) bool { return col >= n }) {
				return nil
			}
			return c
		}, func(pred *expr.Expr) logical.Node {
			return in.WithInputs([]logical.Node{&logical.Filter{Input: in.Inputs()[0], Pred: pred}})
		})
	case *logical.GroupAgg:
		return below(f, keysOnly(in.Keys), func(pred *expr.Expr) logical.Node {
			return in.WithInputs([]logical.Node{&logical.Filter{Input: in.Input, Pred: pred}})
		})
	case *logical.WindowAgg:
		return below(f, keysOnly(in.Keys), func(pred *expr.Expr) logical.Node {
			return in.WithInputs([]logical.Node{&logical.Filter{Input: in.Input, Pred: pred}})
		})
	case *logical.Scan:
		return below(f, func(c *expr.Expr) *expr.Expr {
			if !simple(c) {
				return nil
			}
			return c.Map(func(i int) int { return in.Output[i] })
		}, func(pred *expr.Expr) logical.Node {
			s := *in
			s.Predicate = logical.AndAll(append(logical.Conjuncts(in.Predicate), logical.Conjuncts(pred)...))
			return &s
		})
	}
	return nil
}

// cheapCalls are the functions that a scan's predicate may use. What costs more stays in
// the projection above, which computes a common sub-expression of filter and columns
// once.
var cheapCalls = map[string]bool{
	"=": true, "<>": true, "<": true, "<=": true, ">": true, ">=": true, "not": true, "in": true, "%": true, "mod": true,
	"is null": true, "is not null": true, "is true": true, "is not true": true,
	"is false": true, "is not false": true, "is distinct from": true, "is not distinct from": true,
}

// simple reports that c is worth evaluating in the scan.
func simple(c *expr.Expr) bool {
	return c.Walk(func(x *expr.Expr) bool {
		switch x.Kind {
		case expr.Column, expr.Literal, expr.And, expr.Or, expr.Cast:
			return true
		case expr.Call:
			return cheapCalls[x.Fn]
		}
		return false
	})
}

// keysOnly translates a condition on grouping keys to the aggregation's input.
func keysOnly(keys []int) func(*expr.Expr) *expr.Expr {
	return func(c *expr.Expr) *expr.Expr {
		if c.IsConst() || logical.Uses(c, func(col int) bool { return col >= len(keys) }) {
			return nil
		}
		return c.Map(func(i int) int { return keys[i] })
	}
}

// below splits f at its ANDs. Conditions that translate to the input's input (translate
// gives nil for those that do not) and cannot raise go down, made into a node by
// build; the others stay. Nothing goes past a condition that may raise.
func below(f *logical.Filter, translate func(*expr.Expr) *expr.Expr, build func(*expr.Expr) logical.Node) logical.Node {
	var down, stay []*expr.Expr
	raised := false
	for _, c := range logical.Conjuncts(f.Pred) {
		raises := c.Raises()
		if !raises && !raised && c.Volatility() != expr.Volatile {
			if t := translate(c); t != nil {
				down = append(down, t)
				continue
			}
		}
		raised = raised || raises
		stay = append(stay, c)
	}
	if len(down) == 0 {
		return nil
	}
	out := build(logical.AndAll(down))
	if len(stay) > 0 {
		out = &logical.Filter{Input: out, Pred: logical.AndAll(stay)}
	}
	return out
}
