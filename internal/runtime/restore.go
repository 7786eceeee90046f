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
			err = a.startFrom(ctx, m, sum, live[:i])
		}
		if err == nil {
			return a.loadKept(ctx, live[:i])
		}
		if sqlerr.CodeOf(err) != sqlerr.CodeCheckpoint && !errors.Is(err, checkpoint.ErrNotFound) || a.fencedAt(live[i]) {
			return err
		}
		a.cfg.Logger.Error("checkpoint is damaged, the one before is taken", "job", a.cfg.Name, "epoch", live[i], "error", err)
		if err := checkpoint.Discard(ctx, a.cfg.Store, a.job, live[i]); err != nil {
			return err
		}
		a.discardTasks()
	}
	if a.cfg.Savepoint != nil {
		m, err := checkpoint.ImportSavepoint(ctx, a.cfg.Savepoint, a.cfg.Store, a.job, a.n)
		if err != nil {
			return err
		}
		return a.build(ctx, m)
	}
	for _, g := range a.groups {
		if g.fence.Known && g.fence.Job == a.job && g.fence.Epoch > 0 {
			return lostCheckpoints(g, 0)
		}
	}
	return a.build(ctx, nil)
}

// startFrom starts from a manifest; older are the epochs before it.
func (a *attempt) startFrom(ctx context.Context, m *checkpoint.Manifest, sum string, older []stream.Epoch) error {
	pending := make([][]due, len(a.groups))
	for i, g := range a.groups {
		var err error
		if pending[i], err = a.checkFence(ctx, g, due{m, sum}, older); err != nil {
			return err
		}
	}
	if err := a.build(ctx, m); err != nil {
		return err
	}
	for i, g := range a.groups {
		if err := a.redeliver(ctx, g); err != nil {
			return err
		}
		for _, d := range pending[i] {
			if err := a.commit(ctx, g, d.m, d.sum); err != nil {
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
	at := g.fence.Epoch
	if !g.fence.Known || g.fence.Job != a.job {
		at = 0
	}
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

func lostCheckpoints(g *group, e stream.Epoch) error {
	return sqlerr.New(sqlerr.CodeFenced, 0, "target %s already shows epoch %d and the newest checkpoint is %d", g.name, g.fence.Epoch, e).
		WithDetail("Going on from there would write epochs %d to %d a second time.", e+1, g.fence.Epoch).
		WithHint("Restore the newer checkpoints, or start with --fresh into an empty target.")
}

func (a *attempt) highestFence() stream.Epoch {
	var e stream.Epoch
	for _, g := range a.groups {
		if g.fence.Known && g.fence.Job == a.job {
			e = max(e, g.fence.Epoch)
		}
	}
	return e
}

// fencedAt reports whether a sink shows the epoch.
func (a *attempt) fencedAt(e stream.Epoch) bool {
	for _, g := range a.groups {
		if g.fence.Known && g.fence.Job == a.job && g.fence.Epoch >= e {
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
		a.kept = append(a.kept, m)
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
	if err := n.op.State().Restore(t.groups, m.Groups, parts); err != nil {
		return fmt.Errorf("restore %s from checkpoint %d: %w", nodeName(n.plan), m.Epoch, err)
	}
	n.chainBlobs = exact
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
