package runtime

import (
	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/operators"
	"github.com/streamsql/streamsql/planner/plan"
)

// clockStep is how far the clock moves before its watermark follows, in microseconds:
// how long a window over processing time may stay after its end.
const clockStep = 20_000

// stamper is a plan.Stamp: the one place where rows get to know the time, and so part of
// the runtime. Its moments never go back; one that makes the watermark gives none that
// is at or below it, so that no row is late. Of a restored job the watermark is that of
// the checkpoint, and the first tick brings it to where the clock is.
type stamper struct {
	spec *plan.Stamp
	wall func() int64
	last int64 // moment given last
}

func newStamper(spec *plan.Stamp, wall func() int64) *stamper {
	return &stamper{spec: spec, wall: wall, last: types.MinTime}
}

// moment reads the clock.
func (s *stamper) moment() int64 {
	s.last = max(s.last, s.wall())
	return s.last
}

// tick is one step of the column that windows are made of.
func (s *stamper) tick() int64 { return s.spec.Types[0].Tick() }

// Process appends the moment to every row.
func (s *stamper) Process(_ int, b *vec.Batch) (operators.Output, error) {
	now := s.moment()
	out := &vec.Batch{N: b.N, Ops: b.Ops, WM: b.WM, RowWM: b.RowWM, Cols: make([]*vec.Vector, 0, len(b.Cols)+len(s.spec.Types))}
	for _, c := range b.Cols {
		out.Cols = append(out.Cols, c.Retain())
	}
	for _, t := range s.spec.Types {
		col := vec.New(t, b.N)
		col.Resize(b.N)
		x := vec.TruncateTick(now, t.Tick())
		for i := range col.I64[:b.N] {
			col.I64[i] = x
		}
		out.Cols = append(out.Cols, col)
	}
	b.Release()
	return operators.Output{Batch: out}, nil
}

// Advance takes up the watermark of a checkpoint.
func (s *stamper) Advance(wm int64) (operators.Output, error) {
	if s.spec.Timed && wm < types.MaxTime {
		s.last = max(s.last, wm+s.tick())
	}
	return operators.Output{}, nil
}

// Resume is never due.
func (s *stamper) Resume() (operators.Output, error) { return operators.Output{}, nil }

// State is none: the watermark is the node's.
func (s *stamper) State() *state.Backend { return nil }

// clock is the stamper that makes the watermark of n's rows, nil where the input does.
func (n *chainNode) clock() *stamper {
	if s, ok := n.op.(*stamper); ok && s.spec.Timed {
		return s
	}
	return nil
}

// strike moves the watermark of n to the clock, and reports whether it moved.
func (n *chainNode) strike(s *stamper) bool {
	if n.inWM == types.MaxTime || n.chain.err != nil {
		return false
	}
	w := vec.TruncateTick(s.moment(), s.tick()) - s.tick()
	if n.inWM > types.MinTime && w-n.inWM < clockStep {
		return false
	}
	n.inWM, n.sendWM = w, w
	n.count.wm.Store(w)
	return true
}

// strike moves the watermarks that the chain takes from the clock. It wants ticks for
// as long as there are such.
func (t *task) strike() bool {
	moved := false
	for _, n := range t.clocks {
		moved = n.strike(n.clock()) || moved
	}
	return moved
}

// clocked reports whether the clock makes the watermark of n's rows.
func (g *graph) clocked(n *plan.Node) bool {
	if n.Stamp != nil && n.Stamp.Timed {
		return true
	}
	for _, in := range n.Inputs {
		if !g.timed[in.From] {
			return false
		}
	}
	return len(n.Inputs) > 0
}

// timeToAll tells the consumers whose rows are timed by the input of the task of its
// idleness or watermark. What the clock times is never idle.
func (t *task) timeToAll(m stream.Message) {
	for _, x := range t.chain.box.exchanges {
		if !x.clocked {
			x.toAll(m)
		}
	}
}
