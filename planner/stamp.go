package planner

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/planner/logical"
	"github.com/streamsql/streamsql/planner/plan"
)

// stamp plans the column of the clock. Replay gives other moments, so nothing above is
// repeatable, and rows that change are refused: their old halves would carry the moment
// at which they went and not that at which they came.
func (b *builder) stamp(n *logical.Stamp) (*phys, error) {
	in, err := b.node(n.Input)
	if err != nil {
		return nil, err
	}
	if in.updating {
		return nil, sqlerr.NotSupported(in.cause.Pos, "the moment (NOW(), PROCTIME()) of rows that change").
			WithDetail("%s An old row could not be taken back, since it would have another moment.", sentence(updatesText(in.cause))).
			WithHint("Ask for the moment below the aggregation, or group by a window (TUMBLE, HOP), whose rows are final.")
	}
	p := b.add(&plan.Node{
		Inputs: forward(in), Schema: logical.Schema(n), Parallelism: in.Parallelism, Time: logical.TimeColumn(n),
		Stamp: &plan.Stamp{Types: n.Types, Timed: n.Timed},
	}, in)
	p.Key, p.Deterministic, p.stamped = in.Key, false, true
	return p, nil
}
