package runtime

import (
	"math/bits"
	"slices"

	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
)

// Sizes at which an exchange sends what it has gathered for a target.
const (
	flushRows  = 2048
	flushBytes = 1 << 20
)

// target is one receiving subtask of an exchange: what waits to be sent to it, and
// the rows gathered for it.
type target struct {
	outlet stream.Outlet
	queue  []stream.Message // outbox; refused or not yet offered
	at     int              // first of queue
	acc    *vec.Batch
	wm     int64 // to be sent after acc
	sent   int64 // watermark sent
	sel    []int32
}

// emptier is an Outlet that knows whether its far end has caught up.
type emptier interface{ Empty() bool }

func (t *target) caughtUp() bool {
	e, ok := t.outlet.(emptier)
	return ok && e.Empty()
}

// exchange is an output of a task: rows to the subtasks of one consumer.
type exchange struct {
	kind    plan.Exchange
	keys    []int
	types   []types.Type
	targets []*target
	only    int      // the one target of Forward and Gather
	turn    int      // Spread
	sub     []uint16 // subtask by key group
	groups  int
	hashes  []uint64
	rows    [][]int32 // scratch of deal, by target
	counts  []int
	keyCols []*vec.Vector
	// clocked: the clock makes the watermark.
	clocked bool
	// moves: the halves of an update may differ in keys.
	moves bool
	box   *outbox
}

// outbox is the part of a task that counts what its exchanges have not got rid of.
type outbox struct {
	exchanges []*exchange
	queued    int
	gathered  int // targets with rows in acc or a watermark behind them
}

func (x *exchange) push(t *target, m stream.Message) {
	t.queue = append(t.queue, m)
	x.box.queued++
}

// batch takes rows over.
func (x *exchange) batch(b *vec.Batch) {
	switch {
	case x.kind == plan.Spread:
		t := x.targets[x.turn]
		x.turn = (x.turn + 1) % len(x.targets)
		x.push(t, stream.Message{Kind: stream.KindBatch, Batch: b})
	case x.kind != plan.Hash || len(x.targets) == 1:
		if x.moves && b.Ops != nil {
			b.Ops = splitPairs(b.Ops, x.hashed(b))
		}
		t := x.targets[x.only]
		if t.acc == nil && b.N >= flushRows/2 {
			x.push(t, stream.Message{Kind: stream.KindBatch, Batch: b})
			return
		}
		x.gather(t, b)
		b.Release()
	default:
		x.hash(b)
	}
}

// gather appends a whole batch to what waits for t.
func (x *exchange) gather(t *target, b *vec.Batch) {
	t.sel = t.sel[:0]
	for i := range b.N {
		t.sel = append(t.sel, int32(i))
	}
	x.append(t, b)
}

// hashed gives the hash of each row's keys.
func (x *exchange) hashed(b *vec.Batch) []uint64 {
	x.keyCols = x.keyCols[:0]
	for _, k := range x.keys {
		x.keyCols = append(x.keyCols, b.Cols[k])
	}
	if cap(x.hashes) < b.N {
		x.hashes = make([]uint64, b.N, max(b.N, 2*cap(x.hashes)))
	}
	h := x.hashes[:b.N]
	vec.HashColumns(x.keyCols, b.N, h)
	return h
}

// hash deals rows out by key group. An update whose halves have different keys
// becomes a delete and an insert.
func (x *exchange) hash(b *vec.Batch) {
	h := x.hashed(b)
	if x.moves && b.Ops != nil {
		b.Ops = splitPairs(b.Ops, h)
	}
	x.deal(h)
	for _, t := range x.targets {
		if len(t.sel) == b.N && t.acc == nil && b.N >= flushRows/2 {
			x.push(t, stream.Message{Kind: stream.KindBatch, Batch: b})
			return
		}
		x.append(t, b)
	}
	b.Release()
}

// deal fills in the targets' sel with the rows of each. The key group of a hash is
// its top bits, as stream.KeyGroup has it.
func (x *exchange) deal(h []uint64) {
	if x.rows == nil {
		x.rows, x.counts = make([][]int32, len(x.targets)), make([]int, len(x.targets))
	}
	for i, t := range x.targets {
		if cap(t.sel) < len(h) {
			t.sel = make([]int32, len(h), max(len(h), 2*cap(t.sel)))
		}
		x.rows[i], x.counts[i] = t.sel[:len(h)], 0
	}
	shift := uint(64 - bits.TrailingZeros(uint(x.groups)))
	sub, rows, counts := x.sub, x.rows, x.counts
	for i, k := range h {
		s := sub[k>>shift]
		n := counts[s]
		rows[s][n] = int32(i)
		counts[s] = n + 1
	}
	for i, t := range x.targets {
		t.sel = x.rows[i][:x.counts[i]]
	}
}

// splitPairs rewrites the ops of update pairs whose halves hash differently.
func splitPairs(ops []vec.Op, h []uint64) []vec.Op {
	cloned := false
	for i := 0; i+1 < len(h); i++ {
		if ops[i] != vec.UpdateBefore || ops[i+1] != vec.UpdateAfter || h[i] == h[i+1] {
			continue
		}
		if !cloned {
			ops, cloned = slices.Clone(ops), true
		}
		ops[i], ops[i+1] = vec.Delete, vec.Insert
	}
	return ops
}

// append adds the rows t.sel of b to what waits for t, and sends it on when it is large.
func (x *exchange) append(t *target, b *vec.Batch) {
	if len(t.sel) == 0 {
		return
	}
	if t.acc == nil {
		t.acc = vec.NewBatch(x.types, max(len(t.sel), 64))
		x.box.gathered++
	}
	t.acc.AppendSel(b, t.sel)
	if t.acc.N >= flushRows || t.acc.Size() >= flushBytes {
		x.flush(t)
	}
}

// flush moves what was gathered for t, and the watermark behind it, to its queue.
func (x *exchange) flush(t *target) {
	if t.acc != nil {
		x.push(t, stream.Message{Kind: stream.KindBatch, Batch: t.acc})
		t.acc = nil
		x.box.gathered--
	}
	if t.wm > t.sent {
		x.push(t, stream.Message{Kind: stream.KindWatermark, Time: t.wm})
		t.sent = t.wm
	}
}

// watermark says that no row with time <= w comes after those taken so far. It never
// overtakes them.
func (x *exchange) watermark(w int64) {
	for _, t := range x.targets {
		t.wm = max(t.wm, w)
		if t.acc == nil {
			x.flush(t)
		}
	}
}

// toAll sends a control message behind everything gathered so far.
func (x *exchange) toAll(m stream.Message) {
	for _, t := range x.targets {
		x.flush(t)
		x.push(t, m)
	}
}

// flushCaughtUp sends what was gathered for targets whose receivers wait.
func (o *outbox) flushCaughtUp() {
	if o.gathered == 0 {
		return
	}
	for _, x := range o.exchanges {
		for _, t := range x.targets {
			if t.acc != nil && t.at == len(t.queue) && t.caughtUp() {
				x.flush(t)
			}
		}
	}
}

// flushAll sends everything gathered.
func (o *outbox) flushAll() {
	for _, x := range o.exchanges {
		for _, t := range x.targets {
			x.flush(t)
		}
	}
}

// send offers queued messages and reports whether any was taken.
func (o *outbox) send() bool {
	if o.queued == 0 {
		return false
	}
	before := o.queued
	for _, x := range o.exchanges {
		for _, t := range x.targets {
			for t.at < len(t.queue) && t.outlet.TrySend(t.queue[t.at]) {
				t.queue[t.at] = stream.Message{}
				t.at++
				o.queued--
			}
			if t.at == len(t.queue) {
				t.queue, t.at = t.queue[:0], 0
			}
		}
	}
	return o.queued < before
}
