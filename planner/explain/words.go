package explain

import (
	"slices"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/plan"
)

func windowText(w plan.Window) string {
	s := strings.ToUpper(w.Kind) + "(" + Duration(w.Size)
	if w.Kind == "hop" {
		s = "HOP(slide " + Duration(w.Slide) + ", size " + Duration(w.Size)
	}
	if w.Offset != 0 {
		s += ", offset " + Duration(w.Offset)
	}
	return s + ")"
}

// Duration writes microseconds in the largest unit that divides them.
func Duration(us int64) string {
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

func exprList(list []*expr.Expr, in, out []string) string {
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = e.Format(in)
		if name := quoteName(out[i]); parts[i] != name {
			parts[i] += " AS " + name
		}
	}
	return strings.Join(parts, ", ")
}

func aggList(in []string, aggs []expr.AggCall) string {
	calls := make([]string, len(aggs))
	for i, a := range aggs {
		arg := "*"
		if len(a.Args) > 0 {
			arg = names(in, a.Args)
		}
		if a.Distinct {
			arg = "DISTINCT " + arg
		}
		calls[i] = strings.ToUpper(a.Fn) + "(" + arg + ")"
		if a.Filter >= 0 {
			calls[i] += " FILTER (WHERE " + quoteName(in[a.Filter]) + ")"
		}
	}
	return strings.Join(calls, ", ")
}

func columnList(s types.Schema) string {
	parts := make([]string, len(s))
	for i, c := range s {
		parts[i] = quoteName(c.Name) + " " + c.Type.String()
	}
	return strings.Join(parts, ", ")
}

func names(in []string, cols []int) string {
	parts := make([]string, len(cols))
	for i, c := range cols {
		parts[i] = quoteName(in[c])
	}
	return strings.Join(parts, ", ")
}

// quoteName quotes a name that would not read back as it is.
func quoteName(n string) string { return expr.Col(0, types.TText).Format([]string{n}) }

// extremes are the aggregates that over rows that change keep the values of a group.
var extremes = []string{"min", "max"}

// ofSet are the aggregates for which DISTINCT changes nothing.
var ofSet = append([]string{"bool_and", "bool_or", "every"}, extremes...)

// values names the values that aggregates keep, each of a group once.
func values(in []string, aggs []expr.AggCall, changing bool) string {
	var args []int
	for _, a := range aggs {
		kept := a.Distinct && !slices.Contains(ofSet, a.Fn) || changing && slices.Contains(extremes, a.Fn)
		if kept && !slices.Contains(args, a.Args[0]) {
			args = append(args, a.Args[0])
		}
	}
	if len(args) == 0 {
		return ""
	}
	return " and distinct values of " + names(in, args)
}
