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
	"github.com/streamsql/streamsql/operators"
	"github.com/streamsql/streamsql/planner/plan"
	"github.com/streamsql/streamsql/tests/interp"
)

func groupNode(schema types.Schema, keys []int, aggs []expr.AggCall, mode plan.ChangelogMode) *plan.Node {
	n := &plan.Node{Role: "test", Changelog: mode, Time: -1, Key: []int{}, GroupAgg: &plan.GroupAgg{Keys: keys, Aggs: aggs}}
	for i, k := range keys {
		n.Schema = append(n.Schema, schema[k])
		n.Key = append(n.Key, i)
	}
	for _, a := range aggs {
		n.Schema = append(n.Schema, types.Column{Name: a.Fn, Type: a.Type})
	}
	return n
}

// relation is what a GROUP BY over rows gives, in the form of the checker.
func relation(schema types.Schema, rows [][]types.Value, keys []int, aggs []expr.AggCall) []string {
	groups := interp.Group(rows, keys, aggs)
	if len(keys) == 0 && len(rows) == 0 {
		groups = []interp.Result{{Aggs: interp.Aggregate(nil, aggs)}}
	}
	var out []string
	for _, g := range groups {
		var parts []string
		for _, v := range append(slices.Clone(g.Keys), g.Aggs...) {
			parts = append(parts, checkerText(v))
		}
		out = append(out, strings.Join(parts, " "))
	}
	slices.Sort(out)
	return out
}

// checkerText prints a value as opcheck does.
func checkerText(v types.Value) string {
	if v.Null {
		return "NULL"
	}
	switch v.Type.Phys() {
	case types.PBool:
		return fmt.Sprint(v.I != 0)
	case types.PBytes:
		return fmt.Sprintf("%q", v.S)
	}
	return interp.FormatValue(v)
}

// TestGroupCases runs the interpreter's cases of groups, change by change, and in
// batches with restores in between.
func TestGroupCases(t *testing.T) {
	datadriven.RunTest(t, "../tests/interp/testdata/groups.test", func(t *testing.T, d *datadriven.TestData) string {
		c, err := interp.ParseCase(d)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		var log []interp.Change
		h := &harness{t: t, node: groupNode(c.Schema, c.Query.Keys, c.Query.Aggs, plan.Retract),
			in: []types.Schema{c.Schema}, keys: c.Query.Keys}
		h.start(1)
		for _, s := range c.Steps {
			log = append(log, s.Change)
			h.batch(0, batchOf(c.Schema, [][]types.Value{s.Change.Values}, []vec.Op{s.Change.Op}))
			rows, err := interp.Fold(log)
			if err != nil {
				t.Fatal(err)
			}
			want := relation(c.Schema, rows, c.Query.Keys, c.Query.Aggs)
			if got := h.check.Rows(); !slices.Equal(got, want) {
				t.Fatalf("after %q: %q, want %q", s.Text, got, want)
			}
			var groups []string
			for _, g := range interp.Group(rows, c.Query.Keys, c.Query.Aggs) {
				groups = append(groups, c.Format(g))
			}
			fmt.Fprintf(&b, "%s -> %s\n", s.Text, strings.Join(groups, "; "))
		}
		return b.String()
	})
}

// TestGroupLaw: fold(op(deltas)) = batch(fold(deltas)) for random changelogs, cuts,
// parallelism and restores, with old halves and without.
func TestGroupLaw(t *testing.T) {
	schema := types.Schema{{Name: "k", Type: types.TText}, {Name: "l", Type: types.TBigInt}, {Name: "v", Type: types.TBigInt},
		{Name: "f", Type: types.TBool}, {Name: "d", Type: types.TDecimal(20, 3)}, {Name: "s", Type: types.TText}}
	arg := func(fn string, col int, t types.Type) expr.AggCall {
		return expr.AggCall{Fn: fn, Args: []int{col}, Filter: -1, Type: t}
	}
	distinct := func(c expr.AggCall, filter int) expr.AggCall {
		c.Distinct, c.Filter = true, filter
		return c
	}
	filtered := func(c expr.AggCall, filter int) expr.AggCall {
		c.Filter = filter
		return c
	}
	calls := []expr.AggCall{
		{Fn: "count", Filter: -1, Type: types.TBigInt},
		{Fn: "count", Filter: 3, Type: types.TBigInt},
		arg("sum", 2, types.TDecimal(38, 0)),
		arg("avg", 4, types.TDecimal(38, 16)),
		distinct(arg("count", 2, types.TBigInt), -1),
		distinct(arg("count", 2, types.TBigInt), 3),
		distinct(arg("sum", 2, types.TDecimal(38, 0)), 3),
		distinct(arg("count", 5, types.TBigInt), 3),
		arg("min", 2, types.TBigInt),
		arg("max", 2, types.TBigInt),
		filtered(arg("min", 2, types.TBigInt), 3),
		distinct(arg("max", 5, types.TText), -1),
		filtered(arg("min", 5, types.TText), 3),
		arg("min", 4, types.TDecimal(20, 3)),
	}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 5))
		inserts := seed%3 == 0
		var aggs []expr.AggCall
		for _, c := range calls {
			if rng.IntN(2) == 0 {
				aggs = append(aggs, c)
			}
		}
		keys := [][]int{{0}, {1}, {0, 1}, {}}[rng.IntN(4)]
		mode := plan.Retract
		if rng.IntN(3) == 0 {
			mode = plan.Upsert
		}
		h := &harness{t: t, node: groupNode(schema, keys, aggs, mode), in: []types.Schema{schema}, keys: keys,
			rng: rand.New(rand.NewPCG(seed, 6)), fixed: len(keys) == 0}
		h.node.GroupAgg.Changing = !inserts
		parallelism := 1 + rng.IntN(3)
		if len(keys) == 0 {
			parallelism = 1
		}
		h.start(parallelism)
		var live [][]types.Value
		for range 1 + rng.IntN(20) {
			rows, ops := randomChanges(rng, &live, inserts)
			h.batch(0, batchOf(schema, rows, ops))
			want := relation(schema, live, keys, aggs)
			if got := h.check.Rows(); !slices.Equal(got, want) {
				t.Fatalf("seed %d: keys %v, %s\ngot  %q\nwant %q", seed, keys, mode, diff(got, want), diff(want, got))
			}
		}
		if !inserts && len(live) > 0 && len(keys) > 0 {
			h.batch(0, batchOf(schema, live, slices.Repeat([]vec.Op{vec.Delete}, len(live))))
			h.mustBeEmpty("groups", "groups.distinct2", "groups.distinct4", "groups.distinct5")
		}
	}
}

// randomChanges draws a batch of a valid changelog and brings live up to date.
func randomChanges(r *rand.Rand, live *[][]types.Value, inserts bool) (rows [][]types.Value, ops []vec.Op) {
	row := func() []types.Value {
		maybe := func(v types.Value) types.Value {
			if r.IntN(6) == 0 {
				return types.Null(v.Type)
			}
			return v
		}
		return []types.Value{
			maybe(types.TextValue([]string{"", "a", "b"}[r.IntN(3)])),
			maybe(types.IntValue(types.TBigInt, int64(r.IntN(3)))),
			maybe(types.IntValue(types.TBigInt, int64(r.IntN(5)))),
			maybe(types.BoolValue(r.IntN(2) == 0)),
			maybe(types.DecimalValue(types.TDecimal(20, 3), types.I128(int64(r.IntN(100000))))),
			maybe(types.TextValue(strings.Repeat("x", r.IntN(4)))),
		}
	}
	add := func(op vec.Op, v []types.Value) {
		rows, ops = append(rows, v), append(ops, op)
		if op.Sign() > 0 {
			*live = append(*live, v)
		}
	}
	take := func() []types.Value {
		i := r.IntN(len(*live))
		v := (*live)[i]
		*live = slices.Delete(*live, i, i+1)
		return v
	}
	for range 1 + r.IntN(12) {
		switch kind := r.IntN(4); {
		case inserts || kind < 2 || len(*live) == 0:
			add(vec.Insert, row())
		case kind == 2:
			add(vec.Delete, take())
		default:
			old := take()
			next := row()
			copy(next[:2], old[:2])
			add(vec.UpdateBefore, old)
			add(vec.UpdateAfter, next)
		}
	}
	if inserts {
		ops = nil
	}
	return rows, ops
}

// TestDeleteCarriesTheRow: a group that goes is taken away by the row that showed last,
// also where old halves are left out. With another row in its place the delete would be
// taken for one that came too late.
func TestDeleteCarriesTheRow(t *testing.T) {
	schema := types.Schema{{Name: "k", Type: types.TBigInt}, {Name: "v", Type: types.TBigInt}}
	aggs := []expr.AggCall{{Fn: "count", Filter: -1, Type: types.TBigInt}, {Fn: "sum", Args: []int{1}, Filter: -1, Type: types.TDecimal(38, 0)}}
	n := groupNode(schema, []int{0}, aggs, plan.Upsert)
	op, err := operators.Build(n, operators.Context{Inputs: []types.Schema{schema}})
	if err != nil {
		t.Fatal(err)
	}
	row := []types.Value{types.IntValue(types.TBigInt, 1), types.IntValue(types.TBigInt, 37)}
	for _, c := range []struct {
		op   vec.Op
		want []types.Value
	}{
		{vec.Insert, []types.Value{row[0], types.IntValue(types.TBigInt, 1), types.DecimalValue(types.TDecimal(38, 0), types.I128(37))}},
		{vec.Delete, []types.Value{row[0], types.IntValue(types.TBigInt, 1), types.DecimalValue(types.TDecimal(38, 0), types.I128(37))}},
	} {
		out, err := op.Process(0, batchOf(schema, [][]types.Value{row}, []vec.Op{c.op}))
		if err != nil || out.Batch == nil || out.Batch.N != 1 || out.Batch.Op(0) != c.op {
			t.Fatalf("%v: %+v, %v", c.op, out.Batch, err)
		}
		for i, col := range out.Batch.Cols {
			if got := checkerText(col.Value(0)); got != checkerText(c.want[i]) {
				t.Errorf("%v, column %d: %s, want %s", c.op, i, got, checkerText(c.want[i]))
			}
		}
		out.Batch.Release()
	}
}
