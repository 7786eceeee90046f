package interp

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// Change is a row of a changelog.
type Change struct {
	Op     vec.Op
	Values []types.Value
}

// Fold is the relation that a changelog leaves: every + adds a row and every -
// removes one equal row. A - without its row is an error.
func Fold(log []Change) ([][]types.Value, error) {
	var rows [][]types.Value
	for i, c := range log {
		if c.Op.Sign() > 0 {
			rows = append(rows, c.Values)
			continue
		}
		at := -1
		for j, r := range rows {
			if RowKey(r) == RowKey(c.Values) {
				at = j
				break
			}
		}
		if at < 0 {
			return nil, fmt.Errorf("change %d: %s %s removes a row that is not there", i, c.Op, RowKey(c.Values))
		}
		rows = append(rows[:at:at], rows[at+1:]...)
	}
	return rows, nil
}

// Group is GROUP BY over rows, groups in the order of their first row. Without keys
// there is one group when there are rows; the group of an empty input is the
// caller's business.
func Group(rows [][]types.Value, keys []int, aggs []expr.AggCall) []Result {
	var order []string
	groups := map[string][][]types.Value{}
	for _, r := range rows {
		k := RowKey(pick(r, keys))
		if _, ok := groups[k]; !ok {
			order = append(order, k)
		}
		groups[k] = append(groups[k], r)
	}
	out := make([]Result, 0, len(order))
	for _, k := range order {
		members := groups[k]
		out = append(out, Result{Keys: pick(members[0], keys), Aggs: Aggregate(members, aggs)})
	}
	return out
}

// Aggregate computes each aggregate over all rows.
func Aggregate(rows [][]types.Value, aggs []expr.AggCall) []types.Value {
	out := make([]types.Value, len(aggs))
	for i, a := range aggs {
		out[i] = aggregate(rows, a)
	}
	return out
}

func aggregate(rows [][]types.Value, a expr.AggCall) types.Value {
	var in []types.Value
	seen := map[string]bool{}
	for _, r := range rows {
		if a.Filter >= 0 && (r[a.Filter].Null || r[a.Filter].I == 0) {
			continue
		}
		if len(a.Args) == 0 {
			in = append(in, types.BoolValue(true))
			continue
		}
		v := r[a.Args[0]]
		if v.Null || a.Distinct && seen[ValueKey(v)] {
			continue
		}
		seen[ValueKey(v)] = true
		in = append(in, v)
	}
	if a.Fn == "count" {
		return types.IntValue(types.TBigInt, int64(len(in)))
	}
	if len(in) == 0 {
		return types.Null(a.Type)
	}
	switch a.Fn {
	case "sum":
		return fromRat(a.Type, sum(in))
	case "avg":
		return fromRat(a.Type, new(big.Rat).Quo(sum(in), new(big.Rat).SetInt64(int64(len(in)))))
	case "min", "max":
		best := in[0]
		for _, v := range in[1:] {
			if c := compare(v, best); a.Fn == "min" && c < 0 || a.Fn == "max" && c > 0 {
				best = v
			}
		}
		best.Type = a.Type
		return best
	}
	panic("interp: no aggregate " + a.Fn)
}

func sum(in []types.Value) *big.Rat {
	s := new(big.Rat)
	for _, v := range in {
		s.Add(s, rat(v))
	}
	return s
}

// rat is the exact value of a number.
func rat(v types.Value) *big.Rat {
	switch v.Type.Phys() {
	case types.PInt128:
		return new(big.Rat).SetFrac(v.Dec.Big(), types.Pow10(int(v.Type.Scale)).Big())
	case types.PFloat64:
		return new(big.Rat).SetFloat64(v.F)
	default:
		return new(big.Rat).SetInt64(v.I)
	}
}

// fromRat rounds half away from zero to the digits of t.
func fromRat(t types.Type, r *big.Rat) types.Value {
	switch t.Phys() {
	case types.PFloat64:
		f, _ := r.Float64()
		return types.Value{Type: t, F: f}
	case types.PInt128:
		d, _ := types.FromBig(roundRat(new(big.Rat).Mul(r, new(big.Rat).SetInt(types.Pow10(int(t.Scale)).Big()))))
		return types.DecimalValue(t, d)
	default:
		return types.IntValue(t, roundRat(r).Int64())
	}
}

func roundRat(r *big.Rat) *big.Int {
	twice := new(big.Int).Lsh(r.Num(), 1)
	twice.Abs(twice).Add(twice, r.Denom())
	q := twice.Quo(twice, new(big.Int).Lsh(r.Denom(), 1))
	if r.Sign() < 0 {
		q.Neg(q)
	}
	return q
}

func compare(a, b types.Value) int {
	if a.Type.Phys() == types.PBytes {
		return strings.Compare(a.S, b.S)
	}
	return rat(a).Cmp(rat(b))
}

func pick(r []types.Value, cols []int) []types.Value {
	out := make([]types.Value, len(cols))
	for i, c := range cols {
		out[i] = r[c]
	}
	return out
}

// ValueKey is equal for values that group together.
func ValueKey(v types.Value) string {
	switch {
	case v.Null:
		return "NULL"
	case v.Type.Phys() == types.PBytes:
		return fmt.Sprintf("%q", v.S)
	case v.Type.Phys() == types.PFloat64:
		return fmt.Sprint(v.F + 0)
	}
	return rat(v).RatString()
}

// RowKey is equal for rows whose values group together.
func RowKey(r []types.Value) string {
	parts := make([]string, len(r))
	for i, v := range r {
		parts[i] = ValueKey(v)
	}
	return strings.Join(parts, "|")
}
