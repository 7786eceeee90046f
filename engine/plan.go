package engine

import (
	"context"
	"encoding/json"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/runtime"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner"
	"github.com/streamsql/streamsql/planner/plan"
)

// jobSpec is all that a job is started from.
type jobSpec struct {
	name     string
	src      string // the job's text, which the positions in outputs count in
	outputs  []tree.Statement
	snap     *catalog.Snapshot
	settings settings
	how      Start
	asking   bool // only the sinks are opened, to ask them
	// uses is what a session declared for the job, nil for a file's job.
	uses *catalog.Snapshot
	// stored is the plan of a savepoint that is restored as it was, in place of outputs.
	stored *plan.Plan
	// fix turns positions in src into those of what was typed.
	fix func(error) error
}

// planOptions are what the planner gets.
func (e *Engine) planOptions(s settings, extra *connectors.Connector) planner.Options {
	set := make(map[string]string)
	for _, d := range Settings() {
		set[d.Name] = s.get(d.Name)
	}
	var names []string
	for _, c := range e.ListConnectors() {
		names = append(names, c.Name)
	}
	return planner.Options{
		Connectors:     e.connector(extra),
		ConnectorNames: names,
		Formats:        format.List(),
		TimeZone:       s.get("timezone"),
		Settings:       set,
		Vars:           e.lookup,
	}
}

// plan plans the outputs of a job. The rows of a SELECT among them go to show, to the
// console when it is nil.
func (e *Engine) plan(spec jobSpec, show *connectors.Connector) (*plan.Plan, error) {
	return planner.Plan(outputs(spec, show), spec.snap, e.planOptions(spec.settings, show))
}

// explain shows the plan of a job.
func (e *Engine) explain(spec jobSpec, format tree.ExplainFormat) (string, error) {
	return planner.Explain(outputs(spec, nil), spec.snap, e.planOptions(spec.settings, nil), format)
}

func outputs(spec jobSpec, show *connectors.Connector) []planner.Output {
	to := planner.ShowSink{Connector: "console"}
	if show != nil {
		to.Connector = show.Name
	}
	out := make([]planner.Output, len(spec.outputs))
	for i, st := range spec.outputs {
		out[i] = planner.Output{Stmt: st, Source: spec.src, Show: to}
	}
	return out
}

// planOrStored gives the plan to run: that of the checkpoint or savepoint that the job
// starts from, so that a later version goes on with what the state was made by. Of a
// text that has changed it is the text's own, with a report on what becomes of the state.
func (e *Engine) planOrStored(ctx context.Context, spec jobSpec) (p *plan.Plan, upgrade string, err error) {
	if spec.stored != nil {
		return spec.stored, "", nil
	}
	m, err := e.origin(ctx, spec)
	if err != nil {
		return nil, "", err
	}
	if m == nil {
		p, err = e.plan(spec, nil)
		return p, "", err
	}
	p, r, err := e.compare(spec, m)
	if err != nil || r == nil {
		return p, "", err
	}
	switch {
	case r.Clean():
		return p, "", nil
	case !spec.how.AllowNonRestored:
		return nil, "", changed(spec, m, r)
	}
	return p, r.String(), nil
}

// origin is the checkpoint or savepoint that a job starts from, nil for none.
func (e *Engine) origin(ctx context.Context, spec jobSpec) (*checkpoint.Manifest, error) {
	if !spec.how.Fresh {
		m, err := runtime.Latest(ctx, e.store, spec.name)
		if err != nil {
			return nil, err
		}
		if m != nil && spec.how.FromSavepoint != "" {
			return nil, sqlerr.New(sqlerr.CodeStateMismatch, 0, "job %q has checkpoints of its own (the last is epoch %d) and would not start from the savepoint", spec.name, m.Epoch).
				WithHint("Add --fresh to start from the savepoint as a new job, or leave --from-savepoint out to go on.")
		}
		if m != nil {
			return m, nil
		}
	}
	if spec.how.FromSavepoint == "" {
		return nil, nil
	}
	_, m, err := OpenSavepoint(ctx, e.SavepointPath(spec.how.FromSavepoint))
	return m, err
}

// decodePlan reads the plan of a manifest.
func decodePlan(m *checkpoint.Manifest) (*plan.Plan, error) {
	p := &plan.Plan{}
	if err := json.Unmarshal(m.Plan, p); err != nil {
		return nil, &sqlerr.Error{Class: sqlerr.User, Code: sqlerr.CodeCheckpoint, Msg: "the stored plan cannot be read", Err: err}
	}
	if p.Version > plan.Version {
		return nil, sqlerr.New(sqlerr.CodeVersion, 0, "the stored plan has version %d, and this program reads up to version %d", p.Version, plan.Version).
			WithHint("Use a later version of streamsql.")
	}
	return p, nil
}
