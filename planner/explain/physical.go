package explain

import (
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/planner/plan"
)

func physicalTrees(p *plan.Plan) []*box {
	x := &physicalPrinter{p: p, shared: numbers[int]{uses: map[int]int{}, of: map[int]int{}}}
	for _, n := range p.Nodes {
		for _, e := range n.Inputs {
			x.shared.uses[e.From]++
		}
	}
	var out []*box
	for _, n := range p.Nodes {
		if n.Sink != nil {
			tag, _ := x.shared.tag(n.ID)
			out = append(out, x.node(n, tag))
		}
	}
	return out
}

type physicalPrinter struct {
	p      *plan.Plan
	shared numbers[int]
}

func (x *physicalPrinter) node(n *plan.Node, tag string) *box {
	t := &box{title: n.Kind() + tag + title(x.p, n)}
	for _, f := range facts(x.p, n) {
		t.say(f.label, f.text)
	}
	for _, e := range n.Inputs {
		in := x.p.Nodes[e.From]
		text := edgeText(in, e)
		tag, again := x.shared.tag(in.ID)
		if again {
			t.below = append(t.below, branch{text: text + ": " + in.Kind() + tag + ", above"})
			continue
		}
		t.below = append(t.below, branch{text: text, box: x.node(in, tag)})
	}
	return t
}

// edgeText says how rows get from in to its consumer, and which kinds of rows.
func edgeText(in *plan.Node, e plan.Edge) string {
	how := string(e.Exchange)
	if len(e.Keys) > 0 {
		how += "(" + names(in.Schema.Names(), e.Keys) + ")"
	}
	switch e.Port {
	case plan.Errors:
		return how + " · broken rows"
	case plan.Late:
		return how + " · late rows"
	}
	return how + " · " + changes(in)
}

// changes is the changelog mode of what n gives, with the key of the rows.
func changes(n *plan.Node) string {
	key := ""
	switch {
	case n.Key == nil:
	case len(n.Key) == 0:
		key = "of one row"
	default:
		key = "by (" + names(n.Schema.Names(), n.Key) + ")"
	}
	switch n.Changelog {
	case plan.Append:
		if len(n.Key) > 0 {
			key = "unique " + key
		}
		return join(", ", "append-only", key)
	case plan.Upsert:
		return join(" ", "upsert", key)
	}
	return join(" ", "retracting", key)
}

// title follows the kind of a node.
func title(p *plan.Plan, n *plan.Node) string {
	switch {
	case n.Source != nil:
		s := " " + quoteName(n.Source.Table) + " (" + join(", ", n.Source.Connector, n.Source.Format) + ")"
		if n.Source.Bounded {
			s += ", bounded"
		}
		return s
	case n.Sink != nil:
		return " " + quoteName(n.Sink.Table) + " (" + join(", ", n.Sink.Connector, n.Sink.Format) + ")"
	case n.Values != nil:
		return " " + count(len(n.Values.Rows), "row")
	case n.Stamp != nil:
		return stampText(len(n.Stamp.Types), n.Schema.Names(), n.Stamp.Timed)
	case n.Assign != nil:
		return " " + windowText(n.Assign.Window) + " on " + quoteName(inputNames(p, n)[n.Assign.Time])
	case n.WindowAgg != nil:
		return " " + windowText(n.WindowAgg.Window) + " on " + quoteName(inputNames(p, n)[n.WindowAgg.Time])
	}
	return ""
}

// inputNames are the columns of n's first input.
func inputNames(p *plan.Plan, n *plan.Node) []string { return p.Nodes[n.Inputs[0].From].Schema.Names() }

// facts says what a node computes, where, and what it keeps.
func facts(p *plan.Plan, n *plan.Node) []fact {
	var out []fact
	switch {
	case n.Source != nil:
		out = sourceFacts(n)
	case n.Calc != nil:
		in := inputNames(p, n)
		out = []fact{{"columns", exprList(n.Calc.Exprs, in, n.Schema.Names())}}
		if n.Calc.Predicate != nil {
			out = append(out, fact{"where", n.Calc.Predicate.Format(in)})
		}
	case n.WindowAgg != nil:
		w := n.WindowAgg
		var ends []string
		for _, p := range w.Props {
			ends = append(ends, "window_"+string(p))
		}
		in := inputNames(p, n)
		out = []fact{{"keys", names(in, w.Keys)}, {"aggregates", aggList(in, w.Aggs)}, {"window", strings.Join(ends, ", ")}}
	case n.GroupAgg != nil:
		in := inputNames(p, n)
		out = []fact{{"keys", names(in, n.GroupAgg.Keys)}, {"aggregates", aggList(in, n.GroupAgg.Aggs)}}
	case n.Materialize != nil:
		out = []fact{{"shows", "the newest row of every key (" + names(n.Schema.Names(), n.Materialize.Key) + ")"}}
	case n.Sink != nil:
		out = sinkFacts(n)
	}
	if n.Stamp != nil && n.Stamp.Timed {
		out = append(out, fact{"watermark", "the clock"})
	}
	if n.Time >= 0 {
		out = append(out, fact{"event time", quoteName(n.Schema[n.Time].Name)})
	}
	par := "the job's"
	if n.Parallelism > 0 {
		par = strconv.Itoa(n.Parallelism)
	}
	return append(out, fact{"parallelism", par}, fact{"state", State(p, n)})
}

func sinkFacts(n *plan.Node) []fact {
	writes := "early"
	if n.Sink.Mode == plan.Commit {
		writes = "with the checkpoint"
	}
	if n.Sink.Why != "" {
		writes += ": " + n.Sink.Why
	}
	return []fact{
		{"columns", columnList(n.Schema)},
		{"primary key", names(n.Schema.Names(), n.Sink.Key)},
		{"writes", writes},
	}
}

func sourceFacts(n *plan.Node) []fact {
	s := n.Source
	var all, read []string
	for _, c := range s.Read {
		all = append(all, c.Name)
		r := quoteName(c.Name)
		if c.Metadata != "" {
			r += " (metadata " + c.Metadata + ")"
		}
		read = append(read, r)
	}
	out := []fact{{"reads", strings.Join(read, ", ")}}
	for i, v := range s.Virtual {
		name := "computed" + strconv.Itoa(i+1)
		for k, o := range s.Output {
			if o == len(s.Read)+i {
				name = n.Schema[k].Name
			}
		}
		out = append(out, fact{"computes", v.Format(all) + " AS " + quoteName(name)})
		all = append(all, name)
	}
	if s.Watermark != nil {
		w := s.Watermark.Format(all)
		if s.IdleTimeout > 0 {
			w += ", idle after " + Duration(s.IdleTimeout)
		}
		out = append(out, fact{"watermark", w})
	}
	if s.Predicate != nil {
		out = append(out, fact{"where", s.Predicate.Format(all)})
	}
	return out
}
