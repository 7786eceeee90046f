package planner

import "github.com/streamsql/streamsql/planner/plan"

// settleChangelogs decides what kinds of rows every node gives: old halves of updates
// only where some consumer needs them.
func (b *builder) settleChangelogs() {
	for i := len(b.nodes) - 1; i >= 0; i-- {
		n := b.nodes[i]
		if !wantsOld(n) {
			continue
		}
		for _, e := range n.Inputs {
			b.nodes[e.From].needsOld = true
		}
	}
	for _, n := range b.nodes {
		n.Changelog = b.changelog(n)
	}
}

// wantsOld reports that n must see the old halves of its input's updates.
func wantsOld(n *phys) bool {
	switch {
	case n.Calc != nil:
		// A filter must know whether the old row passed; without its key a row can only be
		// taken back by its old half.
		return n.Calc.Predicate != nil || n.Key == nil || n.needsOld
	case n.Sink != nil, n.Source != nil, n.Values != nil:
		return false
	}
	return true
}

func (b *builder) changelog(n *phys) plan.ChangelogMode {
	switch {
	case n.Sink != nil:
		return b.nodes[n.Inputs[0].From].Changelog
	case !n.updating:
		return plan.Append
	case n.Calc != nil:
		return b.nodes[n.Inputs[0].From].Changelog
	case n.Materialize != nil:
		return plan.Upsert
	case n.GroupAgg != nil && !n.needsOld && n.Key != nil:
		return plan.Upsert
	}
	return plan.Retract
}
