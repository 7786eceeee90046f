package expr_test

import (
	"fmt"
	"testing"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// TestSplitColumn is the law of programs for a column without NULLs, which is split as a
// whole: parts shorter and longer than what is copied at once, missing ones, and parts at
// the end of the column's bytes.
func TestSplitColumn(t *testing.T) {
	r := seeded(t)
	schema := types.Schema{{Name: "s", Type: types.TText}}
	for round := range 100 {
		b := vec.NewBatch(schema.Types(), 8)
		for range 1 + r.IntN(40) {
			s := make([]byte, r.IntN(60))
			for i := range s {
				s[i] = "/abcdefghijklm"[r.IntN(14)]
			}
			b.Cols[0].AppendString(string(s))
			b.N++
		}
		outputs := []*expr.Expr{mustBind(t, fmt.Sprintf("SPLIT_INDEX(s, '/', %d)", r.IntN(5)), schema)}
		p, err := expr.Compile(nil, outputs, schema.Types())
		if err != nil {
			t.Fatal(err)
		}
		checkRun(t, p, b, nil, outputs, fmt.Sprintf("round %d", round))
	}
}
