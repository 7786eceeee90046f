package planner

import (
	"strconv"

	"github.com/streamsql/streamsql/planner/plan"
)

// Levels of delivery, weakest last.
const (
	exactlyOnce = "exactly once"
	atLeastOnce = "at least once"
	atMostOnce  = "at most once"
)

// guarantee states what the job delivers, and for every sink why.
func (b *builder) guarantee() plan.Guarantee {
	g := plan.Guarantee{Level: exactlyOnce}
	weaken := func(level, why string) {
		if level == atMostOnce || g.Level == exactlyOnce {
			g.Level = level
		}
		g.Reasons = append(g.Reasons, why)
	}
	var seen []string
	for _, n := range b.nodes {
		if n.Source == nil {
			continue
		}
		if t := b.tables[n.Source.Table]; !t.caps.Replayable && !contains(seen, t.def.Name) {
			seen = append(seen, t.def.Name)
			weaken(atMostOnce, "table "+strconv.Quote(t.def.Name)+" ("+t.conn.Name+") cannot be read again from a position: rows are lost with a crash")
		}
	}
	if b.opts.Settings["checkpoint.mode"] == "at_least_once" {
		weaken(atLeastOnce, "checkpoint.mode is at_least_once: rows behind a barrier may be counted twice after a restart")
	}
	committing := map[string]bool{}
	var systems []string
	for _, s := range b.sinks {
		name := "sink " + strconv.Quote(s.logical.Table) + " (" + s.logical.Connector + ")"
		switch {
		case s.node.Sink.Mode == plan.Commit:
			g.Reasons = append(g.Reasons, name+" writes with the checkpoint: "+commitReason(s))
			if !committing[s.logical.Connector] {
				committing[s.logical.Connector] = true
				systems = append(systems, s.logical.Connector)
			}
		case s.logical.Caps.Hidden:
			g.Reasons = append(g.Reasons, name+" writes at once, unseen, and shows the rows when their checkpoint completes")
		case s.final:
			g.Reasons = append(g.Reasons, name+" writes at once: "+s.why)
		case s.logical.Caps.Transient:
			weaken(atLeastOnce, name+" shows rows again that come again after a restart")
		case s.logical.Caps.Idempotent:
			weaken(atLeastOnce, name+" writes before the checkpoint, and again after a restart: "+s.why)
		default:
			weaken(atLeastOnce, name+" writes before the checkpoint, and again after a restart")
		}
	}
	if len(systems) > 1 {
		b.notice("sinks on different systems may differ by one checkpoint")
	}
	return g
}

func commitReason(s *sinkInfo) string {
	switch {
	case s.logical.Caps.ForceCommit:
		return "its options ask for it"
	case !s.logical.Caps.Early:
		return "the connector writes in no other way"
	}
	return s.why
}
