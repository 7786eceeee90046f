package bind

import (
	"strings"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/expr/agg"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/parser/tree"
)

// callExpr binds a call: a window function, an aggregate or a scalar function.
func (x *exprBinder) callExpr(c *tree.CallExpr) (*expr.Expr, error) {
	if len(c.Name) > 1 {
		return nil, sqlerr.New(sqlerr.CodeUndefinedFunction, c.Pos, "function %s does not exist", dotted(c.Name)).
			WithHint("Functions are in no schema.")
	}
	name := c.FuncName()
	if c.Over != nil {
		pos := c.Over.Pos
		if pos == 0 {
			pos = c.Pos
		}
		return nil, sqlerr.NotSupported(pos, "OVER")
	}
	if w, ok := windowCalls[strings.ToLower(name)]; ok {
		return x.windowCall(c, w)
	}
	if f, ok := agg.Find(name); ok {
		return x.aggregate(c, f)
	}
	if c.JSON != nil {
		return nil, sqlerr.NotSupported(c.Pos, "clauses in "+upper(name))
	}
	if err := scalarOnly(c); err != nil {
		return nil, err
	}
	args := make([]*expr.Expr, len(c.Args))
	for i, a := range c.Args {
		if u, ok := a.(*tree.UnitLit); ok {
			args[i] = expr.LitAt(types.TextValue(strings.ToLower(u.Unit)), u.Pos)
			continue
		}
		var err error
		if args[i], err = x.bind(a); err != nil {
			return nil, err
		}
	}
	return expr.ResolveCall(name, args, c.Pos)
}

// scalarOnly refuses what only aggregates take.
func scalarOnly(c *tree.CallExpr) error {
	name := c.FuncName()
	if _, known := expr.LookupFunc(name); !known {
		if plannedAggregates[name] {
			return sqlerr.NotSupported(c.Pos, "aggregate "+upper(name))
		}
		return nil
	}
	what := ""
	switch {
	case c.Star:
		what = "(*)"
	case c.Distinct:
		what = "DISTINCT"
	case len(c.OrderBy) > 0:
		what = "ORDER BY"
	case len(c.WithinGroup) > 0:
		what = "WITHIN GROUP"
	case c.Filter != nil:
		what = "FILTER"
	default:
		return nil
	}
	return sqlerr.New("42809", c.Pos, "%s specified, but %s is not an aggregate function", what, name)
}

// plannedAggregates are aggregates and window functions that the dialect promises and
// this version does not run yet.
var plannedAggregates = map[string]bool{
	"stddev": true, "stddev_pop": true, "stddev_samp": true, "variance": true, "var_pop": true, "var_samp": true,
	"bit_and": true, "bit_or": true, "bit_xor": true, "string_agg": true, "listagg": true, "array_agg": true,
	"first_value": true, "last_value": true, "approx_count_distinct": true, "percentile_cont": true,
	"percentile_approx": true, "max_by": true, "min_by": true, "json_agg": true, "grouping": true,
	"row_number": true, "rank": true, "dense_rank": true, "lag": true, "lead": true,
}

func dotted(parts []tree.Name) string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = p.Text
	}
	return strings.Join(out, ".")
}
