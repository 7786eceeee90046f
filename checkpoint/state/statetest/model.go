package statetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// model is what all subtasks together should hold: for each table and bucket, the
// groups by the text of their key.
type model map[place]map[string]*group

type place struct {
	table  string
	bucket int64
}

type group struct {
	key  []types.Value // as it was when the record was created
	sum  uint64
	text string
	kids map[string]*group // distinct values, of which only key and sum count
}

func (m model) at(p place) map[string]*group {
	if m[p] == nil {
		m[p] = map[string]*group{}
	}
	return m[p]
}

func (m model) clone() model {
	c := model{}
	for p, groups := range m {
		for k, g := range groups {
			x := *g
			x.kids = map[string]*group{}
			for kk, kid := range g.kids {
				y := *kid
				x.kids[kk] = &y
			}
			c.at(p)[k] = &x
		}
	}
	return c
}

// keyText spells a key so that equal keys, and only they, are spelt alike.
func keyText(vs []types.Value) string {
	var b strings.Builder
	for _, v := range vs {
		switch {
		case v.Null:
			b.WriteString("null")
		case v.Type.Kind == types.Double && v.F == 0:
			b.WriteString("0")
		case v.Type.Kind == types.Double:
			fmt.Fprint(&b, v.F)
		case v.Type.Kind == types.Interval:
			fmt.Fprint(&b, (int64(v.Iv.Months)*30+int64(v.Iv.Days))*86400e6+v.Iv.Micros)
		case v.Type.Kind == types.Decimal:
			b.WriteString(v.Dec.String())
		case v.Type.Phys() == types.PBytes:
			fmt.Fprintf(&b, "%q", v.S)
		default:
			fmt.Fprint(&b, v.I)
		}
		b.WriteByte('|')
	}
	return b.String()
}

// sameSpelling reports whether two keys are the same to the bit.
func sameSpelling(a, b []types.Value) bool {
	for i := range a {
		if math.Float64bits(a[i].F) != math.Float64bits(b[i].F) {
			return false
		}
		x, y := a[i], b[i]
		x.F, y.F = 0, 0
		if x != y {
			return false
		}
	}
	return len(a) == len(b)
}

// randomValue draws from a domain small enough that keys meet again; spread widens it.
func randomValue(rng *rand.Rand, t types.Type, spread int) types.Value {
	if rng.IntN(12) == 0 {
		return types.Null(t)
	}
	n := rng.IntN(spread) - spread/2
	switch t.Phys() {
	case types.PBool:
		return types.BoolValue(n > 0)
	case types.PFloat64:
		switch rng.IntN(10) {
		case 0:
			return types.FloatValue(math.NaN())
		case 1:
			return types.FloatValue(math.Copysign(0, -1))
		case 2:
			return types.FloatValue(math.Inf(1))
		}
		return types.FloatValue(float64(n) / 4)
	case types.PInt128:
		d, _ := types.I128(int64(n)).Mul(types.Pow10(18))
		return types.DecimalValue(t, d)
	case types.PBytes:
		v := types.TextValue(strings.Repeat("k", rng.IntN(3)) + fmt.Sprint(n))
		if n == 0 {
			v.S = ""
		}
		v.Type = t
		return v
	case types.PInterval:
		v := types.Value{Type: t, Iv: types.IntervalValue{Months: int32(n % 3), Days: int32(30 * rng.IntN(3)), Micros: int64(n)}}
		return v
	}
	return types.IntValue(t, int64(n))
}

// columns turns rows of values into vectors.
func columns(ts []types.Type, rows [][]types.Value) []*vec.Vector {
	out := make([]*vec.Vector, len(ts))
	for c, t := range ts {
		out[c] = vec.New(t, len(rows))
		for _, r := range rows {
			out[c].AppendValue(r[c])
		}
	}
	return out
}

func hashesOf(cols []*vec.Vector, n int) []uint64 {
	out := make([]uint64, n)
	vec.HashColumns(cols, n, out)
	return out
}

// keysAt reads keys back out of a table.
func keysAt(t Table, ts []types.Type, ids []uint32) [][]types.Value {
	cols := columns(ts, nil)
	t.AppendKeys(ids, cols)
	out := make([][]types.Value, len(ids))
	for k := range ids {
		for c := range ts {
			out[k] = append(out[k], cols[c].Value(k))
		}
	}
	return out
}

func keyAt(t Table, ts []types.Type, id uint32) []types.Value {
	return keysAt(t, ts, []uint32{id})[0]
}

// all scans a table in small steps.
func all(t Table) []uint32 {
	var out, step []uint32
	for from, done := uint32(0), false; !done; {
		step, from, done = t.Scan(step[:0], from, 5)
		out = append(out, step...)
	}
	return out
}
