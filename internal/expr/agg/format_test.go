package agg_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/streamsql/streamsql/internal/cell"
	"github.com/streamsql/streamsql/internal/expr/agg"
	"github.com/streamsql/streamsql/internal/types"
)

// TestStateFormat pins what the words of every accumulator mean: they stand in checkpoints.
// Words that change need another signature in the operators that declare them.
func TestStateFormat(t *testing.T) {
	dec := types.TDecimal(20, 2)
	inputs := [][]types.Value{
		ints(types.TInt, 3, -5, 3), ints(types.TBigInt, math.MaxInt64, math.MaxInt64, -2),
		{types.DecimalValue(dec, types.I128(150)), types.DecimalValue(dec, types.I128(-25))},
		floats(0.1, 1e17, math.Inf(1), math.NaN(), -2.5),
		{types.TextValue("b"), types.TextValue("aé")},
		{types.BoolValue(true), types.BoolValue(true), types.BoolValue(false)},
		{{Type: types.TInterval, Iv: types.IntervalValue{Months: -1, Days: 2, Micros: 3}}},
	}
	datadriven.RunTest(t, "testdata/format.test", func(t *testing.T, d *datadriven.TestData) string {
		var b strings.Builder
		for _, f := range agg.Functions() {
			if d.Cmd != f.Name {
				continue
			}
			for _, in := range inputs {
				want, result, ok := f.Resolve([]types.Type{in[0].Type})
				if !ok || f.Name == "count" && in[0].Type != types.TInt {
					continue
				}
				kernels := map[string]agg.Accumulator{"": f.New(want, result)}
				if !kernels[""].Retracts() {
					kernels[" changing"] = f.Changing(want, result)
				}
				for _, way := range []string{"", " changing"} {
					if kernels[way] != nil {
						fmt.Fprintf(&b, "%s%s: %s\n", in[0].Type, way, wordsOf(kernels[way], in))
					}
				}
			}
		}
		return b.String()
	})
}

// wordsOf folds values into a record and prints its words.
func wordsOf(acc agg.Accumulator, in []types.Value) string {
	if acc.Words() == 0 {
		return "no words"
	}
	s := cell.NewStore(acc.Words(), acc.Heaps()...)
	id := s.Alloc()
	acc.Update(s, 0, slices.Repeat([]uint32{id}, len(in)), vector(in[0].Type, in...), nil, nil)
	var parts []string
	for w, x := range s.Record(id) {
		if slices.Contains(acc.Heaps(), w) {
			parts = append(parts, fmt.Sprintf("%q", s.Bytes(id, w)))
			continue
		}
		parts = append(parts, fmt.Sprintf("%x", x))
	}
	return strings.Join(parts, " ")
}
