// Package operators holds every operator of the dataflow, one file each. An operator
// does no I/O, reads no clock and starts no goroutine: it is driven by calls from one
// task and answers with batches.
package operators

import (
	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// Output is what a call gives back: at most one batch, and whether more is to come.
type Output struct {
	Batch *vec.Batch
	// Again: call Resume before any new input. Between the two a barrier may be
	// handled; the operator's state and what it has emitted agree at every return.
	Again bool
}

// Operator is one subtask of a plan node. All calls come from one goroutine. After an
// error the operator is not called again.
type Operator interface {
	// Process takes one batch of an input port. The operator releases it or passes it on.
	Process(port int, b *vec.Batch) (Output, error)
	// Advance says that the merged watermark of the inputs is now wm, greater than
	// before. The runtime passes it on after the last Again. After a restore it says
	// the restored watermark again, before any batch: what was due at the barrier and
	// had not come out yet comes out then.
	Advance(wm int64) (Output, error)
	// Resume goes on where an Output with Again left off.
	Resume() (Output, error)
	// State is the operator's keyed state, nil when it has none. The runtime, never
	// the operator, freezes and restores it, and only between calls.
	State() *state.Backend
}

// Pending is an Operator that may have work left after a restore or a barrier: a
// firing that a checkpoint fell into. The runtime calls Resume while it is true.
type Pending interface {
	Pending() bool
}

// Holder is an Operator that holds more than its state. Held is that in bytes; it looks
// at no record, and is called between calls.
type Holder interface {
	Held() int
}

// Context is what the runtime gives to a new operator.
type Context struct {
	Inputs []types.Schema // of each input port
	// Errors receives the failures of rows under the node's on.error policy; an error it
	// returns ends the job.
	Errors func(b *vec.Batch, e expr.RowError) error
	// Late counts (and, if the plan says so, keeps) rows dropped as late.
	Late func(b *vec.Batch, rows []int32) error
	// PartlyLate counts rows that were late for some of their windows and taken into
	// the others; nil when nobody counts them.
	PartlyLate func(rows int)
	// BatchRows is the target size of emitted batches.
	BatchRows int
	// Owned are the key groups of the subtask, out of KeyGroups in all: where rows
	// without a key are filed. The zero values stand for all of 256.
	Owned     stream.GroupRange
	KeyGroups int
}
