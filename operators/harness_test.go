package operators_test

import (
	"math/rand/v2"
	"testing"

	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/operators"
	"github.com/streamsql/streamsql/operators/opcheck"
	"github.com/streamsql/streamsql/planner/plan"
)

const keyGroups = 256

// harness drives the subtasks of one node as the runtime does: rows by the hash of
// keys, Resume while there is more, and, when it has a random source, now and then a
// checkpoint and a restore at another parallelism between any two calls.
type harness struct {
	t         testing.TB
	node      *plan.Node
	in        []types.Schema
	keys      []int
	batchRows int
	rng       *rand.Rand
	fixed     bool // parallelism stays what it is

	subs    []*subtask
	wm      int64
	check   *opcheck.Checker
	out     func(b *vec.Batch)
	late    int
	partly  int
	failed  []expr.RowError
	barrier int
}

type subtask struct {
	op    operators.Operator
	more  bool
	chain [][]byte
}

func (h *harness) start(parallelism int) {
	h.wm = types.MinTime
	h.check = opcheck.New(h.node.Changelog, h.node.Key)
	for i := range parallelism {
		h.subs = append(h.subs, &subtask{op: h.build(i, parallelism)})
	}
	h.drain()
}

func (h *harness) build(subtask, parallelism int) operators.Operator {
	op, err := operators.Build(h.node, operators.Context{
		Inputs:    h.in,
		BatchRows: h.batchRows,
		Owned:     stream.RangeOf(subtask, parallelism, keyGroups),
		KeyGroups: keyGroups,
		Errors: func(_ *vec.Batch, e expr.RowError) error {
			h.failed = append(h.failed, e)
			return nil
		},
		Late:       func(_ *vec.Batch, rows []int32) error { h.late += len(rows); return nil },
		PartlyLate: func(n int) { h.partly += n },
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return op
}

func (h *harness) got(s *subtask, out operators.Output, err error) {
	if err != nil {
		h.t.Fatal(err)
	}
	s.more = out.Again
	b := out.Batch
	if b == nil {
		return
	}
	if b.N == 0 {
		h.t.Fatal("an empty batch was emitted")
	}
	if err := h.check.Check(b); err != nil {
		h.t.Fatal(err)
	}
	if h.out != nil {
		h.out(b)
	}
	b.Release()
}

// batch sends a batch to the subtasks that own its keys.
func (h *harness) batch(port int, b *vec.Batch) {
	h.maybeRestore()
	if len(h.subs) == 1 {
		s := h.subs[0]
		out, err := s.op.Process(port, b)
		h.got(s, out, err)
		h.drain()
		return
	}
	hashes := make([]uint64, b.N)
	var cols []*vec.Vector
	for _, c := range h.keys {
		cols = append(cols, b.Cols[c])
	}
	vec.HashColumns(cols, b.N, hashes)
	sels := make([][]int32, len(h.subs))
	for i, x := range hashes {
		s := stream.SubtaskOf(stream.KeyGroup(x, keyGroups), len(h.subs), keyGroups)
		sels[s] = append(sels[s], int32(i))
	}
	for i, sel := range sels {
		if len(sel) == 0 {
			continue
		}
		part := b.Take(sel)
		part.Ops = operators.KeptOps(b.Ops, sel)
		out, err := h.subs[i].op.Process(port, part)
		h.got(h.subs[i], out, err)
	}
	b.Release()
	h.drain()
}

func (h *harness) advance(wm int64) {
	if wm <= h.wm {
		return
	}
	h.maybeRestore()
	h.wm = wm
	for _, s := range h.subs {
		out, err := s.op.Advance(wm)
		h.got(s, out, err)
	}
	h.drain()
}

// drain calls Resume until nobody has more to say, in random order.
func (h *harness) drain() {
	for {
		var busy []*subtask
		for _, s := range h.subs {
			p, ok := s.op.(operators.Pending)
			if s.more || ok && p.Pending() {
				busy = append(busy, s)
			}
		}
		if len(busy) == 0 {
			return
		}
		h.maybeRestore()
		s := busy[0]
		if h.rng != nil {
			s = busy[h.rng.IntN(len(busy))]
			if len(busy) > len(h.subs) || !contains(h.subs, s) {
				continue // restored in between
			}
		}
		out, err := s.op.Resume()
		h.got(s, out, err)
	}
}

func contains(list []*subtask, s *subtask) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func (h *harness) maybeRestore() {
	if h.rng == nil {
		return
	}
	switch h.rng.IntN(15) {
	case 0:
		h.freeze()
	case 1:
		h.freeze()
		p := 1 + h.rng.IntN(3)
		if h.fixed {
			p = len(h.subs)
		}
		h.restore(p)
	}
}

// freeze takes a checkpoint of every subtask.
func (h *harness) freeze() {
	h.barrier++
	for _, s := range h.subs {
		b := s.op.State()
		if b == nil {
			continue
		}
		snap := b.Freeze(b.WantImage())
		blob, err := snap.AppendTo(nil)
		if err != nil {
			h.t.Fatal(err)
		}
		if snap.Image() {
			s.chain = nil
		}
		s.chain = append(s.chain, blob)
		b.Complete(snap)
	}
}

// restore throws the subtasks away and starts others from the last checkpoint, which
// the caller has just taken.
func (h *harness) restore(parallelism int) {
	var parts []state.Part
	for i, s := range h.subs {
		parts = append(parts, state.Part{Groups: stream.RangeOf(i, len(h.subs), keyGroups), Blobs: s.chain})
	}
	old := h.subs
	h.subs = nil
	for i := range parallelism {
		s := &subtask{op: h.build(i, parallelism)}
		if b := s.op.State(); b != nil {
			owned := stream.RangeOf(i, parallelism, keyGroups)
			if err := b.Restore(owned, keyGroups, parts); err != nil {
				h.t.Fatal(err)
			}
			if parallelism == len(old) {
				s.chain = old[i].chain
			}
		}
		h.subs = append(h.subs, s)
	}
	if h.wm == types.MinTime {
		return
	}
	for _, s := range h.subs {
		out, err := s.op.Advance(h.wm)
		h.got(s, out, err)
	}
}

// mustBeEmpty checks that nothing is left in those of the tables that there are.
func (h *harness) mustBeEmpty(tables ...string) {
	h.t.Helper()
	for _, s := range h.subs {
		for _, name := range tables {
			if t := s.op.State().Table(name); t != nil && t.Len() > 0 {
				h.t.Fatalf("%d records are left in %q", t.Len(), name)
			}
		}
	}
}

// nullTimes counts the rows that failed for want of a time.
func (h *harness) nullTimes() int {
	n := 0
	for _, e := range h.failed {
		if e.Code == sqlerr.CodeNullTime {
			n++
		}
	}
	return n
}

// batchOf makes a batch of rows of values.
func batchOf(s types.Schema, rows [][]types.Value, ops []vec.Op) *vec.Batch {
	b := vec.NewBatch(s.Types(), len(rows))
	for i, r := range rows {
		for c, v := range r {
			b.Cols[c].AppendValue(v)
		}
		op := vec.Insert
		if ops != nil {
			op = ops[i]
		}
		b.AppendOp(op)
	}
	return b
}
