package explain

import "github.com/streamsql/streamsql/planner/plan"

// State says what a node keeps and how that grows.
func State(p *plan.Plan, n *plan.Node) string {
	switch {
	case n.WindowAgg != nil:
		in := inputNames(p, n)
		return "bounded by window: groups" + values(in, n.WindowAgg.Aggs, false) + " of the windows that have not closed"
	case n.GroupAgg != nil:
		return groupState(p, n)
	case n.Materialize != nil:
		return "grows with live rows: all of a key, so that the one before can come back" + end(p, n)
	case n.Source != nil:
		return "fixed: the position of every split"
	case n.Sink != nil && n.Sink.Mode == plan.Commit:
		return "bounded by checkpoint: rows since the last one"
	}
	return "none"
}

func groupState(p *plan.Plan, n *plan.Node) string {
	g := n.GroupAgg
	in := inputNames(p, n)
	values := values(in, g.Aggs, g.Changing)
	switch {
	case len(g.Keys) == 0 && values == "":
		return "fixed: one group"
	case len(g.Keys) == 0:
		return "grows with distinct values: one group" + values + end(p, n)
	case overWindow(p, n):
		return "grows with distinct keys: windows are not freed unless both window_start and window_end are grouped by" + end(p, n)
	}
	return "grows with distinct keys: a group for each (" + names(in, g.Keys) + ")" + values + end(p, n)
}

// end says how long growth goes on.
func end(p *plan.Plan, n *plan.Node) string {
	if bounded(p, n) {
		return "; the input ends"
	}
	return "; unbounded, as the input never ends"
}

func bounded(p *plan.Plan, n *plan.Node) bool {
	if n.Source != nil {
		return n.Source.Bounded
	}
	for _, e := range n.Inputs {
		if !bounded(p, p.Nodes[e.From]) {
			return false
		}
	}
	return true
}

// overWindow reports that n groups rows that were assigned to windows.
func overWindow(p *plan.Plan, n *plan.Node) bool {
	in := p.Nodes[n.Inputs[0].From]
	for in.Calc != nil {
		in = p.Nodes[in.Inputs[0].From]
	}
	return in.Assign != nil
}
