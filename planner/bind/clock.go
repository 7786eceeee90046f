package bind

import (
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/planner/logical"
)

// judgedOnce refuses a condition over in that compares event time with the moment: it
// reads as if rows left the result as they grow old, and they would not.
func judgedOnce(pred *expr.Expr, in logical.Node) error {
	cols := in.Columns()
	for _, c := range logical.Conjuncts(pred) {
		call := c.Clock()
		if call == nil || !logical.Uses(c, func(i int) bool { return cols[i].Time }) {
			continue
		}
		return sqlerr.NotSupported(call.Pos, "a condition on event time and the moment").
			WithDetail("It would be judged once, when the row comes, and the row would stay in the result however old it becomes.").
			WithHint("If that is meant, compute the moment in a subquery and compare with its column.")
	}
	return nil
}
