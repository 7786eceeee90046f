package agg

import (
	"github.com/streamsql/streamsql/internal/cell"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

func newCount([]types.Type, types.Type) Accumulator { return count{} }

// count is COUNT(*) and COUNT(x). Word 0 is the count.
type count struct{}

func (count) Words() int     { return 1 }
func (count) Heaps() []int   { return nil }
func (count) Retracts() bool { return true }

func (count) Update(s *cell.Store, off int, ids []uint32, arg *vec.Vector, sel []int32, signs []int8) {
	pages, w := s.Pages, s.Width()
	noNull := arg == nil || arg.Valid == nil
	switch {
	case noNull && signs == nil:
		for _, id := range ids {
			pages[id>>6].W[int(id&63)*w+off]++
		}
	case noNull:
		for k, id := range ids {
			pages[id>>6].W[int(id&63)*w+off] += uint64(signs[k])
		}
	default:
		for k, id := range ids {
			if !arg.Valid.Get(rowOf(sel, k)) {
				continue
			}
			pages[id>>6].W[int(id&63)*w+off] += uint64(signOf(signs, k))
		}
	}
}

func (count) Merge(dst *cell.Store, off int, to uint32, src *cell.Store, srcOff int, from uint32) {
	dst.Record(to)[off] += src.Record(from)[srcOff]
}

func (count) Emit(s *cell.Store, off int, ids []uint32, out *vec.Vector, _ *expr.RowErrors) {
	vals := out.AppendInt64s(len(ids))
	for k, id := range ids {
		vals[k] = int64(s.Record(id)[off])
	}
}

// rowOf is the row of the argument that row k of an update stands for.
func rowOf(sel []int32, k int) int {
	if sel == nil {
		return k
	}
	return int(sel[k])
}

// signOf is the sign of row k of an update.
func signOf(signs []int8, k int) int64 {
	if signs == nil {
		return 1
	}
	return int64(signs[k])
}
