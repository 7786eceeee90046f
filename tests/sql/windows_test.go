package sql

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/operators/opcheck"
	"github.com/streamsql/streamsql/planner/plan"
	"github.com/streamsql/streamsql/tests/interp"
)

// TestRandomWindows compares windowed queries over rows out of order with the
// row-at-a-time interpreter: the rows and the count of late ones. STREAMSQL_SEED is the
// first seed, STREAMSQL_QUERIES how many follow.
func TestRandomWindows(t *testing.T) {
	t.Parallel()
	first, n := fromEnv(t, "STREAMSQL_SEED", 1), fromEnv(t, "STREAMSQL_QUERIES", 200)
	late, failed := 0, 0
	for seed := first; seed < first+n; seed++ {
		c := newWindowCase(seed)
		if err := c.check(); err != nil {
			t.Errorf("%v\n%s\nreplay with: STREAMSQL_SEED=%d STREAMSQL_QUERIES=1 go test ./tests/sql -run TestRandomWindows", err, c, seed)
			if failed++; failed == 10 {
				t.Fatal("too many")
			}
		}
		if c.late > 0 {
			late++
		}
	}
	t.Logf("%d queries, %d with late rows", n, late)
	if n >= 100 && uint64(late) < n/10 {
		t.Errorf("only %d of %d queries had late rows", late, n)
	}
}

// windowCase is a windowed query over table e (id, k, v, ts).
type windowCase struct {
	g      *generator
	query  interp.Query
	splits int
	rows   []interp.Row
	sql    string
	cut    variant
	chunk  int
	// rowsOnly: the query has no aggregation and gives each row in each of its windows.
	rowsOnly bool
	// over is the window over the window, nil for none.
	over *plan.Window
	late int
}

// Columns of the interpreter's rows: those of the table and v > 3, for FILTER.
const (
	colID = iota
	colK
	colV
	colBig
	colTime
)

var windowAggs = []struct {
	sql  string
	call expr.AggCall
}{
	{"COUNT(*)", expr.AggCall{Fn: "count", Filter: -1, Type: types.TBigInt}},
	{"COUNT(v)", expr.AggCall{Fn: "count", Args: []int{colV}, Filter: -1, Type: types.TBigInt}},
	{"SUM(v)", expr.AggCall{Fn: "sum", Args: []int{colV}, Filter: -1, Type: types.TDecimal(38, 0)}},
	{"MIN(v)", expr.AggCall{Fn: "min", Args: []int{colV}, Filter: -1, Type: types.TBigInt}},
	{"MAX(v)", expr.AggCall{Fn: "max", Args: []int{colV}, Filter: -1, Type: types.TBigInt}},
	{"MIN(k)", expr.AggCall{Fn: "min", Args: []int{colK}, Filter: -1, Type: types.TText}},
	{"COUNT(DISTINCT v)", expr.AggCall{Fn: "count", Args: []int{colV}, Distinct: true, Filter: -1, Type: types.TBigInt}},
	{"SUM(v) FILTER (WHERE v > 3)", expr.AggCall{Fn: "sum", Args: []int{colV}, Filter: colBig, Type: types.TDecimal(38, 0)}},
	{"COUNT(DISTINCT v) FILTER (WHERE v > 3)", expr.AggCall{Fn: "count", Args: []int{colV}, Distinct: true, Filter: colBig, Type: types.TBigInt}},
}

func newWindowCase(seed uint64) *windowCase {
	g := newGenerator(seed)
	c := &windowCase{g: g, splits: pick(g, 1, 1, 2, 3), chunk: pick(g, 1, 3, 100),
		cut: variant{parallelism: 1 + g.IntN(4), batch: pick(g, 0, 1, 2, 7)}}
	second := int64(time.Second / time.Microsecond)
	w := plan.Window{Kind: "tumble", Size: int64(1+g.IntN(12)) * second, Tick: 1000, TimeType: types.TTimestamp(3)}
	w.Slide = w.Size
	if g.one(2) {
		w.Kind, w.Slide = "hop", int64(1+g.IntN(14))*second
	}
	if g.one(3) {
		w.Offset = int64(g.IntN(9)-4) * second
	}
	c.query = interp.Query{Window: w, Delay: int64(g.IntN(8)) * second, Time: colTime}
	threshold := -100
	if g.one(3) {
		threshold = g.IntN(5)
	}
	c.makeRows(threshold)
	c.makeSQL(threshold)
	return c
}

func (c *windowCase) makeRows(threshold int) {
	g := c.g
	at := interp.Base
	if g.one(4) {
		at = -3_000_000 // across 1970
	}
	for id := range 5 + g.IntN(60) {
		at += int64(g.IntN(2500)) * 1000
		ts := at - int64(g.IntN(12_000))*1000
		if g.one(2) {
			ts = at
		}
		if g.one(3) {
			ts -= ts % 1_000_000 // on the edges
		}
		r := interp.Row{Split: id % c.splits, Values: []types.Value{
			types.IntValue(types.TBigInt, int64(id)), {Type: types.TText, S: pick(g, "x", "y", "z")},
			types.IntValue(types.TBigInt, int64(g.IntN(8)-1)), {}, types.IntValue(types.TTimestamp(3), ts)}}
		if g.one(12) {
			r.Values[colK] = types.Null(types.TText)
		}
		if g.one(12) {
			r.Values[colV] = types.Null(types.TBigInt)
		}
		v := r.Values[colV]
		r.Values[colBig] = types.BoolValue(!v.Null && v.I > 3)
		r.Filtered = threshold > -100 && (v.Null || v.I <= int64(threshold))
		c.rows = append(c.rows, r)
	}
}

func interval(micros int64) string { return fmt.Sprintf("INTERVAL '%d' SECOND", micros/1_000_000) }

// makeSQL writes the query in one of its forms and fills in keys and aggregates.
func (c *windowCase) makeSQL(threshold int) {
	g, w := c.g, c.query.Window
	sizes := interval(w.Size)
	if w.Kind == "hop" {
		sizes = interval(w.Slide) + ", " + sizes
	}
	fn := strings.ToUpper(w.Kind)
	where := ""
	if threshold > -100 {
		where = fmt.Sprintf(" WHERE v > %d", threshold)
	}
	group := w.Offset == 0 && g.one(3)
	if w.Offset != 0 {
		sizes += ", " + interval(w.Offset)
	}
	from := pick(g, fmt.Sprintf("TABLE(%s(TABLE e, DESCRIPTOR(ts), %s))", fn, sizes), fmt.Sprintf("%s(e, ts, %s)", fn, sizes))
	start, end, by := "window_start", "window_end", "window_start, window_end"
	if group {
		call := fmt.Sprintf("(ts, %s)", sizes)
		from, start, end, by = "e", fn+"_START"+call, fn+"_END"+call, fn+call
	}
	if !group && g.one(4) {
		c.rowsOnly, c.query.Keys = true, []int{colID, colK, colV}
		c.sql = "SELECT id, k, v, window_start, window_end FROM " + from + where
		return
	}
	var items []string
	if g.one(2) {
		c.query.Keys = []int{colK}
		items, by = append(items, "k"), "k, "+by
	}
	for range 1 + g.IntN(3) {
		a := pick(g, windowAggs...)
		items, c.query.Aggs = append(items, a.sql), append(c.query.Aggs, a.call)
	}
	if !group && g.one(4) {
		c.overWindow(from, where)
		return
	}
	c.sql = fmt.Sprintf("SELECT %s, %s, %s FROM %s%s GROUP BY %s", strings.Join(items, ", "), start, end, from, where, by)
}

// overWindow counts the inner windows and their rows in windows over their times.
func (c *windowCase) overWindow(from, where string) {
	w := plan.Window{Kind: "tumble", Size: int64(1+c.g.IntN(40)) * 1_000_000, Tick: 1000}
	w.Slide = w.Size
	c.over = &w
	c.query.Keys, c.query.Aggs = []int{colK}, []expr.AggCall{windowAggs[0].call}
	c.sql = fmt.Sprintf("SELECT COUNT(*), SUM(n), window_start, window_end FROM TABLE(TUMBLE((SELECT k, COUNT(*) AS n, window_time AS t FROM %s%s "+
		"GROUP BY k, window_start, window_end, window_time), DESCRIPTOR(t), %s)) GROUP BY window_start, window_end", from, where, interval(w.Size))
}

func (c *windowCase) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "delay %s, %d splits\n", interval(c.query.Delay), c.splits)
	for _, r := range c.rows {
		fmt.Fprintf(&b, "  %s\n", c.json(r))
	}
	fmt.Fprintf(&b, "%s;\nparallelism %d, batches of %d rows, chunks of %d", c.sql, c.cut.parallelism, c.cut.batch, c.chunk)
	return b.String()
}

func stamp(micros int64) string {
	return time.UnixMicro(micros).UTC().Format("2006-01-02 15:04:05.999999")
}

func (c *windowCase) json(r interp.Row) string {
	value := func(v types.Value) string {
		switch {
		case v.Null:
			return "null"
		case v.Type.Phys() == types.PBytes:
			return quoteJSON(v.S)
		}
		return fmt.Sprint(v.I)
	}
	return fmt.Sprintf(`{"id":%s,"k":%s,"v":%s,"ts":"%s"}`, value(r.Values[colID]), value(r.Values[colK]), value(r.Values[colV]), stamp(r.Values[colTime].I))
}

// want is what the interpreter says.
func (c *windowCase) want() ([]string, int) {
	results, counts := interp.Run(c.query, c.splits, c.rows)
	var out []string
	if c.over != nil {
		return c.wantOver(results), counts.Late
	}
	for _, r := range results {
		var f []string
		for _, v := range append(append([]types.Value{}, r.Keys...), r.Aggs...) {
			s := interp.FormatValue(v)
			if v.Null {
				s = "∅"
			}
			f = append(f, s)
		}
		out = append(out, strings.Join(append(f, stamp(r.Start), stamp(r.End)), "|"))
	}
	sort.Strings(out)
	return out, counts.Late
}

// wantOver puts the inner results into the outer windows: none is ever late.
func (c *windowCase) wantOver(results []interp.Result) []string {
	type sums struct{ windows, rows int64 }
	outer := map[int64]sums{}
	for _, r := range results {
		start := interp.WindowsOf(*c.over, r.End-c.query.Window.Tick)[0]
		s := outer[start]
		outer[start] = sums{s.windows + 1, s.rows + r.Aggs[0].I}
	}
	var out []string
	for start, s := range outer {
		out = append(out, fmt.Sprintf("%d|%d|%s|%s", s.windows, s.rows, stamp(start), stamp(start+c.over.Size)))
	}
	sort.Strings(out)
	return out
}

func (c *windowCase) check() error {
	want, late := c.want()
	c.late = late
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	f := newFeed()
	f.splits = c.splits
	for _, r := range c.rows {
		f.tables["e"] = append(f.tables["e"], []byte(c.json(r)))
	}
	f.reset(1<<20, c.chunk)
	e, err := engine.Open(ctx, engine.Options{Parallelism: c.cut.parallelism, BatchRows: c.cut.batch, Connectors: []connectors.Connector{f.connector()},
		WatchEdge: new(opcheck.Edges).Watch})
	if err != nil {
		return err
	}
	defer e.Close(ctx)
	text := fmt.Sprintf("CREATE TABLE e (id BIGINT, k VARCHAR, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - %s) "+
		"WITH (connector = 'feed', format = 'json');\n%s;", interval(c.query.Delay), c.sql)
	res, err := describe(e.NewSession(), text)
	if err != nil {
		return fmt.Errorf("we fail: %s", sqlerr.Render(err, text))
	}
	defer res.Query.Stop()
	got, err := fold(ctx, res.Query)
	if err != nil {
		return fmt.Errorf("we fail: %s", sqlerr.Render(err, text))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		return fmt.Errorf("the interpreter gives (%d late)\n  %s\nwe give (%d late)\n  %s", late, strings.Join(want, "\n  "), res.Query.Status().Late, strings.Join(got, "\n  "))
	}
	if n := res.Query.Status().Late; n != int64(late) {
		return fmt.Errorf("%d rows are late, and we count %d", late, n)
	}
	return nil
}
