package runtime

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/plan"
)

// stage is a chain of plan nodes that run in one task per subtask: the head, and
// what hangs on it by forward edges alone.
type stage struct {
	nodes []*plan.Node // topological order
	par   int
}

// edge is an edge between stages.
type edge struct {
	from, to *plan.Node
	input    int // of to
	plan.Edge
}

// graph is a plan cut into stages.
type graph struct {
	plan   *plan.Plan
	stages []*stage
	of     []*stage // by node
	// inner and outer are the consumers of each node, inside its stage and outside.
	inner, outer [][]edge
	par          []int // by node
	// timed tells of every node whether the clock makes the watermark of its rows.
	timed []bool
}

// newGraph cuts a plan into stages. A node joins its producer's stage when it has one
// input, a forward edge from the rows of that producer, and is no sink: sinks may
// block and stand alone.
func newGraph(p *plan.Plan, parallelism int) (*graph, error) {
	g := &graph{plan: p, of: make([]*stage, len(p.Nodes)), par: make([]int, len(p.Nodes)),
		inner: make([][]edge, len(p.Nodes)), outer: make([][]edge, len(p.Nodes)),
		timed: make([]bool, len(p.Nodes))}
	if g := p.KeyGroups; g < 0 || g > 1<<15 || g&(g-1) != 0 {
		return nil, sqlerr.Internalf("%d key groups, not a power of two up to 32768", g)
	}
	for i, n := range p.Nodes {
		if n.ID != i {
			return nil, sqlerr.Internalf("plan node %d has id %d", i, n.ID)
		}
		g.par[i] = n.Parallelism
		if g.par[i] <= 0 {
			g.par[i] = parallelism
		}
		g.par[i] = min(g.par[i], max(p.KeyGroups, 1))
		for k, in := range n.Inputs {
			if in.From < 0 || in.From >= i {
				return nil, sqlerr.Internalf("plan node %d reads node %d, which does not come before it", i, in.From)
			}
			if in.Exchange == plan.Forward && g.par[in.From] != g.par[i] {
				return nil, sqlerr.Internalf("forward edge from node %d (%d subtasks) to node %d (%d subtasks)", in.From, g.par[in.From], i, g.par[i])
			}
			if in.Exchange == plan.Gather && g.par[i] != 1 {
				return nil, sqlerr.Internalf("gathering edge to node %d, which has %d subtasks", i, g.par[i])
			}
			e := edge{from: p.Nodes[in.From], to: n, input: k, Edge: in}
			if joins(n) {
				g.inner[in.From] = append(g.inner[in.From], e)
			} else {
				g.outer[in.From] = append(g.outer[in.From], e)
			}
		}
		g.timed[i] = g.clocked(n)
		if joins(n) {
			st := g.of[n.Inputs[0].From]
			st.nodes = append(st.nodes, n)
			g.of[i] = st
			continue
		}
		g.of[i] = &stage{nodes: []*plan.Node{n}, par: g.par[i]}
		g.stages = append(g.stages, g.of[i])
	}
	return g, nil
}

// joins reports whether n runs in the task of its producer.
func joins(n *plan.Node) bool {
	return n.Sink == nil && len(n.Inputs) == 1 && n.Inputs[0].Exchange == plan.Forward && n.Inputs[0].Port == plan.Rows
}

// consumers gives the edges that leave a port of a node for another stage.
func (g *graph) consumers(node int, port plan.Port) []edge {
	var out []edge
	for _, e := range g.outer[node] {
		if e.Port == port {
			out = append(out, e)
		}
	}
	return out
}

// edgeID numbers the edges into a node.
func (g *graph) edgeID(e edge) int { return e.input*len(g.plan.Nodes) + e.from.ID }

// together reports whether all subtasks of a node see the watermarks of all subtasks
// before them: those behind an exchange do, a source's do not.
func (g *graph) together(n *plan.Node) bool {
	head := g.of[n.ID].nodes[0]
	for _, in := range head.Inputs {
		if in.Exchange == plan.Forward {
			return false
		}
	}
	return len(head.Inputs) > 0
}

// schemaOf is the schema of an edge's rows.
func schemaOf(p *plan.Plan, e plan.Edge) types.Schema { return p.InputSchema(e) }

// kindOf names what a node is.
func kindOf(n *plan.Node) string {
	switch {
	case n.Source != nil:
		return "source"
	case n.Values != nil:
		return "values"
	case n.Calc != nil:
		return "calc"
	case n.Stamp != nil:
		return "stamp"
	case n.Assign != nil:
		return "assign"
	case n.WindowAgg != nil:
		return "window aggregate"
	case n.GroupAgg != nil:
		return "group aggregate"
	case n.Union != nil:
		return "union"
	case n.Materialize != nil:
		return "materialize"
	case n.Sink != nil:
		return "sink"
	}
	return "operator"
}

// nodeName names a node in errors and in Status.
func nodeName(n *plan.Node) string {
	switch {
	case n.Source != nil:
		return "source " + quote(n.Source.Table)
	case n.Sink != nil:
		return "sink " + quote(n.Sink.Table)
	}
	return kindOf(n) + " " + quote(n.Role)
}

func quote(s string) string { return `"` + s + `"` }
