package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
)

// recover finds the checkpoint to start from, settles what it left pending in the
// sinks, and builds the tasks with its state. A damaged newest checkpoint gives way
// to the one before if no sink has confirmed it.
func (a *attempt) recover(ctx context.Context) error {
	live, highest, err := checkpoint.Epochs(ctx, a.cfg.Store, a.job)
	if err != nil {
		return err
	}
	a.next = max(highest, a.highestFence()) + 1
	for i := len(live) - 1; i >= 0; i-- {
		m, sum, err := checkpoint.Load(ctx, a.cfg.Store, a.job, live[i])
		if err == nil {
			err = a.startFrom(ctx, due{m, sum}, live[:i])
		}
		if err == nil {
			return a.loadKept(ctx, live[:i])
		}
		if sqlerr.CodeOf(err) != sqlerr.CodeCheckpoint && !errors.Is(err, checkpoint.ErrNotFound) {
			return err
		}
		if a.fencedAt(live[i]) {
			return &sqlerr.Error{Class: sqlerr.External, Code: sqlerr.CodeCheckpoint, Msg: err.Error(),
				Hint: "The targets show that checkpoint, so that no older one takes its place. Put the file back, or start with --fresh from a savepoint or into empty targets."}
		}
		a.cfg.Logger.Error("checkpoint is damaged, the one before is taken", "job", a.cfg.Name, "epoch", live[i], "error", err)
		if err := checkpoint.Discard(ctx, a.cfg.Store, a.job, live[i]); err != nil {
			return err
		}
		a.discardTasks()
	}
	if a.cfg.Savepoint != nil {
		a.imported = true
		m, err := checkpoint.ImportSavepoint(ctx, a.cfg.Savepoint, a.cfg.Store, a.job, a.n)
		if err != nil {
			return err
		}
		if a.carry, err = a.carryOf(m); err != nil {
			return err
		}
		return a.build(ctx, adapt(a.carry, m))
	}
	for _, g := range a.groups {
		if a.fence(g) > 0 {
			return lostCheckpoints(g, 0)
		}
	}
	return a.build(ctx, nil)
}

// startFrom starts from a manifest; older are the epochs before it.
func (a *attempt) startFrom(ctx context.Context, d due, older []stream.Epoch) (err error) {
	if a.carry, err = a.carryOf(d.m); err != nil {
		return err
	}
	pending, err := a.pendingCommits(ctx, d, older)
	if err != nil {
		return err
	}
	if err := a.build(ctx, adapt(a.carry, d.m)); err != nil {
		return err
	}
	for _, p := range pending {
		if err := p.by.redeliver(ctx, p.g); err != nil {
			return err
		}
		for _, d := range p.due {
			if err := p.by.commit(ctx, p.g, d.m, d.sum); err != nil {
				if errors.Is(err, ErrRefused) {
					return err
				}
				return fmt.Errorf("commit of epoch %d, left pending: %w", d.m.Epoch, err)
			}
		}
	}
	return nil
}

// due is a manifest that a group has still to commit.
type due struct {
	m   *checkpoint.Manifest
	sum string
}

// checkFence compares what a target remembers with the newest manifest and returns
// what it has still to commit, in order: nothing, or the manifests that lead from its
// fence to the newest one, of which there are no more than may have been pending.
func (a *attempt) checkFence(ctx context.Context, g *group, newest due, older []stream.Epoch) ([]due, error) {
	m := newest.m
	at := a.fence(g)
	if at > m.Epoch {
		return nil, lostCheckpoints(g, m.Epoch)
	}
	var chain []due
	for d, i := newest, len(older)-1; d.m.Epoch != at; i-- {
		chain = append(chain, d)
		if d.m.Prev == at {
			break
		}
		for i >= 0 && older[i] > d.m.Prev {
			i--
		}
		if i < 0 || older[i] != d.m.Prev || d.m.Prev < at || len(chain) >= a.cfg.Settings.MaxPendingCommits {
			return nil, sqlerr.New(sqlerr.CodeFenced, 0, "target %s is at epoch %d and the checkpoint at %d follows epoch %d", g.name, at, m.Epoch, m.Prev).
				WithDetail("The target was probably restored from a backup: epochs %d to %d are missing in it.", at+1, m.Prev).
				WithHint("Restore the matching checkpoints, or start with --fresh into an empty target.")
		}
		prev, sum, err := checkpoint.Load(ctx, a.cfg.Store, a.job, older[i])
		if err != nil {
			return nil, err
		}
		d = due{prev, sum}
	}
	slices.Reverse(chain)
	return chain, nil
}

// fence is the epoch that a group shows of the job, 0 for none.
func (a *attempt) fence(g *group) stream.Epoch {
	if !g.fence.Known || g.fence.Job != a.job {
		return 0
	}
	return g.fence.Epoch
}

func lostCheckpoints(g *group, e stream.Epoch) error {
	return sqlerr.New(sqlerr.CodeFenced, 0, "target %s already shows epoch %d and the newest checkpoint is %d", g.name, g.fence.Epoch, e).
		WithDetail("Going on from there would write epochs %d to %d a second time.", e+1, g.fence.Epoch).
		WithHint("Restore the newer checkpoints, or start with --fresh into an empty target.")
}

func (a *attempt) highestFence() stream.Epoch {
	var e stream.Epoch
	for _, g := range a.groups {
		e = max(e, a.fence(g))
	}
	return e
}

// fencedAt reports whether a sink shows the epoch.
func (a *attempt) fencedAt(e stream.Epoch) bool {
	for _, g := range a.groups {
		if a.fence(g) >= e {
			return true
		}
	}
	return false
}

// loadKept reads the older checkpoints, for the coordinator to retain.
func (a *attempt) loadKept(ctx context.Context, older []stream.Epoch) error {
	for _, e := range older {
		m, _, err := checkpoint.Load(ctx, a.cfg.Store, a.job, e)
		if err != nil {
			a.cfg.Logger.Warn("older checkpoint cannot be read", "job", a.cfg.Name, "epoch", e, "error", err)
			continue
		}
		c, err := a.carryOf(m)
		if c == nil && err != nil {
			return err
		}
		a.kept = append(a.kept, adapt(c, m))
	}
	a.kept = append(a.kept, a.restored)
	return nil
}

// restoreNode gives a chain node the state that its plan node had in the manifest.
func (a *attempt) restoreNode(ctx context.Context, n *chainNode, t *task, m *checkpoint.Manifest) error {
	wm := types.MaxTime
	var parts []state.Part
	var exact []checkpoint.Blob
	found := false
	for i := range m.Tasks {
		ts := &m.Tasks[i]
		if ts.Node != n.plan.ID {
			continue
		}
		found = true
		wm = min(wm, ts.Watermark)
		if ts.Groups == t.groups {
			exact = ts.Blobs
		}
		if n.op == nil || n.op.State() == nil || ts.Groups.To <= t.groups.From || ts.Groups.From >= t.groups.To {
			continue
		}
		part := state.Part{Groups: ts.Groups}
		for _, b := range ts.Blobs {
			data, err := a.cfg.Store.Get(ctx, b.Name)
			if err != nil {
				return checkpoint.Damaged(m.Epoch, b.Name, err)
			}
			part.Blobs = append(part.Blobs, data)
		}
		parts = append(parts, part)
	}
	if !found {
		return nil
	}
	n.restoreWatermark(wm)
	if len(parts) == 0 {
		return nil
	}
	same, err := a.restoreState(n, t.groups, m.Groups, parts)
	if err != nil {
		return fmt.Errorf("restore %s from checkpoint %d: %w", nodeName(n.plan), m.Epoch, err)
	}
	if same {
		n.chainBlobs = exact
	}
	return nil
}

// restoredSplits gives the positions of a source node by split.
func restoredSplits(m *checkpoint.Manifest, node int) map[string]checkpoint.SplitState {
	out := map[string]checkpoint.SplitState{}
	if m == nil {
		return out
	}
	for i := range m.Tasks {
		if m.Tasks[i].Node == node {
			for _, s := range m.Tasks[i].Splits {
				out[s.ID] = s
			}
		}
	}
	return out
}
