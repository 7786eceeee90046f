package plan

import "github.com/streamsql/streamsql/internal/types"

// Carry says with which state of an older plan a plan goes on.
type Carry struct {
	// From is the older plan.
	From *Plan
	// Nodes has an entry for each node of the plan.
	Nodes []Carried
}

// Carried is what a node goes on with.
type Carried struct {
	// Node is the node of the older plan, -1 for none: the node begins empty, a source
	// where its options say.
	Node int
	// Aggs gives for each aggregate of the node the older node's that it goes on with, or
	// -1 to begin empty; nil where there are none.
	Aggs []int
}

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
