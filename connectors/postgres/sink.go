package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/vec"
)

// sink is one declared table.
type sink struct {
	cfg    connectors.Config
	schema string
	table  string
	rows   int
	fence  fence
	db     *sql.DB
	target *target
	group  string
}

func openSink(_ context.Context, cfg connectors.Config) (connectors.Sink, error) {
	s := &sink{cfg: cfg, schema: cfg.Options["schema"], table: cfg.Options["table"], fence: fence{cfg.Options["fence.schema"]}}
	if s.table == "" {
		s.table = cfg.Table
	}
	var err error
	if s.rows, err = batchRows(cfg.Options); err != nil {
		return nil, err
	}
	conn, err := dsn(cfg.Options)
	if err != nil {
		return nil, err
	}
	if s.db, err = openDB(conn); err != nil {
		return nil, err
	}
	return s, nil
}

// Check finds the real table, makes it when asked to, and compares.
func (s *sink) Check(ctx context.Context) error {
	l := &link{db: s.db}
	defer l.drop()
	c, err := l.get(ctx)
	if err != nil {
		return err
	}
	if s.cfg.Options["auto.create"] == "true" {
		t := &target{schema: s.schema, table: s.table}
		ddl := "CREATE TABLE IF NOT EXISTS" + createTable(t, s.cfg)[len("CREATE TABLE"):]
		if _, err := c.ExecContext(ctx, ddl); err != nil {
			return classify(err, "create table "+t.relation())
		}
	}
	if s.target, err = resolve(ctx, c, s.cfg, s.schema, s.table); err != nil {
		return err
	}
	if err := s.fence.create(ctx, c); err != nil {
		return err
	}
	var system, database string
	err = c.QueryRowContext(ctx, "SELECT system_identifier::text, current_database()::text FROM pg_control_system()").Scan(&system, &database)
	if err != nil {
		return classify(err, "identify the database")
	}
	s.group = fmt.Sprintf("postgres:%s/%s/%s", system, database, s.fence.schema)
	return nil
}

func (s *sink) Group() string { return s.group }

func (s *sink) Close() error { return s.db.Close() }

// OpenWriter opens an early writer: each flush is one transaction.
func (s *sink) OpenWriter(ctx context.Context, wc connectors.WriterContext) (connectors.Writer, error) {
	return &writer{s: s, wc: wc, link: link{db: s.db}, apply: newApplier(s.target)}, nil
}

// Committer opens the committing side of the database.
func (s *sink) Committer(ctx context.Context, job string, attempt uint64) (connectors.Committer, error) {
	return &committer{s: s, job: job, attempt: attempt, link: link{db: s.db}}, nil
}

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
	err := w.link.run(ctx, w.wc.Stalled, func(ctx context.Context, c *sql.Conn) error {
		if _, err := c.ExecContext(ctx, "BEGIN"); err != nil {
			return classify(err, "begin")
		}
		if err := w.s.fence.hold(ctx, c, w.wc.Job, w.wc.Attempt); err != nil {
			return err
		}
		if err := w.apply.apply(ctx, c, w.buf, w.wc.Refused); err != nil {
			return err
		}
		_, err := c.ExecContext(ctx, "COMMIT")
		if err != nil {
			return classify(err, "commit")
		}
		return nil
	})
	if err == nil {
		w.buf.Release()
		w.buf = nil
	}
	return err
}

// Seal has nothing to commit later: what Flush wrote is in the table.
func (w *writer) Seal(context.Context, stream.Epoch) ([]byte, error) { return nil, nil }

func (w *writer) Close() error {
	w.link.drop()
	return nil
}

// committer applies whole epochs, all sinks of a database in one transaction with the
// fence row.
type committer struct {
	s       *sink
	job     string
	attempt uint64
	link    link
	apply   map[*sink]*applier
}

func (k *committer) Fence(ctx context.Context) (f connectors.Fence, err error) {
	err = k.link.run(ctx, nil, func(ctx context.Context, c *sql.Conn) error {
		f, err = k.s.fence.read(ctx, c, k.job)
		return err
	})
	return f, err
}

func (k *committer) Acquire(ctx context.Context, sinks []connectors.Sink, takeOver bool) error {
	var targets []*target
	for _, x := range sinks {
		s, ok := x.(*sink)
		if !ok {
			return sqlerr.Internalf("a sink of another connector in a PostgreSQL group")
		}
		targets = append(targets, s.target)
	}
	slices.SortFunc(targets, func(a, b *target) int { return int(a.oid - b.oid) })
	return k.link.run(ctx, nil, func(ctx context.Context, c *sql.Conn) error {
		return k.s.fence.acquire(ctx, c, k.job, k.attempt, targets, takeOver)
	})
}

// Holds reports whether the job was the last to claim the sink's table.
func (k *committer) Holds(ctx context.Context, s connectors.Sink) (held bool, err error) {
	x, ok := s.(*sink)
	if !ok {
		return false, sqlerr.Internalf("a sink of another connector in a PostgreSQL group")
	}
	err = k.link.run(ctx, nil, func(ctx context.Context, c *sql.Conn) error {
		held, err = k.s.fence.holds(ctx, c, k.job, x.target)
		return err
	})
	return held, err
}

// Relinquish lets other jobs claim the tables; the fence row stays.
func (k *committer) Relinquish(ctx context.Context) error {
	c, err := k.link.get(ctx)
	if err != nil {
		return err
	}
	return k.s.fence.relinquish(ctx, c, k.job)
}

// Commit makes one try; an error with Retry may have committed, and the fence tells
// the next try.
func (k *committer) Commit(ctx context.Context, id connectors.CommitID, parts []connectors.Part) error {
	c, err := k.link.get(ctx)
	if err == nil {
		err = k.commit(ctx, c, id, parts)
	}
	if err != nil {
		k.link.drop()
	}
	return err
}

func (k *committer) commit(ctx context.Context, c *sql.Conn, id connectors.CommitID, parts []connectors.Part) error {
	if _, err := c.ExecContext(ctx, "BEGIN"); err != nil {
		return classify(err, "begin the commit")
	}
	done, err := k.s.fence.advance(ctx, c, id)
	if err != nil {
		return err
	}
	if done {
		_, err := c.ExecContext(ctx, "ROLLBACK")
		if err != nil {
			return classify(err, "end the commit")
		}
		return nil
	}
	for _, p := range parts {
		if err := k.applyPart(ctx, c, id, p); err != nil {
			return err
		}
	}
	if _, err := c.ExecContext(ctx, "COMMIT"); err != nil {
		return classify(err, "commit")
	}
	return nil
}

func (k *committer) applyPart(ctx context.Context, c *sql.Conn, id connectors.CommitID, p connectors.Part) error {
	s, ok := p.Sink.(*sink)
	if !ok {
		return sqlerr.Internalf("a sink of another connector in a PostgreSQL commit")
	}
	if k.apply == nil {
		k.apply = make(map[*sink]*applier)
	}
	a := k.apply[s]
	if a == nil {
		a = newApplier(s.target)
		k.apply[s] = a
	}
	refused := func(b *vec.Batch, row int, cause *sqlerr.Error) error {
		err := p.Refused(b, row, cause)
		if e := sqlerr.As(err); e == cause && e != nil {
			e.Msg = fmt.Sprintf("commit of epoch %d refused: %s", id.Epoch, e.Msg)
		}
		return err
	}
	buf := vec.NewBatch(s.target.types, s.rows)
	defer func() { buf.Release() }()
	flush := func() error {
		if buf.N == 0 {
			return nil
		}
		err := a.apply(ctx, c, buf, refused)
		buf.Release()
		buf = vec.NewBatch(s.target.types, s.rows)
		return err
	}
	err := p.Rows(ctx, func(b *vec.Batch) error {
		for from := 0; from < b.N; {
			n := min(b.N-from, s.rows-buf.N)
			buf.AppendSel(b, span(from, n))
			from += n
			if buf.N >= s.rows {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

func (k *committer) Close() error {
	k.link.drop()
	return nil
}
