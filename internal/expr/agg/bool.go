package agg

import (
	"github.com/streamsql/streamsql/internal/cell"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

func newBoolAnd([]types.Type, types.Type) Accumulator { return boolAgg{and: true} }
func newBoolOr([]types.Type, types.Type) Accumulator  { return boolAgg{} }

// boolAgg is BOOL_AND and BOOL_OR. Words: the counts of true and of false
// arguments, so that either can be taken back.
type boolAgg struct{ and bool }

func (boolAgg) Words() int     { return 2 }
func (boolAgg) Heaps() []int   { return nil }
func (boolAgg) Retracts() bool { return true }

func (boolAgg) Update(s *cell.Store, off int, ids []uint32, arg *vec.Vector, sel []int32, signs []int8) {
	for k, id := range ids {
		i := rowOf(sel, k)
		if arg.IsNull(i) {
			continue
		}
		w := off
		if !arg.Bool(i) {
			w++
		}
		s.Record(id)[w] += uint64(signOf(signs, k))
	}
}

func (boolAgg) Merge(dst *cell.Store, off int, to uint32, src *cell.Store, srcOff int, from uint32) {
	d, x := dst.Record(to), src.Record(from)
	d[off] += x[srcOff]
	d[off+1] += x[srcOff+1]
}

func (a boolAgg) Emit(s *cell.Store, off int, ids []uint32, out *vec.Vector, _ *expr.RowErrors) {
	for _, id := range ids {
		r := s.Record(id)
		t, f := r[off], r[off+1]
		switch {
		case t == 0 && f == 0:
			out.AppendNull()
		case a.and:
			out.AppendBool(f == 0)
		default:
			out.AppendBool(t != 0)
		}
	}
}
