package agg

import (
	"bytes"
	"math"

	"github.com/streamsql/streamsql/internal/cell"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

func newMin(args []types.Type, _ types.Type) Accumulator { return newExtreme(args[0], true) }
func newMax(args []types.Type, _ types.Type) Accumulator { return newExtreme(args[0], false) }

func newExtreme(t types.Type, least bool) Accumulator {
	switch t.Phys() {
	case types.PInt64:
		return extremeInt{noRetract{2}, least}
	case types.PFloat64:
		return extremeFloat{noRetract{2}, least}
	case types.PInt128:
		return extremeDec{noRetract{3}, least}
	case types.PInterval:
		return extremeInterval{noRetract{3}, least}
	default:
		return extremeBytes{noRetract{2}, least}
	}
}

func newKept([]types.Type, types.Type) Accumulator { return kept{} }

// kept is MIN and MAX where the operator keeps the values of the group.
type kept struct{}

func (kept) Words() int                                                      { return 0 }
func (kept) Heaps() []int                                                    { return nil }
func (kept) Retracts() bool                                                  { return true }
func (kept) Update(*cell.Store, int, []uint32, *vec.Vector, []int32, []int8) {}
func (kept) Merge(*cell.Store, int, uint32, *cell.Store, int, uint32)        {}
func (kept) Emit(*cell.Store, int, []uint32, *vec.Vector, *expr.RowErrors)   {}

// noRetract is what the MIN and MAX kernels share. Word 0 of each is 1 once there
// is a value; the value follows. The greatest value does not say which is the
// greatest without it, so none of them takes rows back.
type noRetract struct{ words int }

func (a noRetract) Words() int   { return a.words }
func (noRetract) Heaps() []int   { return nil }
func (noRetract) Retracts() bool { return false }

type extremeInt struct {
	noRetract
	least bool
}

func (a extremeInt) Update(s *cell.Store, off int, ids []uint32, arg *vec.Vector, sel []int32, _ []int8) {
	pages, w := s.Pages, s.Width()
	if sel == nil && arg.Valid == nil {
		vals := arg.I64[:len(ids)]
		for k, id := range ids {
			o := int(id&63)*w + off
			a.fold(pages[id>>6].W[o:o+2:o+2], vals[k])
		}
		return
	}
	for k, id := range ids {
		i := rowOf(sel, k)
		if arg.IsNull(i) {
			continue
		}
		o := int(id&63)*w + off
		a.fold(pages[id>>6].W[o:o+2:o+2], arg.I64[i])
	}
}

func (a extremeInt) fold(r []uint64, x int64) {
	if old := int64(r[1]); r[0] == 0 || x != old && (x < old) == a.least {
		r[0], r[1] = 1, uint64(x)
	}
}

func (a extremeInt) Merge(dst *cell.Store, off int, to uint32, src *cell.Store, srcOff int, from uint32) {
	if x := src.Record(from)[srcOff:]; x[0] != 0 {
		a.fold(dst.Record(to)[off:], int64(x[1]))
	}
}

func (extremeInt) Emit(s *cell.Store, off int, ids []uint32, out *vec.Vector, _ *expr.RowErrors) {
	for _, id := range ids {
		if r := s.Record(id)[off:]; r[0] != 0 {
			out.AppendInt64(int64(r[1]))
		} else {
			out.AppendNull()
		}
	}
}

type extremeFloat struct {
	noRetract
	least bool
}

func (a extremeFloat) Update(s *cell.Store, off int, ids []uint32, arg *vec.Vector, sel []int32, _ []int8) {
	for k, id := range ids {
		if i := rowOf(sel, k); !arg.IsNull(i) {
			a.fold(s.Record(id)[off:], arg.F64[i])
		}
	}
}

func (a extremeFloat) fold(r []uint64, x float64) {
	old := math.Float64frombits(r[1])
	better := vec.LessFloat(old, x)
	if a.least {
		better = vec.LessFloat(x, old)
	}
	if r[0] == 0 || better {
		r[0], r[1] = 1, math.Float64bits(x)
	}
}

func (a extremeFloat) Merge(dst *cell.Store, off int, to uint32, src *cell.Store, srcOff int, from uint32) {
	if x := src.Record(from)[srcOff:]; x[0] != 0 {
		a.fold(dst.Record(to)[off:], math.Float64frombits(x[1]))
	}
}

func (extremeFloat) Emit(s *cell.Store, off int, ids []uint32, out *vec.Vector, _ *expr.RowErrors) {
	for _, id := range ids {
		if r := s.Record(id)[off:]; r[0] != 0 {
			out.AppendFloat64(math.Float64frombits(r[1]))
		} else {
			out.AppendNull()
		}
	}
}

type extremeDec struct {
	noRetract
	least bool
}

func (a extremeDec) Update(s *cell.Store, off int, ids []uint32, arg *vec.Vector, sel []int32, _ []int8) {
	for k, id := range ids {
		if i := rowOf(sel, k); !arg.IsNull(i) {
			a.fold(s.Record(id)[off:], arg.I128[i])
		}
	}
}

func (a extremeDec) fold(r []uint64, x types.Int128) {
	c := x.Cmp(types.Int128{Hi: int64(r[2]), Lo: r[1]})
	if r[0] == 0 || c != 0 && (c < 0) == a.least {
		r[0], r[1], r[2] = 1, x.Lo, uint64(x.Hi)
	}
}

func (a extremeDec) Merge(dst *cell.Store, off int, to uint32, src *cell.Store, srcOff int, from uint32) {
	if x := src.Record(from)[srcOff:]; x[0] != 0 {
		a.fold(dst.Record(to)[off:], types.Int128{Hi: int64(x[2]), Lo: x[1]})
	}
}

func (extremeDec) Emit(s *cell.Store, off int, ids []uint32, out *vec.Vector, _ *expr.RowErrors) {
	for _, id := range ids {
		if r := s.Record(id)[off:]; r[0] != 0 {
			out.AppendInt128(types.Int128{Hi: int64(r[2]), Lo: r[1]})
		} else {
			out.AppendNull()
		}
	}
}

type extremeInterval struct {
	noRetract
	least bool
}

func (a extremeInterval) Update(s *cell.Store, off int, ids []uint32, arg *vec.Vector, sel []int32, _ []int8) {
	for k, id := range ids {
		if i := rowOf(sel, k); !arg.IsNull(i) {
			a.fold(s.Record(id)[off:], arg.Iv[i])
		}
	}
}

func (a extremeInterval) fold(r []uint64, x types.IntervalValue) {
	c := vec.CompareIntervals(x, loadInterval(r))
	if r[0] == 0 || c != 0 && (c < 0) == a.least {
		r[0], r[1], r[2] = 1, uint64(uint32(x.Months))<<32|uint64(uint32(x.Days)), uint64(x.Micros)
	}
}

func loadInterval(r []uint64) types.IntervalValue {
	return types.IntervalValue{Months: int32(r[1] >> 32), Days: int32(r[1]), Micros: int64(r[2])}
}

func (a extremeInterval) Merge(dst *cell.Store, off int, to uint32, src *cell.Store, srcOff int, from uint32) {
	if x := src.Record(from)[srcOff:]; x[0] != 0 {
		a.fold(dst.Record(to)[off:], loadInterval(x))
	}
}

func (extremeInterval) Emit(s *cell.Store, off int, ids []uint32, out *vec.Vector, _ *expr.RowErrors) {
	for _, id := range ids {
		if r := s.Record(id)[off:]; r[0] != 0 {
			out.AppendInterval(loadInterval(r))
		} else {
			out.AppendNull()
		}
	}
}

// extremeBytes keeps the bytes in the page's heap.
type extremeBytes struct {
	noRetract
	least bool
}

func (extremeBytes) Heaps() []int { return []int{1} }

func (a extremeBytes) Update(s *cell.Store, off int, ids []uint32, arg *vec.Vector, sel []int32, _ []int8) {
	for k, id := range ids {
		if i := rowOf(sel, k); !arg.IsNull(i) {
			a.fold(s, off, id, arg.Bytes(i))
		}
	}
}

func (a extremeBytes) fold(s *cell.Store, off int, id uint32, x []byte) {
	if r := s.Record(id)[off:]; r[0] == 0 {
		r[0] = 1
	} else if c := bytes.Compare(x, s.Bytes(id, off+1)); c == 0 || (c < 0) != a.least {
		return
	}
	s.SetBytes(id, off+1, x)
}

func (a extremeBytes) Merge(dst *cell.Store, off int, to uint32, src *cell.Store, srcOff int, from uint32) {
	if src.Record(from)[srcOff] != 0 {
		a.fold(dst, off, to, src.Bytes(from, srcOff+1))
	}
}

func (extremeBytes) Emit(s *cell.Store, off int, ids []uint32, out *vec.Vector, _ *expr.RowErrors) {
	for _, id := range ids {
		if s.Record(id)[off] != 0 {
			out.AppendBytes(s.Bytes(id, off+1))
		} else {
			out.AppendNull()
		}
	}
}
