package operators_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/operators"
	"github.com/streamsql/streamsql/planner/plan"
)

// paneSchema: of the double key 0 and -0 are one, as are all NaN, and which one comes
// out can be seen.
var paneSchema = types.Schema{{Name: "k", Type: types.TBigInt}, {Name: "x", Type: types.TDouble}, {Name: "v", Type: types.TBigInt},
	{Name: "d", Type: types.TDecimal(10, 2)}, {Name: "f", Type: types.TDouble}, {Name: "b", Type: types.TBool}, {Name: "ts", Type: types.TTimestamp(3)}}

// paneCall aggregates column col of paneSchema.
func paneCall(fn string, col int, t types.Type) expr.AggCall {
	c := expr.AggCall{Fn: fn, Filter: -1, Type: t}
	if col >= 0 {
		c.Args = []int{col}
	}
	return c
}

// paneCase is hops over rows that come and go: keys and stretches of time without any,
// rows late for some or all of their windows, rows taken back.
type paneCase struct {
	window  plan.Window
	keys    []int
	aggs    []expr.AggCall
	batches []*vec.Batch
	marks   []int64 // the watermark behind each batch
	held    int     // the most that a subtask has held beside its state
}

func randomPanes(r *rand.Rand) *paneCase {
	const ms = 1000
	slide := int64(1 + r.IntN(4))
	size := slide * int64(2+r.IntN(4))
	if r.IntN(3) == 0 {
		size += slide / 2
	}
	c := &paneCase{keys: [][]int{{0}, {1}, {0, 1}, nil}[r.IntN(4)]}
	c.window = plan.Window{Kind: "hop", Size: size * ms, Slide: slide * ms, Tick: ms, TimeType: types.TTimestamp(3)}
	filtered := paneCall("sum", 2, types.TDecimal(38, 0))
	filtered.Filter = 5
	c.aggs = []expr.AggCall{paneCall("count", -1, types.TBigInt), paneCall("count", 2, types.TBigInt), filtered,
		paneCall("sum", 3, types.TDecimal(38, 2)), paneCall("avg", 3, types.TDecimal(38, 16)), paneCall("sum", 4, types.TDouble)}
	taken := r.IntN(2) == 0
	if !taken {
		c.aggs = append(c.aggs, paneCall("min", 4, types.TDouble), paneCall("max", 3, types.TDecimal(10, 2)), paneCall("min", 2, types.TBigInt),
			paneCall("var_pop", 2, types.TDecimal(38, 16)), paneCall("bool_or", 5, types.TBool))
	}
	now, wm := int64(0), int64(types.MinTime)
	var live [][]types.Value
	for range 5 + r.IntN(40) {
		var rows [][]types.Value
		var ops []vec.Op
		var wms []int64
		if r.IntN(10) == 0 {
			now += int64(r.IntN(20)) // nothing for a while
		}
		for range 1 + r.IntN(20) {
			now += int64(r.IntN(4)) / 3
			row := []types.Value{
				types.IntValue(types.TBigInt, now/3+int64(r.IntN(4))),
				{Type: types.TDouble, F: []float64{0, math.Copysign(0, -1), math.NaN(), float64(now / 4)}[r.IntN(4)]},
				types.IntValue(types.TBigInt, int64(r.IntN(9)-4)),
				{Type: types.TDecimal(10, 2), Dec: types.I128(int64(r.IntN(900) - 300))},
				{Type: types.TDouble, F: float64(r.IntN(100)-50) / 4},
				types.BoolValue(r.IntN(2) == 0),
				types.IntValue(types.TTimestamp(3), (now-int64(r.IntN(8)*r.IntN(2)))*ms),
			}
			for col := range 6 {
				if r.IntN(9) == 0 {
					row[col] = types.Null(row[col].Type)
				}
			}
			op := vec.Insert
			if taken && len(live) > 0 && r.IntN(3) == 0 {
				row, op = live[len(live)-1], vec.Delete
				live = live[:len(live)-1]
			} else {
				live = append(live, row)
			}
			rows, ops, wms = append(rows, row), append(ops, op), append(wms, wm)
		}
		wm = max(wm, (now-int64(r.IntN(6)))*ms)
		b := batchOf(paneSchema, rows, ops)
		b.RowWM, b.WM = wms, wms[0]
		if !taken {
			b.Ops = nil
		}
		c.batches, c.marks = append(c.batches, b), append(c.marks, wm)
	}
	return c
}

// run gives the rows that come out, in their order and to the bit. whole asks for whole
// windows in place of panes, by an aggregate that they do not take.
func (c *paneCase) run(t *testing.T, whole bool, batchRows, parallelism int, restores *rand.Rand, fixed bool) (rows []string) {
	aggs := c.aggs
	if whole {
		distinct := paneCall("count", 2, types.TBigInt)
		distinct.Distinct = true
		aggs = append(slices.Clone(aggs), distinct)
	}
	n := &plan.Node{Role: "test", Changelog: plan.Append, Time: -1, WindowAgg: &plan.WindowAgg{Window: c.window, Time: 6,
		Keys: c.keys, Aggs: aggs, Props: []plan.WindowProp{plan.WindowStart}}}
	for _, k := range c.keys {
		n.Schema = append(n.Schema, paneSchema[k])
	}
	for _, a := range aggs {
		n.Schema = append(n.Schema, types.Column{Name: a.Fn, Type: a.Type})
	}
	n.Schema = append(n.Schema, types.Column{Name: "start", Type: types.TTimestamp(3)})
	h := &harness{t: t, node: n, in: []types.Schema{paneSchema}, keys: c.keys, batchRows: batchRows, rng: restores, fixed: fixed}
	h.out = func(b *vec.Batch) {
		for i := range b.N {
			var row []string
			for k, col := range b.Cols {
				if whole && k == len(c.keys)+len(c.aggs) {
					continue
				}
				v := col.Value(i)
				if v.Type.Kind == types.Double && !v.Null {
					row = append(row, fmt.Sprintf("%x", math.Float64bits(v.F)))
				} else {
					row = append(row, checkerText(v))
				}
			}
			rows = append(rows, strings.Join(row, " "))
		}
	}
	h.start(parallelism)
	for i, b := range c.batches {
		h.batch(0, b.Retain())
		h.advance(c.marks[i])
		for _, s := range h.subs {
			c.held = max(c.held, s.op.(operators.Holder).Held())
		}
	}
	h.advance(types.MaxTime)
	h.mustBeEmpty("windows", "sides")
	return rows
}

// TestPanesRestored: with restores at any moment the same rows come out in the same
// order, to the bit and with the same spelling of keys.
func TestPanesRestored(t *testing.T) {
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 21))
		c := randomPanes(r)
		want := c.run(t, false, 100, 1, nil, true)
		got := c.run(t, false, []int{7, 20, 100}[seed%3], 1, rand.New(rand.NewPCG(seed, 22)), true)
		if !slices.Equal(got, want) {
			i := 0
			for i < min(len(got), len(want)) && got[i] == want[i] {
				i++
			}
			t.Fatalf("seed %d: %d rows, want %d, the same up to\n%q\n%q", seed, len(got), len(want), got[i:], want[i:])
		}
	}
}

// TestPanesHeld: what windows are merged in is counted, and is not there for others.
func TestPanesHeld(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 25))
	c := randomPanes(r)
	c.run(t, true, 100, 1, nil, true)
	if c.held != 0 {
		t.Errorf("%d bytes are held beside the buckets of whole windows", c.held)
	}
	c.run(t, false, 100, 1, nil, true)
	if c.held < 1000 {
		t.Errorf("%d bytes are held", c.held)
	}
}

// TestPanesLikeWholeWindows: panes give what a bucket for each window gives.
func TestPanesLikeWholeWindows(t *testing.T) {
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 23))
		c := randomPanes(r)
		got := c.run(t, false, []int{7, 20, 100}[seed%3], 1+r.IntN(3), rand.New(rand.NewPCG(seed, 24)), false)
		want := c.run(t, true, 100, 1, nil, false)
		for _, rows := range [][]string{got, want} {
			for i, s := range rows { // keys by value: 0 and -0 are one
				rows[i] = strings.ReplaceAll(s, "8000000000000000", "0")
			}
			slices.Sort(rows)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: %d rows, want %d\ngot  %q\nwant %q", seed, len(got), len(want), diff(got, want), diff(want, got))
		}
	}
}
