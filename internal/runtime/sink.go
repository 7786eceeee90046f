package runtime

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/operators"
	"github.com/streamsql/streamsql/planner/plan"
)

// sinkTask is a subtask of a sink: the only kind of task whose step may block, on the
// target or the store, since nothing else depends on its goroutine.
type sinkTask struct {
	task
	table *plan.Sink
	ctx   context.Context // of the current step

	// Early writing.
	writer connectors.Writer
	dirty  bool         // written and not flushed
	since  int64        // of the oldest unflushed row
	lull   *atomic.Bool // set when the unflushed rows have waited sinkLull; nil while rows come
	tokens [][]byte

	// Keeping for the commit: buf is filled while spool is written. free is the buffer
	// of the spool before.
	buf, free []byte
	spool     *spool
	rows      []checkpoint.Blob // written since the last seal, or of aborted epochs
	seq       int
	count     int64

	held    *sinkFlight
	stalled stallNote
	kept    atomic.Int64 // bytes of buf, free and spool when last measured
}

// sinkFlight is what was sealed and joins the next epoch when this one is aborted.
type sinkFlight struct {
	epoch  stream.Epoch
	tokens [][]byte
	rows   []checkpoint.Blob
	count  int64
}

// sinkFlush is how long rows may wait in an early writer while more keep coming, in
// microseconds.
const sinkFlush = 10000

// sinkLull is how long an early writer's rows wait for company once there is no input:
// those of one window come from several tasks, and what a transaction misses by a moment
// waits for the whole of it, some milliseconds.
const sinkLull = 500 * time.Microsecond

// Process implements operators.Operator.
func (t *sinkTask) Process(_ int, b *vec.Batch) (operators.Output, error) {
	defer b.Release()
	t.count += int64(b.N)
	t.chain.nodes[0].count.out.Add(int64(b.N))
	if t.writer == nil {
		t.buf = vec.AppendWire(t.buf, b)
		return operators.Output{}, nil
	}
	if !t.dirty {
		t.dirty, t.since = true, t.run.now()
	}
	if err := t.writer.Write(t.ctx, b); err != nil {
		return operators.Output{}, err
	}
	if t.run.now()-t.since >= sinkFlush {
		return operators.Output{}, t.flush()
	}
	return operators.Output{}, nil
}

// Advance implements operators.Operator; sinks have no use for time.
func (t *sinkTask) Advance(int64) (operators.Output, error) { return operators.Output{}, nil }

// Resume implements operators.Operator; it is never due.
func (t *sinkTask) Resume() (operators.Output, error) { return operators.Output{}, nil }

// State implements operators.Operator.
func (t *sinkTask) State() *state.Backend { return nil }

func (t *sinkTask) flush() error {
	if !t.dirty {
		return nil
	}
	t.dirty, t.lull = false, nil
	return t.writer.Flush(t.ctx)
}

// step implements actor.
func (t *sinkTask) step(ctx context.Context) (progress, done bool, err error) {
	t.ctx = ctx
	progress = t.control(t.controlled)
	if t.chain.box.send() {
		progress = true
	}
	if t.chain.box.queued > 0 {
		return progress, false, nil
	}
	if t.keeping() {
		return progress, false, t.chain.err
	}
	if t.ready {
		return true, false, t.seal()
	}
	if t.pending() || t.takeOne() {
		return true, false, t.chain.err
	}
	t.linger()
	if t.dirty && t.alone() {
		return true, false, t.flush()
	}
	return progress, false, nil
}

// alone reports whether the unflushed rows have waited for company.
func (t *sinkTask) alone() bool {
	if t.lull == nil {
		over := new(atomic.Bool)
		t.lull = over
		t.run.exec.later(sinkLull, func() {
			over.Store(true)
			t.wake.wake()
		})
	}
	return t.lull.Load()
}

// controlled is what a control message means for a sink besides.
func (t *sinkTask) controlled(c control) {
	switch c.kind {
	case ctlAbort:
		t.rejoin(c.epoch)
	case ctlComplete:
		if t.held != nil && t.held.epoch == c.epoch {
			t.held = nil
		}
	case ctlMeasure:
		t.measureKept()
	}
}

// rejoin gives a sealed share back.
func (t *sinkTask) rejoin(e stream.Epoch) {
	if t.held == nil || t.held.epoch > e {
		return
	}
	t.tokens = append(t.held.tokens, t.tokens...)
	t.rows = append(t.held.rows, t.rows...)
	t.count += t.held.count
	t.held = nil
}

// seal ends the epoch: everything written is durable, everything kept is in the store.
func (t *sinkTask) seal() error {
	e, b := t.align, t.alignB
	if t.held != nil {
		t.rejoin(t.held.epoch)
	}
	if t.writer != nil {
		if err := t.flush(); err != nil {
			return err
		}
		token, err := t.writer.Seal(t.ctx, e)
		if err != nil {
			return err
		}
		if token != nil {
			t.tokens = append(t.tokens, token)
		}
	}
	f := t.startSeal(e)
	t.held = &sinkFlight{epoch: e, tokens: t.tokens, rows: t.rows, count: t.count}
	t.tokens, t.rows, t.count = nil, nil, 0
	done := checkpoint.TaskSealed{Task: t.id, Epoch: e, Moved: f.moved, States: t.states(f)}
	done.Sinks = append(done.Sinks, checkpoint.SealedSink{Node: t.id.Node, Subtask: t.id.Subtask,
		Rows: slices.Clone(t.held.rows), Count: t.held.count})
	for _, token := range t.held.tokens {
		done.Sinks = append(done.Sinks, checkpoint.SealedSink{Node: t.id.Node, Subtask: t.id.Subtask, Token: token})
	}
	t.toAll(stream.Message{Kind: stream.KindBarrier, Barrier: b})
	t.reopen()
	t.store(f, done)
	return nil
}
