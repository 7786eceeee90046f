package sim

import (
	"strings"
	"testing"

	"github.com/streamsql/streamsql/planner/plan"
)

// TestEdgesAreChecked breaks the plan in ways that the targets may not show: the check
// of the edges must stop the job, whatever the order.
func TestEdgesAreChecked(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault string
		spoil func(p *plan.Plan)
	}{
		{"an updating operator that passes for append-only", "append-only edge",
			func(p *plan.Plan) { p.Nodes[4].Changelog = plan.Append }},
		{"groups dealt out by another column", "more than one row",
			func(p *plan.Plan) { p.Nodes[4].Inputs[0].Keys = []int{2} }},
		{"groups dealt out in turn", "more than one row",
			func(p *plan.Plan) { p.Nodes[4].Inputs[0].Exchange, p.Nodes[4].Inputs[0].Keys = plan.Spread, nil }},
		{"a key that is none", "more than one row",
			func(p *plan.Plan) { p.Nodes[2].Key = []int{0} }},
		{"an update without its key", "differ in their key",
			func(p *plan.Plan) { p.Nodes[4].Key = []int{1} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := 0
			for seed := uint64(1); seed <= 20; seed++ {
				w := newWorld(t, seed)
				c.spoil(w.cfg.Plan)
				if err := w.run(); err != nil && strings.Contains(err.Error(), c.fault) {
					found++
				}
			}
			if found < 10 {
				t.Errorf("stopped in %d of 20 runs", found)
			}
		})
	}
}
