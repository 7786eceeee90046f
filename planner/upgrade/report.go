package upgrade

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamsql/streamsql/planner/plan"
)

// Action is what becomes of the state of an operator.
type Action string

const (
	// Reuse: it is gone on with.
	Reuse Action = "reuse"
	// Partial: some of its accumulators are gone on with, the others begin empty.
	Partial Action = "partial"
	// Rebuild: it begins empty.
	Rebuild Action = "rebuild"
	// Drop: nothing goes on with it.
	Drop Action = "drop"
)

// Report is what a job goes on with whose plan is not that of its state.
type Report struct {
	// Lines are those of the new plan in the order of its nodes, then those dropped.
	Lines []Line
	carry plan.Carry
}

// Line is one operator, source or sink.
type Line struct {
	// Name is the kind and the role: the table, or the path from the sink.
	Name   string
	Action Action
	// Notes are what follows from it.
	Notes []string
	// Accumulators of an operator that groups.
	Accumulators []Accumulator
}

// Accumulator is one aggregate of an operator.
type Accumulator struct {
	Text   string
	Action Action // Reuse, or Rebuild for one that begins empty
	Was    string // how its past was computed, "" when as now
}

// Clean reports that everything goes on as it was: such a change needs no consent.
func (r *Report) Clean() bool {
	return !slices.ContainsFunc(r.Lines, func(l Line) bool {
		return l.Action != Reuse || len(l.Notes) > 0 || slices.ContainsFunc(l.Accumulators, func(a Accumulator) bool { return a.Was != "" })
	})
}

// Carry is the report as the runtime follows it.
func (r *Report) Carry() *plan.Carry { return &r.carry }

// String is the report for people, a line for each thing.
func (r *Report) String() string {
	var b strings.Builder
	for _, l := range r.Lines {
		fmt.Fprintf(&b, "%s: %s\n", l.Name, l.Action)
		for _, n := range l.Notes {
			fmt.Fprintf(&b, "  %s\n", n)
		}
		for _, a := range l.Accumulators {
			switch {
			case a.Action == Rebuild:
				fmt.Fprintf(&b, "  %s: begins empty\n", a.Text)
			case a.Was != "":
				fmt.Fprintf(&b, "  %s: reuse, but the past was computed as %s\n", a.Text, a.Was)
			default:
				fmt.Fprintf(&b, "  %s: reuse\n", a.Text)
			}
		}
	}
	return b.String()
}

func (o *operator) title() string { return fmt.Sprintf("%s %q", o.kind, o.role) }

func (c *comparison) report() *Report {
	r := &Report{carry: plan.Carry{From: c.old.p, Nodes: make([]plan.Carried, len(c.found))}}
	for i := range r.carry.Nodes {
		r.carry.Nodes[i].Node = -1
	}
	used := make([]bool, len(c.old.byID))
	for _, n := range c.now.ops {
		f := c.found[n.id]
		r.carry.Nodes[n.id] = plan.Carried{Node: f.node, Aggs: f.aggs}
		if f.node < 0 {
			r.Lines = append(r.Lines, begins(n, f.why))
			continue
		}
		used[f.node] = true
		r.Lines = append(r.Lines, goesOn(n, c.old.byID[f.node], f.aggs))
	}
	for _, o := range c.old.ops {
		replaced := slices.ContainsFunc(c.now.ops, func(n *operator) bool { return c.found[n.id].why != "" && n.title() == o.title() })
		if !used[o.id] && !replaced {
			r.Lines = append(r.Lines, drops(o))
		}
	}
	return r
}

// begins is the line of an operator without state to go on with.
func begins(n *operator, why string) Line {
	l := Line{Name: n.title(), Action: Rebuild}
	switch {
	case why != "":
		l.Notes = append(l.Notes, "begins empty: "+why)
	case n.kind == "source":
		l.Notes = append(l.Notes, "is new: starts where its options say")
	case n.kind == "sink":
		l.Notes = append(l.Notes, "is new: gets what changes from now on")
	case n.kind == "values":
		l.Notes = append(l.Notes, "is new: its rows are given once")
	default:
		l.Notes = append(l.Notes, "is new: begins empty at the positions of the sources")
	}
	return l
}

func goesOn(n, o *operator, aggs []int) Line {
	l := Line{Name: n.title(), Action: Reuse}
	// A watermark that nobody waits for is not planned.
	if n.upstream.key != o.upstream.key && (n.kind != "source" || n.upstream.key != "" && o.upstream.key != "") {
		l.Notes = append(l.Notes, "reuse, but the past was computed as "+was(n.upstream, o.upstream))
	}
	if n.kind == "sink" {
		if !slices.Equal(n.node.Sink.Key, o.node.Sink.Key) || !slices.Equal(n.node.Sink.Columns.Names(), o.node.Sink.Columns.Names()) {
			l.Notes = append(l.Notes, "its columns or its key were others: rows written before stay as they are")
		}
		return l
	}
	if n.grouping == nil {
		return l
	}
	fed := len(l.Notes) > 0
	if n.by().key != o.by().key && !(fed && n.by().show == o.by().show) {
		l.Notes = append(l.Notes, "reuse, but the past was kept "+was(n.by(), o.by()))
	}
	empty := 0
	for i, a := range n.aggs {
		x := Accumulator{Text: a.show, Action: Reuse}
		switch {
		case a.rows:
		case aggs[i] < 0:
			x.Action = Rebuild
			empty++
		case o.aggs[aggs[i]].key != a.key && !(fed && o.aggs[aggs[i]].show == a.show):
			x.Was = was(a.text, o.aggs[aggs[i]].text)
		}
		l.Accumulators = append(l.Accumulators, x)
	}
	if empty > 0 {
		l.Action = Partial
	}
	return l
}

// was shows what is not what it was; the keys when they alone tell the two apart.
func was(now, old text) string {
	if now.show == old.show {
		return old.key
	}
	return old.show
}

func drops(o *operator) Line {
	l := Line{Name: o.title(), Action: Drop}
	switch o.kind {
	case "source":
		l.Notes = append(l.Notes, "its position is forgotten")
	case "sink":
		l.Notes = append(l.Notes, "its table stays as it is")
	}
	return l
}
