package runtime

import (
	"context"
	"errors"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// checkTargets compares the targets with those of the newest checkpoint that can be
// read. It comes before any target is claimed: a refused start leaves no trace.
func (a *attempt) checkTargets(ctx context.Context) error {
	live, _, err := checkpoint.Epochs(ctx, a.cfg.Store, a.job)
	if err != nil {
		return err
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
	for _, g := range a.groups {
		for _, s := range a.sinks {
			if s.target.Group() != g.name {
				continue
			}
			c, err := s.target.Committer(ctx, origin.Job, 0)
			if err != nil {
				return err
			}
			f, err := c.Fence(ctx)
			err = errors.Join(err, c.Close())
			if err != nil {
				return err
			}
			if !f.Known || f.Job != origin.Job || f.Epoch <= origin.Epoch {
				break
			}
			e := sqlerr.New(sqlerr.CodeFenced, 0, "target %s already shows epoch %d of the savepoint's job, and the savepoint is of epoch %d", g.name, f.Epoch, origin.Epoch).
				WithDetail("Going on from there would write epochs %d to %d a second time.", origin.Epoch+1, f.Epoch)
			if !a.keyed(g) {
				return e.WithHint("Start from a newer savepoint, or into an empty target.")
			}
			if !a.cfg.ReplayIntoSinks {
				return e.WithHint("The tables are written by key and end up right all the same: allow it with --replay-into-sinks.")
			}
			break
		}
	}
	return nil
}

// keyed reports that every sink of a group is written by key.
func (a *attempt) keyed(g *group) bool {
	for _, n := range g.nodes {
		if len(a.cfg.Plan.Nodes[n].Sink.Key) == 0 {
			return false
		}
	}
	return true
}
