package postgres

import (
	"context"
	"database/sql"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/vec"
)

// writer buffers rows and upserts them, early.
type writer struct {
	s     *sink
	wc    connectors.WriterContext
	link  link
	apply *applier
	buf   *vec.Batch
}

func (w *writer) Write(ctx context.Context, b *vec.Batch) error {
	for from := 0; from < b.N; {
		if w.buf == nil {
			w.buf = vec.NewBatch(b.Types(), w.s.rows)
		}
		n := min(b.N-from, w.s.rows-w.buf.N)
		w.buf.AppendSel(b, span(from, n))
		from += n
		if w.buf.N >= w.s.rows {
			if err := w.Flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func span(from, n int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = int32(from + i)
	}
	return s
}

func (w *writer) Flush(ctx context.Context) error {
	if w.buf == nil || w.buf.N == 0 {
		return nil
	}
	var out []refusal
	err := w.link.run(ctx, w.wc.Stalled, func(ctx context.Context, c *sql.Conn) error {
		return transact(ctx, c, func(tx *transaction) (err error) {
			if err := w.s.fence.hold(ctx, tx, w.wc.Job, w.wc.Attempt); err != nil {
				return err
			}
			out, err = w.apply.apply(ctx, tx, w.buf)
			return err
		})
	})
	if err == nil {
		err = report(out, w.wc.Refused)
	}
	if err == nil {
		w.buf.Release()
		w.buf = nil
	}
	return err
}

// Status implements connectors.Reporter.
func (w *writer) Status() connectors.Status { return w.s.locks.Status() }

// Seal has nothing to commit later: what Flush wrote is in the table.
func (w *writer) Seal(context.Context, stream.Epoch) ([]byte, error) { return nil, nil }

func (w *writer) Close() error {
	w.link.drop()
	return nil
}
