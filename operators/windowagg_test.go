package operators_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
	"github.com/streamsql/streamsql/tests/interp"
)

// windowNode is the plan node of an interpreter's query.
func windowNode(schema types.Schema, q interp.Query) *plan.Node {
	n := &plan.Node{Role: "test", Changelog: plan.Append, Time: -1, WindowAgg: &plan.WindowAgg{
		Window: q.Window, Time: q.Time, Keys: q.Keys, Aggs: q.Aggs,
		Props: []plan.WindowProp{plan.WindowStart, plan.WindowEnd, plan.WindowTime}}}
	for _, k := range q.Keys {
		n.Schema = append(n.Schema, schema[k])
	}
	for _, a := range q.Aggs {
		n.Schema = append(n.Schema, types.Column{Name: a.Fn, Type: a.Type})
	}
	for _, p := range n.WindowAgg.Props {
		n.Schema = append(n.Schema, types.Column{Name: string(p), Type: q.Window.TimeType})
	}
	return n
}

// windowRun feeds rows to a WindowAgg as a source, a union and an exchange would:
// each row with the watermark of its split before it, the least of the splits'
// watermarks now and then.
type windowRun struct {
	h       *harness
	c       *interp.Case
	clock   *interp.Job // of splits and watermarks only
	results []interp.Result
	at      func(r interp.Result)

	schema types.Schema
	rows   [][]types.Value
	wms    []int64
	cut    int
}

func newWindowRun(t testing.TB, c *interp.Case, cut, batchRows, parallelism int, rng *rand.Rand) *windowRun {
	clock := c.Query
	clock.Aggs, clock.Keys = nil, nil
	w := &windowRun{c: c, clock: interp.New(clock, c.Splits), schema: c.Schema, cut: cut}
	w.h = &harness{t: t, node: windowNode(c.Schema, c.Query), in: []types.Schema{c.Schema},
		keys: c.Query.Keys, batchRows: batchRows, rng: rng}
	w.h.out = w.collect
	w.h.start(parallelism)
	return w
}

func (w *windowRun) collect(b *vec.Batch) {
	k, a := len(w.c.Query.Keys), len(w.c.Query.Aggs)
	for i := range b.N {
		var r interp.Result
		for _, col := range b.Cols[:k] {
			r.Keys = append(r.Keys, col.Value(i))
		}
		for _, col := range b.Cols[k : k+a] {
			r.Aggs = append(r.Aggs, col.Value(i))
		}
		r.Start, r.End = b.Cols[k+a].I64[i], b.Cols[k+a+1].I64[i]
		time := b.Cols[k+a+2].I64[i]
		if time != r.End-w.c.Query.Window.Tick {
			w.h.t.Fatalf("window_time %d of a window that ends at %d", time, r.End)
		}
		if carried := b.RowWatermark(i); carried >= time {
			w.h.t.Fatalf("a row of window_time %d carries watermark %d, which makes it late", time, carried)
		}
		w.results = append(w.results, r)
		if w.at != nil {
			w.at(r)
		}
	}
}

// step takes one line of a case.
func (w *windowRun) step(s interp.Step) {
	if s.Idle {
		w.flush()
		w.clock.Idle(s.Split)
		w.h.advance(w.clock.Watermark())
		return
	}
	carried := w.clock.Carried(s.Row.Split)
	w.clock.Add(s.Row)
	if s.Row.Filtered {
		return
	}
	w.rows, w.wms = append(w.rows, s.Row.Values), append(w.wms, carried)
	if len(w.rows) >= w.cut {
		w.flush()
	}
}

// flush sends the rows held back as one batch, with the column of carried watermarks
// only when some row may be late, as the contract of batches has it.
func (w *windowRun) flush() {
	if len(w.rows) == 0 {
		return
	}
	b := batchOf(w.schema, w.rows, nil)
	b.WM = slices.Min(w.wms)
	highest := slices.Max(w.wms)
	for _, r := range w.rows {
		if t := r[w.c.Query.Time]; t.Null || t.I <= highest {
			b.RowWM = w.wms
		}
	}
	w.rows, w.wms = nil, nil
	w.h.batch(0, b)
}

// watermark sends what is held back, then the watermark.
func (w *windowRun) watermark() {
	w.flush()
	w.h.advance(w.clock.Watermark())
}

func (w *windowRun) end() {
	w.flush()
	w.h.advance(types.MaxTime)
}

func (w *windowRun) counts() interp.Counts {
	return interp.Counts{Late: w.h.late, PartlyLate: w.h.partly, NullTime: w.h.nullTimes()}
}

// TestWindowCases runs the interpreter's cases: row by row with the results where
// they must come, then cut, cut into pieces and restored in between.
func TestWindowCases(t *testing.T) {
	datadriven.RunTest(t, "../tests/interp/testdata/windows.test", func(t *testing.T, d *datadriven.TestData) string {
		c, err := interp.ParseCase(d)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		at := ""
		w := newWindowRun(t, c, 1, 100, 1, nil)
		w.at = func(r interp.Result) { fmt.Fprintf(&b, "%s -> %s\n", at, c.Format(r)) }
		for _, s := range c.Steps {
			at = s.Text
			w.step(s)
			w.watermark()
		}
		at = "end"
		w.end()
		for seed := range uint64(30) {
			otherWay(t, c, w, seed)
		}
		return b.String() + w.counts().Format() + "\n"
	})
}

// otherWay runs the case again with other cuts and with restores.
func otherWay(t *testing.T, c *interp.Case, want *windowRun, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	w := newWindowRun(t, c, []int{1, 7, 100}[seed%3], []int{1, 7, 100}[seed/3%3], 1+rng.IntN(3), rng)
	for _, s := range c.Steps {
		w.step(s)
		if rng.IntN(2) == 0 {
			w.watermark()
		}
	}
	w.end()
	sameResults(t, c, seed, w.results, want.results)
	if w.counts() != want.counts() {
		t.Errorf("seed %d: %s, want %s", seed, w.counts().Format(), want.counts().Format())
	}
}

func sameResults(t *testing.T, c *interp.Case, seed uint64, got, want []interp.Result) {
	t.Helper()
	g, x := formatAll(c, got), formatAll(c, want)
	if !slices.Equal(g, x) {
		t.Fatalf("seed %d: %d results, want %d\ngot  %q\nwant %q", seed, len(g), len(x), diff(g, x), diff(x, g))
	}
}

// diff lists what is in a and not in b.
func diff(a, b []string) []string {
	left := map[string]int{}
	for _, s := range b {
		left[s]++
	}
	var out []string
	for _, s := range a {
		if left[s]--; left[s] < 0 {
			out = append(out, s)
		}
	}
	return out[:min(len(out), 10)]
}

func formatAll(c *interp.Case, rs []interp.Result) []string {
	out := make([]string, len(rs))
	for i, r := range rs {
		out[i] = c.Format(r)
	}
	slices.Sort(out)
	return out
}

// TestWindowsAgainstInterpreter: random windows, rows, splits, interleavings, cuts,
// batch sizes, parallelism and restores.
func TestWindowsAgainstInterpreter(t *testing.T) {
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 3))
		c := randomCase(rng)
		job := interp.New(c.Query, c.Splits)
		restores := rand.New(rand.NewPCG(seed, 4))
		if seed%4 == 0 {
			restores = nil
		}
		w := newWindowRun(t, c, 1+rng.IntN(40), []int{1, 7, 50}[rng.IntN(3)], 1+rng.IntN(3), restores)
		var want []interp.Result
		often := 1 + rng.IntN(10)
		for _, s := range c.Steps {
			if s.Idle {
				w.flush()
				w.watermark()
				want = append(want, job.Idle(s.Split)...)
			} else {
				want = append(want, job.Add(s.Row)...)
			}
			w.step(s)
			if rng.IntN(often) == 0 {
				w.watermark()
			}
		}
		want = append(want, job.End()...)
		w.end()
		sameResults(t, c, seed, w.results, want)
		if w.counts() != job.Counts {
			t.Fatalf("seed %d: %s, want %s", seed, w.counts().Format(), job.Counts.Format())
		}
	}
}

// randomCase draws a window, aggregates and rows. Whether idle splits come up is part
// of it: with them lateness depends on when time is told, so then it is told at once.
func randomCase(r *rand.Rand) *interp.Case {
	ts := types.TTimestamp(3)
	c := &interp.Case{Splits: 1 + r.IntN(3), Base: 0}
	c.Schema = types.Schema{{Name: "k", Type: types.TText}, {Name: "v", Type: types.TBigInt},
		{Name: "f", Type: types.TBool}, {Name: "ts", Type: ts}}
	const ms = 1000
	size, slide := int64(1+r.IntN(12)), int64(1+r.IntN(12))
	if r.IntN(2) == 0 {
		slide = size
	}
	c.Query = interp.Query{Time: 3, Delay: int64(r.IntN(8)) * ms, Window: plan.Window{Kind: "hop", Size: size * ms,
		Slide: slide * ms, Offset: int64(r.IntN(20)-10) * ms, Tick: ts.Tick(), TimeType: ts}}
	if r.IntN(4) > 0 {
		c.Query.Keys = []int{0}
	}
	calls := []expr.AggCall{
		{Fn: "count", Filter: -1, Type: types.TBigInt},
		{Fn: "sum", Args: []int{1}, Filter: -1, Type: types.TDecimal(38, 0)},
		{Fn: "min", Args: []int{1}, Filter: -1, Type: types.TBigInt},
		{Fn: "max", Args: []int{1}, Filter: 2, Type: types.TBigInt},
		{Fn: "count", Filter: 2, Type: types.TBigInt},
		{Fn: "avg", Args: []int{1}, Filter: -1, Type: types.TDecimal(38, 16)},
		{Fn: "max", Args: []int{0}, Filter: -1, Type: types.TText},
		{Fn: "count", Args: []int{1}, Distinct: true, Filter: -1, Type: types.TBigInt},
		{Fn: "sum", Args: []int{1}, Distinct: true, Filter: 2, Type: types.TDecimal(38, 0)},
	}
	first := r.IntN(len(calls))
	c.Query.Aggs = calls[first:min(len(calls), first+1+r.IntN(5))]
	if r.IntN(2) == 0 {
		c.Query.Aggs = calls[:6] // what panes can take
	}
	now := int64(r.IntN(50) - 25)
	for range r.IntN(100) {
		now += int64(r.IntN(3))
		t := types.IntValue(ts, (now-int64(r.IntN(12)*r.IntN(2)))*ms)
		if r.IntN(40) == 0 {
			t = types.Null(ts)
		}
		v := types.IntValue(types.TBigInt, int64(r.IntN(6)))
		if r.IntN(6) == 0 {
			v = types.Null(types.TBigInt)
		}
		k := types.TextValue(string(rune('a' + r.IntN(4))))
		if r.IntN(8) == 0 {
			k = types.Null(types.TText)
		}
		s := interp.Step{Split: r.IntN(c.Splits)}
		s.Row = interp.Row{Split: s.Split, Values: []types.Value{k, v, types.BoolValue(r.IntN(2) == 0), t}, Filtered: r.IntN(10) == 0}
		c.Steps = append(c.Steps, s)
	}
	return c
}
