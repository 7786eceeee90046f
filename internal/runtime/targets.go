package runtime

import (
	"context"
	"errors"
	"slices"

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
		if a.carry, err = a.carryOf(m); err != nil {
			return err
		}
		if err := a.sameTargets(m); err != nil {
			return err
		}
		if err := a.stillHeld(ctx, m); err != nil || a.carry == nil {
			return err
		}
		chain := []*checkpoint.Manifest{m}
		for k := i - 1; k >= 0 && len(chain) < a.cfg.Settings.MaxPendingCommits; k-- {
			if m, _, err = checkpoint.Load(ctx, a.cfg.Store, a.job, live[k]); err != nil {
				return err
			}
			chain = append(chain, m)
		}
		return a.openPredecessor(ctx, chain)
	}
	return nil
}

// identity tells a target from others of its group, "" when nothing does.
func identity(t connectors.Sink) string {
	if i, ok := t.(connectors.Identified); ok {
		return i.Identity()
	}
	return ""
}

// isTarget reports that t is the target that a checkpoint was for.
func isTarget(t connectors.Sink, was checkpoint.SinkState) bool {
	return t.Group() == was.Target && (was.Identity == "" || identity(t) == was.Identity)
}

func named(group, identity string) string {
	if identity == "" {
		return group
	}
	return identity + " in " + group
}

// sameTargets compares the targets of the sinks that go on with those of a checkpoint.
func (a *attempt) sameTargets(m *checkpoint.Manifest) error {
	for _, was := range m.Sinks {
		id := a.heirOf(was.Node)
		t := a.target(id)
		if t == nil || isTarget(t, was) || a.cfg.AbandonPending {
			continue
		}
		return sqlerr.New(sqlerr.CodeFenced, a.cfg.Plan.Nodes[id].Sink.Pos, "the sink's target is not the one of checkpoint %d", m.Epoch).
			WithDetail("The checkpoint belongs to %s, the target is %s.", named(was.Target, was.Identity), named(t.Group(), identity(t))).
			WithHint("Start with --fresh to begin anew in the new target, or with --abandon-pending to go on in it without what the old one holds and has still to get.")
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

// stillHeld fails when another job has claimed a target since this one made its newest
// checkpoint. This one would write again what the other wrote; and a target that
// remembers one job only would forget the other's epoch by being claimed.
func (a *attempt) stillHeld(ctx context.Context, newest *checkpoint.Manifest) error {
	if newest.Finished && !a.cfg.Continue {
		return nil
	}
	for _, s := range a.sinks {
		if s.target.Group() == "" || !slices.ContainsFunc(newest.Sinks, func(was checkpoint.SinkState) bool { return isTarget(s.target, was) }) {
			continue
		}
		owner, f, err := ownerOf(ctx, s.target, a.job)
		if err != nil {
			return err
		}
		if owner == "" || owner == a.job {
			continue
		}
		e := sqlerr.New(sqlerr.CodeFenced, a.cfg.Plan.Nodes[s.node].Sink.Pos, "another job has taken %s over since checkpoint %d", named(s.target.Group(), identity(s.target)), newest.Epoch).
			WithDetail("That job has the id %s.", owner)
		if f.Job == a.job { // its epoch is remembered beside the other's
			if !a.cfg.TakeOver {
				return e.WithHint("Go on with that job. With --take-over this one goes on from its own checkpoint, and rows that the other wrote come again.")
			}
			continue
		}
		return e.WithHint("Go on with that job, or start this one with --fresh into an empty target.")
	}
	return nil
}

// ownerOf is the job that was the last to claim a target, "" for none, and the fence
// that the target has.
func ownerOf(ctx context.Context, s connectors.Sink, job string) (owner string, f connectors.Fence, err error) {
	c, err := s.Committer(ctx, job, 0)
	if err != nil {
		return "", f, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if f, err = c.Fence(ctx); err != nil {
		return "", f, err
	}
	if h, ok := c.(connectors.Holder); ok {
		owner, err = h.HeldBy(ctx, s)
		return owner, f, err
	}
	if f.Known {
		owner = f.Job
	}
	return owner, f, nil
}

// fenceOf reads what a target remembers of a job; a target that the job was not the last
// to claim remembers nothing.
func fenceOf(ctx context.Context, s connectors.Sink, job string) (connectors.Fence, error) {
	owner, f, err := ownerOf(ctx, s, job)
	if err != nil || owner != job {
		return connectors.Fence{}, err
	}
	return f, nil
}
