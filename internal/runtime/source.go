package runtime

import (
	"context"
	"encoding/json"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/planner/plan"
)

// sourceTask reads a subtask's splits. Its inPorts are the splits: a split is one
// ordered sequence with a watermark of its own. It takes barriers itself, between
// two chunks, whatever its readers are waiting for.
type sourceTask struct {
	task
	conn   connectors.Source
	src    *plan.Source
	splits []*split

	cur     *ahead // being processed, of splits[curAt]
	curAt   int
	part    int
	stopped bool // a stop barrier was taken
	drained bool // told the coordinator
}

// split is one ordered sequence and how far it has been processed.
type split struct {
	conn     connectors.Split
	queue    *aheadQueue
	pos      connectors.Position
	wm       int64
	ended    bool
	caughtUp bool
	lastRow  int64 // clock when it last had rows
	reader   connectors.Reader
	finished bool // with the other side; the driver's
}

// step implements actor.
func (t *sourceTask) step(ctx context.Context) (progress, done bool, err error) {
	progress = t.control(t.controlled)
	if t.chain.box.send() {
		progress = true
	}
	if t.chain.box.queued > 0 {
		return progress, false, nil
	}
	if t.ready && t.cur == nil && !t.chain.midBatch() {
		t.seal()
		return true, false, nil
	}
	if t.chain.work() || t.strike() {
		return true, false, t.chain.err
	}
	if t.cur == nil && !t.stopped {
		t.next()
	}
	if t.cur != nil {
		if err := t.advanceChunk(); err != nil {
			return true, true, err
		}
		return true, false, t.chain.err
	}
	t.checkIdle()
	if !t.drained && !t.stopped && t.allEnded() {
		t.drain()
	}
	if t.pending() {
		return true, false, t.chain.err
	}
	t.linger()
	if t.src.IdleTimeout > 0 {
		t.run.lingering(&t.task, true) // idleness comes with time alone
	}
	return t.chain.box.send() || progress, false, t.chain.err
}

// drain tells the coordinator that there are no more rows. Until it lets End go the
// task is idle: it holds back nobody's watermark, and nobody's fires because of it.
func (t *sourceTask) drain() {
	t.drained, t.wantIdle = true, !t.holds
	t.run.event(checkpoint.Drained{Task: t.id})
}

func (t *sourceTask) allEnded() bool {
	for _, s := range t.splits {
		if !s.ended {
			return false
		}
	}
	return true
}

// controlled is what a control message means for a source besides.
func (t *sourceTask) controlled(c control) {
	switch c.kind {
	case ctlSendEnd:
		for i := range t.in {
			t.in[i].ended = true
		}
		t.merge() // nothing is live any more
	case ctlAbort:
		t.stopped = false
	}
}

// seal records the positions beside the chain's state and sends the barrier.
func (t *sourceTask) seal() {
	e, b := t.align, t.alignB
	t.stopped = b.Stop
	f := t.startSeal(e)
	states := t.states(f)
	for _, s := range t.splits {
		states[0].Splits = append(states[0].Splits, checkpoint.SplitState{ID: s.conn.ID,
			Position: json.RawMessage(s.pos), Watermark: s.wm, Ended: s.ended})
	}
	t.toAll(stream.Message{Kind: stream.KindBarrier, Barrier: b})
	t.reopen()
	t.store(f, checkpoint.TaskSealed{Task: t.id, Epoch: e, Moved: f.moved, States: states})
}

// next takes up the next decoded chunk, looking at the splits in turn.
func (t *sourceTask) next() {
	for k := range t.splits {
		i := (t.turn + k) % len(t.splits)
		if a := t.splits[i].queue.pop(); a != nil {
			t.cur, t.curAt, t.part = a, i, 0
			t.turn = (i + 1) % len(t.splits)
			return
		}
	}
}

// advanceChunk processes the next part of the current chunk, or its end.
func (t *sourceTask) advanceChunk() error {
	a, s := t.cur, t.splits[t.curAt]
	switch {
	case a.err != nil:
		return a.err
	case a.end:
		s.ended, t.moved = true, true
		// The watermark of the last split is kept until End is sent.
		if !t.allEnded() {
			t.in[t.curAt].ended = true
			t.merge()
		}
		t.cur = nil
		return nil
	case t.part < len(a.parts):
		r := a.parts[t.part]
		t.part++
		return t.emit(s, a.chunk, r)
	}
	if a.chunk.Pos != nil {
		t.moved = t.moved || string(a.chunk.Pos) != string(s.pos)
		s.pos = a.chunk.Pos
	}
	s.caughtUp = a.chunk.CaughtUp
	if p := &t.in[t.curAt]; p.idle && !s.caughtUp {
		p.idle = false // there may be rows that cannot be read yet
		t.merge()
	}
	t.cur = nil
	return nil
}

// emit sends the rows of one part into the chain, each with the watermark of its
// split before it.
func (t *sourceTask) emit(s *split, c *connectors.Chunk, r *rows) error {
	head := t.chain.nodes[0]
	head.count.in.Add(int64(r.n - r.broken))
	for i := range r.failed {
		if err := t.rowFailed(s, c, &r.failed[i]); err != nil {
			return err
		}
	}
	if r.n > 0 {
		s.lastRow = t.run.now()
		t.in[t.curAt].idle = false
	}
	if r.marks != nil {
		s.wm = carry(r, s.wm)
		t.in[t.curAt].wm = s.wm
		r.marks.Release()
		r.times.Release()
	}
	t.moved = t.moved || r.n > 0
	head.emit(r.b)
	t.merge()
	return nil
}

// carry sets the watermarks that the rows of r carry, wm being the split's before
// them, and returns the split's after them. The column exists only when a row's time
// is at or below what it carries: all others are late for no window they belong to.
func carry(r *rows, wm int64) int64 {
	r.b.WM = wm
	times, marks := r.times.I64[:r.n], r.marks.I64[:r.n]
	late := false
	run := wm
	if r.marks.Valid == nil {
		for i, m := range marks {
			late = late || times[i] <= run
			run = max(run, m)
		}
	} else {
		for i, m := range marks {
			late = late || times[i] <= run
			if r.marks.Valid.Get(i) {
				run = max(run, m)
			}
		}
	}
	if !late || r.b.N == 0 {
		return run
	}
	carried := make([]int64, 0, r.b.N)
	after, k := wm, 0
	for i, m := range marks {
		if r.sel == nil || k < len(r.sel) && int(r.sel[k]) == i {
			carried = append(carried, after)
			k++
		}
		if r.marks.Valid == nil || r.marks.Valid.Get(i) {
			after = max(after, m)
		}
	}
	r.b.RowWM = carried
	return run
}

// rowFailed applies the table's on.error to a row that could not be read.
func (t *sourceTask) rowFailed(s *split, c *connectors.Chunk, f *failure) error {
	head := t.chain.nodes[0]
	subject, position := "", ""
	count := &head.count.dropped
	if f.payload >= 0 && c.Where != nil {
		subject, position = c.Where(f.payload)
	}
	switch t.src.OnError {
	case "skip":
	case "dead-letter":
		if head.errs != nil {
			count = &head.count.letters
			head.errs.add(letter{table: t.src.Table, code: f.code, msg: f.msg, field: f.field, subject: subject,
				split: s.conn.ID, position: position, payload: f.text})
		}
	default:
		where := "split " + s.conn.ID
		if subject != "" {
			where = subject
		}
		if position != "" {
			where += " at " + position
		}
		return sqlerr.New(f.code, t.src.Pos, "table %q: %s", t.src.Table, f.msg).
			WithDetail("The row is in %s.", where).
			WithHint("Set 'on.error' = 'skip' or 'dead-letter' to go on without such rows.")
	}
	count.add(f.code, 1)
	return nil
}

// checkIdle leaves out splits that are caught up and have had no row for the idle
// timeout, unless their rows are held up here.
func (t *sourceTask) checkIdle() {
	if t.src.IdleTimeout <= 0 {
		return
	}
	now, changed := t.run.now(), false
	for i, s := range t.splits {
		idle := !s.ended && s.caughtUp && s.queue.empty() && now-s.lastRow >= t.src.IdleTimeout
		if idle && !t.in[i].idle {
			t.in[i].idle, changed = true, true
		}
	}
	if changed {
		t.merge()
	}
}
