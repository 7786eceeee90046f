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

// guarantee states what the job delivers and what weakens it, and tells every sink why
// it writes as it does.
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
	for _, s := range b.sinks {
		weak := ""
		s.node.Sink.Why, weak = s.reason()
		if weak != "" {
			weaken(atLeastOnce, "sink "+strconv.Quote(s.logical.Table)+" ("+s.logical.Connector+") "+weak)
		}
		if s.node.Sink.Mode == plan.Commit {
			committing[s.logical.Connector] = true
		}
	}
	if len(committing) > 1 {
		b.notice("sinks on different systems may differ by one checkpoint")
	}
	return g
}

// reason says what decided how the sink writes, and what of it weakens the guarantee.
func (s *sinkInfo) reason() (why, weak string) {
	const again = "writes rows again that come again after a restart"
	caps := s.logical.Caps
	switch {
	case s.node.Sink.Mode == plan.Commit:
		return commitReason(s), ""
	case caps.Hidden:
		return "nobody sees the rows before their checkpoint completes", ""
	case s.final:
		return s.why, ""
	case caps.Transient:
		return "nothing is kept of what it shows", "shows rows again that come again after a restart"
	case caps.Idempotent:
		return "with these options the connector writes in no other way", again + ", and other ones may be seen in between: " + s.why
	}
	return "with these options the connector writes in no other way", again
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
