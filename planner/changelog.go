package planner

import (
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/plan"
)

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

func argTypes(a expr.AggCall, in *phys) []types.Type {
	out := make([]types.Type, len(a.Args))
	for i, c := range a.Args {
		out[i] = in.Schema[c].Type
	}
	return out
}

func upperCall(a expr.AggCall) string { return strings.ToUpper(a.Fn) }

// roles gives every node the name by which its state is found again after the query
// changed: the table of a source or sink, else the path of kinds from the first sink.
func (b *builder) roles() {
	taken := map[string]int{}
	name := func(n *phys, role string) {
		taken[role]++
		if k := taken[role]; k > 1 {
			role += "#" + strconv.Itoa(k)
		}
		n.Role = role
	}
	var down func(n *phys)
	down = func(n *phys) {
		for _, e := range n.Inputs {
			in := b.nodes[e.From]
			if in.Role != "" {
				continue
			}
			if in.Source != nil {
				name(in, in.Source.Table)
				continue
			}
			name(in, n.Role+"/"+in.Kind())
			down(in)
		}
	}
	for _, n := range b.nodes {
		if n.Sink != nil {
			name(n, n.Sink.Table)
			down(n)
		}
	}
}
