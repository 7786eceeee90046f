package explain

import (
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/planner/logical"
)

func logicalTrees(roots []logical.Node) []*box {
	x := &logicalPrinter{numbers[logical.Node]{uses: logical.Consumers(roots), of: map[logical.Node]int{}}}
	var out []*box
	for _, r := range roots {
		out = append(out, x.node(r).box)
	}
	return out
}

type logicalPrinter struct{ shared numbers[logical.Node] }

func (x *logicalPrinter) node(n logical.Node) branch {
	word, text := logicalText(n)
	tag, again := x.shared.tag(n)
	if again {
		return branch{text: word + tag + ", above"}
	}
	t := &box{title: word + tag + text}
	for _, in := range n.Inputs() {
		t.below = append(t.below, x.node(in))
	}
	return branch{box: t}
}

// logicalText is the word for a node and what it does.
func logicalText(n logical.Node) (word, text string) {
	in := func() []string { return logical.Schema(n.Inputs()[0]).Names() }
	switch n := n.(type) {
	case *logical.Sink:
		return "sink", " " + quoteName(n.Table)
	case *logical.Scan:
		return "scan", scanText(n)
	case *logical.Values:
		return "values", " " + count(len(n.Rows), "row")
	case *logical.Filter:
		return "filter", " " + n.Pred.Format(in())
	case *logical.Project:
		return "project", " " + exprList(n.Exprs, in(), n.Names)
	case *logical.Stamp:
		return "stamp", stampText(len(n.Types), logical.Schema(n).Names(), n.Timed)
	case *logical.Assign:
		return "assign", " " + windowText(n.Window) + " on " + quoteName(in()[n.Time])
	case *logical.WindowAgg:
		return "window", " " + windowText(n.Window) + " on " + quoteName(in()[n.Time]) + by(in(), n.Keys) + colon(aggList(in(), n.Aggs))
	case *logical.GroupAgg:
		if n.Clause == logical.ClauseDistinct {
			return "distinct", " " + names(in(), n.Keys)
		}
		return "group", by(in(), n.Keys) + colon(aggList(in(), n.Aggs))
	}
	return "union all", ""
}

func scanText(s *logical.Scan) string {
	var space []string
	for i := range len(s.Table.Read) + len(s.Table.Virtual) {
		space = append(space, s.Table.Column(i).Name)
	}
	text := " " + quoteName(s.Table.Def.Name) + ": " + names(space, s.Output)
	if s.Timed {
		text += "; event time " + quoteName(space[s.Table.Time])
	}
	if s.Predicate != nil {
		text += "; where " + s.Predicate.Format(space)
	}
	return text
}

// stampText names the last n columns, which the clock fills in.
func stampText(n int, columns []string, timed bool) string {
	text := " "
	for i, c := range columns[len(columns)-n:] {
		if i > 0 {
			text += ", "
		}
		text += quoteName(c)
		if timed && i == 0 {
			text += " (the time of windows)"
		}
	}
	return text
}

func by(in []string, keys []int) string {
	if len(keys) == 0 {
		return ""
	}
	return " by " + names(in, keys)
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// count writes "1 row", "2 rows".
func count(n int, what string) string {
	text := strconv.Itoa(n) + " " + what
	if n != 1 {
		text += "s"
	}
	return text
}

// join lists what is not empty.
func join(sep string, parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, sep)
}
