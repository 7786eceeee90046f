package runtime

import (
	"sync/atomic"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/operators"
	"github.com/streamsql/streamsql/planner/plan"
)

// chain is the operators of a task, joined without exchange, in topological order. It
// is driven by single calls: each may emit at most one batch per operator, which
// runs through the operators below at once. An operator that has more to say is
// resumed, the deepest first, before anything else goes in.
type chain struct {
	nodes []*chainNode
	box   outbox
	err   error // first failure of an operator, after which nothing is called
	failN *chainNode
}

// chainNode is one operator of a chain. The fields are the task's.
type chainNode struct {
	chain *chain
	plan  *plan.Node
	op    operators.Operator // nil for the source at the head
	outs  []output           // consumers of the rows
	errs  *letters           // consumers of failed rows, nil for none
	late  *letters

	again  bool // Resume is due
	firing bool // because of Advance, not of Process
	start  bool // inWM was restored and is to be told to op, what it has pending resumed
	inWM   int64
	sendWM int64 // to be passed on
	sentWM int64

	chainBlobs []checkpoint.Blob // of the completed epoch
	count      *counters
	inputs     []types.Schema
	from       string // the tables that its rows come from, as dead letters name them
}

// counters are what Status shows of a node's subtask.
type counters struct {
	in, out, late, partly, wm, state atomic.Int64
	dropped, letters                 codes
}

// output is where a node's rows go.
type output interface {
	batch(b *vec.Batch)
	watermark(w int64)
}

// local is a consumer in the same chain.
type local struct {
	node *chainNode
	port int
}

func (l local) batch(b *vec.Batch) { l.node.process(l.port, b) }

func (l local) watermark(w int64) { l.node.advance(w) }

// process gives a batch to the operator.
func (n *chainNode) process(port int, b *vec.Batch) {
	if n.chain.err != nil {
		return
	}
	n.count.in.Add(int64(b.N))
	carried := n.inWM
	out, err := n.op.Process(port, b)
	if n.clock() != nil && out.Batch != nil {
		out.Batch.WM, out.Batch.RowWM = carried, nil
	}
	n.after(out, err, false)
}

// advance tells the operator its merged watermark.
func (n *chainNode) advance(w int64) {
	if n.chain.err != nil || w <= n.inWM && !n.start {
		return
	}
	if n.clock() != nil && w < types.MaxTime && !n.start {
		return // only the end of the input counts
	}
	n.start = false
	n.inWM = max(n.inWM, w)
	n.count.wm.Store(n.inWM)
	n.sendWM = n.inWM
	if n.op == nil {
		return
	}
	out, err := n.op.Advance(n.inWM)
	n.after(out, err, true)
}

func (n *chainNode) after(out operators.Output, err error, firing bool) {
	if err != nil {
		n.chain.fail(n, err)
		return
	}
	n.again, n.firing = out.Again, out.Again && firing
	n.emit(out.Batch)
}

// emit passes rows to the consumers; each holds the batch by itself.
func (n *chainNode) emit(b *vec.Batch) {
	if b == nil {
		return
	}
	if b.N == 0 || len(n.outs) == 0 {
		b.Release()
		return
	}
	n.count.out.Add(int64(b.N))
	for _, o := range n.outs[1:] {
		o.batch(b.Retain())
	}
	n.outs[0].batch(b)
}

func (c *chain) fail(n *chainNode, err error) {
	if c.err == nil {
		c.err, c.failN = err, n
	}
}

// work does one pending thing and reports whether there was one. Because the deepest
// node comes first, whatever a node emits finds the nodes below it ready.
func (c *chain) work() bool {
	for i := len(c.nodes) - 1; i >= 0; i-- {
		n := c.nodes[i]
		switch {
		case n.again:
			firing := n.firing
			out, err := n.op.Resume()
			n.after(out, err, firing)
			return true
		case n.start:
			if n.inWM > types.MinTime {
				n.advance(n.inWM)
			}
			n.start = false
			if p, ok := n.op.(operators.Pending); ok && c.err == nil && !n.again && p.Pending() {
				n.again, n.firing = true, true
			}
			return true
		case n.sendWM > n.sentWM:
			n.sentWM = n.sendWM
			for _, o := range n.outs {
				o.watermark(n.sendWM)
			}
			n.errs.watermark(n.sendWM)
			n.late.watermark(n.sendWM)
			return true
		}
	}
	return false
}

// midBatch reports that an operator is in the middle of a batch: what it has not
// emitted yet is in no state, and a barrier has to wait for it. In the middle of a
// firing it need not.
func (c *chain) midBatch() bool {
	for _, n := range c.nodes {
		if n.again && !n.firing {
			return true
		}
	}
	return false
}

// sealed is one node's share of an epoch until it is completed or aborted.
type sealed struct {
	node  *chainNode
	state *state.Backend
	snap  *state.Snapshot // nil when the operator has no state
	blobs []checkpoint.Blob
}

// freeze freezes every operator's state.
func (c *chain) freeze() []*sealed {
	var out []*sealed
	for _, n := range c.nodes {
		s := &sealed{node: n, blobs: n.chainBlobs}
		if n.op != nil {
			if s.state = n.op.State(); s.state != nil {
				s.snap = s.state.Freeze(s.state.WantImage())
			}
		}
		out = append(out, s)
	}
	return out
}

// complete makes the sealed state the one that later deltas count from.
func (s *sealed) complete() {
	s.node.chainBlobs = s.blobs
	switch {
	case s.snap == nil:
	case s.snap.Empty():
		s.state.Abort(s.snap)
	default:
		s.state.Complete(s.snap)
	}
}

// abort gives the changes back to the next epoch.
func (s *sealed) abort() {
	if s.snap != nil {
		s.state.Abort(s.snap)
	}
}

// inputSchema is the schema of a batch that went into the node.
func (n *chainNode) inputSchema(b *vec.Batch) types.Schema {
	for _, s := range n.inputs {
		if len(s) == len(b.Cols) {
			return s
		}
	}
	return nil
}

// restoreWatermark sets what a node's operator had been told. A source has its
// watermark from its splits.
func (n *chainNode) restoreWatermark(w int64) {
	if n.op == nil {
		return
	}
	n.inWM = w
	n.count.wm.Store(w)
	n.start = true
}
