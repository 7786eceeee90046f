package runtime

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// spoolBytes is the size of a blob of kept rows. A sink holds two in memory: one that
// fills and one that is being written.
const spoolBytes = 4 << 20

// spool is a blob of kept rows on its way to the store.
type spool struct {
	blob checkpoint.Blob
	buf  []byte
	err  error
	done atomic.Bool // err is final
}

// keeping moves the kept rows to the store, a blob at a time: those that fill one, and
// before the seal all. It reports whether the task must wait for that.
func (t *sinkTask) keeping() bool {
	if s := t.spool; s != nil && s.done.Load() {
		t.spool = nil
		if s.err != nil {
			t.chain.err = sqlerr.Externalf(sqlerr.CodeCheckpoint, s.err, "keep the rows of sink %q", t.table.Table)
			return true
		}
		t.rows, t.free = append(t.rows, s.blob), s.buf[:0]
	}
	full := len(t.buf) >= spoolBytes || t.ready && len(t.buf) > 0
	if full && t.spool == nil {
		t.keep()
		full = false
	}
	return full || t.ready && t.spool != nil
}

// keep begins to write a blob.
func (t *sinkTask) keep() {
	t.seq++
	name := fmt.Sprintf("%srows-%d", checkpoint.BlobPrefix(t.run.job, t.run.n, t.last+1, t.id.Node, t.id.Subtask), t.seq)
	s := &spool{blob: checkpoint.Blob{Name: name, Size: int64(len(t.buf)), Kind: "rows"}, buf: t.buf}
	t.spool, t.buf, t.free = s, t.free, nil
	run, wake := t.run, t.wake
	run.exec.background(func(ctx context.Context) {
		s.err = putBlob(ctx, run.cfg.Store, name, s.buf)
		s.done.Store(true)
		wake.wake()
	})
}
