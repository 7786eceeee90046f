package planner

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/plan"
)

// Explain prints a plan as a tree from each sink to its sources: what every operator
// does, what kinds of rows it gives and by which key, its parallelism, event time and
// state; then the guarantee and the notices. A node with several consumers is printed
// at the first and referred to by number at the others. Options are not printed: they
// may hold secrets.
func Explain(p *plan.Plan) string {
	x := &explainer{p: p, uses: make([]int, len(p.Nodes)), shown: make([]bool, len(p.Nodes))}
	for _, n := range p.Nodes {
		for _, e := range n.Inputs {
			x.uses[e.From]++
		}
	}
	for _, n := range p.Nodes {
		if n.Sink != nil {
			x.node(n, 0)
		}
	}
	fmt.Fprintf(&x.b, "guarantee: %s\n", p.Guarantee.Level)
	for _, r := range p.Guarantee.Reasons {
		x.b.WriteString("  - " + r + "\n")
	}
	for _, n := range p.Notices {
		x.b.WriteString("notice: " + n + "\n")
	}
	return x.b.String()
}

type explainer struct {
	p     *plan.Plan
	b     strings.Builder
	uses  []int
	shown []bool
}

func (x *explainer) node(n *plan.Node, depth int) {
	x.shown[n.ID] = true
	id := ""
	if x.uses[n.ID] > 1 {
		id = " #" + itoa(n.ID)
	}
	x.line(depth, kindOf(n)+id+x.title(n))
	for _, l := range x.body(n) {
		x.line(depth+1, l)
	}
	x.line(depth+1, x.traits(n))
	for _, e := range n.Inputs {
		in := x.p.Nodes[e.From]
		edge := "<- " + string(e.Exchange)
		if len(e.Keys) > 0 {
			edge += "(" + names(in.Schema, e.Keys) + ")"
		}
		if e.Port != plan.Rows {
			edge += ", port " + string(e.Port)
		} else {
			edge += ", " + string(in.Changelog)
		}
		if x.shown[in.ID] {
			x.line(depth+1, edge+": "+kindOf(in)+" #"+itoa(in.ID)+" above")
			continue
		}
		x.line(depth+1, edge)
		x.node(in, depth+1)
	}
}

func (x *explainer) line(depth int, text string) {
	x.b.WriteString(strings.Repeat("  ", depth) + text + "\n")
}

// title follows the kind on a node's first line.
func (x *explainer) title(n *plan.Node) string {
	switch {
	case n.Source != nil:
		s := " " + n.Source.Table + " (" + connectorText(n.Source.Connector, n.Source.Format) + ")"
		if n.Source.Bounded {
			s += " bounded"
		}
		return s
	case n.Sink != nil:
		mode := "writes at once"
		if n.Sink.Mode == plan.Commit {
			mode = "writes with the checkpoint"
		}
		return " " + n.Sink.Table + " (" + connectorText(n.Sink.Connector, n.Sink.Format) + ") " + mode
	case n.Values != nil:
		if len(n.Values.Rows) == 1 {
			return " 1 row"
		}
		return " " + itoa(len(n.Values.Rows)) + " rows"
	case n.Assign != nil:
		return " " + windowText(n.Assign.Window) + " on " + quoteName(x.in(n)[n.Assign.Time].Name)
	case n.WindowAgg != nil:
		return " " + windowText(n.WindowAgg.Window) + " on " + quoteName(x.in(n)[n.WindowAgg.Time].Name)
	}
	return ""
}

func connectorText(connector, format string) string {
	if format == "" {
		return connector
	}
	return connector + ", " + format
}

// in is the schema of n's first input.
func (x *explainer) in(n *plan.Node) types.Schema { return x.p.Nodes[n.Inputs[0].From].Schema }

// body says what a node computes.
func (x *explainer) body(n *plan.Node) []string {
	switch {
	case n.Source != nil:
		return sourceBody(n)
	case n.Calc != nil:
		in := x.in(n).Names()
		out := []string{"columns: " + exprList(n.Calc.Exprs, in, n.Schema)}
		if n.Calc.Predicate != nil {
			out = append(out, "where: "+n.Calc.Predicate.Format(in))
		}
		return out
	case n.WindowAgg != nil:
		w := n.WindowAgg
		var props []string
		for _, p := range w.Props {
			props = append(props, "window_"+string(p))
		}
		out := aggBody(x.in(n), w.Keys, w.Aggs)
		if len(props) > 0 {
			out = append(out, "window columns: "+strings.Join(props, ", "))
		}
		return out
	case n.GroupAgg != nil:
		return aggBody(x.in(n), n.GroupAgg.Keys, n.GroupAgg.Aggs)
	case n.Materialize != nil:
		return []string{"keeps the live rows of every key (" + names(n.Schema, n.Materialize.Key) + ")"}
	case n.Sink != nil:
		out := []string{"columns: " + columnList(n.Schema)}
		if len(n.Sink.Key) > 0 {
			out = append(out, "primary key: "+names(n.Schema, n.Sink.Key))
		}
		return out
	}
	return nil
}

func sourceBody(n *plan.Node) []string {
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
	out := []string{"reads: " + strings.Join(read, ", ")}
	for i, v := range s.Virtual {
		name := "computed" + itoa(i+1)
		for k, o := range s.Output {
			if o == len(s.Read)+i {
				name = n.Schema[k].Name
			}
		}
		out = append(out, "computes: "+quoteName(name)+" = "+v.Format(all))
		all = append(all, name)
	}
	if s.Watermark != nil {
		w := "watermark: " + quoteName(all[s.TimeColumn]) + " by " + s.Watermark.Format(all)
		if s.IdleTimeout > 0 {
			w += ", idle after " + duration(s.IdleTimeout)
		}
		out = append(out, w)
	}
	if s.Predicate != nil {
		out = append(out, "where: "+s.Predicate.Format(all))
	}
	return out
}

func aggBody(in types.Schema, keys []int, aggs []expr.AggCall) []string {
	var out []string
	if len(keys) > 0 {
		out = append(out, "keys: "+names(in, keys))
	}
	var calls []string
	for _, a := range aggs {
		arg := "*"
		if len(a.Args) > 0 {
			arg = names(in, a.Args)
		}
		if a.Distinct {
			arg = "DISTINCT " + arg
		}
		c := upperCall(a) + "(" + arg + ")"
		if a.Filter >= 0 {
			c += " FILTER (WHERE " + quoteName(in[a.Filter].Name) + ")"
		}
		calls = append(calls, c)
	}
	if len(calls) > 0 {
		out = append(out, "aggregates: "+strings.Join(calls, ", "))
	}
	return out
}

// traits is the line on rows, key, parallelism, time and state.
func (x *explainer) traits(n *plan.Node) string {
	var out []string
	if n.Sink == nil {
		rows := "rows: " + string(n.Changelog)
		if n.Key != nil {
			if len(n.Key) == 0 {
				rows += ", one row"
			} else {
				rows += ", key (" + names(n.Schema, n.Key) + ")"
			}
		}
		out = append(out, rows)
	}
	par := "parallelism: job's"
	if n.Parallelism > 0 {
		par = "parallelism: " + itoa(n.Parallelism)
	}
	out = append(out, par)
	if n.Time >= 0 {
		out = append(out, "event time: "+quoteName(n.Schema[n.Time].Name))
	}
	return strings.Join(append(out, "state: "+stateText(n)), "; ")
}

// stateText says what a node keeps and how it grows.
func stateText(n *plan.Node) string {
	switch {
	case n.WindowAgg != nil:
		return "bounded by window"
	case n.GroupAgg != nil && len(n.GroupAgg.Keys) == 0:
		for _, a := range n.GroupAgg.Aggs {
			if a.Distinct {
				return "grows with distinct values"
			}
		}
		return "one group"
	case n.GroupAgg != nil:
		return "grows with distinct keys"
	case n.Materialize != nil:
		return "grows with live rows"
	case n.Source != nil:
		return "position"
	case n.Sink != nil && n.Sink.Mode == plan.Commit:
		return "rows since the last checkpoint"
	}
	return "none"
}

func windowText(w plan.Window) string {
	s := strings.ToUpper(w.Kind) + "(" + duration(w.Size)
	if w.Kind == "hop" {
		s = "HOP(slide " + duration(w.Slide) + ", size " + duration(w.Size)
	}
	if w.Offset != 0 {
		s += ", offset " + duration(w.Offset)
	}
	return s + ")"
}

// duration prints microseconds in the largest unit that divides them.
func duration(us int64) string {
	for _, u := range []struct {
		n    int64
		name string
	}{{86_400_000_000, "d"}, {3_600_000_000, "h"}, {60_000_000, "min"}, {1_000_000, "s"}, {1000, "ms"}} {
		if us != 0 && us%u.n == 0 {
			return strconv.FormatInt(us/u.n, 10) + " " + u.name
		}
	}
	return strconv.FormatInt(us, 10) + " us"
}

func exprList(list []*expr.Expr, in []string, out types.Schema) string {
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = e.Format(in)
		if name := quoteName(out[i].Name); parts[i] != name {
			parts[i] += " AS " + name
		}
	}
	return strings.Join(parts, ", ")
}

func columnList(s types.Schema) string {
	parts := make([]string, len(s))
	for i, c := range s {
		parts[i] = quoteName(c.Name) + " " + c.Type.String()
	}
	return strings.Join(parts, ", ")
}

func names(s types.Schema, cols []int) string {
	parts := make([]string, len(cols))
	for i, c := range cols {
		parts[i] = quoteName(s[c].Name)
	}
	return strings.Join(parts, ", ")
}

// quoteName quotes a name that would not read back as it is.
func quoteName(n string) string { return expr.Col(0, types.TText).Format([]string{n}) }

func itoa(n int) string { return strconv.Itoa(n) }
