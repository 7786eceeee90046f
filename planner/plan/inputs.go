package plan

import (
	"slices"

	"github.com/streamsql/streamsql/internal/types"
)

// InputSchema is the schema of an edge's rows.
func (p *Plan) InputSchema(e Edge) types.Schema {
	if e.Port != Rows {
		return DeadLetterSchema
	}
	return p.Nodes[e.From].Schema
}

// InputSchemas are those of all inputs of a node of the plan.
func (p *Plan) InputSchemas(n *Node) []types.Schema {
	out := make([]types.Schema, len(n.Inputs))
	for i, e := range n.Inputs {
		out[i] = p.InputSchema(e)
	}
	return out
}

// TakesDeadLetters reports that the rows of n, a sink, are dead letters.
func (p *Plan) TakesDeadLetters(n *Node) bool {
	for len(n.Inputs) > 0 {
		if n.Inputs[0].Port != Rows {
			return true
		}
		n = p.Nodes[n.Inputs[0].From]
	}
	return false
}

// TablesOf names the tables that the rows of n come from, each once, in the order of the
// inputs.
func (p *Plan) TablesOf(n *Node) []string {
	var out []string
	seen := map[int]bool{}
	var visit func(n *Node)
	visit = func(n *Node) {
		if seen[n.ID] {
			return
		}
		seen[n.ID] = true
		if n.Source != nil && !slices.Contains(out, n.Source.Table) {
			out = append(out, n.Source.Table)
		}
		for _, e := range n.Inputs {
			visit(p.Nodes[e.From])
		}
	}
	visit(n)
	return out
}
