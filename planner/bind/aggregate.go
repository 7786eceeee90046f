package bind

import (
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/expr/agg"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner/plan"
)

// boundAgg is one aggregate call of a SELECT, over the aggregation's input.
type boundAgg struct {
	fn       string
	args     []*expr.Expr
	filter   *expr.Expr
	distinct bool
	typ      types.Type
	pos      sqlerr.Pos
}

func (a boundAgg) equal(o boundAgg) bool {
	if a.fn != o.fn || a.distinct != o.distinct || len(a.args) != len(o.args) || (a.filter == nil) != (o.filter == nil) {
		return false
	}
	for i := range a.args {
		if !a.args[i].Equal(o.args[i]) {
			return false
		}
	}
	return a.filter == nil || a.filter.Equal(o.filter)
}

// call puts arguments and filter into the projection below the aggregation. An argument
// that may fail is not computed for rows that the filter leaves out.
func (a boundAgg) call(pre *preProject, sc *scope) expr.AggCall {
	out := expr.AggCall{Fn: a.fn, Distinct: a.distinct, Filter: -1, Type: a.typ, Pos: a.pos}
	for _, e := range a.args {
		if a.filter != nil && e.Raises() {
			e = &expr.Expr{Kind: expr.Case, Type: e.Type, Args: []*expr.Expr{a.filter, e}, Pos: e.Pos}
		}
		out.Args = append(out.Args, pre.add(e, sc.exprName(e, "argument")))
	}
	if a.filter != nil {
		out.Filter = pre.add(a.filter, "filter")
	}
	return out
}

// aggregate binds a call of an aggregate function and returns the stand-in for its
// result.
func (x *exprBinder) aggregate(c *tree.CallExpr, f agg.Func) (*expr.Expr, error) {
	switch {
	case x.inAggregate:
		return nil, sqlerr.New(sqlerr.CodeGrouping, c.Pos, "aggregate function calls cannot be nested")
	case x.group == nil:
		return nil, sqlerr.New(sqlerr.CodeGrouping, c.Pos, "aggregate functions are not allowed in %s", x.clause)
	case len(c.OrderBy) > 0:
		return nil, sqlerr.NotSupported(c.OrderBy[0].Pos, "ORDER BY inside an aggregate")
	case len(c.WithinGroup) > 0:
		return nil, sqlerr.NotSupported(c.WithinGroup[0].Pos, "WITHIN GROUP")
	case c.IgnoreNulls:
		return nil, sqlerr.NotSupported(c.Pos, "IGNORE NULLS")
	case c.Star && f.Name != "count":
		return nil, sqlerr.New(sqlerr.CodeUndefinedFunction, c.Pos, "%s(*) is not an aggregate", f.Name)
	case !c.Star && len(c.Args) == 0:
		e := sqlerr.New(sqlerr.CodeUndefinedFunction, c.Pos, "function %s() does not exist", f.Name)
		if f.Name == "count" {
			e = sqlerr.New("42809", c.Pos, "count(*) must be used to call a parameterless aggregate function")
		}
		return nil, e
	}
	inner := &exprBinder{b: x.b, sc: x.sc, clause: "an aggregate", inAggregate: true}
	a := boundAgg{fn: f.Name, distinct: c.Distinct, pos: c.Pos}
	ts := make([]types.Type, len(c.Args))
	for i, arg := range c.Args {
		e, err := inner.bind(arg)
		if err != nil {
			return nil, err
		}
		a.args = append(a.args, e)
		ts[i] = e.Type
	}
	want, result, ok := f.Resolve(ts)
	if !ok {
		return nil, sqlerr.New(sqlerr.CodeUndefinedFunction, c.Pos, "function %s(%s) does not exist", f.Name, typeList(ts)).
			WithHint("No aggregate of that name takes arguments of these types; add a cast.")
	}
	for i, t := range want {
		if t.Kind == types.Unknown {
			t = types.TText
		}
		e, err := coerce(a.args[i], t)
		if err != nil {
			return nil, err
		}
		a.args[i] = e
	}
	a.typ = result
	if c.Filter != nil {
		fb := &exprBinder{b: x.b, sc: x.sc, clause: "FILTER"}
		pred, err := fb.condition(c.Filter, "FILTER")
		if err != nil {
			return nil, err
		}
		a.filter = pred
	}
	return at(expr.Col(aggBase+x.group.addAgg(a), result), c.Pos), nil
}

// addAgg returns the place of a among the SELECT's aggregates; equal calls are one.
func (g *grouping) addAgg(a boundAgg) int {
	for i, have := range g.aggs {
		if have.equal(a) {
			return i
		}
	}
	g.aggs = append(g.aggs, a)
	return len(g.aggs) - 1
}

// windowCall is a function of a window: the window itself in GROUP BY, or one of its
// ends elsewhere.
type windowCall struct {
	window string
	prop   plan.WindowProp
}

var windowCalls = map[string]windowCall{
	"tumble":          {"TUMBLE", ""},
	"tumble_start":    {"TUMBLE", plan.WindowStart},
	"tumble_end":      {"TUMBLE", plan.WindowEnd},
	"tumble_rowtime":  {"TUMBLE", plan.WindowTime},
	"hop":             {"HOP", ""},
	"hop_start":       {"HOP", plan.WindowStart},
	"hop_end":         {"HOP", plan.WindowEnd},
	"hop_rowtime":     {"HOP", plan.WindowTime},
	"session":         {"SESSION", ""},
	"session_start":   {"SESSION", plan.WindowStart},
	"session_end":     {"SESSION", plan.WindowEnd},
	"session_rowtime": {"SESSION", plan.WindowTime},
}

// windowCall binds TUMBLE_START and its kin: the window must stand in GROUP BY.
func (x *exprBinder) windowCall(c *tree.CallExpr, w windowCall) (*expr.Expr, error) {
	if w.window == "SESSION" {
		return nil, sqlerr.NotSupported(c.Pos, "SESSION")
	}
	if w.prop == "" {
		return nil, sqlerr.New(sqlerr.CodeWindowing, c.Pos, "%s is allowed in GROUP BY and FROM only", w.window)
	}
	if x.group == nil || x.group.win == nil {
		return nil, sqlerr.New(sqlerr.CodeWindowing, c.Pos, "%s needs %s in GROUP BY", upper(c.FuncName()), w.window)
	}
	have := x.group.win
	asked, err := x.b.groupWindow(w.window, c, x.group.node, x.sc)
	if err != nil {
		return nil, err
	}
	if asked.win != have.win || asked.time != have.time {
		return nil, sqlerr.New(sqlerr.CodeWindowing, c.Pos, "%s does not match the window in GROUP BY", upper(c.FuncName()))
	}
	n := windowBase
	switch w.prop {
	case plan.WindowEnd:
		n++
	case plan.WindowTime:
		n += 2
	}
	return at(expr.Col(n, have.win.TimeType), c.Pos), nil
}
