package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/plan"
)

const (
	delay  = 5e6  // of the watermark
	window = 10e6 // length
	hop    = 3e6  // of the hopping windows
	// outerWindow is the length of the windows over windows.
	outerWindow = 30e6
)

func call(t testing.TB, name string, args ...*expr.Expr) *expr.Expr {
	t.Helper()
	e, err := expr.ResolveCall(name, args, 0)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// literals are the rows of the VALUES branch.
var literals = []Row{{K: 100, V: 1, TS: 1}, {K: 101, V: 2, TS: 2}}

// jobPlan reads the table, keeps positive values, and feeds several branches: windows by
// key, written early, and windows over them; counts by key, the rows themselves together with literal rows,
// and the rows once for every hopping window, all committed with the checkpoint into
// one database.
func jobPlan(t testing.TB) *plan.Plan {
	ts := types.TTimestamp(6)
	lag := types.Value{Type: types.TInterval, Iv: types.IntervalValue{Micros: delay}}
	count := expr.AggCall{Fn: "count", Filter: -1, Type: types.TBigInt}
	sum := expr.AggCall{Fn: "sum", Args: []int{1}, Filter: -1, Type: types.TDecimal(38, 0)}
	in := TableSchema
	windows := types.Schema{in[0], {Name: "n", Type: types.TBigInt}, {Name: "s", Type: sum.Type}, {Name: "start", Type: ts}, {Name: "time", Type: ts}}
	outer := types.Schema{in[0], {Name: "n", Type: types.TBigInt}, {Name: "start", Type: ts}}
	counts := types.Schema{in[0], {Name: "n", Type: types.TBigInt}, {Name: "s", Type: sum.Type}}
	src := &plan.Source{Table: "t", Connector: "sim", TimeColumn: 2, Watermark: call(t, "-", expr.Col(2, ts), expr.Lit(lag)),
		Output: []int{0, 1, 2}, Bounded: true}
	values := &plan.Values{}
	for _, r := range literals {
		values.Rows = append(values.Rows, []types.Value{types.IntValue(in[0].Type, r.K), types.IntValue(in[1].Type, r.V), types.IntValue(ts, r.TS)})
	}
	hops := append(append(types.Schema{}, in...), types.Column{Name: "s", Type: ts}, types.Column{Name: "e", Type: ts}, types.Column{Name: "t", Type: ts})
	for _, c := range in {
		src.Read = append(src.Read, plan.ReadColumn{Column: c})
	}
	return &plan.Plan{Version: plan.Version, KeyGroups: 256, Nodes: []*plan.Node{
		{ID: 0, Schema: in, Role: "t", Changelog: plan.Append, Time: 2, Deterministic: true, Source: src},
		{ID: 1, Schema: in, Role: "calc", Changelog: plan.Append, Time: 2, Deterministic: true,
			Inputs: []plan.Edge{{From: 0, Exchange: plan.Forward}},
			Calc: &plan.Calc{Predicate: call(t, ">", expr.Col(1, types.TBigInt), expr.Lit(types.IntValue(types.TBigInt, 0))),
				Exprs: []*expr.Expr{expr.Col(0, types.TBigInt), expr.Col(1, types.TBigInt), expr.Col(2, ts)}}},
		{ID: 2, Schema: windows, Role: "windows", Changelog: plan.Append, Key: []int{0, 3}, Time: -1, Deterministic: true,
			Inputs: []plan.Edge{{From: 1, Exchange: plan.Hash, Keys: []int{0}}},
			WindowAgg: &plan.WindowAgg{Window: plan.Window{Kind: "tumble", Size: window, Slide: window, Tick: 1, TimeType: ts},
				Time: 2, Keys: []int{0}, Aggs: []expr.AggCall{count, sum}, Props: []plan.WindowProp{plan.WindowStart, plan.WindowTime}}},
		{ID: 3, Schema: windows, Role: "windows_out", Changelog: plan.Append, Time: -1,
			Inputs: []plan.Edge{{From: 2, Exchange: plan.Hash, Keys: []int{0, 3}}},
			Sink:   &plan.Sink{Table: "windows", Connector: "early", Columns: windows, Key: []int{0, 3}, Mode: plan.Early}},
		{ID: 4, Schema: counts, Role: "counts", Changelog: plan.Retract, Key: []int{0}, Time: -1, Deterministic: true,
			Inputs:   []plan.Edge{{From: 1, Exchange: plan.Hash, Keys: []int{0}}},
			GroupAgg: &plan.GroupAgg{Keys: []int{0}, Aggs: []expr.AggCall{count, sum}}},
		{ID: 5, Schema: counts, Role: "counts_out", Changelog: plan.Retract, Time: -1,
			Inputs: []plan.Edge{{From: 4, Exchange: plan.Hash, Keys: []int{0}}},
			Sink:   &plan.Sink{Table: "counts", Connector: "db", Columns: counts, Key: []int{0}, Mode: plan.Commit}},
		{ID: 6, Schema: hops, Role: "hops", Changelog: plan.Append, Time: 2, Deterministic: true,
			Inputs: []plan.Edge{{From: 1, Exchange: plan.Forward}},
			Assign: &plan.Assign{Window: plan.Window{Kind: "hop", Size: window, Slide: hop, Tick: 1, TimeType: ts}, Time: 2}},
		{ID: 7, Schema: in, Role: "values", Changelog: plan.Append, Time: -1, Deterministic: true, Values: values},
		{ID: 8, Schema: in, Role: "union", Changelog: plan.Append, Time: -1, Deterministic: true,
			Inputs: []plan.Edge{{From: 1, Exchange: plan.Forward}, {From: 7, Exchange: plan.Forward}}, Union: &plan.Union{}},
		{ID: 9, Schema: in, Role: "rows_out", Changelog: plan.Append, Time: -1,
			Inputs: []plan.Edge{{From: 8, Exchange: plan.Forward}},
			Sink:   &plan.Sink{Table: "rows", Connector: "db", Columns: in, Mode: plan.Commit}},
		{ID: 10, Schema: hops, Role: "hops_out", Changelog: plan.Append, Time: -1,
			Inputs: []plan.Edge{{From: 6, Exchange: plan.Spread}},
			Sink:   &plan.Sink{Table: "hops", Connector: "db", Columns: hops, Mode: plan.Commit, OnError: "dead-letter"}},
		{ID: 11, Schema: outer, Role: "outer", Changelog: plan.Append, Key: []int{0, 2}, Time: -1, Deterministic: true,
			Inputs: []plan.Edge{{From: 2, Exchange: plan.Hash, Keys: []int{0}}},
			WindowAgg: &plan.WindowAgg{Window: plan.Window{Kind: "tumble", Size: outerWindow, Slide: outerWindow, Tick: 1, TimeType: ts},
				Time: 4, Keys: []int{0}, Aggs: []expr.AggCall{count}, Props: []plan.WindowProp{plan.WindowStart}}},
		{ID: 12, Schema: outer, Role: "outer_out", Changelog: plan.Append, Time: -1,
			Inputs: []plan.Edge{{From: 11, Exchange: plan.Forward}},
			Sink:   &plan.Sink{Table: "outer", Connector: "db", Columns: outer, Key: []int{0, 2}, Mode: plan.Commit, OnError: "dead-letter"}},
		{ID: 13, Schema: plan.DeadLetterSchema, Role: "union", Changelog: plan.Append, Time: -1, Parallelism: 1,
			Inputs: []plan.Edge{{From: 10, Port: plan.Errors, Exchange: plan.Gather}}, Union: &plan.Union{}},
		letterCalc(14, 13),
		{ID: 15, Schema: letters, Role: "letters_out", Changelog: plan.Append, Time: -1, Parallelism: 1,
			Inputs: []plan.Edge{{From: 14, Exchange: plan.Forward}},
			Sink:   &plan.Sink{Table: "letters", Connector: "db", Columns: letters, Mode: plan.Commit}},
		{ID: 16, Schema: plan.DeadLetterSchema, Role: "union", Changelog: plan.Append, Time: -1, Parallelism: 1,
			Inputs: []plan.Edge{{From: 12, Port: plan.Errors, Exchange: plan.Gather}}, Union: &plan.Union{}},
		letterCalc(17, 16),
		{ID: 18, Schema: letters, Role: "far_out", Changelog: plan.Append, Time: -1, Parallelism: 1,
			Inputs: []plan.Edge{{From: 17, Exchange: plan.Forward}},
			Sink:   &plan.Sink{Table: "far", Connector: "other", Columns: letters, Mode: plan.Commit}},
	}}
}

// letters are the columns of the tables of dead letters.
var letters = types.Schema{{Name: "payload", Type: types.TBytes}}

func letterCalc(id, from int) *plan.Node {
	return &plan.Node{ID: id, Schema: letters, Role: "calc", Changelog: plan.Append, Time: -1, Parallelism: 1,
		Inputs: []plan.Edge{{From: from, Exchange: plan.Forward}},
		Calc:   &plan.Calc{Exprs: []*expr.Expr{expr.Col(plan.DeadLetterSchema.Index("payload"), types.TBytes)}}}
}

// addLetters puts the rows back that went to the dead letters.
func addLetters(rows map[string]int, letters map[string]int, columns types.Schema) error {
	for text, n := range letters {
		var row map[string]any
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&row); err != nil {
			return fmt.Errorf("letter %q: %w", text, err)
		}
		var cells []string
		for _, c := range columns {
			cell := fmt.Sprint(row[c.Name])
			if c.Type.Kind == types.Timestamp {
				at, err := time.Parse("2006-01-02 15:04:05.999999", strings.Replace(cell, "T", " ", 1))
				if err != nil {
					return err
				}
				cell = fmt.Sprint(at.UnixMicro())
			}
			cells = append(cells, cell)
		}
		rows[strings.Join(cells, " ")] += n
	}
	return nil
}

// randomSplits makes rows whose times mostly rise, some so far back that they are late.
func randomSplits(rng *rand.Rand) [][]Row {
	splits := make([][]Row, 1+rng.IntN(4))
	for i := range splits {
		at := int64(rng.IntN(20e6))
		for range rng.IntN(150) {
			at += int64(rng.IntN(1e6))
			back := int64(0)
			if rng.IntN(4) == 0 {
				back = int64(rng.IntN(20e6))
			}
			splits[i] = append(splits[i], Row{K: int64(rng.IntN(10)), V: int64(rng.IntN(20)) - 3, TS: at - back})
		}
	}
	return splits
}

// want is what the three tables hold in the end, row by row and naively: a row is
// judged by the watermark of its split before it.
func want(splits [][]Row) map[string]map[string]int {
	type cell struct{ n, s int64 }
	windows, counts, outer := map[[2]int64]cell{}, map[int64]cell{}, map[[2]int64]int64{}
	out := map[string]map[string]int{"windows": {}, "counts": {}, "rows": {}, "hops": {}, "outer": {}}
	for _, r := range literals {
		out["rows"][fmt.Sprintf("%d %d %d", r.K, r.V, r.TS)]++
	}
	for _, rows := range splits {
		wm := types.MinTime
		for _, r := range rows {
			before := wm
			wm = max(wm, r.TS-delay)
			if r.V <= 0 {
				continue
			}
			out["rows"][fmt.Sprintf("%d %d %d", r.K, r.V, r.TS)]++
			c := counts[r.K]
			counts[r.K] = cell{c.n + 1, c.s + r.V}
			for start := floor(r.TS, hop); start > r.TS-window; start -= hop {
				if before < start+window-1 {
					out["hops"][fmt.Sprintf("%d %d %d %d %d %d", r.K, r.V, r.TS, start, start+window, start+window-1)]++
				}
			}
			start := floor(r.TS, window)
			if before >= start+window-1 {
				continue
			}
			w := windows[[2]int64{r.K, start}]
			windows[[2]int64{r.K, start}] = cell{w.n + 1, w.s + r.V}
		}
	}
	for k, c := range windows {
		out["windows"][fmt.Sprintf("%d %d %d %d %d", k[0], c.n, c.s, k[1], k[1]+window-1)] = 1
		outer[[2]int64{k[0], floor(k[1]+window-1, outerWindow)}]++
	}
	for k, n := range outer {
		out["outer"][fmt.Sprintf("%d %d %d", k[0], n, k[1])] = 1
	}
	for k, c := range counts {
		out["counts"][fmt.Sprintf("%d %d %d", k, c.n, c.s)] = 1
	}
	return out
}

func floor(t, step int64) int64 { return t - (t%step+step)%step }

// diff lists what differs between two multisets of rows.
func diff(got, want map[string]int) string {
	var out []string
	for row, n := range want {
		if got[row] != n {
			out = append(out, fmt.Sprintf("  %d times in place of %d: %s", got[row], n, row))
		}
	}
	for row, n := range got {
		if want[row] == 0 {
			out = append(out, fmt.Sprintf("  %d times in place of 0: %s", n, row))
		}
	}
	sort.Strings(out)
	if len(out) > 20 {
		out = append(out[:20], fmt.Sprintf("  and %d more", len(out)-20))
	}
	return strings.Join(out, "\n")
}
