package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// Database is a target system with a fence; it outlives every attempt. A commit
// changes all its tables and the fence in one step.
type Database struct {
	Name   string
	Tables map[string]*Target
	// Faults is the chance that a call fails, or is done and reported as failed, in percent.
	Faults int
	// Seen is called after every commit.
	Seen func(e stream.Epoch) error
	// Broken is the first violation of the commit protocol.
	Broken error
	// Refuse is the chance that a commit into a table refuses a row, in percent. A commit
	// that is tried again refuses others.
	Refuse map[string]int

	mu    sync.Mutex // one statement at a time
	rng   *rand.Rand
	fence connectors.Fence
	kept  []piece
}

// piece is something that a commit keeps for the dead letters.
type piece struct {
	epoch stream.Epoch
	node  int
	data  []byte
}

// Target is a table of a Database.
type Target struct {
	name  string
	Key   []int          // primary key; nil for a table of rows that may repeat
	Rows  map[string]int // multiset of rows as text
	byKey map[string]string
}

// NewDatabase returns an empty database whose faults follow rng.
func NewDatabase(name string, rng *rand.Rand) *Database {
	return &Database{Name: name, Tables: map[string]*Target{}, rng: rng}
}

// Connector is the descriptor under which the database is opened.
func (d *Database) Connector() connectors.Connector {
	return connectors.Connector{Name: d.Name, OpenSink: func(_ context.Context, c connectors.Config) (connectors.Sink, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.Tables[c.Table] == nil {
			d.Tables[c.Table] = &Target{name: c.Table, Key: c.Key, Rows: map[string]int{}, byKey: map[string]string{}}
		}
		return &sink{d, d.Tables[c.Table]}, nil
	}}
}

func (d *Database) away() error {
	if d.rng.IntN(100) < d.Faults {
		return sqlerr.Externalf(sqlerr.CodeConnection, nil, "the target is away")
	}
	return nil
}

func (d *Database) broken(format string, args ...any) error {
	err := sqlerr.Internalf(format, args...)
	if d.Broken == nil {
		d.Broken = err
	}
	return err
}

// text is a row as text; cols nil means all columns.
func text(b *vec.Batch, i int, cols []int) string {
	var s strings.Builder
	for k := range b.Cols {
		c := k
		if cols != nil {
			if k == len(cols) {
				break
			}
			c = cols[k]
		}
		if k > 0 {
			s.WriteByte(' ')
		}
		x := b.Cols[c].Value(i)
		switch {
		case x.Null:
			s.WriteByte('-')
		case x.Type.Phys() == types.PBytes:
			s.WriteString(x.S)
		case x.Type.Phys() == types.PInt128:
			v, _ := x.Dec.Int64()
			fmt.Fprint(&s, v)
		default:
			fmt.Fprint(&s, x.I)
		}
	}
	return s.String()
}

// apply folds a batch into the table.
func (t *Target) apply(b *vec.Batch) error {
	for i := range b.N {
		row := text(b, i, nil)
		if t.Key == nil {
			t.Rows[row] += int(b.Op(i).Sign())
			if t.Rows[row] < 0 {
				return fmt.Errorf("row %q is taken away and is not there", row)
			}
			if t.Rows[row] == 0 {
				delete(t.Rows, row)
			}
			continue
		}
		key := text(b, i, t.Key)
		if old, ok := t.byKey[key]; ok {
			delete(t.Rows, old)
			delete(t.byKey, key)
		}
		if b.Op(i).Sign() > 0 {
			t.byKey[key], t.Rows[row] = row, 1
		}
	}
	return nil
}

type sink struct {
	d *Database
	t *Target
}

func (s *sink) Check(context.Context) error {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	return s.d.away()
}

func (s *sink) Group() string { return s.d.Name }
func (s *sink) Close() error  { return nil }

func (s *sink) OpenWriter(_ context.Context, wc connectors.WriterContext) (connectors.Writer, error) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	return &writer{d: s.d, t: s.t, attempt: wc.Attempt}, s.d.away()
}

func (s *sink) Committer(_ context.Context, job string, attempt uint64) (connectors.Committer, error) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	return &committer{d: s.d, job: job, attempt: attempt}, s.d.away()
}

type writer struct {
	d       *Database
	t       *Target
	attempt uint64
	buf     []*vec.Batch
}

func (w *writer) Write(_ context.Context, b *vec.Batch) error {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	w.buf = append(w.buf, b.Retain())
	return w.d.away()
}

func (w *writer) Flush(context.Context) error {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	if err := w.d.away(); err != nil {
		return err
	}
	if w.d.fence.Attempt > w.attempt {
		return fencedOff(w.attempt)
	}
	for _, b := range w.buf {
		if err := w.t.apply(b); err != nil {
			return w.d.broken("early write: %v", err)
		}
	}
	w.buf = nil
	return w.d.away()
}

func (w *writer) Seal(context.Context, stream.Epoch) ([]byte, error) { return nil, nil }
func (w *writer) Close() error                                       { return nil }

func fencedOff(attempt uint64) error {
	return sqlerr.New(sqlerr.CodeFenced, 0, "attempt %d is over", attempt)
}

type committer struct {
	d       *Database
	job     string
	attempt uint64
	// during is what the commit under way keeps.
	during     []piece
	committing bool
}

func (c *committer) Fence(context.Context) (connectors.Fence, error) {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	return c.d.fence, c.d.away()
}

func (c *committer) Acquire(_ context.Context, _ []connectors.Sink, takeOver bool) error {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	if err := c.d.away(); err != nil {
		return err
	}
	f := &c.d.fence
	if f.Known && f.Job != c.job && !takeOver {
		return sqlerr.New(sqlerr.CodeFenced, 0, "the target belongs to another job")
	}
	if !f.Known || f.Job != c.job {
		*f = connectors.Fence{Known: true, Job: c.job}
	}
	if f.Attempt > c.attempt {
		return fencedOff(c.attempt)
	}
	f.Attempt = c.attempt
	return c.d.away()
}

func (c *committer) Commit(ctx context.Context, id connectors.CommitID, parts []connectors.Part) error {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	if err := c.d.away(); err != nil {
		return err
	}
	f := &c.d.fence
	switch {
	case f.Attempt != c.attempt:
		return fencedOff(c.attempt)
	case f.Epoch == id.Epoch && f.Checksum == id.Checksum:
		return c.d.away()
	case f.Epoch != id.Prev:
		return c.d.broken("epoch %d follows %d, and the target is at %d", id.Epoch, id.Prev, f.Epoch)
	}
	// Read first: a commit that cannot read its rows changes nothing.
	batches := make([][]*vec.Batch, len(parts))
	c.during, c.committing = nil, true
	defer func() { c.committing = false }()
	for i, p := range parts {
		err := p.Rows(ctx, func(b *vec.Batch) error {
			b, err := c.accept(b, p)
			batches[i] = append(batches[i], b)
			return err
		})
		if err != nil {
			return err
		}
		for p.Diverted != nil {
			data := p.Diverted()
			if data == nil {
				break
			}
			c.during = append(c.during, piece{id.Epoch, p.Node, data})
		}
	}
	c.d.kept = append(c.d.kept, c.during...)
	for i, p := range parts {
		for _, b := range batches[i] {
			if err := p.Sink.(*sink).t.apply(b); err != nil {
				return c.d.broken("commit of epoch %d: %v", id.Epoch, err)
			}
		}
	}
	f.Epoch, f.Checksum = id.Epoch, id.Checksum
	if c.d.Seen != nil {
		if err := c.d.Seen(id.Epoch); err != nil {
			return c.d.broken("after epoch %d: %v", id.Epoch, err)
		}
	}
	return c.d.away()
}

// accept takes the rows that are not refused.
func (c *committer) accept(b *vec.Batch, p connectors.Part) (*vec.Batch, error) {
	percent := c.d.Refuse[p.Sink.(*sink).t.name]
	if percent == 0 {
		return b.Retain(), nil
	}
	var taken []int32
	for i := range b.N {
		if c.d.rng.IntN(100) >= percent {
			taken = append(taken, int32(i))
			continue
		}
		if err := p.Refused(b, i, sqlerr.New(sqlerr.CodeUnique, 0, "the table does not want the row")); err != nil {
			return nil, err
		}
	}
	return b.Take(taken), nil
}

// Kept implements connectors.Keeper.
func (c *committer) Kept(_ context.Context, epoch stream.Epoch, node int, yield func([]byte) error) error {
	all := c.during
	if !c.committing {
		c.d.mu.Lock()
		all = append([]piece(nil), c.d.kept...)
		err := c.d.away()
		c.d.mu.Unlock()
		if err != nil {
			return err
		}
	}
	for _, p := range all {
		if p.epoch != epoch || p.node != node {
			continue
		}
		if err := yield(p.data); err != nil {
			return err
		}
	}
	return nil
}

// Forget implements connectors.Keeper.
func (c *committer) Forget(_ context.Context, epoch stream.Epoch, node int) error {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	c.d.kept = slices.DeleteFunc(c.d.kept, func(p piece) bool { return p.node == node && p.epoch <= epoch })
	return c.d.away()
}

func (c *committer) Close() error { return nil }
