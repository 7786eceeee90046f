package agg

import (
	"math/bits"

	"github.com/streamsql/streamsql/internal/cell"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

func newSum(args []types.Type, result types.Type) Accumulator {
	switch t := args[0]; {
	case t.IsInteger():
		return sumInt{result: result}
	case t.Kind == types.Decimal:
		return sumDec{}
	default:
		return sumFloat{real: t.Kind == types.Real}
	}
}

// sumInt sums integers in 128 bits, which 2^64 rows cannot overflow. Words: the
// count of non-NULL arguments, the low and the high half of the sum.
type sumInt struct{ result types.Type }

func (sumInt) Words() int     { return 3 }
func (sumInt) Heaps() []int   { return nil }
func (sumInt) Retracts() bool { return true }

func (sumInt) Update(s *cell.Store, off int, ids []uint32, arg *vec.Vector, sel []int32, signs []int8) {
	pages, w := s.Pages, s.Width()
	if sel == nil && signs == nil && arg.Valid == nil {
		vals := arg.I64[:len(ids)]
		for k, id := range ids {
			o := int(id&63)*w + off
			r := pages[id>>6].W[o : o+3 : o+3]
			x := vals[k]
			lo, c := bits.Add64(r[1], uint64(x), 0)
			r[0]++
			r[1] = lo
			r[2] += uint64(x>>63) + c
		}
		return
	}
	for k, id := range ids {
		i := rowOf(sel, k)
		if arg.IsNull(i) {
			continue
		}
		o := int(id&63)*w + off
		addInt(pages[id>>6].W[o:o+3:o+3], arg.I64[i], signOf(signs, k))
	}
}

func addInt(r []uint64, x, sign int64) {
	r[0] += uint64(sign)
	if sign > 0 {
		lo, c := bits.Add64(r[1], uint64(x), 0)
		r[1], r[2] = lo, r[2]+uint64(x>>63)+c
		return
	}
	lo, b := bits.Sub64(r[1], uint64(x), 0)
	r[1], r[2] = lo, r[2]-uint64(x>>63)-b
}

func (sumInt) Merge(dst *cell.Store, off int, to uint32, src *cell.Store, srcOff int, from uint32) {
	d, x := dst.Record(to)[off:off+3], src.Record(from)[srcOff:srcOff+3]
	lo, c := bits.Add64(d[1], x[1], 0)
	d[0] += x[0]
	d[1], d[2] = lo, d[2]+x[2]+c
}

func (a sumInt) Emit(s *cell.Store, off int, ids []uint32, out *vec.Vector, errs *expr.RowErrors) {
	for k, id := range ids {
		r := s.Record(id)[off : off+3]
		if r[0] == 0 {
			out.AppendNull()
			continue
		}
		sum := types.Int128{Hi: int64(r[2]), Lo: r[1]}
		if a.result.Kind == types.Decimal {
			appendDecimal(out, sum, true, k, errs)
			continue
		}
		if x, ok := sum.Int64(); ok {
			out.AppendInt64(x)
			continue
		}
		errs.Add(int32(k), sqlerr.CodeNumericOutOfRange, "sum is out of range for BIGINT", 0)
		out.AppendNull()
	}
}

// appendDecimal appends v, or NULL and an error when v (or its computation) does
// not fit in 38 digits.
func appendDecimal(out *vec.Vector, v types.Int128, ok bool, k int, errs *expr.RowErrors) {
	if ok && v.FitsPrecision(types.MaxPrecision) {
		out.AppendInt128(v)
		return
	}
	errs.Add(int32(k), sqlerr.CodeNumericOutOfRange, "aggregate is out of range for "+out.Type.String(), 0)
	out.AppendNull()
}

// sumDec sums 128-bit decimals in 192 bits. Words: the count of non-NULL
// arguments, the sum from low to high.
type sumDec struct{}

func (sumDec) Words() int     { return 4 }
func (sumDec) Heaps() []int   { return nil }
func (sumDec) Retracts() bool { return true }

func (sumDec) Update(s *cell.Store, off int, ids []uint32, arg *vec.Vector, sel []int32, signs []int8) {
	pages, w := s.Pages, s.Width()
	for k, id := range ids {
		i := rowOf(sel, k)
		if arg.IsNull(i) {
			continue
		}
		o := int(id&63)*w + off
		r := pages[id>>6].W[o : o+4 : o+4]
		x := arg.I128[i]
		ext := uint64(x.Hi >> 63)
		var c uint64
		if signOf(signs, k) > 0 {
			r[0]++
			r[1], c = bits.Add64(r[1], x.Lo, 0)
			r[2], c = bits.Add64(r[2], uint64(x.Hi), c)
			r[3] += ext + c
		} else {
			r[0]--
			r[1], c = bits.Sub64(r[1], x.Lo, 0)
			r[2], c = bits.Sub64(r[2], uint64(x.Hi), c)
			r[3] -= ext + c
		}
	}
}

func (sumDec) Merge(dst *cell.Store, off int, to uint32, src *cell.Store, srcOff int, from uint32) {
	d, x := dst.Record(to)[off:off+4], src.Record(from)[srcOff:srcOff+4]
	var c uint64
	d[0] += x[0]
	d[1], c = bits.Add64(d[1], x[1], 0)
	d[2], c = bits.Add64(d[2], x[2], c)
	d[3] += x[3] + c
}

func (sumDec) Emit(s *cell.Store, off int, ids []uint32, out *vec.Vector, errs *expr.RowErrors) {
	for k, id := range ids {
		r := s.Record(id)[off : off+4]
		if r[0] == 0 {
			out.AppendNull()
			continue
		}
		v, ok := narrow192(r[1:4])
		appendDecimal(out, v, ok, k, errs)
	}
}

// narrow192 narrows a 192-bit integer to 128 bits.
func narrow192(w []uint64) (types.Int128, bool) {
	v := types.Int128{Hi: int64(w[1]), Lo: w[0]}
	return v, w[2] == uint64(v.Hi>>63)
}
