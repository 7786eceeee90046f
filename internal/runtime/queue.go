package runtime

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"github.com/streamsql/streamsql/connectors"
)

// Limits of what a split reads ahead of its task.
const (
	aheadChunks = 16
	aheadBytes  = 8 << 20
)

// ahead is a chunk on its way from the reader through a decode worker to the task.
type ahead struct {
	chunk *connectors.Chunk
	size  int
	parts []*rows
	err   error
	end   bool // nothing follows: the end of a bounded split
	done  atomic.Bool
}

// aheadQueue holds the chunks of one split in order, decoded or not.
type aheadQueue struct {
	task, reader waker

	mu    sync.Mutex
	list  []*ahead
	bytes int
	want  bool // the reader waits for room
}

// full reports whether the reader has to wait, and notes that it does.
func (q *aheadQueue) full() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.want = len(q.list) >= aheadChunks || q.bytes >= aheadBytes
	return q.want
}

func (q *aheadQueue) push(a *ahead) {
	q.mu.Lock()
	q.list = append(q.list, a)
	q.bytes += a.size
	q.mu.Unlock()
}

// finished marks a as decoded.
func (q *aheadQueue) finished(a *ahead) {
	a.done.Store(true)
	q.task.wake()
}

// pop takes the first chunk if it is decoded.
func (q *aheadQueue) pop() *ahead {
	q.mu.Lock()
	if len(q.list) == 0 || !q.list[0].done.Load() {
		q.mu.Unlock()
		return nil
	}
	a := q.list[0]
	q.list[0] = nil
	q.list = q.list[1:]
	q.bytes -= a.size
	want := q.want
	q.want = false
	q.mu.Unlock()
	if want {
		q.reader.wake()
	}
	return a
}

// empty reports whether nothing is read ahead.
func (q *aheadQueue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.list) == 0
}

// splitReader is the actor that reads one split.
type splitReader struct {
	wake   waker
	reader connectors.Reader
	queue  *aheadQueue
	run    *attempt
	decode func(*ahead)
	name   string
	warned int64 // warnings of the reader that are in the log
}

func (r *splitReader) waker() waker  { return r.wake }
func (r *splitReader) where() string { return r.name }

// logWarnings writes down what the reader has read over by option.
func (r *splitReader) logWarnings() {
	rep, ok := r.reader.(connectors.Reporter)
	if !ok {
		return
	}
	if st := rep.Status(); st.Warnings > r.warned {
		r.warned = st.Warnings
		r.run.cfg.Logger.Warn(st.Warning, "job", r.run.cfg.Name, "reader", r.name, "warnings", st.Warnings)
	}
}

// step reads one chunk; in a real job the reader blocks until there is one.
func (r *splitReader) step(ctx context.Context) (progress, done bool, err error) {
	if r.queue.full() {
		return false, false, nil
	}
	c, err := r.reader.Next(ctx)
	r.logWarnings()
	switch {
	case err == io.EOF:
		a := &ahead{end: true}
		r.queue.push(a)
		r.queue.finished(a)
		return true, true, nil
	case err != nil:
		return false, true, err
	case c == nil:
		return false, false, nil
	}
	a := &ahead{chunk: c}
	for _, p := range c.Payloads {
		a.size += len(p)
	}
	if c.Batch != nil {
		a.size += c.Batch.Size()
	}
	r.queue.push(a)
	if a.size == 0 && len(c.Payloads) == 0 && c.Batch == nil {
		r.queue.finished(a)
		return true, false, nil
	}
	r.run.exec.decode(func() {
		r.decode(a)
		r.queue.finished(a)
	})
	return true, false, nil
}
