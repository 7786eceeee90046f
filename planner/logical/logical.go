// Package logical is the plan between binder and physical planner: a DAG of a few
// relational nodes over bound expressions. Nodes are immutable once built; a rule
// makes new ones. A node used by several consumers is one pointer.
package logical

import (
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/plan"
)

// Column is a column of a node's output.
type Column struct {
	types.Column
	// Time: the column is event time, and the watermark speaks of it.
	Time bool
	// Proc: the column is processing time, PROCTIME() or the window_time of a window over
	// it. Once the clock has its column in the plan, that is event time.
	Proc bool
	// Window says which end of the row's window the column is, "" for other columns.
	Window plan.WindowProp
}

// Node is one relational operator: *Scan, *Values, *Filter, *Project, *Stamp,
// *Assign, *WindowAgg, *GroupAgg, *Union or *Sink.
type Node interface {
	// Columns is the output.
	Columns() []Column
	// Inputs are the nodes below, in order.
	Inputs() []Node
	// WithInputs returns the node over other inputs with the same columns.
	WithInputs(in []Node) Node
}

// Schema gives the columns of n without their time flags.
func Schema(n Node) types.Schema {
	cols := n.Columns()
	out := make(types.Schema, len(cols))
	for i, c := range cols {
		out[i] = c.Column
	}
	return out
}

// TimeColumn is the first event-time column of n, or -1.
func TimeColumn(n Node) int {
	for i, c := range n.Columns() {
		if c.Time {
			return i
		}
	}
	return -1
}

// Ref returns a reference to column i of n.
func Ref(n Node, i int) *expr.Expr { return expr.Col(i, n.Columns()[i].Type) }

// Identity returns references to all columns of n.
func Identity(n Node) []*expr.Expr {
	cols := n.Columns()
	out := make([]*expr.Expr, len(cols))
	for i, c := range cols {
		out[i] = expr.Col(i, c.Type)
	}
	return out
}

// Rewrite rebuilds the DAG above its leaves: f is called once for every node, inputs
// first, with the node over its rewritten inputs, and what it returns stands in the
// node's place for all consumers.
func Rewrite(roots []Node, f func(Node) Node) []Node {
	memo := map[Node]Node{}
	var visit func(n Node) Node
	visit = func(n Node) Node {
		if done, ok := memo[n]; ok {
			return done
		}
		in := n.Inputs()
		next := make([]Node, len(in))
		changed := false
		for i, c := range in {
			next[i] = visit(c)
			changed = changed || next[i] != c
		}
		out := n
		if changed {
			out = n.WithInputs(next)
		}
		out = f(out)
		memo[n] = out
		return out
	}
	out := make([]Node, len(roots))
	for i, r := range roots {
		out[i] = visit(r)
	}
	return out
}

// Order lists every node reachable from roots once, inputs before consumers, in an
// order fixed by the DAG alone.
func Order(roots []Node) []Node {
	seen := map[Node]bool{}
	var out []Node
	var visit func(n Node)
	visit = func(n Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		for _, c := range n.Inputs() {
			visit(c)
		}
		out = append(out, n)
	}
	for _, r := range roots {
		visit(r)
	}
	return out
}

// Consumers counts for every node how many inputs refer to it.
func Consumers(roots []Node) map[Node]int {
	out := map[Node]int{}
	for _, n := range Order(roots) {
		for _, c := range n.Inputs() {
			out[c]++
		}
	}
	return out
}
