package operators

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/planner/plan"
)

// builder makes the operator of one kind of node.
type builder struct {
	kind string
	is   func(n *plan.Node) bool
	make func(n *plan.Node, ctx Context) (Operator, error)
}

// builders is the list of operators. Sources, VALUES and sinks are the runtime's.
func builders() []builder {
	return []builder{
		{"calc", func(n *plan.Node) bool { return n.Calc != nil }, newCalc},
		{"assign", func(n *plan.Node) bool { return n.Assign != nil }, newAssign},
		{"window_agg", func(n *plan.Node) bool { return n.WindowAgg != nil }, newWindowAgg},
		{"group_agg", func(n *plan.Node) bool { return n.GroupAgg != nil }, newGroupAgg},
		{"union", func(n *plan.Node) bool { return n.Union != nil }, newUnion},
		{"materialize", func(n *plan.Node) bool { return n.Materialize != nil }, newMaterialize},
	}
}

// Build makes one subtask of a plan node. A node that holds no operator is an
// Internal error.
func Build(n *plan.Node, ctx Context) (Operator, error) {
	ctx = ctx.withDefaults()
	for _, b := range builders() {
		if b.is(n) {
			return b.make(n, ctx)
		}
	}
	return nil, sqlerr.Internalf("node %d (%s) is no operator", n.ID, n.Role)
}

// defaultBatchRows is the target size of batches unless the runtime says otherwise.
const defaultBatchRows = 4096

func (c Context) withDefaults() Context {
	if c.BatchRows <= 0 {
		c.BatchRows = defaultBatchRows
	}
	if c.KeyGroups <= 0 {
		c.KeyGroups = stream.DefaultKeyGroups
		c.Owned = stream.GroupRange{To: c.KeyGroups}
	}
	if c.PartlyLate == nil {
		c.PartlyLate = func(int) {}
	}
	return c
}
