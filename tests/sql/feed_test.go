package sql

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/vec"
)

// feed is a source and a sink in the test's memory: tables of JSON rows that are handed
// out up to a limit, and a sink that applies whole epochs and remembers its fence. Both
// outlive the engines that use them, as servers outlive a process.
type feed struct {
	mu     sync.Mutex
	moved  *sync.Cond
	tables map[string][][]byte
	limit  int // rows of each table that may be read
	chunk  int // most rows in a chunk
	splits int // row i is of split i modulo this; 0 is 1

	fence   connectors.Fence
	rows    map[string]int // live rows of the sink
	commits int
	away    bool // the sink does not take commits
}

func newFeed() *feed {
	f := &feed{tables: make(map[string][][]byte)}
	f.moved = sync.NewCond(&f.mu)
	return f
}

// reset empties the sink and sets how rows are handed out.
func (f *feed) reset(limit, chunk int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limit, f.chunk = limit, chunk
	f.fence, f.rows, f.commits = connectors.Fence{}, make(map[string]int), 0
}

func (f *feed) allow(limit int) {
	f.mu.Lock()
	f.limit = limit
	f.mu.Unlock()
	f.moved.Broadcast()
}

// refuse sets whether the sink takes commits.
func (f *feed) refuse(away bool) {
	f.mu.Lock()
	f.away = away
	f.mu.Unlock()
}

// result lists the live rows, sorted.
func (f *feed) result() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for r, n := range f.rows {
		for range n {
			out = append(out, r)
		}
		if n < 0 {
			out = append(out, fmt.Sprintf("%s (taken back %d times too often)", r, -n))
		}
	}
	sort.Strings(out)
	return out
}

func (f *feed) connector() connectors.Connector {
	return connectors.Connector{
		Name: "feed",
		Capabilities: func(map[string]string, bool) (connectors.Capabilities, error) {
			return connectors.Capabilities{CanRead: true, CanWrite: true, Bounded: true, Splits: max(1, f.splits), Replayable: true,
				Upserts: true, Changelog: true, Commit: true, ForceCommit: true}, nil
		},
		OpenSource: func(_ context.Context, c connectors.Config) (connectors.Source, error) {
			return &feedSource{f, c.Table}, nil
		},
		OpenSink: func(_ context.Context, c connectors.Config) (connectors.Sink, error) { return &feedSink{f}, nil },
	}
}

type feedSource struct {
	f     *feed
	table string
}

func (s *feedSource) Splits(context.Context) ([]connectors.Split, error) {
	var out []connectors.Split
	for i := range max(1, s.f.splits) {
		out = append(out, connectors.Split{ID: fmt.Sprint(i)})
	}
	return out, nil
}

func (s *feedSource) Close() error { return nil }

func (s *feedSource) Open(ctx context.Context, split connectors.Split, pos connectors.Position) (connectors.Reader, error) {
	r := &feedReader{s: s, rows: s.f.tables[s.table]}
	if n := s.f.splits; n > 1 {
		all := r.rows
		r.rows = nil
		for i := range all {
			if fmt.Sprint(i%n) == split.ID {
				r.rows = append(r.rows, all[i])
			}
		}
	}
	if pos != nil {
		if err := json.Unmarshal(pos, &r.next); err != nil {
			return nil, sqlerr.Internalf("position %q", pos)
		}
	}
	return r, nil
}

type feedReader struct {
	s    *feedSource
	rows [][]byte // of this split
	next int
	told bool
}

func (r *feedReader) Next(ctx context.Context) (*connectors.Chunk, error) {
	f := r.s.f
	stop := context.AfterFunc(ctx, func() {
		f.mu.Lock() // or it comes between the look at ctx and the wait, and is lost
		defer f.mu.Unlock()
		f.moved.Broadcast()
	})
	defer stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	all := r.rows
	for r.next < len(all) && r.next >= f.limit {
		if !r.told {
			r.told = true
			return &connectors.Chunk{CaughtUp: true, Pos: position(r.next)}, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f.moved.Wait()
	}
	if r.next >= len(all) {
		return nil, io.EOF
	}
	r.told = false
	from := r.next
	r.next = min(from+f.chunk, len(all), f.limit)
	return &connectors.Chunk{Payloads: all[from:r.next], Pos: position(r.next), Pending: int64(len(all) - r.next),
		Where: func(i int) (string, string) { return r.s.table, fmt.Sprint(from + i) }}, nil
}

func position(n int) connectors.Position { return connectors.Position(fmt.Sprint(n)) }

func (r *feedReader) Close() error { return nil }

type feedSink struct{ f *feed }

func (s *feedSink) Check(context.Context) error { return nil }
func (s *feedSink) Group() string               { return "feed" }
func (s *feedSink) Close() error                { return nil }

func (s *feedSink) OpenWriter(context.Context, connectors.WriterContext) (connectors.Writer, error) {
	return nil, sqlerr.Internalf("the feed commits with the checkpoint")
}

func (s *feedSink) Committer(_ context.Context, job string, attempt uint64) (connectors.Committer, error) {
	return &feedCommitter{s.f, job, attempt}, nil
}

type feedCommitter struct {
	f       *feed
	job     string
	attempt uint64
}

func (c *feedCommitter) Close() error { return nil }

func (c *feedCommitter) Fence(context.Context) (connectors.Fence, error) {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	return c.f.fence, nil
}

func (c *feedCommitter) Acquire(_ context.Context, _ []connectors.Sink, _ bool) error {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	if c.f.fence.Known && c.f.fence.Attempt > c.attempt {
		return sqlerr.New(sqlerr.CodeFenced, 0, "superseded")
	}
	c.f.fence.Known, c.f.fence.Job, c.f.fence.Attempt = true, c.job, c.attempt
	return nil
}

func (c *feedCommitter) Commit(ctx context.Context, id connectors.CommitID, parts []connectors.Part) error {
	f := c.f
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.away:
		return sqlerr.Externalf(sqlerr.CodeConnection, nil, "the sink is away")
	case f.fence.Attempt != c.attempt:
		return sqlerr.New(sqlerr.CodeFenced, 0, "superseded")
	case f.fence.Epoch == id.Epoch:
		return nil
	case f.fence.Epoch > id.Epoch:
		return sqlerr.New(sqlerr.CodeFenced, 0, "epoch %d after %d", id.Epoch, f.fence.Epoch)
	}
	// A commit that is cut short leaves nothing behind.
	change := make(map[string]int)
	for _, p := range parts {
		err := p.Rows(ctx, func(b *vec.Batch) error {
			for i := range b.N {
				change[line(b, i)] += int(b.Op(i).Sign())
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for r, n := range change {
		if f.rows[r] += n; f.rows[r] == 0 {
			delete(f.rows, r)
		}
	}
	f.fence.Epoch, f.fence.Checksum = id.Epoch, id.Checksum
	f.commits++
	return nil
}

// line writes a row as PostgreSQL's text, columns joined by "|" and NULL as "∅".
func line(b *vec.Batch, i int) string {
	var out strings.Builder
	for k, c := range b.Cols {
		if k > 0 {
			out.WriteByte('|')
		}
		if c.IsNull(i) {
			out.WriteString("∅")
			continue
		}
		out.Write(vec.AppendText(nil, c, i))
	}
	return out.String()
}
