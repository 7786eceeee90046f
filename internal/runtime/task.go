package runtime

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/internal/crashpoint"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
)

// task is one subtask of a chain: the part that is common to chains of operators,
// sources and sinks.
type task struct {
	id     checkpoint.TaskID
	par    int
	groups stream.GroupRange
	run    *attempt
	wake   waker
	box    *mailbox
	in     []inPort
	chain  chain
	// watches are those of edges inside the chain.
	watches []*watched

	gathered int64 // tick at which something gathered was first seen; 0 for nothing
	turn     int   // port to look at first
	mergedWM int64
	// holds: not idle downstream even when all input is, because the chain keeps windows
	// that the end of the input lets go. Of bounded jobs, whose end comes.
	holds    bool
	wantIdle bool
	idle     bool // told downstream
	endDue   bool
	ended    bool

	align    stream.Epoch // being aligned, 0 for none
	alignB   stream.Barrier
	ready    bool         // aligned: seal as soon as possible
	last     stream.Epoch // sealed or aborted last; older barriers are ignored
	moved    bool
	inFlight *flight
	sink     *sinkTask    // the task, when it is a sink
	clocks   []*chainNode // of the chain, that make watermarks
	clocked  bool         // the clock makes the watermark of the rows that come in
	ticks    atomic.Bool  // wake it with every tick
	pause    atomic.Int64 // longest freeze, in nanoseconds; for Status alone
	asked    atomic.Bool  // a ctlMeasure is on its way
}

// inPort is what a task knows of a port of its mailbox.
type inPort struct {
	input int // of the head's operator
	// edge tells which ports come from the same edge of the plan; together that its
	// producers fall silent and wake together.
	edge     int
	together bool
	wm       int64
	idle     bool
	ended    bool
	aligned  bool
}

// flight is a sealed epoch that is not complete yet.
type flight struct {
	epoch stream.Epoch
	moved bool
	parts []*sealed
}

func (t *task) waker() waker { return t.wake }

func (t *task) where() string {
	n := t.chain.nodes[0]
	if t.chain.failN != nil {
		n = t.chain.failN
	}
	return fmt.Sprintf("%s, subtask %d", nodeName(n.plan), t.id.Subtask)
}

// recoverTo turns a panic into an Internal error.
func recoverTo(err *error) {
	if r := recover(); r != nil {
		*err = sqlerr.Internalf("panic: %v", r).WithDetail("%s", debug.Stack())
	}
}

// step implements actor for a chain of operators.
func (t *task) step(ctx context.Context) (progress, done bool, err error) {
	progress = t.control(nil)
	if t.chain.box.send() {
		progress = true
	}
	if t.chain.box.queued > 0 {
		return progress, false, nil
	}
	if t.pending() {
		return true, false, t.chain.err
	}
	if t.takeOne() {
		return true, false, t.chain.err
	}
	t.linger()
	return t.chain.box.send() || progress, false, nil
}

// pending does what comes before new input: the rest of the operators' output, a
// barrier, the end.
func (t *task) pending() bool {
	if t.ready && !t.chain.midBatch() {
		t.seal()
		return true
	}
	if t.chain.work() || t.strike() {
		return true
	}
	if t.wantIdle != t.idle {
		t.idle = t.wantIdle
		if t.idle {
			t.timeToAll(stream.Message{Kind: stream.KindIdle})
		} else {
			// A watermark ends the idleness downstream, also an old one.
			t.timeToAll(stream.Message{Kind: stream.KindWatermark, Time: t.mergedWM})
		}
		return true
	}
	if t.endDue && !t.ended && !t.ready {
		t.ended = true
		t.toAll(stream.Message{Kind: stream.KindEnd})
		t.run.event(checkpoint.TaskEnded{Task: t.id})
		return true
	}
	return false
}

// control handles the control messages; more, if any, does with each what the kind
// of task needs besides.
func (t *task) control(more func(control)) bool {
	cs := t.box.controls()
	for _, c := range cs {
		switch c.kind {
		case ctlInject:
			// Of a source, or a task that has ended.
			if c.epoch > t.last {
				t.align, t.alignB, t.ready = c.epoch, c.barrier, true
			}
		case ctlAbort:
			t.abort(c.epoch)
		case ctlComplete:
			t.complete(c.epoch)
		case ctlMeasure:
			t.measure()
		}
		if more != nil {
			more(c)
		}
	}
	return len(cs) > 0
}

// takeOne takes one message from a port and handles it.
func (t *task) takeOne() bool {
	for k := range t.in {
		i := (t.turn + k) % len(t.in)
		if t.in[i].aligned {
			continue
		}
		m, ok := t.box.take(i)
		if !ok {
			continue
		}
		if m.Kind != stream.KindBatch {
			t.turn = (i + 1) % len(t.in)
		}
		t.handle(i, m)
		return true
	}
	return false
}

func (t *task) handle(i int, m stream.Message) {
	p := &t.in[i]
	switch m.Kind {
	case stream.KindBatch:
		t.moved, p.idle = true, false
		t.turn = (i + 1) % len(t.in)
		t.chain.nodes[0].process(p.input, m.Batch)
	case stream.KindWatermark:
		p.wm, p.idle = max(p.wm, m.Time), false
		t.merge()
	case stream.KindIdle:
		p.idle = true
		t.merge()
	case stream.KindBarrier:
		t.barrier(i, m.Barrier)
	case stream.KindEnd:
		p.ended = true
		t.merge()
		t.checkAligned()
	}
}

// merge computes the watermark over the live ports and tells the chain. Idle ports
// are left out; when all are idle it is the highest of theirs, so that it does not
// depend on the order in which they fell silent. Ended ports count as the end of
// time, which is reached only when all have ended or are at it: an idle port may yet
// bring the rows that its own end lets go.
func (t *task) merge() {
	wm, high, live, idle, ended := types.MaxTime, types.MinTime, 0, 0, 0
	for i := range t.in {
		switch p := &t.in[i]; {
		case p.ended:
			ended++
		case p.idle && t.leftOut(p):
			idle++
			if p.wm < types.MaxTime {
				high = max(high, p.wm)
			}
		case p.wm < types.MaxTime:
			live++
			wm = min(wm, p.wm)
		}
	}
	allIdle := live == 0 && idle > 0
	if allIdle {
		wm = high
	}
	t.wantIdle = allIdle && !t.holds
	if ended == len(t.in) {
		t.endDue = true
	}
	if wm > t.mergedWM {
		// The clock moves by itself; that alone is worth no checkpoint.
		t.mergedWM, t.moved = wm, t.moved || !t.clocked
		t.chain.nodes[0].advance(wm)
	}
}

// leftOut reports whether an idle port does not count. The subtasks of an operator that
// all see the same inputs fall silent and wake together: one that is still idle when
// another has woken has yet to fire, and holds time back until it has.
func (t *task) leftOut(p *inPort) bool {
	if !p.together {
		return true
	}
	for i := range t.in {
		if q := &t.in[i]; q.edge == p.edge && !q.idle {
			return false
		}
	}
	return true
}

// toAll sends a control message to every consumer.
func (t *task) toAll(m stream.Message) {
	for _, n := range t.chain.nodes {
		n.errs.flush()
		n.late.flush()
	}
	for _, x := range t.chain.box.exchanges {
		x.toAll(m)
	}
}

// barrier takes a barrier of port i and shuts the port until all have it.
func (t *task) barrier(i int, b stream.Barrier) {
	if b.Epoch <= t.last {
		return // of an aborted epoch
	}
	if t.align != 0 && b.Epoch > t.align {
		t.reopen()
	}
	t.align, t.alignB = b.Epoch, b
	t.in[i].aligned = true
	if len(t.in) > 1 {
		t.box.gate(i, true)
	}
	t.checkAligned()
}

func (t *task) checkAligned() {
	if t.align == 0 {
		return
	}
	for i := range t.in {
		if !t.in[i].aligned && !t.in[i].ended {
			return
		}
	}
	t.ready = true
}

// reopen ends an alignment.
func (t *task) reopen() {
	t.align, t.ready = 0, false
	for i := range t.in {
		if t.in[i].aligned {
			t.in[i].aligned = false
			t.box.gate(i, false)
		}
	}
}

// seal freezes the task's state, passes the barrier on, and leaves the encoding and
// storing to the background.
func (t *task) seal() {
	e, b := t.align, t.alignB
	f := t.startSeal(e)
	t.toAll(stream.Message{Kind: stream.KindBarrier, Barrier: b})
	t.reopen()
	t.store(f, checkpoint.TaskSealed{Task: t.id, Epoch: e, Moved: f.moved, States: t.states(f)})
}

func (t *task) startSeal(e stream.Epoch) *flight {
	if t.inFlight != nil {
		t.abort(t.inFlight.epoch) // its Abort is still on the way
	}
	crashpoint.Here("before-seal")
	begin := time.Now()
	f := &flight{epoch: e, moved: t.moved, parts: t.chain.freeze()}
	if took := int64(time.Since(begin)); took > t.pause.Load() {
		t.pause.Store(took)
	}
	t.inFlight, t.moved, t.last = f, false, e
	for _, w := range t.watches {
		w.tell(w.Barrier(e))
	}
	return f
}

// states describes the frozen nodes; their blobs are filled in once stored.
func (t *task) states(f *flight) []checkpoint.TaskState {
	out := make([]checkpoint.TaskState, len(f.parts))
	for i, p := range f.parts {
		out[i] = checkpoint.TaskState{Node: p.node.plan.ID, Subtask: t.id.Subtask, Parallelism: t.par,
			Groups: t.groups, Watermark: p.node.inWM}
	}
	return out
}

// complete ends the flight of an epoch that happened.
func (t *task) complete(e stream.Epoch) {
	if t.inFlight == nil || t.inFlight.epoch != e {
		return
	}
	for _, p := range t.inFlight.parts {
		p.complete()
	}
	t.inFlight = nil
}

// abort ends an epoch that will not happen: its changes join the next one's, shut
// ports open, barriers still on the way are ignored.
func (t *task) abort(e stream.Epoch) {
	if t.align != 0 && t.align <= e {
		t.reopen()
	}
	t.last = max(t.last, e)
	if t.inFlight == nil || t.inFlight.epoch > e {
		return
	}
	for _, p := range t.inFlight.parts {
		p.abort()
	}
	t.moved = t.moved || t.inFlight.moved
	t.inFlight = nil
}

// linger sends gathered rows once there is no input: at once to receivers that wait,
// to others after lingerTime.
func (t *task) linger() {
	for _, n := range t.chain.nodes {
		n.errs.flush()
		n.late.flush()
	}
	box := &t.chain.box
	box.flushCaughtUp()
	if box.gathered == 0 {
		t.gathered = 0
		t.run.lingering(t, len(t.clocks) > 0)
		return
	}
	now := t.run.now()
	switch {
	case t.gathered == 0:
		t.gathered = now
		t.run.lingering(t, true)
	case now-t.gathered >= lingerTime:
		box.flushAll()
		t.gathered = 0
	}
}

// lingerTime is how long rows may wait in an exchange for company, in microseconds.
const lingerTime = 5000
