// Package stream holds what travels on an edge between tasks: messages, barriers,
// watermarks, key groups and the Outlet they go through.
package stream

import (
	"github.com/streamsql/streamsql/internal/vec"
)

// Epoch numbers the checkpoints of a job. It grows by one or more from checkpoint
// to checkpoint and is never used twice; 0 is "before the first".
type Epoch uint64

// Barrier separates the rows of one epoch from those of the next. It carries
// nothing of any feature: only the epoch it closes, and whether the job stops there.
type Barrier struct {
	Epoch Epoch
	Stop  bool
}

// Kind tells the messages apart.
type Kind uint8

const (
	// KindBatch carries rows.
	KindBatch Kind = iota
	// KindWatermark says that no row with event time <= Time will come on this port,
	// late rows aside. It never goes backwards on a port.
	KindWatermark
	// KindIdle says that this port has nothing to say about time until its next
	// batch or watermark, and is left out of the minimum.
	KindIdle
	// KindTick gives the time of the clock; the runtime alone reads clocks.
	KindTick
	// KindBarrier closes an epoch on this port.
	KindBarrier
	// KindEnd says that nothing more comes on this port: its watermark is at the end
	// of time and it counts as aligned for every later barrier.
	KindEnd
)

func (k Kind) String() string {
	return [...]string{"batch", "watermark", "idle", "tick", "barrier", "end"}[k]
}

// Message is one item on an edge. A batch passes to the receiver with it.
type Message struct {
	Kind    Kind
	Batch   *vec.Batch
	Time    int64 // KindWatermark, KindTick: microseconds since 1970
	Barrier Barrier
}

// Outlet is the sending end of an edge. In process it is a port of the consumer's
// mailbox; over a network it is an encoder whose far end feeds such a port.
//
// One goroutine uses an Outlet. Messages arrive in the order in which TrySend took
// them. Batches are bounded by rows and bytes and held back; other messages weigh
// nothing and are refused only while the port is shut for alignment.
type Outlet interface {
	// TrySend offers a message and reports whether it was taken. It never blocks.
	// When it returns false the message still belongs to the caller.
	TrySend(m Message) bool
	// Room returns a channel that receives (or is closed) once it is worth trying
	// again after a refusal.
	Room() <-chan struct{}
}

// DefaultKeyGroups is the number of key groups of a new job: the unit in which
// keyed state is labelled and moved between subtasks.
const DefaultKeyGroups = 256

// KeyGroup maps a key hash to one of groups (a power of two) by its top bits.
func KeyGroup(hash uint64, groups int) int {
	return int(hash >> 1 / (1 << 63 / uint64(groups)))
}

// GroupRange is the half-open range [From, To) of key groups that a subtask owns.
type GroupRange struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Contains reports whether group g is in r.
func (r GroupRange) Contains(g int) bool { return g >= r.From && g < r.To }

// RangeOf gives the groups of one subtask out of parallelism.
func RangeOf(subtask, parallelism, groups int) GroupRange {
	return GroupRange{From: subtask * groups / parallelism, To: (subtask + 1) * groups / parallelism}
}

// SubtaskOf is the inverse of RangeOf: which subtask owns group g.
func SubtaskOf(g, parallelism, groups int) int {
	return ((g+1)*parallelism - 1) / groups
}
