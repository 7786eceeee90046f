package postgres

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/vec"
)

// committer applies whole epochs, all sinks of a database in one transaction with the
// fence row.
type committer struct {
	s       *sink
	job     string
	attempt uint64
	link    link
	apply   map[*sink][2]*applier
	before  map[int64]claim // of other jobs, as Acquire replaced them
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
	if k.before == nil {
		k.before = make(map[int64]claim)
	}
	return k.link.run(ctx, nil, func(ctx context.Context, c *sql.Conn) error {
		return k.s.fence.acquire(ctx, c, k.job, k.attempt, targets, takeOver, k.before)
	})
}

// HeldBy is the job that was the last to claim the sink's table.
func (k *committer) HeldBy(ctx context.Context, s connectors.Sink) (job string, err error) {
	x, ok := s.(*sink)
	if !ok {
		return "", sqlerr.Internalf("a sink of another connector in a PostgreSQL group")
	}
	err = k.link.run(ctx, nil, func(ctx context.Context, c *sql.Conn) error {
		job, err = k.s.fence.heldBy(ctx, c, x.target)
		return err
	})
	return job, err
}

// Relinquish lets other jobs claim the tables; the fence row stays. When the job has
// committed nothing the tables go back to those that had them.
func (k *committer) Relinquish(ctx context.Context) error {
	c, err := k.link.get(ctx)
	if err != nil {
		return err
	}
	return k.s.fence.relinquish(ctx, c, k.job, k.before)
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
	return transact(ctx, c, func(tx *transaction) error {
		if err := tx.open(ctx); err != nil {
			return err
		}
		done, err := k.s.fence.advance(ctx, c, id)
		if done || err != nil {
			return err
		}
		for _, p := range parts {
			if err := k.applyPart(ctx, tx, id, p); err != nil {
				return err
			}
		}
		return nil
	})
}

func (k *committer) applyPart(ctx context.Context, tx *transaction, id connectors.CommitID, p connectors.Part) error {
	s, ok := p.Sink.(*sink)
	if !ok {
		return sqlerr.Internalf("a sink of another connector in a PostgreSQL commit")
	}
	if k.apply == nil {
		k.apply = make(map[*sink][2]*applier)
	}
	a, ok := k.apply[s]
	if !ok {
		a = [2]*applier{newApplier(s.target), newApplier(s.target)}
		k.apply[s] = a
	}
	g := &gathering{a: a[0], other: a[1], link: &k.link, tx: tx, part: p, size: s.rows, last: time.Now()}
	g.keep = func(n int) (int, error) { return k.s.fence.keep(ctx, tx, id, p, n) }
	g.renew()
	defer func() { g.buf.Release() }()
	err := p.Rows(ctx, func(b *vec.Batch) error { return g.add(ctx, b) })
	if err == nil {
		return g.settle(ctx, true)
	}
	// A write that failed has broken the transaction, and with it what came after.
	if first := g.sent(); first != nil {
		return first
	}
	return err
}

// Kept implements connectors.Keeper.
func (k *committer) Kept(ctx context.Context, epoch stream.Epoch, node int, yield func([]byte) error) error {
	for n := 0; ; n++ {
		c, err := k.link.get(ctx)
		var piece []byte
		if err == nil {
			piece, err = k.s.fence.kept(ctx, c, k.job, epoch, node, n)
		}
		if err != nil {
			k.link.drop()
			return err
		}
		if piece == nil {
			return nil
		}
		if err := yield(piece); err != nil {
			return err
		}
	}
}

// Forget implements connectors.Keeper.
func (k *committer) Forget(ctx context.Context, epoch stream.Epoch, node int) error {
	c, err := k.link.get(ctx)
	if err == nil {
		err = k.s.fence.forget(ctx, c, k.job, epoch, node)
	}
	if err != nil {
		k.link.drop()
	}
	return err
}

// Status implements connectors.Reporter.
func (k *committer) Status() connectors.Status { return k.s.locks.Status() }

func (k *committer) Close() error {
	k.link.drop()
	return nil
}
