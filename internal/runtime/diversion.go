package runtime

import (
	"context"
	"slices"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/operators"
	"github.com/streamsql/streamsql/planner/plan"
)

// diversion is the way of the rows that a commit of one sink has refused to the table
// of dead letters: they are kept in the step of that commit, and the other table takes
// them from there with its own commit of the same epoch.
type diversion struct {
	from, to *plan.Node
	calc     []*plan.Node // between the two
	group    *group       // of from
	aside    *group       // of to; nil when it has nothing to fence
	keeper   connectors.Keeper
	tries    int
	// kept: the keeper may hold letters that have been delivered.
	kept bool
}

// findDiversions follows the plan from the committing sinks that send rows to the dead
// letters. There is one table of dead letters for each.
func findDiversions(g *graph) ([]*diversion, error) {
	var out []*diversion
	for _, n := range g.plan.Nodes {
		if n.Sink == nil || n.Sink.Mode != plan.Commit || n.Sink.OnError != "dead-letter" {
			continue
		}
		for _, e := range g.consumers(n.ID, plan.Errors) {
			d := &diversion{from: n, to: e.to, kept: true}
			for d.to.Sink == nil {
				if d.to.Calc != nil {
					d.calc = append(d.calc, d.to)
				}
				next := slices.Concat(g.inner[d.to.ID], g.outer[d.to.ID])
				if d.to.Calc == nil && d.to.Union == nil || len(next) != 1 {
					return nil, sqlerr.Internalf("the dead letters of sink %q go through %s", n.Sink.Table, nodeName(d.to))
				}
				d.to = next[0].to
			}
			out = append(out, d)
		}
	}
	return out, nil
}

// openDiversions finds who keeps and who takes the letters, and orders the groups so
// that those come first from which letters come.
func (a *attempt) openDiversions(ctx context.Context) error {
	all, err := findDiversions(a.graph)
	if err != nil {
		return err
	}
	for _, d := range all {
		for _, g := range a.groups {
			if slices.Contains(g.nodes, d.from.ID) {
				d.group = g
			}
			if slices.Contains(g.nodes, d.to.ID) {
				d.aside = g
			}
		}
		if d.group == nil || a.target(d.to.ID) == nil {
			continue // abandoned
		}
		c := d.group.committer
		if _, ok := c.(connectors.Keeper); !ok {
			continue
		}
		if d.aside != nil && d.aside != d.group {
			// That group's commits run beside the other's.
			if c, err = a.target(d.from.ID).Committer(ctx, a.job, a.n); err != nil {
				return err
			}
			a.closers = append(a.closers, c.Close)
			d.aside.after = append(d.aside.after, d.group.name)
		}
		d.keeper = c.(connectors.Keeper)
		a.diversions = append(a.diversions, d)
	}
	return a.orderGroups()
}

// orderGroups sorts the groups by what they wait for.
func (a *attempt) orderGroups() error {
	var sorted []*group
	for len(a.groups) > 0 {
		i := slices.IndexFunc(a.groups, func(g *group) bool {
			return !slices.ContainsFunc(a.groups, func(o *group) bool { return slices.Contains(g.after, o.name) })
		})
		if i < 0 {
			return sqlerr.New(sqlerr.CodeOption, 0, "the dead letters of %s go to %s and the other way round", a.groups[0].name, a.groups[0].after[0]).
				WithHint("Let the dead letters of all sinks go to one system.")
		}
		sorted = append(sorted, a.groups[i])
		a.groups = slices.Delete(a.groups, i, i+1)
	}
	a.groups = sorted
	return nil
}

// diversionOf is the way for the rows that a commit of sink n refuses, nil for none.
func (a *attempt) diversionOf(n *plan.Node) *diversion {
	for _, d := range a.diversions {
		if d.from == n {
			return d
		}
	}
	return nil
}

// rows gives what was kept of the epoch, as rows of the table of dead letters.
func (d *diversion) rows(ctx context.Context, a *attempt, e stream.Epoch, yield func(*vec.Batch) error) error {
	var chain []operators.Operator
	schema := plan.DeadLetterSchema
	for _, n := range d.calc {
		op, err := operators.Build(n, operators.Context{Inputs: []types.Schema{schema}, BatchRows: a.cfg.BatchRows,
			Errors: func(_ *vec.Batch, e expr.RowError) error {
				return sqlerr.New(e.Code, e.Pos, "dead letter of sink %q: %s", d.from.Sink.Table, e.Msg)
			}})
		if err != nil {
			return err
		}
		chain, schema = append(chain, op), n.Schema
	}
	return d.keeper.Kept(ctx, e, d.from.ID, func(piece []byte) error {
		b, _, err := vec.ReadWire(piece, plan.DeadLetterSchema.Types())
		if err != nil {
			return err
		}
		d.kept = true
		for _, op := range chain {
			out, err := op.Process(0, b)
			if err != nil || out.Batch == nil {
				return err
			}
			b = out.Batch
		}
		defer b.Release()
		return yield(b)
	})
}

// write gives what was kept of the epoch to a writer of its own and returns the token
// by which it becomes visible, if the target needs one.
func (d *diversion) write(ctx context.Context, a *attempt, e stream.Epoch) ([]byte, error) {
	var w connectors.Writer
	r := &refusals{node: d.to, codes: map[string]int64{}}
	err := d.rows(ctx, a, e, r.taking(func(b *vec.Batch) (err error) {
		if w == nil {
			// Beside the writers of the sink's own subtasks.
			d.tries++
			w, err = a.target(d.to.ID).OpenWriter(ctx, connectors.WriterContext{Job: a.job, Attempt: a.n,
				Subtask: a.graph.par[d.to.ID] + d.tries, Refused: r.refused})
			if err != nil {
				return err
			}
		}
		return w.Write(ctx, b)
	}))
	if w == nil {
		return nil, err
	}
	var token []byte
	if err == nil {
		err = w.Flush(ctx)
	}
	if err == nil {
		token, err = w.Seal(ctx, e)
	}
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		r.count(a.count(d.to.ID))
	}
	return token, err
}

// redeliver writes the letters of the epoch that g has committed last to targets without
// a fence, unless it is known that they were written.
func (a *attempt) redeliver(ctx context.Context, g *group) error {
	if g.fence.Known && g.fence.Job == a.job && g.fence.Epoch > 0 {
		return a.delivered(ctx, g, g.fence.Epoch)
	}
	return nil
}

// delivered writes the letters of a commit to targets without a fence, and forgets those
// that g was the last to need.
func (a *attempt) delivered(ctx context.Context, g *group, e stream.Epoch) error {
	for _, d := range a.diversions {
		switch {
		case d.aside == nil && d.group == g:
			if _, err := d.write(ctx, a, e); err != nil {
				return err
			}
		case d.aside != g:
			continue
		}
		if !d.kept {
			continue
		}
		if err := d.keeper.Forget(ctx, e, d.from.ID); err != nil {
			a.cfg.Logger.Warn("delivered dead letters are still kept", "job", a.cfg.Name, "sink", d.from.Sink.Table, "error", err)
			continue
		}
		d.kept = false
	}
	return nil
}
