package runtime

import (
	"sync"

	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
)

// codes counts rows by error code.
type codes struct {
	mu sync.Mutex
	n  map[string]int64
}

func (c *codes) add(code string, n int64) {
	c.mu.Lock()
	if c.n == nil {
		c.n = make(map[string]int64)
	}
	c.n[code] += n
	c.mu.Unlock()
}

// into adds the counts to m, under prefix and code.
func (c *codes) into(m map[string]int64, prefix string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, v := range c.n {
		m[prefix+k] += v
	}
}

// lateCode stands in a late row's letter for the code of an error.
const lateCode = "late"

// letter is a row that failed or came late, as it goes to a dead-letter table.
type letter struct {
	table, code, msg, field, subject, split, position string
	payload                                           []byte
}

// letters gathers dead letters of one node and hands them to their consumers.
type letters struct {
	outs []output
	acc  *vec.Batch
}

// add appends one letter. A letter has no event time of its own and is never late.
func (l *letters) add(x letter) {
	if l.acc == nil {
		l.acc = newLetterBatch()
	}
	x.appendTo(l.acc)
	if full(l.acc) {
		l.flush()
	}
}

func newLetterBatch() *vec.Batch { return vec.NewBatch(plan.DeadLetterSchema.Types(), 16) }

func full(b *vec.Batch) bool { return b.N >= flushRows || b.Size() >= flushBytes }

func (x letter) appendTo(b *vec.Batch) {
	for i, s := range [...]string{x.table, x.code, x.msg, x.field, x.subject, x.split, x.position} {
		if s == "" && i >= 3 {
			b.Cols[i].AppendNull()
		} else {
			b.Cols[i].AppendString(s)
		}
	}
	b.Cols[7].AppendBytes(x.payload)
	b.N++
}

func (l *letters) flush() {
	if l == nil || l.acc == nil {
		return
	}
	b := l.acc
	l.acc = nil
	for _, o := range l.outs[1:] {
		o.batch(b.Retain())
	}
	l.outs[0].batch(b)
}

func (l *letters) watermark(w int64) {
	if l == nil {
		return
	}
	l.flush()
	for _, o := range l.outs {
		o.watermark(w)
	}
}
