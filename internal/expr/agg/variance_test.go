package agg_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/streamsql/streamsql/internal/expr/agg"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/tests/interp"
)

// TestSpread: exact answers, rounded to 16 digits after the point; doubles as PostgreSQL.
func TestSpread(t *testing.T) {
	dec := types.TDecimal(10, 2)
	for _, c := range []struct {
		fn   string
		typ  types.Type
		in   []types.Value
		want string
	}{
		{"var_pop", types.TInt, ints(types.TInt, 1, 2, 4), "1.5555555555555556"},
		{"var_samp", types.TInt, ints(types.TInt, 1, 2, 4), "2.3333333333333333"},
		{"stddev_pop", types.TInt, ints(types.TInt, 1, 2, 4), "1.2472191289246471"},
		{"stddev", types.TInt, ints(types.TInt, 1, 2, 4), "1.5275252316519467"},
		{"variance", types.TInt, ints(types.TInt, 7), "-"},
		{"var_pop", types.TInt, ints(types.TInt, 7), "0.0000000000000000"},
		{"var_pop", types.TBigInt, ints(types.TBigInt, 4_000_000_000, -4_000_000_000), "16000000000000000000.0000000000000000"},
		{"stddev_pop", types.TBigInt, ints(types.TBigInt, math.MaxInt64, -math.MaxInt64), "9223372036854775807.0000000000000000"},
		{"var_samp", dec, []types.Value{types.DecimalValue(dec, types.I128(150)), types.DecimalValue(dec, types.I128(-25))}, "1.5312500000000000"},
		{"var_pop", types.TDouble, floats(1e9+1, 1e9+2, 1e9+4), "1.5555555555555556"},
		{"stddev_samp", types.TDouble, floats(2, 4), "1.4142135623730951"},
		{"stddev_samp", types.TDouble, floats(2), "-"},
		{"var_pop", types.TDouble, floats(math.Inf(1)), "NaN"},
		{"var_pop", types.TDouble, floats(2), "0"},
	} {
		v, errs := run(t, c.fn, c.typ, c.in...)
		if got := interp.FormatValue(v); got != c.want || len(errs.List) != 0 {
			t.Errorf("%s %v: %s %v, want %s", c.fn, c.in, got, errs.List, c.want)
		}
	}
	for _, in := range [][]types.Value{floats(1e200, -1e200), floats(1e308, 1e308, 1e308), floats(1e200, -1e200, 1), floats(1e200, -1e200, math.Inf(1))} {
		if v, errs := run(t, "var_samp", types.TDouble, in...); len(errs.List) != 1 || errs.List[0].Code != sqlerr.CodeNumericOutOfRange {
			t.Errorf("var_samp %v: %s %v, want 22003", in, interp.FormatValue(v), errs.List)
		}
		f := newKernel(t, "var_samp", types.TDouble)
		all, one := f.store.Alloc(), f.store.Alloc()
		for _, x := range in {
			f.acc.Update(f.store, 1, []uint32{one}, vector(types.TDouble, x), nil, nil)
			f.acc.Merge(f.store, 1, all, f.store, 1, one)
		}
		if v, errs := f.emit(all); len(errs.List) != 1 {
			t.Errorf("var_samp %v merged: %s, want 22003", in, interp.FormatValue(v[0]))
		}
	}
	for _, in := range [][]types.Value{floats(math.Inf(1), 1e200, -1e200), floats(1, math.NaN(), 2)} {
		if v, errs := run(t, "stddev_pop", types.TDouble, in...); interp.FormatValue(v) != "NaN" || len(errs.List) != 0 {
			t.Errorf("stddev_pop %v: %s %v, want NaN", in, interp.FormatValue(v), errs.List)
		}
	}
	k := newKernel(t, "var_pop", types.TInt)
	id, other := k.store.Alloc(), k.store.Alloc()
	k.acc.Update(k.store, 1, []uint32{id, other, id, id}, vector(types.TInt, ints(types.TInt, -5, 2, 1, -5)...), nil, []int8{1, 1, 1, -1})
	k.acc.Update(k.store, 1, []uint32{other}, vector(types.TInt, ints(types.TInt, 4)...), nil, nil)
	k.acc.Merge(k.store, 1, id, k.store, 1, other)
	if got, _ := k.emit(id); interp.FormatValue(got[0]) != "1.5555555555555556" {
		t.Errorf("after taking back and merging: %s", interp.FormatValue(got[0]))
	}
	f := newKernel(t, "var_pop", types.TDouble)
	id, other = f.store.Alloc(), f.store.Alloc()
	f.acc.Update(f.store, 1, []uint32{id, other, other}, vector(types.TDouble, floats(1, 2, 4)...), nil, nil)
	f.acc.Merge(f.store, 1, id, f.store, 1, other)
	if got, _ := f.emit(id); math.Abs(got[0].F-14.0/9) > 1e-15 {
		t.Errorf("after merging: %v", got[0].F)
	}
}

// TestSpreadOfChanges: the spread of doubles that come and go is that of the ones that are
// left, whatever was there before.
func TestSpreadOfChanges(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		k := newKernel(t, "var_pop", types.TDouble)
		f, _ := agg.Find("var_pop")
		k.acc = f.Changing([]types.Type{types.TDouble}, types.TDouble)
		k.store = k.newStore()
		id, other := k.store.Alloc(), k.store.Alloc()
		mean, width := math.Pow10(r.IntN(10)), math.Pow10(r.IntN(8)-3)
		live := map[uint32][]types.Value{}
		for range 300 {
			to, sign := []uint32{id, other}[r.IntN(2)], int8(1)
			v := types.FloatValue(mean + width*r.NormFloat64())
			if r.IntN(20) == 0 {
				v.F = []float64{math.Inf(1), math.NaN(), 1e200, 1e30, -1e-200}[r.IntN(5)]
			}
			if n := len(live[to]); n > 3 && r.IntN(2) == 0 {
				i := r.IntN(n)
				v, sign = live[to][i], -1
				live[to] = slices.Delete(live[to], i, i+1)
			} else {
				live[to] = append(live[to], v)
			}
			k.acc.Update(k.store, 1, []uint32{to}, vector(types.TDouble, v), nil, []int8{sign})
		}
		for _, x := range []uint32{id, other} {
			live[x] = slices.DeleteFunc(live[x], func(v types.Value) bool {
				odd := v.F-v.F != 0 || math.Abs(v.F) >= 1e20
				if odd {
					k.acc.Update(k.store, 1, []uint32{x}, vector(types.TDouble, v), nil, []int8{-1})
				}
				return odd
			})
		}
		k.acc.Merge(k.store, 1, id, k.store, 1, other)
		want := variance(append(live[id], live[other]...))
		got, errs := k.emit(id)
		if len(errs.List) > 0 || math.Abs(got[0].F-want) > 1e-9*max(1, want) {
			t.Fatalf("seed %d, about %g ± %g: %v %v, want %v", seed, mean, width, got[0].F, errs.List, want)
		}
	}
}

// variance is exact.
func variance(in []types.Value) float64 {
	n, sum, squares := new(big.Rat).SetInt64(int64(len(in))), new(big.Rat), new(big.Rat)
	for _, v := range in {
		x := new(big.Rat).SetFloat64(v.F)
		sum.Add(sum, x)
		squares.Add(squares, x.Mul(x, x))
	}
	sum.Quo(sum, n)
	squares.Quo(squares, n)
	f, _ := squares.Sub(squares, sum.Mul(sum, sum)).Float64()
	return f
}

// TestSpreadOfExtremes: what the spread of changing doubles does at the ends of the range.
func TestSpreadOfExtremes(t *testing.T) {
	for _, c := range []struct {
		in   []types.Value
		want string
	}{
		{floats(), "-"}, {floats(1e300), "0"}, {floats(1e200, 1e200), "error"}, {floats(1, math.Inf(1)), "NaN"},
		{floats(1e200, 1, math.NaN()), "NaN"}, {floats(7, 7, 7), "0"}, {floats(1e9+1, 1e9+2, 1e9+4), "1.5555555555555556"},
		{floats(-1e50, 1e50), "1.0000000000000002e+100"}, {floats(1e60, 2), "error"}, {floats(0x1p-140, -0x1p-140), "5.147557589468029e-85"},
	} {
		f, _ := agg.Find("var_pop")
		k := &kernel{acc: f.Changing([]types.Type{types.TDouble}, types.TDouble), result: types.TDouble}
		k.store = k.newStore()
		id := k.store.Alloc()
		if len(c.in) > 0 {
			k.acc.Update(k.store, 1, slices.Repeat([]uint32{id}, len(c.in)), vector(types.TDouble, c.in...), nil, nil)
		}
		v, errs := k.emit(id)
		got := interp.FormatValue(v[0])
		if len(errs.List) > 0 {
			got = "error"
		}
		if got != c.want {
			t.Errorf("%v: %s, want %s", c.in, got, c.want)
		}
	}
}
