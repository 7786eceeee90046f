package sim

import (
	"context"
	"fmt"
	"testing"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/runtime"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/plan"
)

// procWindow is the length of the windows over processing time.
const procWindow = 20_000

// procPlan stamps the rows of the table and commits them, and counts by key and window of
// processing time; both go into one database. The table has event time too, which runs
// far ahead of the clock and may fall idle: what the clock times must not hear of it.
func procPlan(t testing.TB, bounded bool) *plan.Plan {
	ts := []types.Type{types.TTimestampTZ(3), types.TTimestampTZ(6)}
	ahead := types.Value{Type: types.TInterval, Iv: types.IntervalValue{Micros: 2e15}}
	src := &plan.Source{Table: "t", Connector: "sim", Output: []int{0, 1, 2}, Bounded: bounded,
		TimeColumn: 2, Watermark: call(t, "+", expr.Col(2, TableSchema[2].Type), expr.Lit(ahead)), IdleTimeout: 2000}
	for _, c := range TableSchema {
		src.Read = append(src.Read, plan.ReadColumn{Column: c})
	}
	stamped := append(append(types.Schema{}, TableSchema...), types.Column{Name: "proctime", Type: ts[0]}, types.Column{Name: "now", Type: ts[1]})
	windows := types.Schema{TableSchema[0], {Name: "n", Type: types.TBigInt}, {Name: "start", Type: ts[0]}}
	return &plan.Plan{Version: plan.Version, KeyGroups: 256, Nodes: []*plan.Node{
		{ID: 0, Schema: TableSchema, Role: "t", Changelog: plan.Append, Time: 2, Source: src},
		{ID: 1, Schema: stamped, Role: "stamp", Changelog: plan.Append, Time: 3,
			Inputs: []plan.Edge{{From: 0, Exchange: plan.Forward}}, Stamp: &plan.Stamp{Types: ts, Timed: true}},
		{ID: 2, Schema: windows, Role: "windows", Changelog: plan.Append, Key: []int{0, 2}, Time: -1,
			Inputs: []plan.Edge{{From: 1, Exchange: plan.Hash, Keys: []int{0}}},
			WindowAgg: &plan.WindowAgg{Window: plan.Window{Kind: "tumble", Size: procWindow, Slide: procWindow, Tick: 1000, TimeType: ts[0]},
				Time: 3, Keys: []int{0}, Aggs: []expr.AggCall{{Fn: "count", Filter: -1, Type: types.TBigInt}}, Props: []plan.WindowProp{plan.WindowStart}}},
		{ID: 3, Schema: windows, Role: "windows_out", Changelog: plan.Append, Time: -1,
			Inputs: []plan.Edge{{From: 2, Exchange: plan.Forward}},
			Sink:   &plan.Sink{Table: "windows", Connector: "db", Columns: windows, Mode: plan.Commit}},
		{ID: 4, Schema: stamped, Role: "rows_out", Changelog: plan.Append, Time: -1,
			Inputs: []plan.Edge{{From: 1, Exchange: plan.Forward}},
			Sink:   &plan.Sink{Table: "rows", Connector: "db", Columns: stamped, Mode: plan.Commit}},
	}}
}

// stampedRows checks the rows of the database against the clock and the table, and
// counts them by key and window.
func (w *world) stampedRows(from, to int64) (counts map[[2]int64]int, rows map[Row]int, err error) {
	counts, rows = map[[2]int64]int{}, map[Row]int{}
	for text, n := range w.db.Tables["rows"].Rows {
		var r Row
		var proc, now int64
		if _, err := fmt.Sscan(text, &r.K, &r.V, &r.TS, &proc, &now); err != nil {
			return nil, nil, err
		}
		if now < from || now > to || proc != floor(now, 1000) {
			return nil, nil, fmt.Errorf("a row came at %d, proctime %d, and the clock went from %d to %d", now, proc, from, to)
		}
		counts[[2]int64{r.K, floor(proc, procWindow)}] += n
		rows[r] += n
	}
	return counts, rows, nil
}

// shown checks that each window that is shown counts the rows shown in it: it fired once,
// and after the last of them, so no row was late. It gives the number of windows.
func (w *world) shown(counts map[[2]int64]int) (int, error) {
	for text, times := range w.db.Tables["windows"].Rows {
		var k, n, start int64
		if _, err := fmt.Sscan(text, &k, &n, &start); err != nil {
			return 0, err
		}
		if have := counts[[2]int64{k, start}]; times != 1 || int64(have) != n {
			return 0, fmt.Errorf("key %d, window %d: shown %d times with a count of %d, and it has %d rows", k, start, times, n, have)
		}
	}
	return len(w.db.Tables["windows"].Rows), nil
}

// TestProcessingTime runs a job over processing time under many seeds, with kills, other
// parallelism, faults, and a clock that jumps back between two attempts and within one.
// At every commit the windows agree with the rows, and the end of the input fires the
// rest.
func TestProcessingTime(t *testing.T) {
	first, n := uint64(1), *countFlag
	if *seedFlag != 0 {
		first, n = *seedFlag, 1
	}
	restarts, early := 0, 0
	for seed := first; seed < first+uint64(n); seed++ {
		w := newWorld(t, seed)
		w.cfg.Plan = procPlan(t, true)
		lowest := w.now
		w.db.Seen = func(stream.Epoch) error {
			counts, _, err := w.stampedRows(lowest, types.MaxTime)
			if err == nil && len(counts) > 0 {
				var shown int
				shown, err = w.shown(counts)
				if shown > 0 && shown < len(counts) {
					early++
				}
			}
			return err
		}
		err := w.runProc(&lowest)
		restarts += w.starts - 1
		if err != nil {
			t.Fatalf("seed %d: %v\nreplay: go test ./internal/runtime/sim -run TestProcessingTime -sim.seed=%d", seed, err, seed)
		}
	}
	if n >= 100 && (restarts < n || early < n/4) {
		t.Errorf("one-sided: %d restarts, %d commits between the first window and the last", restarts, early)
	}
}

func (w *world) runProc(lowest *int64) error {
	highest := w.now
	for finished := false; !finished; {
		if w.starts++; w.starts > 400 {
			return fmt.Errorf("no end after %d starts and %d steps", w.starts, w.steps)
		}
		if w.starts > 12 {
			w.faults(0)
			w.cfg.Settings.Timeout = 60e6
		}
		var err error
		if finished, err = w.attempt(); err != nil {
			return err
		}
		if w.db.Broken != nil {
			return w.db.Broken
		}
		highest = max(highest, w.now)
		if !finished && w.rng.IntN(3) == 0 {
			w.now -= int64(w.rng.IntN(10 * procWindow))
			*lowest = min(*lowest, w.now)
		}
	}
	counts, rows, err := w.stampedRows(*lowest, highest)
	if err != nil {
		return err
	}
	shown, err := w.shown(counts)
	if err == nil && shown != len(counts) {
		err = fmt.Errorf("%d windows of %d", shown, len(counts))
	}
	for _, split := range w.table.Splits {
		for _, r := range split {
			rows[r]--
		}
	}
	for r, n := range rows {
		if n != 0 && err == nil {
			err = fmt.Errorf("row %v is there %d times too often", r, n)
		}
	}
	return err
}

// TestProcessingTimeFires is a table that neither ends nor gives more rows: time alone
// fires the windows, in a job that goes on from a checkpoint at its first tick, and a
// clock that jumps back takes nothing back. Between them no checkpoint is cut.
func TestProcessingTimeFires(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		w := newWorld(t, seed)
		w.faults(0)
		w.cfg.Plan, w.table.Unbounded, w.db.Seen = procPlan(t, false), true, nil
		w.table.Splits = [][]Row{{{K: 1, V: 1, TS: 1}, {K: 2, V: 1, TS: 1}}, {}, {{K: 1, V: 2, TS: 2}}}
		w.table.Released = make([]int, 3)
		w.cfg.Parallelism = 1 + int(seed%2)
		start := func() *runtime.Simulation {
			s, err := runtime.Simulate(context.Background(), w.cfg, w.now)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		// until steps, with the clock moving by, until the database shows n rows of table.
		until := func(s *runtime.Simulation, by int64, table string, n int) {
			t.Helper()
			for range 100_000 {
				if w.rng.IntN(20) == 0 {
					w.now += by
					s.Tick(w.now)
				}
				s.Step(w.rng.IntN)
				if over, _, err := s.Outcome(); over {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if x := w.db.Tables[table]; x != nil && total(x.Rows) == n {
					return
				}
			}
			t.Fatalf("seed %d: %d rows of %q\n%s", seed, total(w.db.Tables[table].Rows), table, s.Dump())
		}
		w.now = floor(w.now, procWindow)
		w.cfg.Settings.Interval = 500
		s := start()
		until(s, 100, "rows", 3)
		if n := total(w.db.Tables["windows"].Rows); n > 0 {
			t.Fatalf("seed %d: %d windows before their end", seed, n)
		}
		w.now += 10 * procWindow // the process is away, and the window ends meanwhile
		s = start()
		until(s, 100, "windows", 2)
		for range 2000 {
			s.Step(w.rng.IntN)
		}
		epoch := s.Epoch()
		w.now -= 5 * procWindow
		for range 20_000 {
			w.now += 10
			s.Tick(w.now)
			s.Step(w.rng.IntN)
		}
		if got := s.Epoch(); got > epoch+3 {
			t.Errorf("seed %d: %d checkpoints while only the clock moved", seed, got-epoch)
		}
		// A row after the idleness: its window stays open to the end.
		w.now = floor(w.now, procWindow) + 10*procWindow
		s.Tick(w.now)
		w.table.Splits[1] = append(w.table.Splits[1], Row{K: 1, V: 3, TS: 3})
		until(s, 100, "rows", 4)
		for range 5000 {
			w.now++
			s.Tick(w.now)
			s.Step(w.rng.IntN)
		}
		if n := total(w.db.Tables["windows"].Rows); n != 2 {
			t.Errorf("seed %d: %d windows before the end of the third", seed, n)
		}
		until(s, 100, "windows", 3)
		counts, _, err := w.stampedRows(types.MinTime, types.MaxTime)
		if err != nil {
			t.Fatal(err)
		}
		if shown, err := w.shown(counts); err != nil || shown != 3 {
			t.Errorf("seed %d: %d windows, %v", seed, shown, err)
		}
	}
}

func total(rows map[string]int) int {
	n := 0
	for _, k := range rows {
		n += k
	}
	return n
}
