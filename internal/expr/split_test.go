package expr_test

import (
	"fmt"
	"testing"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// TestSplitColumn is the law of programs for parts of a column: shorter and longer than
// what is copied at once, missing ones, far into the text, and at the end of the column's
// bytes; several parts of one column, after one separator and another, for all rows and
// some.
func TestSplitColumn(t *testing.T) {
	r := seeded(t)
	schema := types.Schema{{Name: "s", Type: types.TText}, {Name: "i", Type: types.TInt}}
	for round := range 200 {
		b := vec.NewBatch(schema.Types(), 8)
		letters := "/abcdefghijklmnopqrstuvwxyz"[:2+r.IntN(25)]
		nulls := r.IntN(3) == 0
		for range 1 + r.IntN(40) {
			s := make([]byte, r.IntN(100))
			for i := range s {
				s[i] = letters[r.IntN(len(letters))]
			}
			if nulls && r.IntN(4) == 0 {
				b.Cols[0].AppendNull()
			} else {
				b.Cols[0].AppendString(string(s))
			}
			b.Cols[1].AppendInt64(int64(r.IntN(3)))
			b.N++
		}
		var outputs []*expr.Expr
		for range 1 + r.IntN(4) {
			e := fmt.Sprintf("SPLIT_INDEX(s, '%c', %d)", "/a"[r.IntN(5)/4], []int{r.IntN(5), r.IntN(12), 1000}[r.IntN(20)/9])
			if r.IntN(4) == 0 {
				e = "CASE WHEN i = 1 THEN " + e + " ELSE 'none' END"
			}
			outputs = append(outputs, mustBind(t, e, schema))
		}
		var predicate *expr.Expr
		switch r.IntN(4) {
		case 0:
			predicate = mustBind(t, "i > 0", schema)
		case 1:
			predicate = mustBind(t, "SPLIT_INDEX(s, '/', 1) <> 'a'", schema)
		}
		p, err := expr.Compile(predicate, outputs, schema.Types())
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			checkRun(t, p, b, predicate, outputs, fmt.Sprintf("round %d", round))
		}
	}
}
