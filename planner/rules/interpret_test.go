package rules

import (
	"errors"
	"fmt"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/logical"
	"github.com/streamsql/streamsql/planner/plan"
)

// evaluate runs a logical plan row by row, over a table of fixed rows, as its nodes are
// defined; no row is late.
func evaluate(n logical.Node) result {
	switch n := n.(type) {
	case *logical.Scan:
		return scanRows(n)
	case *logical.Filter:
		return filterRows(evaluate(n.Input), n.Pred)
	case *logical.Project:
		return projectRows(evaluate(n.Input), n.Exprs)
	case *logical.Stamp:
		in := evaluate(n.Input)
		for i, row := range in.rows {
			row = append([]types.Value(nil), row...)
			for _, t := range n.Types {
				row = append(row, types.IntValue(t, moment))
			}
			in.rows[i] = row
		}
		return in
	case *logical.Assign:
		return assignRows(evaluate(n.Input), n.Window, n.Time)
	case *logical.WindowAgg:
		in := assignRows(evaluate(n.Input), n.Window, n.Time)
		first := len(n.Input.Columns())
		// Both ends tell the windows apart; the props are picked from the keys.
		g := groupRows(in, append(append([]int(nil), n.Keys...), first, first+1, first+2), n.Aggs)
		out := result{errors: g.errors}
		k := len(n.Keys)
		for _, r := range g.rows {
			row := append(append([]types.Value(nil), r[:k]...), r[k+3:]...)
			for _, p := range n.Props {
				for i, q := range logical.WindowProps {
					if p == q {
						row = append(row, r[k+i])
					}
				}
			}
			out.rows = append(out.rows, row)
		}
		return out
	case *logical.GroupAgg:
		return groupRows(evaluate(n.Input), n.Keys, n.Aggs)
	case *logical.Union:
		var out result
		for _, c := range n.In {
			r := evaluate(c)
			out.rows, out.errors = append(out.rows, r.rows...), out.errors+r.errors
		}
		return out
	case *logical.Sink:
		return evaluate(n.Input)
	}
	panic(fmt.Sprintf("%T", n))
}

var errDivision = errors.New("division by zero")

// moment is when all rows come.
const moment = 7000

// value evaluates e for a row: numbers and conditions, operands only as far as needed.
func value(e *expr.Expr, row []types.Value) (types.Value, error) {
	null := types.Null(e.Type)
	if e.IsClock() {
		return types.IntValue(e.Type, moment), nil
	}
	switch e.Kind {
	case expr.Column:
		return row[e.Col], nil
	case expr.Literal:
		return *e.Val, nil
	case expr.And, expr.Or:
		out := types.BoolValue(e.Kind == expr.And)
		for _, a := range e.Args {
			v, err := value(a, row)
			switch {
			case err != nil:
				return null, err
			case v.Null:
				out = null
			case (v.I != 0) == (e.Kind == expr.Or):
				return v, nil
			}
		}
		return out, nil
	case expr.Case:
		i := 0
		for ; i+1 < len(e.Args); i += 2 {
			c, err := value(e.Args[i], row)
			if err != nil {
				return null, err
			}
			if !c.Null && c.I != 0 {
				return value(e.Args[i+1], row)
			}
		}
		return value(e.Args[i], row)
	case expr.Coalesce:
		for _, a := range e.Args {
			if v, err := value(a, row); err != nil || !v.Null {
				return v, err
			}
		}
		return null, nil
	}
	a, err := value(e.Args[0], row)
	if err != nil {
		return null, err
	}
	b, err := value(e.Args[1], row)
	if err != nil {
		return null, err
	}
	if e.Fn == "is distinct from" {
		return types.BoolValue(a.Null != b.Null || !a.Null && a.I != b.I), nil
	}
	if a.Null || b.Null {
		return null, nil
	}
	switch e.Fn {
	case "+":
		return types.IntValue(e.Type, a.I+b.I), nil
	case "-":
		return types.IntValue(e.Type, a.I-b.I), nil
	case "*":
		return types.IntValue(e.Type, a.I*b.I), nil
	case "/":
		if b.I == 0 {
			return null, errDivision
		}
		return types.IntValue(e.Type, a.I/b.I), nil
	case "<":
		return types.BoolValue(a.I < b.I), nil
	case "<=":
		return types.BoolValue(a.I <= b.I), nil
	case "<>":
		return types.BoolValue(a.I != b.I), nil
	}
	panic(e.Fn)
}

func scanRows(s *logical.Scan) result {
	t := s.Table
	var space result
	for i := range 18 {
		v := func(n int) types.Value {
			if n == 3 {
				return types.Null(types.TBigInt)
			}
			return types.IntValue(types.TBigInt, int64(n))
		}
		space.rows = append(space.rows, []types.Value{v(i % 3), v(i / 3 % 4), v(i % 4), types.IntValue(types.TTimestamp(3), int64(i*1000))})
	}
	for _, e := range t.Virtual {
		for i, row := range space.rows {
			v, err := value(e, row)
			if err != nil {
				space.errors++
			}
			space.rows[i] = append(row, v)
		}
	}
	if s.Predicate != nil {
		space = filterRows(space, s.Predicate)
	}
	out := result{errors: space.errors}
	for _, row := range space.rows {
		var r []types.Value
		for _, o := range s.Output {
			r = append(r, row[o])
		}
		out.rows = append(out.rows, r)
	}
	return out
}

func filterRows(in result, pred *expr.Expr) result {
	out := result{errors: in.errors}
	for _, row := range in.rows {
		v, err := value(pred, row)
		if err != nil {
			out.errors++
		} else if !v.Null && v.I != 0 {
			out.rows = append(out.rows, row)
		}
	}
	return out
}

func projectRows(in result, exprs []*expr.Expr) result {
	out := result{errors: in.errors}
next:
	for _, row := range in.rows {
		var r []types.Value
		for _, e := range exprs {
			v, err := value(e, row)
			if err != nil {
				out.errors++
				continue next
			}
			r = append(r, v)
		}
		out.rows = append(out.rows, r)
	}
	return out
}

func assignRows(in result, w plan.Window, time int) result {
	out := result{errors: in.errors}
	for _, row := range in.rows {
		t := row[time].I
		for start := t - w.Size - w.Slide; start <= t; start++ {
			if (start-w.Offset)%w.Slide != 0 || start+w.Size <= t {
				continue
			}
			r := append([]types.Value(nil), row...)
			for _, at := range []int64{start, start + w.Size, start + w.Size - w.Tick} {
				r = append(r, types.IntValue(w.TimeType, at))
			}
			out.rows = append(out.rows, r)
		}
	}
	return out
}

// groupRows aggregates with count, min and max.
func groupRows(in result, keys []int, aggs []expr.AggCall) result {
	out := result{errors: in.errors}
	at := map[string]int{}
	open := func(id string, key []types.Value) int {
		if i, ok := at[id]; ok {
			return i
		}
		row := append([]types.Value(nil), key...)
		for _, a := range aggs {
			if a.Fn == "count" {
				row = append(row, types.IntValue(a.Type, 0))
			} else {
				row = append(row, types.Null(a.Type))
			}
		}
		at[id] = len(out.rows)
		out.rows = append(out.rows, row)
		return at[id]
	}
	if len(keys) == 0 {
		open("", nil)
	}
	for _, row := range in.rows {
		id := ""
		var key []types.Value
		for _, k := range keys {
			key = append(key, row[k])
			id += fmt.Sprint(row[k].Null, row[k].I, ";")
		}
		group := out.rows[open(id, key)]
		for i, a := range aggs {
			if a.Filter >= 0 && (row[a.Filter].Null || row[a.Filter].I == 0) {
				continue
			}
			acc := &group[len(keys)+i]
			if a.Fn == "count" {
				acc.I++
				continue
			}
			v := row[a.Args[0]]
			if !v.Null && (acc.Null || a.Fn == "min" && v.I < acc.I || a.Fn == "max" && v.I > acc.I) {
				*acc = v
			}
		}
	}
	return out
}
