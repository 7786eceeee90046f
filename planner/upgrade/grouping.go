package upgrade

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/expr/agg"
	"github.com/streamsql/streamsql/planner/plan"
)

// grouping is what a GroupAgg or WindowAgg does with its input.
type grouping struct {
	window   *plan.Window
	at       value // time column of a window
	keyCols  []int
	keys     []value
	keyTypes []string
	aggs     []aggregate
	calls    []expr.AggCall
}

// aggregate is one accumulator: its signature is what its words mean, the value what
// goes into it.
type aggregate struct {
	value
	sig string
	// set is equal for aggregates that keep the same values, of DISTINCT and of extremes of
	// rows that change; "" for others.
	set string
	// rows: COUNT(*), which every group has.
	rows bool
}

// by says how rows are grouped.
func (g *grouping) by() text {
	word := "GROUP BY "
	var out text
	for i, k := range g.keys {
		if i > 0 {
			out.show, out.key = out.show+", ", out.key+", "
		}
		out.show, out.key = out.show+k.show, out.key+k.key
	}
	if g.window != nil {
		w := windowText(*g.window)
		out.show, out.key = strings.TrimPrefix(out.show+", "+w+" on "+g.at.show, ", "), out.key+", "+w+" on "+g.at.key
	}
	if out.show == "" {
		return text{"in one group", "one group"}
	}
	return text{word + out.show, word + out.key}
}

func (l *lineage) grouping(n *plan.Node, in *relation) *grouping {
	g := &grouping{}
	if n.WindowAgg != nil {
		w := n.WindowAgg
		g.window, g.at, g.keyCols, g.calls = &w.Window, in.cols[w.Time], w.Keys, w.Aggs
	} else {
		g.keyCols, g.calls = n.GroupAgg.Keys, n.GroupAgg.Aggs
	}
	schema := l.p.Nodes[n.Inputs[0].From].Schema
	for _, k := range g.keyCols {
		g.keys, g.keyTypes = append(g.keys, in.cols[k]), append(g.keyTypes, state.Canonical(schema[k].Type))
	}
	for _, c := range g.calls {
		a := aggregate{sig: c.Fn}
		args := text{"*", "*"}
		values := c.Distinct // of the argument are kept
		if len(c.Args) > 0 {
			v := in.cols[c.Args[0]]
			args, a.reads = v.text, slices.Clone(v.reads)
			a.sig += " " + state.Canonical(schema[c.Args[0]].Type)
		}
		if c.Distinct {
			args = text{"DISTINCT " + args.show, "DISTINCT " + args.key}
			a.sig += " distinct"
		}
		name := strings.ToUpper(c.Fn)
		a.text = text{fmt.Sprintf("%s(%s)", name, args.show), fmt.Sprintf("%s(%s)", name, args.key)}
		if n.GroupAgg != nil && n.GroupAgg.Changing {
			if f, ok := agg.Find(c.Fn); ok && f.Changing != nil {
				a.sig += " changing"
				values = values || f.Extreme != 0
			}
		}
		set := "values of " + strings.TrimPrefix(args.key, "DISTINCT ")
		if c.Filter >= 0 {
			f := in.cols[c.Filter]
			a.show, a.key = a.show+" FILTER (WHERE "+f.show+")", a.key+" FILTER (WHERE "+f.key+")"
			set += " FILTER " + f.key
			a.reads = append(a.reads, f.reads...)
		}
		if values {
			a.set = set
		}
		a.rows = c.Fn == "count" && len(c.Args) == 0 && c.Filter < 0
		g.aggs = append(g.aggs, a)
	}
	return g
}

// pair finds for every aggregate the old one that it goes on with, -1 for none: the same
// one, else one of the same signature over the same columns. DISTINCT aggregates go on
// as they are and, where they share a set of values, all together.
func (g *grouping) pair(old *grouping) []int {
	out := make([]int, len(g.aggs))
	taken := make([]bool, len(old.aggs))
	match := func(ok func(a, o aggregate) bool) {
		for i, a := range g.aggs {
			for j, o := range old.aggs {
				if out[i] < 0 && !taken[j] && a.sig == o.sig && a.rows == o.rows && ok(a, o) {
					out[i], taken[j] = j, true
				}
			}
		}
	}
	for i := range out {
		out[i] = -1
	}
	match(func(a, o aggregate) bool { return a.key == o.key })
	match(func(a, o aggregate) bool { return a.set == "" && a.overlaps(o.value) })
	for i, a := range g.aggs {
		if a.set != "" && out[i] < 0 {
			for k, b := range g.aggs {
				if b.set == a.set {
					out[k] = -1
				}
			}
		}
	}
	return out
}

// goesOn reports that the keys may be those of old under another expression.
func (g *grouping) goesOn(old *grouping) bool {
	return slices.EqualFunc(g.keys, old.keys, func(a, b value) bool { return a.key == b.key || a.overlaps(b) }) &&
		slices.Equal(g.keyTypes, old.keyTypes)
}

func windowText(w plan.Window) string {
	s := fmt.Sprintf("%s(%s", strings.ToUpper(w.Kind), span(w.Size))
	if w.Slide != w.Size {
		s = fmt.Sprintf("%s(slide %s, size %s", strings.ToUpper(w.Kind), span(w.Slide), span(w.Size))
	}
	if w.Offset != 0 {
		s += ", offset " + span(w.Offset)
	}
	return s + ")"
}

func span(us int64) string { return (time.Duration(us) * time.Microsecond).String() }
