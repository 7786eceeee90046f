package generator

import (
	"context"
	"encoding/json"
	"io"
	"strconv"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/generator/nexmark"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// fill appends the values of the events with these numbers.
type fill func(v *vec.Vector, events []int64)

// source is immutable once open.
type source struct {
	settings
	types []types.Type
	fills []fill
	want  func(n int64) bool // which events are rows; nil: all
}

func open(c connectors.Config) (connectors.Source, error) {
	set, err := readSettings(c.Options)
	if err != nil {
		return nil, err
	}
	if len(c.Meta) > 0 {
		return nil, sqlerr.New(sqlerr.CodeSchema, 0, "the generator has no metadata %q", c.Meta[0])
	}
	s := &source{settings: set, types: c.Schema.Types()}
	if set.kind == kindNexmark {
		event := set.event
		s.want = func(n int64) bool { return nexmark.KindOf(n) == event }
	}
	s.fills, err = set.fills(c.Schema, c.Fields, &optionReader{options: c.Options})
	return s, err
}

// Splits implements connectors.Source. Events are dealt to the splits in runs of
// dealt events.
func (s *source) Splits(context.Context) ([]connectors.Split, error) {
	out := make([]connectors.Split, s.splits)
	for i := range out {
		out[i].ID = strconv.Itoa(i)
	}
	return out, nil
}

// Close implements connectors.Source.
func (s *source) Close() error { return nil }

// position is the next event of the split to look at. The number of splits is part of
// it, since another number deals the events otherwise.
type position struct {
	Next   int64 `json:"next"`
	Splits int   `json:"splits"`
}

// Open implements connectors.Source.
func (s *source) Open(_ context.Context, split connectors.Split, pos connectors.Position) (connectors.Reader, error) {
	id, err := strconv.Atoi(split.ID)
	if err != nil || id < 0 || id >= s.splits {
		return nil, sqlerr.New(sqlerr.CodeGap, 0, "the generator has no split %q", split.ID)
	}
	r := &reader{s: s, split: int64(id), next: int64(id) * dealt}
	if pos != nil {
		var p position
		if err := json.Unmarshal(pos, &p); err != nil || p.Next < 0 {
			return nil, sqlerr.New(sqlerr.CodeCheckpoint, 0, "the generator cannot read position %q", string(pos))
		}
		if p.Splits != s.splits {
			return nil, sqlerr.New(sqlerr.CodeGap, 0, "the position is one of %d splits, option %q says %d", p.Splits, optSplits, s.splits).
				WithHint("Set it back to %d, or start afresh.", p.Splits)
		}
		r.next = p.Next
	}
	return r, nil
}

const (
	dealt     = 4096                  // events in a run of one split
	scanned   = 16 * dealt            // events looked at for one chunk
	chunkRows = 4096                  // rows in a chunk
	breath    = 10 * time.Millisecond // between chunks when there is a rate
)

// reader reads one split.
type reader struct {
	s      *source
	split  int64
	next   int64 // event
	events []int64

	started time.Time // when the first chunk was asked for
	paced   int64     // events handed out since, of all splits
}

// Close implements connectors.Reader.
func (r *reader) Close() error { return nil }

// Next implements connectors.Reader.
func (r *reader) Next(ctx context.Context) (*connectors.Chunk, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	budget := int64(scanned)
	if r.s.rate > 0 && !r.atEnd() {
		var err error
		if budget, err = r.wait(ctx); err != nil {
			return nil, err
		}
	}
	r.events = r.events[:0]
	for budget > 0 && len(r.events) < chunkRows && !r.atEnd() {
		budget -= r.run(budget)
	}
	if len(r.events) == 0 && r.atEnd() {
		return nil, io.EOF
	}
	c := &connectors.Chunk{Batch: r.batch(), Pending: -1, CaughtUp: r.s.rate > 0 && budget == 0}
	if r.s.rows >= 0 {
		c.Pending = max(r.s.rows-r.next, 0) / int64(r.s.splits)
	}
	c.Pos, _ = json.Marshal(position{Next: r.next, Splits: r.s.splits})
	return c, nil
}

func (r *reader) atEnd() bool { return r.s.rows >= 0 && r.next >= r.s.rows }

// run takes the rest of the current run of this split, at most budget events, and moves
// on to the next run when it is done.
func (r *reader) run(budget int64) (taken int64) {
	end := min(r.next/dealt*dealt+dealt, r.next+budget)
	if r.s.rows >= 0 {
		end = min(end, r.s.rows)
	}
	start := r.next
	for n := start; n < end; n++ {
		if r.s.want == nil || r.s.want(n) {
			if len(r.events) == chunkRows {
				end = n
				break
			}
			r.events = append(r.events, n)
		}
	}
	r.next = end
	if end%dealt == 0 {
		r.next += dealt * int64(r.s.splits-1)
	}
	return end - start
}

// wait blocks until events of this split are due and gives their number.
func (r *reader) wait(ctx context.Context) (int64, error) {
	now := time.Now()
	if r.started.IsZero() {
		r.started = now
	}
	for {
		due := r.due(now.Sub(r.started)) - r.paced
		if due > 0 {
			due = min(due, scanned)
			r.paced += due
			return due, nil
		}
		pause := max(breath, time.Second*time.Duration(r.s.splits)/time.Duration(r.s.rate))
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return 0, ctx.Err()
		case now = <-t.C:
		}
	}
}

// due is the number of events of one split that the rate allows after this time.
func (r *reader) due(d time.Duration) int64 {
	rate, splits := r.s.rate, int64(r.s.splits)
	whole, rest := int64(d/time.Second), int64(d%time.Second)
	return (whole*rate + int64(float64(rest)/1e9*float64(rate))) / splits
}

func (r *reader) batch() *vec.Batch {
	b := vec.NewBatch(r.s.types, len(r.events))
	for i, f := range r.s.fills {
		f(b.Cols[i], r.events)
	}
	b.N = len(r.events)
	return b
}
