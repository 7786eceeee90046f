package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/crashpoint"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
)

// group is the sinks that share a target system: one committer, one fence.
type group struct {
	name      string
	nodes     []int
	committer connectors.Committer
	fence     connectors.Fence // as found at the start
	// after are the groups whose commit of an epoch decides what dead letters this one
	// has to commit.
	after []string
	share *share // of the epoch being committed
}

// acquire opens a committer for every target system, claims the targets for this
// attempt, and reads the fences.
func (a *attempt) acquire(ctx context.Context) error {
	for _, s := range a.sinks {
		name := s.target.Group()
		if name == "" {
			if n := a.graph.plan.Nodes[s.node].Sink; n.Mode == plan.Commit {
				return sqlerr.Internalf("sink %q commits with the checkpoint and has nothing to fence", n.Table)
			}
			continue
		}
		i := slices.IndexFunc(a.groups, func(g *group) bool { return g.name == name })
		if i < 0 {
			i = len(a.groups)
			a.groups = append(a.groups, &group{name: name})
		}
		a.groups[i].nodes = append(a.groups[i].nodes, s.node)
	}
	for _, g := range a.groups {
		var targets []connectors.Sink
		for _, s := range a.sinks {
			if slices.Contains(g.nodes, s.node) {
				targets = append(targets, s.target)
			}
		}
		c, err := targets[0].Committer(ctx, a.job, a.n)
		if err != nil {
			return err
		}
		a.closers = append(a.closers, c.Close)
		g.committer = c
		if err := c.Acquire(ctx, targets, a.cfg.TakeOver); err != nil {
			return err
		}
		if g.fence, err = c.Fence(ctx); err != nil {
			return err
		}
	}
	return a.openDiversions(ctx)
}

// relinquish gives up the claims of a job that has ended well. A claim that stays
// because the target is away only means that the next job has to ask for it.
func (a *attempt) relinquish(ctx context.Context) {
	for _, g := range a.groups {
		c, ok := g.committer.(connectors.Relinquisher)
		if !ok {
			continue
		}
		if err := c.Relinquish(ctx); err != nil {
			a.cfg.Logger.Warn("a target stays claimed by the job that has ended", "job", a.cfg.Name, "target", g.name, "error", err)
		}
	}
}

// share is a group's part of an epoch while its commit is tried.
type share struct {
	epoch   stream.Epoch
	parts   []connectors.Part
	refused []*refusals
}

// commit makes the epoch of m visible in a group's targets.
func (a *attempt) commit(ctx context.Context, g *group, m *checkpoint.Manifest, sum string) error {
	id := connectors.CommitID{Job: a.job, Attempt: a.n, Epoch: m.Epoch, Prev: m.Prev, Checksum: sum}
	if g.share == nil || g.share.epoch != m.Epoch {
		g.share = &share{epoch: m.Epoch}
		for _, s := range m.Sinks {
			if !slices.Contains(g.nodes, s.Node) {
				continue
			}
			if err := a.part(ctx, g, s); err != nil {
				g.share = nil
				return err
			}
		}
	}
	crashpoint.Here("before-commit")
	err := g.committer.Commit(ctx, id, g.share.parts)
	if err == nil {
		crashpoint.Here("after-commit")
		if err = a.delivered(ctx, g, m.Epoch); err != nil {
			return err
		}
		for _, r := range g.share.refused {
			r.count(a.count(r.node.ID))
		}
		g.share = nil
		return nil
	}
	if e := sqlerr.As(err); e != nil && e.Class == sqlerr.User && e.Code != sqlerr.CodeFenced {
		return fmt.Errorf("commit of epoch %d %w: %w", m.Epoch, ErrRefused, err)
	}
	return err
}

// ErrRefused is in the chain of the User error of a commit that a target will not take.
// It is the job that failed, at a start as well, which makes the
// commits that are pending.
var ErrRefused = errors.New("refused")

// part adds one sink's part to the group's share.
func (a *attempt) part(ctx context.Context, g *group, s checkpoint.SinkState) error {
	n := a.graph.plan.Nodes[s.Node]
	r := &refusals{node: n, diverts: a.diversionOf(n) != nil}
	p := connectors.Part{Node: s.Node, Sink: a.target(s.Node), Tokens: slices.Clone(s.Tokens), Refused: r.refused}
	if r.diverts {
		p.Diverted = r.take
	}
	epoch := g.share.epoch
	if n.Sink.Mode != plan.Commit {
		for _, d := range a.diversions {
			if d.to != n {
				continue
			}
			token, err := d.write(ctx, a, epoch)
			if err != nil {
				return err
			}
			if token != nil {
				p.Tokens = append(p.Tokens, token)
			}
		}
	}
	in := schemaOf(a.graph.plan, n.Inputs[0])
	p.Rows = func(ctx context.Context, yield func(*vec.Batch) error) error {
		r.reset()
		if err := keptRows(ctx, a.cfg.Store, s.Rows, in.Types(), yield); err != nil {
			return err
		}
		if n.Sink.Mode != plan.Commit {
			return nil
		}
		for _, d := range a.diversions {
			if d.to == n {
				if err := d.rows(ctx, a, epoch, r.taking(yield)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	g.share.parts = append(g.share.parts, p)
	g.share.refused = append(g.share.refused, r)
	return nil
}

// target is the open target of a sink node.
func (a *attempt) target(node int) connectors.Sink {
	for _, o := range a.sinks {
		if o.node == node {
			return o.target
		}
	}
	return nil
}

// keptRows replays the rows kept in blobs, in order.
func keptRows(ctx context.Context, s checkpoint.Store, blobs []checkpoint.Blob, ts []types.Type, yield func(*vec.Batch) error) error {
	for _, b := range blobs {
		data, err := s.Get(ctx, b.Name)
		if err != nil {
			return fmt.Errorf("read kept rows: %w", err)
		}
		for len(data) > 0 {
			batch, rest, err := vec.ReadWire(data, ts)
			if err != nil {
				return fmt.Errorf("read kept rows %q: %w", b.Name, err)
			}
			err = yield(batch)
			batch.Release()
			if err != nil {
				return err
			}
			data = rest
		}
	}
	return nil
}

// release lets the sources' other sides forget what lies before m, and finishes the
// splits that have ended there.
func (a *attempt) release(ctx context.Context, m *checkpoint.Manifest) error {
	for _, t := range a.sources {
		if a.leftAside(m, t.src.Table) {
			continue
		}
		releaser, _ := t.conn.(connectors.Releaser)
		reserver, _ := t.conn.(connectors.Reserver)
		states := restoredSplits(m, t.id.Node)
		for _, s := range t.splits {
			st := states[s.conn.ID]
			pos := connectors.Position(st.Position)
			var err error
			switch {
			case pos == nil || s.finished:
			case st.Ended && reserver != nil:
				err = reserver.Finish(ctx, s.conn, pos)
				s.finished = err == nil
			case releaser != nil:
				err = releaser.Release(ctx, s.conn, pos)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// pendingError says that an epoch waits for a group.
func pendingError(g string, e stream.Epoch, err error) string {
	return fmt.Sprintf("commit of epoch %d to %s: %v", e, g, err)
}
