package runtime

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/crashpoint"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/planner/plan"
)

// owner is the job as the source of a table sees it.
func (a *attempt) owner(table string) connectors.Owner {
	if a.cfg.Query {
		return connectors.Owner{}
	}
	return connectors.Owner{Job: a.job, Name: a.cfg.Name, Attempt: a.n, Reset: a.resets(table), Replaces: a.cfg.replaces, TakeOver: a.cfg.TakeOver,
		Interval: time.Duration(a.cfg.Settings.Interval) * time.Microsecond}
}

// reserve lets the sources' other sides keep what the job is going to read. Positions
// that the readers made up belong to the job from here on: they are in its first
// checkpoint, also when no row has come.
func (a *attempt) reserve(ctx context.Context) error {
	for _, t := range a.sources {
		if r, ok := t.conn.(connectors.Reserver); ok {
			if err := r.Reserve(ctx); err != nil {
				return at(t.src.Pos, err)
			}
		}
		for _, s := range t.splits {
			if r, ok := s.reader.(connectors.Positioned); ok && s.pos == nil {
				s.pos, t.moved = r.Position(), true
			}
		}
	}
	return nil
}

// finishSources releases all that a finished job has read. What fails here is done by
// the next start, which finds the job finished.
func (a *attempt) finishSources(ctx context.Context, m *checkpoint.Manifest) {
	crashpoint.Here("before-finish")
	for _, t := range a.sources {
		r, ok := t.conn.(connectors.Reserver)
		if !ok {
			continue
		}
		states := restoredSplits(m, t.id.Node)
		for _, s := range t.splits {
			st := states[s.conn.ID]
			if st.Position == nil || s.finished {
				continue
			}
			if err := r.Finish(ctx, s.conn, connectors.Position(st.Position)); err != nil {
				a.cfg.Logger.Warn("what the finished job has read is not released; another start releases it",
					"job", a.cfg.Name, "table", t.src.Table, "error", err)
			}
		}
	}
}

// checkResets refuses a reset of what the job does not read.
func (a *attempt) checkResets() error {
	var tables []string
	for _, n := range a.cfg.Plan.Nodes {
		if n.Source != nil {
			tables = append(tables, n.Source.Table)
		}
	}
	slices.Sort(tables)
	for t, to := range a.cfg.ResetSource {
		if to == "" {
			return sqlerr.New(sqlerr.CodeOption, 0, "the new position of table %q is missing", t)
		}
		if slices.Contains(tables, t) {
			continue
		}
		e := sqlerr.New(sqlerr.CodeUndefinedTable, 0, "the job reads no table %q, whose position is to be reset", t)
		if len(tables) > 0 {
			e = e.WithHint("It reads %s.", strings.Join(tables, ", "))
		}
		return e
	}
	return nil
}

// resets reports whether the positions of a table are to be left aside. A checkpoint that
// this run has made has the new ones.
func (a *attempt) resets(table string) bool {
	_, ok := a.cfg.ResetSource[table]
	return ok && (a.restored == nil || a.restored.Epoch == 0 || !a.ofThisRun(a.restored))
}

// leftAside reports whether m, a manifest of an earlier run, stands for other positions of
// a table than those from which this run went on: reset, or behind an end that counts no
// longer.
func (a *attempt) leftAside(m *checkpoint.Manifest, table string) bool {
	_, reset := a.cfg.ResetSource[table]
	return (reset || a.cfg.Continue) && !a.ofThisRun(m)
}

// ofThisRun reports whether an attempt of this run made the manifest.
func (a *attempt) ofThisRun(m *checkpoint.Manifest) bool {
	first := a.cfg.first
	if first == 0 {
		first = a.n
	}
	return m.Attempt >= first
}

// resetStart makes a reset the start of the table.
func (a *attempt) resetStart(src *plan.Source, c connectors.Connector, options map[string]string) error {
	if !a.resets(src.Table) {
		return nil
	}
	if !slices.ContainsFunc(c.Options, func(o connectors.Option) bool { return o.Name == "start" }) {
		return sqlerr.New(sqlerr.CodeNotSupported, 0, "the position of table %q cannot be reset: connector %q has no option \"start\"", src.Table, c.Name)
	}
	options["start"] = a.cfg.ResetSource[src.Table]
	return nil
}
