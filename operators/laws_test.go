package operators_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
	"github.com/streamsql/streamsql/tests/interp"
)

func textOf(row []types.Value) string {
	parts := make([]string, len(row))
	for i, v := range row {
		parts[i] = checkerText(v)
	}
	return strings.Join(parts, " ")
}

// TestMaterializeLaw: of the live rows of a key the one that came last shows.
func TestMaterializeLaw(t *testing.T) {
	schema := types.Schema{{Name: "k", Type: types.TText}, {Name: "v", Type: types.TBigInt}}
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 11))
		mode := []plan.ChangelogMode{plan.Retract, plan.Upsert}[rng.IntN(2)]
		h := &harness{t: t, node: &plan.Node{Schema: schema, Key: []int{0}, Changelog: mode, Materialize: &plan.Materialize{Key: []int{0}}},
			in: []types.Schema{schema}, keys: []int{0}, rng: rand.New(rand.NewPCG(seed, 12))}
		h.start(1 + rng.IntN(3))
		var live [][]types.Value
		for range 1 + rng.IntN(15) {
			var rows [][]types.Value
			var ops []vec.Op
			for range 1 + rng.IntN(8) {
				if len(live) > 0 && rng.IntN(2) == 0 {
					row := live[rng.IntN(len(live))]
					last := 0
					for i, r := range live {
						if textOf(r) == textOf(row) {
							last = i
						}
					}
					live = slices.Delete(live, last, last+1)
					rows, ops = append(rows, row), append(ops, vec.Delete)
					continue
				}
				k := types.TextValue(string(rune('a' + rng.IntN(3))))
				if rng.IntN(5) == 0 {
					k = types.Null(types.TText)
				}
				row := []types.Value{k, types.IntValue(types.TBigInt, int64(rng.IntN(4)))}
				live, rows, ops = append(live, row), append(rows, row), append(ops, vec.Insert)
			}
			h.batch(0, batchOf(schema, rows, ops))
			shows := map[string]string{}
			for _, r := range live {
				shows[textOf(r[:1])] = textOf(r)
			}
			var want []string
			for _, r := range shows {
				want = append(want, r)
			}
			slices.Sort(want)
			if got := h.check.Rows(); !slices.Equal(got, want) {
				t.Fatalf("seed %d: %q, want %q", seed, got, want)
			}
		}
	}
}

// TestAssignLaw: a row comes out once for each window that holds it and is not closed
// to it.
func TestAssignLaw(t *testing.T) {
	ts := types.TTimestamp(3)
	schema := types.Schema{{Name: "k", Type: types.TText}, {Name: "ts", Type: ts}}
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 13))
		w := plan.Window{Size: int64(1+rng.IntN(20)) * 1000, Slide: int64(1+rng.IntN(10)) * 1000,
			Offset: int64(rng.IntN(20)-10) * 1000, Tick: 1000, TimeType: ts}
		n := &plan.Node{Changelog: plan.Append, Assign: &plan.Assign{Window: w, Time: 1}}
		n.Schema = append(slices.Clone(schema), types.Column{Type: ts}, types.Column{Type: ts}, types.Column{Type: ts})
		h := &harness{t: t, node: n, in: []types.Schema{schema}, keys: []int{0}, batchRows: 1 + rng.IntN(6),
			rng: rand.New(rand.NewPCG(seed, 14))}
		h.start(1 + rng.IntN(3))
		var want []string
		late, partly := 0, 0
		for range 1 + rng.IntN(6) {
			var rows [][]types.Value
			var wms []int64
			for range 1 + rng.IntN(8) {
				row := []types.Value{types.TextValue(string(rune('a' + rng.IntN(5)))), types.IntValue(ts, int64(rng.IntN(60)-30)*1000)}
				wm := int64(rng.IntN(60)-40) * 1000
				rows, wms = append(rows, row), append(wms, wm)
				all, closed := interp.WindowsOf(w, row[1].I), 0
				for _, s := range all {
					if interp.Closed(w, s, wm) {
						closed++
						continue
					}
					want = append(want, textOf(append(slices.Clone(row), types.IntValue(ts, s), types.IntValue(ts, s+w.Size),
						types.IntValue(ts, s+w.Size-w.Tick))))
				}
				switch {
				case closed > 0 && closed == len(all):
					late++
				case closed > 0:
					partly++
				}
			}
			b := batchOf(schema, rows, nil)
			b.RowWM = wms
			h.batch(0, b)
		}
		slices.Sort(want)
		if got := h.check.Rows(); !slices.Equal(got, want) {
			t.Fatalf("seed %d: extra %q, missing %q", seed, diff(got, want), diff(want, got))
		}
		if h.late != late || h.partly != partly {
			t.Fatalf("seed %d: late %d and %d, want %d and %d", seed, h.late, h.partly, late, partly)
		}
	}
}

// TestWindowLaw: rows that are taken back before their window closes leave no trace.
func TestWindowLaw(t *testing.T) {
	ts := types.TTimestamp(3)
	schema := types.Schema{{Name: "k", Type: types.TText}, {Name: "l", Type: types.TBigInt}, {Name: "v", Type: types.TBigInt},
		{Name: "f", Type: types.TBool}, {Name: "ts", Type: ts}}
	calls := []expr.AggCall{
		{Fn: "count", Filter: -1, Type: types.TBigInt},
		{Fn: "sum", Args: []int{2}, Filter: 3, Type: types.TDecimal(38, 0)},
		{Fn: "count", Args: []int{2}, Filter: 3, Distinct: true, Type: types.TBigInt},
	}
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 15))
		q := interp.Query{Time: 4, Keys: []int{0}, Aggs: calls[:2+rng.IntN(2)], Window: plan.Window{
			Size: int64(1+rng.IntN(9)) * 1000, Slide: int64(1+rng.IntN(4)) * 1000, Tick: 1000, TimeType: ts}}
		h := &harness{t: t, node: windowNode(schema, q), in: []types.Schema{schema}, keys: q.Keys,
			batchRows: 1 + rng.IntN(9), rng: rand.New(rand.NewPCG(seed, 16))}
		h.start(1 + rng.IntN(3))
		var live [][]types.Value
		for range 1 + rng.IntN(10) {
			rows, ops := randomChanges(rng, &live, false)
			for i, r := range rows {
				rows[i] = append(slices.Clone(r[:4]), types.IntValue(ts, int64(len(textOf(r))%17)*1000))
			}
			h.batch(0, batchOf(schema, rows, ops))
		}
		h.advance(types.MaxTime)
		windows := map[int64][][]types.Value{}
		for _, r := range live {
			row := append(slices.Clone(r[:4]), types.IntValue(ts, int64(len(textOf(r))%17)*1000))
			for _, s := range interp.WindowsOf(q.Window, row[4].I) {
				windows[s] = append(windows[s], row)
			}
		}
		var want []string
		for s, rows := range windows {
			for _, g := range interp.Group(rows, q.Keys, q.Aggs) {
				want = append(want, textOf(append(append(g.Keys, g.Aggs...), types.IntValue(ts, s),
					types.IntValue(ts, s+q.Window.Size), types.IntValue(ts, s+q.Window.Size-1000))))
			}
		}
		slices.Sort(want)
		if got := h.check.Rows(); !slices.Equal(got, want) {
			t.Fatalf("seed %d: extra %q, missing %q", seed, diff(got, want), diff(want, got))
		}
	}
}

// TestCalcLaw: a filter of a changelog is the changelog of the filtered relation.
func TestCalcLaw(t *testing.T) {
	schema := types.Schema{{Name: "k", Type: types.TText}, {Name: "l", Type: types.TBigInt}, {Name: "v", Type: types.TBigInt},
		{Name: "f", Type: types.TBool}, {Name: "d", Type: types.TDecimal(20, 3)}, {Name: "s", Type: types.TText}}
	out := []int{5, 2}
	n := &plan.Node{Changelog: plan.Retract, Schema: types.Schema{schema[5], schema[2]},
		Calc: &plan.Calc{Predicate: expr.Col(3, types.TBool), Exprs: []*expr.Expr{expr.Col(5, types.TText), expr.Col(2, types.TBigInt)}}}
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 17))
		h := &harness{t: t, node: n, in: []types.Schema{schema}}
		h.start(1)
		var live [][]types.Value
		for range 1 + rng.IntN(10) {
			rows, ops := randomChanges(rng, &live, false)
			h.batch(0, batchOf(schema, rows, ops))
			var want []string
			for _, r := range live {
				if !r[3].Null && r[3].I != 0 {
					want = append(want, textOf([]types.Value{r[out[0]], r[out[1]]}))
				}
			}
			slices.Sort(want)
			if got := h.check.Rows(); !slices.Equal(got, want) {
				t.Fatalf("seed %d: extra %q, missing %q", seed, diff(got, want), diff(want, got))
			}
		}
	}
}
