package agg

import (
	"github.com/streamsql/streamsql/internal/cell"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// Accumulator is the kernel of one aggregate for settled argument types. It keeps
// its state in Words() consecutive words of a record, starting at the offset it is
// given; all words zero is the empty group. It holds no state of its own, so one
// value serves every group and goroutine.
//
// Integer and decimal accumulators are wider than their results: a result out of
// range is a row error when it is emitted and never earlier, so that the order of
// rows does not decide whether a job lives. DOUBLE sums are compensated
// (Neumaier, 1974) with NaN and infinities counted apart, so that retraction works.
type Accumulator interface {
	// Words is the number of words of a record that the accumulator uses.
	Words() int
	// Heaps lists, relative to the offset, the words that refer to the page's heap.
	Heaps() []int
	// Retracts reports whether Update takes rows with sign -1.
	Retracts() bool
	// Update folds rows into records: row k of the call is row sel[k] of arg (k itself
	// when sel is nil) and goes to record ids[k] with sign signs[k] (+1 when signs is
	// nil). arg is nil for COUNT(*). The records have been touched. NULL arguments
	// leave the accumulator alone, as SQL asks.
	Update(s *cell.Store, off int, ids []uint32, arg *vec.Vector, sel []int32, signs []int8)
	// Merge folds record from of store src into record to of store dst: the union of
	// two disjoint sets of rows. The target has been touched.
	Merge(dst *cell.Store, off int, to uint32, src *cell.Store, srcOff int, from uint32)
	// Emit appends the result of each record to out. Row k that cannot be
	// represented is reported as row k of errs, and NULL is appended for it.
	Emit(s *cell.Store, off int, ids []uint32, out *vec.Vector, errs *expr.RowErrors)
}

// Func is one row of the aggregate table.
type Func struct {
	Name    string
	Doc     string
	Example string
	// Resolve settles the argument types the aggregate wants (casts are inserted by the
	// binder) and the result type; ok is false when args do not fit.
	Resolve func(args []types.Type) (want []types.Type, result types.Type, ok bool)
	// New returns the kernel for resolved argument types.
	New func(args []types.Type, result types.Type) Accumulator
	// Changing returns the kernel over rows that may be taken back, where New's does not
	// retract.
	Changing func(args []types.Type, result types.Type) Accumulator
	// Extreme is -1 for MIN and 1 for MAX. Over rows that may be taken back their kernel
	// keeps nothing: the operator keeps the values of the group and finds the extreme.
	Extreme int
}
