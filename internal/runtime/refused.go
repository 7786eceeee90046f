package runtime

import (
	"fmt"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
)

// refused applies the sink's on.error to a row that an early target will not take.
func (t *sinkTask) refused(b *vec.Batch, row int, cause *sqlerr.Error) error {
	n := t.chain.nodes[0]
	if err := refuse(t.table, n.errs != nil, cause); err != nil {
		return err
	}
	n.count.out.Add(-1)
	if t.table.OnError != "dead-letter" {
		n.count.dropped.add(cause.Code, 1)
		return nil
	}
	n.count.letters.add(cause.Code, 1)
	n.errs.add(refusedLetter(t.table, b, row, cause))
	return nil
}

func refusedLetter(s *plan.Sink, b *vec.Batch, row int, cause *sqlerr.Error) letter {
	return letter{table: s.Table, code: cause.Code, msg: cause.Msg, payload: rowJSON(s.Columns, b, row)}
}

// refuse decides whether a job may go on without a row.
func refuse(s *plan.Sink, letters bool, cause *sqlerr.Error) error {
	if s.OnError == "skip" || s.OnError == "dead-letter" && letters {
		return nil
	}
	e := *cause
	e.Msg = fmt.Sprintf("sink %q refused a row: %s", s.Table, cause.Msg)
	e.Class, e.Retry = sqlerr.User, false
	if e.Pos == 0 {
		e.Pos = s.Pos
	}
	switch {
	case s.OnError == "dead-letter":
		e.Hint = "This connector cannot keep rows for the dead letters with its commit: set 'on.error' = 'skip' on the sink to go on without such rows."
	case e.Hint == "":
		e.Hint = "Set 'on.error' = 'skip' or 'dead-letter' on the sink to go on without such rows."
	}
	return &e
}

// refusals is what one try of a commit has refused of a sink's rows.
type refusals struct {
	node    *plan.Node
	diverts bool  // letters are taken
	taken   int64 // letters of other sinks that this one has taken
	codes   map[string]int64
	letters *vec.Batch
	ready   [][]byte
}

// reset forgets the try before.
func (r *refusals) reset() {
	r.taken, r.codes, r.ready = 0, map[string]int64{}, nil
	if r.letters != nil {
		r.letters.Release()
		r.letters = nil
	}
}

// refused applies the sink's on.error to a row that the target will not take.
func (r *refusals) refused(b *vec.Batch, row int, cause *sqlerr.Error) error {
	if err := refuse(r.node.Sink, r.diverts, cause); err != nil {
		return err
	}
	r.codes[cause.Code]++
	if r.node.Sink.OnError != "dead-letter" {
		return nil
	}
	if r.letters == nil {
		r.letters = newLetterBatch()
	}
	refusedLetter(r.node.Sink, b, row, cause).appendTo(r.letters)
	if full(r.letters) {
		r.wire()
	}
	return nil
}

func (r *refusals) wire() {
	r.ready = append(r.ready, vec.AppendWire(nil, r.letters))
	r.letters.Release()
	r.letters = nil
}

// take gives the letters that are there, a batch in wire form at a time.
func (r *refusals) take() []byte {
	if r.letters != nil {
		r.wire()
	}
	if len(r.ready) == 0 {
		return nil
	}
	p := r.ready[0]
	r.ready = r.ready[1:]
	return p
}

// taking counts the letters that go to yield.
func (r *refusals) taking(yield func(*vec.Batch) error) func(*vec.Batch) error {
	return func(b *vec.Batch) error {
		r.taken += int64(b.N)
		return yield(b)
	}
}

// count adds up what the try that succeeded has taken and refused.
func (r *refusals) count(c *counters) {
	to := &c.dropped
	if r.node.Sink.OnError == "dead-letter" {
		to = &c.letters
	}
	c.in.Add(r.taken)
	c.out.Add(r.taken)
	for code, n := range r.codes {
		c.out.Add(-n)
		to.add(code, n)
	}
}
