package agg

import (
	"math"

	"github.com/streamsql/streamsql/internal/cell"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/vec"
)

// Words of a sum of doubles: a compensated sum (Neumaier, 1974) of the finite
// arguments, and counts of the others apart, so that any of them can be taken back.
const (
	fCount = iota // non-NULL arguments
	fSum
	fComp
	fNaN
	fPosInf
	fNegInf
	fWords
)

// sumFloat is SUM of REAL and DOUBLE.
type sumFloat struct{ real bool }

func (sumFloat) Words() int     { return fWords }
func (sumFloat) Heaps() []int   { return nil }
func (sumFloat) Retracts() bool { return true }

func (sumFloat) Update(s *cell.Store, off int, ids []uint32, arg *vec.Vector, sel []int32, signs []int8) {
	pages, w := s.Pages, s.Width()
	for k, id := range ids {
		i := rowOf(sel, k)
		if arg.IsNull(i) {
			continue
		}
		o := int(id&63)*w + off
		addFloat(pages[id>>6].W[o:o+fWords:o+fWords], arg.F64[i], signOf(signs, k))
	}
}

func addFloat(r []uint64, x float64, sign int64) {
	r[fCount] += uint64(sign)
	switch {
	case x != x:
		r[fNaN] += uint64(sign)
	case x > math.MaxFloat64:
		r[fPosInf] += uint64(sign)
	case x < -math.MaxFloat64:
		r[fNegInf] += uint64(sign)
	default:
		neumaier(r, float64(sign)*x)
	}
}

func neumaier(r []uint64, x float64) {
	sum := math.Float64frombits(r[fSum])
	t := sum + x
	var lost float64
	if math.Abs(sum) >= math.Abs(x) {
		lost = (sum - t) + x
	} else {
		lost = (x - t) + sum
	}
	r[fSum] = math.Float64bits(t)
	r[fComp] = math.Float64bits(math.Float64frombits(r[fComp]) + lost)
}

func (sumFloat) Merge(dst *cell.Store, off int, to uint32, src *cell.Store, srcOff int, from uint32) {
	d, x := dst.Record(to)[off:off+fWords], src.Record(from)[srcOff:srcOff+fWords]
	d[fCount] += x[fCount]
	d[fNaN] += x[fNaN]
	d[fPosInf] += x[fPosInf]
	d[fNegInf] += x[fNegInf]
	neumaier(d, math.Float64frombits(x[fSum]))
	neumaier(d, math.Float64frombits(x[fComp]))
}

// value gives the sum; ok is false when finite arguments overflowed.
func (sumFloat) value(r []uint64) (v float64, ok bool) {
	switch {
	case r[fNaN] != 0 || r[fPosInf] != 0 && r[fNegInf] != 0:
		return math.NaN(), true
	case r[fPosInf] != 0:
		return math.Inf(1), true
	case r[fNegInf] != 0:
		return math.Inf(-1), true
	}
	v = math.Float64frombits(r[fSum]) + math.Float64frombits(r[fComp])
	return v, !math.IsInf(v, 0) && v == v
}

func (a sumFloat) Emit(s *cell.Store, off int, ids []uint32, out *vec.Vector, errs *expr.RowErrors) {
	for k, id := range ids {
		r := s.Record(id)[off : off+fWords]
		if r[fCount] == 0 {
			out.AppendNull()
			continue
		}
		v, ok := a.value(r)
		if a.real {
			narrow := float64(float32(v))
			ok = ok && math.IsInf(narrow, 0) == math.IsInf(v, 0)
			v = narrow
		}
		appendFloat(out, v, ok, k, errs)
	}
}

func appendFloat(out *vec.Vector, v float64, ok bool, k int, errs *expr.RowErrors) {
	if ok {
		out.AppendFloat64(v)
		return
	}
	errs.Add(int32(k), sqlerr.CodeNumericOutOfRange, "aggregate is out of range for "+out.Type.String(), 0)
	out.AppendNull()
}

// avgFloat is AVG of REAL and DOUBLE.
type avgFloat struct{ sumFloat }

// Emit appends the quotients.
func (a avgFloat) Emit(s *cell.Store, off int, ids []uint32, out *vec.Vector, errs *expr.RowErrors) {
	for k, id := range ids {
		r := s.Record(id)[off : off+fWords]
		if r[fCount] == 0 {
			out.AppendNull()
			continue
		}
		v, ok := a.value(r)
		appendFloat(out, v/float64(int64(r[fCount])), ok, k, errs)
	}
}
