package runtime

import (
	"context"
	"fmt"
	"slices"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/operators"
	"github.com/streamsql/streamsql/planner/plan"
)

// carryOf says how a checkpoint's state is gone on with when another plan made it, nil
// when the attempt's own did.
func (a *attempt) carryOf(m *checkpoint.Manifest) (*plan.Carry, error) {
	if a.cfg.Carry == nil {
		return nil, nil
	}
	return a.cfg.Carry(m)
}

// adapt gives a checkpoint of another plan the nodes of the one that goes on with it. It
// has nothing to commit: that is done by the plan it belongs to.
func adapt(c *plan.Carry, m *checkpoint.Manifest) *checkpoint.Manifest {
	if c == nil {
		return m
	}
	out := *m
	out.Tasks, out.Sinks, out.Counts = nil, nil, nil
	for id, n := range c.Nodes {
		for _, t := range m.Tasks {
			if t.Node == n.Node {
				t.Node = id
				out.Tasks = append(out.Tasks, t)
			}
		}
		for _, x := range m.Counts {
			if x.Node == n.Node {
				x.Node = id
				out.Counts = append(out.Counts, x)
			}
		}
	}
	return &out
}

// restoreState gives the operator of n what the parts hold, which may be of another plan;
// same says that its snapshots can follow theirs.
func (a *attempt) restoreState(n *chainNode, owned stream.GroupRange, groups int, parts []state.Part) (same bool, err error) {
	st := n.op.State()
	if a.carry == nil {
		return true, st.Restore(owned, groups, parts)
	}
	from := a.carry.Nodes[n.plan.ID]
	old := a.carry.From.Nodes[from.Node]
	c, err := operators.Carry(old, n.plan, a.carry.From.InputSchemas(old), n.inputs, from.Aggs)
	if err != nil {
		return false, err
	}
	if c.Same {
		return true, st.Restore(owned, groups, parts)
	}
	if err := c.Old.Restore(owned, groups, parts); err != nil {
		return false, err
	}
	return false, st.Import(c.Old, c.Copies)
}

// openPredecessor opens the sinks of the plan that made the newest checkpoint, when some
// of them may have something left to commit of it: it is committed by their own plan,
// to the target that it was kept for. Nothing is claimed yet. chain are the manifests
// that may be pending, the newest first.
func (a *attempt) openPredecessor(ctx context.Context, chain []*checkpoint.Manifest) error {
	unsettled, err := a.unsettled(ctx, chain)
	if err != nil || !unsettled {
		return err
	}
	cfg := a.cfg
	cfg.Plan = a.carry.From
	p := &attempt{cfg: cfg, job: a.job, n: a.n, heir: a}
	p.clock.us.Store(a.now())
	a.closers = append(a.closers, p.close)
	if p.graph, err = newGraph(cfg.Plan, cfg.Parallelism); err != nil {
		return err
	}
	for _, was := range chain[0].Sinks {
		n := cfg.Plan.Nodes[was.Node]
		if a.abandons(was) {
			a.cfg.Logger.Warn("what is pending for a sink is abandoned", "job", a.cfg.Name, "sink", n.Sink.Table, "target", was.Target)
			continue
		}
		if err := p.openSink(ctx, n); err != nil {
			return abandon(err, fmt.Sprintf("Rows of the last checkpoint may still be pending for sink %q, which cannot be opened", n.Sink.Table))
		}
		if t := p.target(was.Node); !isTarget(t, was) {
			return abandon(sqlerr.New(sqlerr.CodeFenced, 0, "the target of sink %q is not the one of checkpoint %d", n.Sink.Table, chain[0].Epoch),
				fmt.Sprintf("Rows may still be pending for %s, the target is %s", named(was.Target, was.Identity), named(t.Group(), identity(t))))
		}
	}
	a.predecessor = p
	return nil
}

// unsettled reports that a target may lack rows that the manifests hold for it.
func (a *attempt) unsettled(ctx context.Context, chain []*checkpoint.Manifest) (bool, error) {
	settled := map[string]bool{}
	for _, s := range a.sinks {
		if name := s.target.Group(); name != "" && !settled[name] {
			f, err := fenceOf(ctx, s.target, a.job)
			if err != nil {
				return false, err
			}
			settled[name] = f.Known && f.Job == a.job && f.Epoch >= chain[0].Epoch
		}
	}
	g, err := newGraph(a.carry.From, a.cfg.Parallelism)
	if err != nil {
		return false, err
	}
	if letters, err := findDiversions(g); err != nil || len(letters) > 0 {
		return len(letters) > 0, err
	}
	for _, was := range chain[0].Sinks {
		if !settled[was.Target] && slices.ContainsFunc(chain, func(m *checkpoint.Manifest) bool { return holds(m, was.Target) }) {
			return true, nil
		}
	}
	return false, nil
}

// holds reports that a checkpoint has something to commit to a target.
func holds(m *checkpoint.Manifest, target string) bool {
	return slices.ContainsFunc(m.Sinks, func(s checkpoint.SinkState) bool { return s.Target == target && len(s.Tokens)+len(s.Rows) > 0 })
}

// abandons reports that what is pending for an older sink is given up as the user asks:
// the sink is not in the plan any more, or writes to another target.
func (a *attempt) abandons(was checkpoint.SinkState) bool {
	if !a.cfg.AbandonPending {
		return false
	}
	heir := a.target(a.heirOf(was.Node))
	return heir == nil || !isTarget(heir, was)
}

// heirOf is the node that goes on with an older one, -1 for none.
func (a *attempt) heirOf(node int) int {
	if a.carry == nil {
		return node
	}
	return slices.IndexFunc(a.carry.Nodes, func(n plan.Carried) bool { return n.Node == node })
}

// abandon offers to go on without what is pending.
func abandon(err error, detail string) error {
	e := sqlerr.As(err)
	if e == nil {
		return err
	}
	c := *e
	if c.Detail != "" {
		detail = c.Detail + " " + detail
	}
	c.Detail, c.Hint = detail+".", "Start with --abandon-pending to go on without what is pending there."
	return &c
}

// pending is what a group has still to commit, by the attempt that has opened it.
type pending struct {
	by  *attempt
	g   *group
	due []due
}

// pendingCommits compares the targets of a checkpoint with what they remember. A target
// that the checkpoint does not know has nothing to catch up with.
func (a *attempt) pendingCommits(ctx context.Context, newest due, older []stream.Epoch) ([]pending, error) {
	by := a
	if p := a.predecessor; p != nil && a.carry != nil {
		if err := p.acquire(ctx); err != nil {
			return nil, err
		}
		by = p
	}
	var out []pending
	for _, g := range by.groups {
		p, err := a.pendingCommit(ctx, by, g, newest, older)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	for _, g := range a.groups {
		if by == a || slices.ContainsFunc(out, func(p pending) bool { return p.g.name == g.name }) {
			continue
		}
		p, err := a.pendingCommit(ctx, a, g, newest, older)
		if err != nil {
			return nil, err
		}
		for i, d := range p.due {
			if holds(d.m, g.name) {
				return nil, sqlerr.New(sqlerr.CodeStateMismatch, 0, "epoch %d is pending for %s and was made by another query", d.m.Epoch, g.name).
					WithHint("Start the job once as it was: it commits what is pending.")
			}
			bare := *d.m
			bare.Sinks = nil
			p.due[i].m = &bare
		}
		out = append(out, p)
	}
	return out, nil
}

func (a *attempt) pendingCommit(ctx context.Context, by *attempt, g *group, newest due, older []stream.Epoch) (p pending, err error) {
	p.by, p.g = by, g
	if !slices.ContainsFunc(newest.m.Sinks, func(s checkpoint.SinkState) bool { return s.Target == g.name }) {
		if a.fence(g) > newest.m.Epoch {
			return p, lostCheckpoints(g, newest.m.Epoch)
		}
		return p, nil
	}
	p.due, err = a.checkFence(ctx, g, newest, older)
	for i, d := range p.due {
		// What was kept for another target is abandoned, or the start was refused.
		m := *d.m
		m.Sinks = slices.DeleteFunc(slices.Clone(m.Sinks), func(was checkpoint.SinkState) bool {
			t := by.target(was.Node)
			return t != nil && !isTarget(t, was)
		})
		p.due[i].m = &m
	}
	return p, err
}
