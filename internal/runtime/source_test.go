package runtime_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamsql/streamsql/checkpoint/memstore"
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/runtime"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
)

// feed is a source whose splits are fed by a test, line by line, and a sink that
// keeps what it gets as text.
type feed struct {
	splits []chan []string // nil slice: caught up
	mu     sync.Mutex
	rows   map[string][]string // by sink table
}

func newFeed(splits int) *feed {
	f := &feed{rows: map[string][]string{}}
	for range splits {
		f.splits = append(f.splits, make(chan []string, 100))
	}
	return f
}

func (f *feed) connector(string) (connectors.Connector, bool) {
	return connectors.Connector{Name: "feed",
		OpenSource: func(context.Context, connectors.Config) (connectors.Source, error) { return f, nil },
		OpenSink: func(_ context.Context, c connectors.Config) (connectors.Sink, error) {
			return &keep{f: f, table: c.Table}, nil
		}}, true
}

func (f *feed) Splits(context.Context) ([]connectors.Split, error) {
	var out []connectors.Split
	for i := range f.splits {
		out = append(out, connectors.Split{ID: fmt.Sprint(i)})
	}
	return out, nil
}

func (f *feed) Open(_ context.Context, s connectors.Split, _ connectors.Position) (connectors.Reader, error) {
	var i int
	_, err := fmt.Sscan(s.ID, &i)
	return &feedReader{ch: f.splits[i]}, err
}

func (f *feed) Close() error { return nil }

type feedReader struct {
	ch chan []string
	n  int
}

func (r *feedReader) Next(ctx context.Context) (*connectors.Chunk, error) {
	select {
	case lines, ok := <-r.ch:
		if !ok {
			return nil, io.EOF
		}
		c := &connectors.Chunk{CaughtUp: lines == nil}
		first := r.n
		subject := vec.New(types.TText, len(lines))
		for _, l := range lines {
			c.Payloads = append(c.Payloads, []byte(l))
			subject.AppendString(fmt.Sprintf("s%d", r.n))
			r.n++
		}
		c.Meta = []*vec.Vector{subject}
		c.Pos = connectors.Position(fmt.Sprint(r.n))
		c.Where = func(i int) (string, string) { return "feed", fmt.Sprint(first + i) }
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (r *feedReader) Close() error { return nil }

type keep struct {
	f     *feed
	table string
}

func (k *keep) Check(context.Context) error { return nil }
func (k *keep) OpenWriter(context.Context, connectors.WriterContext) (connectors.Writer, error) {
	return k, nil
}
func (k *keep) Group() string { return "" }
func (k *keep) Committer(context.Context, string, uint64) (connectors.Committer, error) {
	return nil, nil
}
func (k *keep) Close() error                                       { return nil }
func (k *keep) Flush(context.Context) error                        { return nil }
func (k *keep) Seal(context.Context, stream.Epoch) ([]byte, error) { return nil, nil }

func (k *keep) Write(_ context.Context, b *vec.Batch) error {
	k.f.mu.Lock()
	defer k.f.mu.Unlock()
	for i := range b.N {
		var s []string
		for _, c := range b.Cols {
			switch x := c.Value(i); {
			case x.Null:
				s = append(s, "-")
			case c.Type.Phys() == types.PBytes:
				s = append(s, x.S)
			default:
				s = append(s, fmt.Sprint(x.I))
			}
		}
		k.f.rows[k.table] = append(k.f.rows[k.table], strings.Join(s, " "))
	}
	return nil
}

func (f *feed) got(table string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.rows[table]...)
}

// wait waits until a table has n rows.
func (f *feed) wait(t *testing.T, table string, n int) []string {
	t.Helper()
	eventually(t, fmt.Sprintf("%d rows in table %q", n, table), func() bool { return len(f.got(table)) >= n })
	return f.got(table)
}

// eventually waits until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s", what)
		}
	}
}

func fn(t testing.TB, name string, args ...*expr.Expr) *expr.Expr {
	t.Helper()
	e, err := expr.ResolveCall(name, args, 0)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

var ts3 = types.TTimestamp(3)

// feedPlan reads k, v, ts and the subject from JSON, computes v / 2 and ts, and
// counts by k in tumbling windows of 10 s; rows that fail and rows that are late go
// to tables of their own.
func feedPlan(t testing.TB, onError string) *plan.Plan {
	lag := types.Value{Type: types.TInterval, Iv: types.IntervalValue{Micros: 5e6}}
	src := &plan.Source{Table: "e", Connector: "feed", Format: "json", OnError: onError, TimeColumn: 2,
		Read: []plan.ReadColumn{
			{Column: types.Column{Name: "k", Type: types.TText}, Field: "k"},
			{Column: types.Column{Name: "subject", Type: types.TText}, Metadata: "subject"},
			{Column: types.Column{Name: "ts", Type: ts3}, Field: "ts"},
			{Column: types.Column{Name: "v", Type: types.TBigInt}, Field: "v"},
		},
		Virtual:   []*expr.Expr{fn(t, "/", expr.Lit(types.IntValue(types.TBigInt, 100)), expr.Col(3, types.TBigInt))},
		Watermark: fn(t, "-", expr.Col(2, ts3), expr.Lit(lag)),
		Predicate: fn(t, ">", expr.Col(3, types.TBigInt), expr.Lit(types.IntValue(types.TBigInt, 1))),
		Output:    []int{0, 2, 4, 1}}
	out := types.Schema{{Name: "k", Type: types.TText}, {Name: "ts", Type: ts3}, {Name: "half", Type: types.TBigInt}, {Name: "subject", Type: types.TText}}
	windows := types.Schema{{Name: "k", Type: types.TText}, {Name: "n", Type: types.TBigInt}, {Name: "start", Type: ts3}}
	sink := func(id int, table string, e plan.Edge, s types.Schema) *plan.Node {
		return &plan.Node{ID: id, Schema: s, Role: table, Time: -1, Parallelism: 1, Inputs: []plan.Edge{e},
			Sink: &plan.Sink{Table: table, Connector: "feed", Columns: s, Mode: plan.Early}}
	}
	return &plan.Plan{Version: 1, KeyGroups: 256, Nodes: []*plan.Node{
		{ID: 0, Schema: out, Role: "e", Time: 1, Parallelism: 1, Source: src},
		{ID: 1, Schema: windows, Role: "w", Time: -1, Inputs: []plan.Edge{{From: 0, Exchange: plan.Hash, Keys: []int{0}}},
			WindowAgg: &plan.WindowAgg{Window: plan.Window{Kind: "tumble", Size: 10e6, Slide: 10e6, Tick: 1000, TimeType: ts3}, Time: 1, Keys: []int{0},
				Aggs: []expr.AggCall{{Fn: "count", Filter: -1, Type: types.TBigInt}}, Props: []plan.WindowProp{plan.WindowStart}}},
		sink(2, "windows", plan.Edge{From: 1, Exchange: plan.Gather}, windows),
		sink(3, "rows", plan.Edge{From: 0, Exchange: plan.Gather}, out),
		sink(4, "errors", plan.Edge{From: 0, Port: plan.Errors, Exchange: plan.Gather}, plan.DeadLetterSchema),
		sink(5, "late", plan.Edge{From: 1, Port: plan.Late, Exchange: plan.Gather}, plan.DeadLetterSchema),
	}}
}

func startFeed(t *testing.T, f *feed, p *plan.Plan) (*runtime.Job, *clock.Manual) {
	t.Helper()
	c := clock.At(1e15)
	j, err := runtime.Start(context.Background(), runtime.Config{Plan: p, Store: memstore.New(), Name: "j", Connector: f.connector, Clock: c, Parallelism: 2})
	if err != nil {
		t.Fatal(err)
	}
	// Who waits for a job that does not end is told so.
	limit := time.AfterFunc(2*time.Minute, func() {
		t.Errorf("the job does not end: %+v", j.Status())
		j.Cancel()
	})
	t.Cleanup(func() {
		limit.Stop()
		j.Cancel()
	})
	return j, c
}

func row(k string, second float64, v string) string {
	at := time.Unix(0, int64(second*1e9)).UTC().Format("2006-01-02 15:04:05.000")
	return fmt.Sprintf(`{"k":%q,"ts":%q,"v":%s}`, k, at, v)
}

func wantRows(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestSource follows rows through decoding, computed columns, watermark, predicate
// and projection, with every kind of broken row in between.
func TestSource(t *testing.T) {
	f := newFeed(1)
	j, _ := startFeed(t, f, feedPlan(t, "dead-letter"))
	f.splits[0] <- []string{
		row("a", 1, "10"),
		`{"k":"a","ts":`, // not JSON
		row("a", 2, "0"), // division by zero in the computed column
		`{"k":"a","ts":null,"v":10}`,
		row("a", 3, `"x"`), // not a number
		row("a", 4, "20"),
		row("a", 16, "1"), // does not pass the predicate and moves the watermark to 11
	}
	wantRows(t, "window", f.wait(t, "windows", 1), "a 2 0")
	f.splits[0] <- []string{row("a", 9, "5"), row("b", 12, "4")}
	close(f.splits[0])
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	wantRows(t, "windows", f.got("windows"), "a 2 0", "b 1 10000000")
	wantRows(t, "rows", f.got("rows"), "a 1000000 10 s0", "a 4000000 5 s5", "a 9000000 20 s7", "b 12000000 25 s8")
	var errs []string
	for _, r := range f.got("errors") {
		p := strings.SplitN(r, " ", 3)
		errs = append(errs, p[0]+" "+p[1]+" "+r[strings.LastIndex(r, " feed "):])
	}
	wantRows(t, "errors", errs,
		`e SS002  feed 0 1 {"k":"a","ts":`,
		`e 22P02  feed 0 4 `+row("a", 3, `"x"`),
		"e 22012  feed 0 2 "+row("a", 2, "0"),
		`e SS010  feed 0 3 {"k":"a","ts":null,"v":10}`)
	if late := f.got("late"); len(late) != 1 || !strings.Contains(late[0], `"ts":"1970-01-01`) {
		t.Errorf("late: %q", late)
	}
	st := j.Status()
	letters := st.Nodes[0].Letters
	if st.Nodes[1].Letters["late"] != 1 || st.Nodes[1].Late != 0 || letters[sqlerr.CodeNullTime] != 1 || letters[sqlerr.CodeDivisionByZero] != 1 || len(st.Nodes[0].Errors) != 0 || st.Nodes[0].In != 5 {
		t.Errorf("status: %+v", st.Nodes[:2])
	}
}

// TestSourceFails stops the job at the first broken row and says where it is.
func TestSourceFails(t *testing.T) {
	f := newFeed(1)
	p := feedPlan(t, "fail")
	j, _ := startFeed(t, f, p)
	f.splits[0] <- []string{row("a", 1, "10"), `{"k":"a","ts":null,"v":10}`}
	err := j.Wait()
	if sqlerr.CodeOf(err) != sqlerr.CodeNullTime || sqlerr.ClassOf(err) != sqlerr.User {
		t.Fatalf("got %v", err)
	}
	if e := sqlerr.As(err); !strings.Contains(e.Detail, "feed at 1") {
		t.Errorf("detail %q", e.Detail)
	}
	f = newFeed(1)
	j, _ = startFeed(t, f, feedPlan(t, "fail"))
	f.splits[0] <- []string{row("a", 1, `"x"`)}
	if got, want := fmt.Sprint(j.Wait()), `table "e": field "v": invalid input syntax for type BIGINT: "x"`; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestIdleSplit is a split that falls silent: after the idle timeout it holds time back
// no longer, when it speaks again its rows are judged by its own watermark, and
// time does not go back. A split that never had a row is idle too.
func TestIdleSplit(t *testing.T) {
	f := newFeed(2)
	p := feedPlan(t, "fail")
	p.Nodes[0].Source.IdleTimeout = 1e6
	j, c := startFeed(t, f, p)
	f.splits[1] <- nil // caught up, no row ever
	f.splits[0] <- []string{row("x", 1, "10"), row("x", 2, "10"), row("x", 16, "10")}
	f.wait(t, "rows", 3)
	time.Sleep(30 * time.Millisecond)
	if got := f.got("windows"); len(got) != 0 {
		t.Fatalf("windows before the timeout: %q", got)
	}
	c.Advance(1100 * time.Millisecond)
	wantRows(t, "windows", f.wait(t, "windows", 1), "x 2 0")
	f.splits[1] <- []string{row("x", 12, "10"), row("x", 3, "10")}
	f.wait(t, "rows", 5)
	close(f.splits[0])
	close(f.splits[1])
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	// The row of second 3 is late: its split's watermark is 7, not yet past its window,
	// but the window fired while the split was left out as idle.
	wantRows(t, "windows", f.got("windows"), "x 2 0", "x 2 10000000")
	if got := j.Status().Nodes[1].Letters["late"]; got != 1 {
		t.Errorf("%d late rows", got)
	}
}
