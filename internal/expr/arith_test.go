package expr_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// TestModByConstant compares the reciprocal with the machine's division at the edges.
func TestModByConstant(t *testing.T) {
	var xs []int64
	for _, x := range []int64{0, 1, 2, 122, 123, 124, 1 << 31, 1 << 32, 1 << 62, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1} {
		xs = append(xs, x, -x, x*123, x/3, x^0x5555)
	}
	b := vec.NewBatch([]types.Type{types.TBigInt}, len(xs))
	for _, x := range xs {
		b.Cols[0].AppendInt64(x)
	}
	b.N = len(xs)
	schema := types.Schema{{Name: "x", Type: types.TBigInt}}
	for _, c := range []int64{1, 2, 3, 7, 10, 123, 128, 1000003, 1<<32 + 1, 1 << 62, math.MaxInt64, -3} {
		p, err := expr.Compile(nil, []*expr.Expr{mustBind(t, fmt.Sprintf("MOD(x, %d::BIGINT)", c), schema)}, schema.Types())
		if err != nil {
			t.Fatal(err)
		}
		var errs expr.RowErrors
		out, _, _ := p.Run(b, &errs)
		for i, x := range xs {
			if got := out[0].I64[i]; got != x%c {
				t.Errorf("%d mod %d: %d, want %d", x, c, got, x%c)
			}
		}
	}
}
