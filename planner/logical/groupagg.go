package logical

import (
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/plan"
)

// GroupAgg is GROUP BY: Keys then Aggs come out.
type GroupAgg struct {
	Input    Node
	Keys     []int // columns of Input
	Aggs     []expr.AggCall
	AggNames []string
	// Clause is how the user wrote it, Pos the place.
	Clause Clause
	Pos    sqlerr.Pos
}

// Clause is a way to ask for a grouping.
type Clause string

const (
	ClauseGroupBy  Clause = "GROUP BY"
	ClauseDistinct Clause = "SELECT DISTINCT"
	// ClauseNone: aggregates without GROUP BY.
	ClauseNone Clause = ""
)

func (g *GroupAgg) Columns() []Column {
	in := g.Input.Columns()
	windowed := g.Windowed()
	out := make([]Column, 0, len(g.Keys)+len(g.Aggs))
	for _, k := range g.Keys {
		c := in[k]
		c.Time, c.Proc = c.Time && windowed, c.Proc && windowed
		c.Window = ""
		out = append(out, c)
	}
	return append(out, aggColumns(g.Aggs, g.AggNames)...)
}

// Windowed reports that both ends of a window are among the keys: the groups are
// final when the window closes, and the rules make a WindowAgg of the node.
func (g *GroupAgg) Windowed() bool {
	var start, end bool
	for _, k := range g.Keys {
		w := g.Input.Columns()[k].Window
		start = start || w == plan.WindowStart
		end = end || w == plan.WindowEnd
	}
	return start && end
}

func aggColumns(aggs []expr.AggCall, names []string) []Column {
	out := make([]Column, len(aggs))
	for i, a := range aggs {
		out[i].Column = types.Column{Name: names[i], Type: a.Type, NotNull: a.Fn == "count"}
	}
	return out
}

func (g *GroupAgg) Inputs() []Node { return []Node{g.Input} }

func (g *GroupAgg) WithInputs(in []Node) Node {
	c := *g
	c.Input = in[0]
	return &c
}
