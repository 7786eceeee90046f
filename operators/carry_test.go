package operators_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/operators"
	"github.com/streamsql/streamsql/planner/plan"
	"github.com/streamsql/streamsql/tests/interp"
)

var carrySchema = types.Schema{{Name: "k", Type: types.TText}, {Name: "l", Type: types.TBigInt}, {Name: "v", Type: types.TBigInt},
	{Name: "f", Type: types.TBool}, {Name: "d", Type: types.TDecimal(20, 3)}, {Name: "s", Type: types.TText}}

// carryCalls are what aggregates are drawn from. Those of one set keep the same values.
func carryCalls() []expr.AggCall {
	arg := func(fn string, col, filter int, distinct bool, t types.Type) expr.AggCall {
		return expr.AggCall{Fn: fn, Args: []int{col}, Filter: filter, Distinct: distinct, Type: t}
	}
	return []expr.AggCall{
		{Fn: "count", Filter: -1, Type: types.TBigInt}, {Fn: "count", Filter: 3, Type: types.TBigInt},
		arg("count", 2, -1, false, types.TBigInt), arg("sum", 2, -1, false, types.TDecimal(38, 0)), arg("sum", 2, 3, false, types.TDecimal(38, 0)),
		arg("avg", 4, -1, false, types.TDecimal(38, 16)), arg("min", 2, -1, false, types.TBigInt), arg("max", 5, 3, false, types.TText),
		arg("min", 4, -1, false, types.TDecimal(20, 3)), arg("count", 2, -1, true, types.TBigInt), arg("sum", 2, -1, true, types.TDecimal(38, 0)),
		arg("count", 2, 3, true, types.TBigInt), arg("count", 5, 3, true, types.TBigInt), arg("count", 1, -1, true, types.TBigInt),
	}
}

// pairs finds for each call of now that of old that is the same. DISTINCT calls of one
// argument and filter go on together or not at all.
func pairs(now, old []expr.AggCall) []int {
	out := make([]int, len(now))
	for i, c := range now {
		out[i] = slices.IndexFunc(old, func(o expr.AggCall) bool { return reflect.DeepEqual(c, o) })
	}
	for i, c := range now {
		for k, o := range now {
			if c.Distinct && o.Distinct && c.Args[0] == o.Args[0] && c.Filter == o.Filter && out[k] < 0 {
				out[i] = -1
			}
		}
	}
	return out
}

// TestCarryLaw: of random aggregates before and after, those that go on are what they are
// over all rows, the others what they are over the rows since, at any parallelism.
func TestCarryLaw(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		draw := func() (out []expr.AggCall) {
			for _, c := range carryCalls() {
				if r.IntN(2) == 0 {
					out = append(out, c)
				}
			}
			r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
			return out
		}
		old, now := draw(), draw()
		keys := [][]int{{0}, {1}, {0, 1}}[r.IntN(3)]
		from := groupNode(carrySchema, keys, old, plan.Upsert)
		to := groupNode(carrySchema, keys, now, plan.Upsert)
		in := []types.Schema{carrySchema}
		h := &harness{t: t, node: from, in: in, keys: keys, rng: rand.New(rand.NewPCG(seed, 6))}
		h.start(1 + r.IntN(3))
		var all, since [][]types.Value
		insert := func(feed func(b *vec.Batch)) (rows [][]types.Value) {
			for range 1 + r.IntN(6) {
				var live [][]types.Value
				batch, _ := randomChanges(r, &live, true)
				rows = append(rows, batch...)
				feed(batchOf(carrySchema, batch, nil))
			}
			return rows
		}
		all = insert(func(b *vec.Batch) { h.batch(0, b) })
		h.freeze()
		aggs := pairs(now, old)
		n := &carriedGroup{t: t, keys: len(keys), shown: map[string]string{}}
		n.restore(h, to, aggs, 1+r.IntN(3))
		since = insert(func(b *vec.Batch) { n.batch(b, keys) })
		all = append(all, since...)

		whole, part := interp.Group(all, keys, now), interp.Group(since, keys, now)
		want := map[string]string{}
		for _, p := range part {
			i := slices.IndexFunc(whole, func(w interp.Result) bool { return texts(w.Keys) == texts(p.Keys) })
			vals := slices.Clone(p.Aggs)
			for c := range vals {
				if aggs[c] >= 0 || now[c].Fn == "count" && len(now[c].Args) == 0 && now[c].Filter < 0 {
					vals[c] = whole[i].Aggs[c]
				}
			}
			want[texts(p.Keys)] = texts(vals)
		}
		if !reflect.DeepEqual(n.shown, want) {
			t.Fatalf("seed %d: old %v\nnow %v, going on with %v\ngot  %v\nwant %v", seed, old, now, aggs, n.shown, want)
		}
	}
}

func texts(vals []types.Value) string {
	var out []string
	for _, v := range vals {
		out = append(out, checkerText(v))
	}
	return strings.Join(out, " ")
}

// carriedGroup drives the subtasks that go on, and remembers the newest row of each key.
type carriedGroup struct {
	t     *testing.T
	keys  int
	ops   []operators.Operator
	shown map[string]string
}

func (n *carriedGroup) restore(h *harness, to *plan.Node, aggs []int, parallelism int) {
	n.t.Helper()
	var parts []state.Part
	for i, s := range h.subs {
		parts = append(parts, state.Part{Groups: stream.RangeOf(i, len(h.subs), keyGroups), Blobs: s.chain})
	}
	for i := range parallelism {
		owned := stream.RangeOf(i, parallelism, keyGroups)
		op, err := operators.Build(to, operators.Context{Inputs: h.in, Owned: owned, KeyGroups: keyGroups})
		if err != nil {
			n.t.Fatal(err)
		}
		c, err := operators.Carry(h.node, to, h.in, h.in, aggs)
		if err != nil {
			n.t.Fatal(err)
		}
		if err := c.Old.Restore(owned, keyGroups, parts); err != nil {
			n.t.Fatal(err)
		}
		if err := op.State().Import(c.Old, c.Copies); err != nil {
			n.t.Fatal(err)
		}
		if c.Same && !op.State().Alike(c.Old) {
			n.t.Fatal("snapshots of other tables are to be gone on with")
		}
		n.ops = append(n.ops, op)
	}
}

func (n *carriedGroup) batch(b *vec.Batch, keys []int) {
	n.t.Helper()
	var cols []*vec.Vector
	for _, k := range keys {
		cols = append(cols, b.Cols[k])
	}
	hashes := make([]uint64, b.N)
	vec.HashColumns(cols, b.N, hashes)
	for i, x := range hashes {
		op := n.ops[stream.SubtaskOf(stream.KeyGroup(x, keyGroups), len(n.ops), keyGroups)]
		out, err := op.Process(0, b.Take([]int32{int32(i)}))
		if err != nil {
			n.t.Fatal(err)
		}
		for row := range out.Batch.N {
			var vals []types.Value
			for _, c := range out.Batch.Cols {
				vals = append(vals, c.Value(row))
			}
			n.shown[texts(vals[:n.keys])] = texts(vals[n.keys:])
		}
		out.Batch.Release()
	}
	b.Release()
}

// TestCarryRefuses what does not fit.
func TestCarryRefuses(t *testing.T) {
	count := []expr.AggCall{{Fn: "count", Filter: -1, Type: types.TBigInt}}
	sums := []expr.AggCall{{Fn: "sum", Args: []int{2}, Filter: -1, Type: types.TDecimal(38, 0)}}
	values := []expr.AggCall{carryCalls()[9], carryCalls()[10]}
	window := func(size, slide int64, aggs []expr.AggCall) *plan.Node {
		return &plan.Node{Schema: carrySchema[:1], WindowAgg: &plan.WindowAgg{Window: plan.Window{Kind: "hop", Size: size, Slide: slide, Tick: 1}, Time: 2, Keys: []int{0}, Aggs: aggs}}
	}
	for _, c := range []struct {
		name     string
		old, now *plan.Node
		aggs     []int
		ok       bool
	}{
		{"the same", groupNode(carrySchema, []int{0}, sums, plan.Upsert), groupNode(carrySchema, []int{0}, sums, plan.Upsert), []int{0}, true},
		{"other keys", groupNode(carrySchema, []int{0}, count, plan.Upsert), groupNode(carrySchema, []int{1}, count, plan.Upsert), []int{0}, false},
		{"another aggregate", groupNode(carrySchema, []int{0}, values[:1], plan.Upsert), groupNode(carrySchema, []int{0}, sums, plan.Upsert), []int{0}, false},
		{"one of two of a set", groupNode(carrySchema, []int{0}, values, plan.Upsert), groupNode(carrySchema, []int{0}, values, plan.Upsert), []int{0, -1}, false},
		{"a window", groupNode(carrySchema, []int{0}, count, plan.Upsert), window(20, 10, count), []int{0}, false},
		{"the same window", window(20, 10, count), window(20, 10, sums), []int{-1}, true},
		{"another window", window(20, 10, count), window(20, 5, count), []int{0}, false},
		{"panes and windows", window(20, 10, count), window(20, 10, values), []int{-1, -1}, false},
	} {
		in := []types.Schema{carrySchema}
		_, err := operators.Carry(c.old, c.now, in, in, c.aggs)
		if c.ok != (err == nil) || err != nil && sqlerr.CodeOf(err) != sqlerr.CodeStateMismatch {
			t.Errorf("%s: %v", c.name, fmt.Sprint(err))
		}
	}
}
