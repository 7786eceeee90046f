package runtime

import (
	"context"
	"errors"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// checkTargets compares the targets with those of the newest checkpoint that can be
// read, or with what they hold of a savepoint's job. It comes before any target is
// claimed: a refused start leaves no trace.
func (a *attempt) checkTargets(ctx context.Context) error {
	live, _, err := checkpoint.Epochs(ctx, a.cfg.Store, a.job)
	if err != nil {
		return err
	}
	if len(live) == 0 && a.cfg.Savepoint != nil {
		return a.checkOrigin(ctx)
	}
	for i := len(live) - 1; i >= 0; i-- {
		m, _, err := checkpoint.Load(ctx, a.cfg.Store, a.job, live[i])
		if sqlerr.CodeOf(err) == sqlerr.CodeCheckpoint || errors.Is(err, checkpoint.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		for _, was := range m.Sinks {
			for _, s := range a.sinks {
				if s.node != was.Node || s.target.Group() == was.Target {
					continue
				}
				return sqlerr.New(sqlerr.CodeFenced, a.cfg.Plan.Nodes[s.node].Sink.Pos, "the sink's target is not the one of checkpoint %d", m.Epoch).
					WithDetail("The checkpoint belongs to %s, the target is %s.", was.Target, s.target.Group()).
					WithHint("Start with --fresh to begin anew in the new target.")
			}
		}
		return nil
	}
	return nil
}

// checkOrigin compares what the targets hold of the job that a savepoint was made from
// with the savepoint: rows between the two would be written a second time. Tables that
// are written by key end up right all the same, if the user asks for that.
func (a *attempt) checkOrigin(ctx context.Context) error {
	origin, err := checkpoint.ReadSavepoint(ctx, a.cfg.Savepoint)
	if err != nil {
		return err
	}
	for _, s := range a.sinks {
		if s.target.Group() == "" {
			continue
		}
		keyed := a.keyed(s.target.Group())
		f, err := fenceOf(ctx, s.target, origin.Job)
		if err != nil {
			return err
		}
		if !f.Known || f.Job != origin.Job || f.Epoch <= origin.Epoch || keyed && a.cfg.ReplayIntoSinks {
			continue
		}
		e := sqlerr.New(sqlerr.CodeFenced, a.cfg.Plan.Nodes[s.node].Sink.Pos, "target %s already shows epoch %d of the savepoint's job, and the savepoint is of epoch %d", s.target.Group(), f.Epoch, origin.Epoch).
			WithDetail("Going on from there would write epochs %d to %d a second time.", origin.Epoch+1, f.Epoch)
		if keyed {
			return e.WithHint("The tables are written by key and end up right all the same: allow it with --replay-into-sinks.")
		}
		return e.WithHint("Start from a newer savepoint, or into an empty target.")
	}
	return nil
}

// keyed reports that the job writes all of a target by key.
func (a *attempt) keyed(group string) bool {
	for _, s := range a.sinks {
		if s.target.Group() == group && len(a.cfg.Plan.Nodes[s.node].Sink.Key) == 0 {
			return false
		}
	}
	return true
}

// fenceOf reads what a target remembers of a job; a target that the job was not the last
// to claim remembers nothing.
func fenceOf(ctx context.Context, s connectors.Sink, job string) (f connectors.Fence, err error) {
	c, err := s.Committer(ctx, job, 0)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if h, ok := c.(connectors.Holder); ok {
		if held, err := h.Holds(ctx, s); err != nil || !held {
			return f, err
		}
	}
	return c.Fence(ctx)
}
