package engine

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner/plan"
	"github.com/streamsql/streamsql/planner/upgrade"
)

// compare gives the plan with which the text of spec goes on from m: the stored one when
// the text is the same, its own when it only looks different (comments, connector
// options, settings). Otherwise there is a report on what becomes of the state.
func (e *Engine) compare(spec jobSpec, m *checkpoint.Manifest) (*plan.Plan, *upgrade.Report, error) {
	old, err := decodePlan(m)
	if err != nil || m.SQL == spec.src {
		return old, nil, err
	}
	p, err := e.plan(spec, nil)
	if err != nil {
		return nil, nil, err
	}
	// The number of key groups is fixed for the life of a state.
	p.KeyGroups = old.KeyGroups
	r, err := difference(old, p)
	return p, r, err
}

// difference is nil for plans that compute the same.
func difference(old, p *plan.Plan) (*upgrade.Report, error) {
	same, err := plan.Same(old, p)
	if err != nil {
		return nil, sqlerr.Internalf("compare plans: %v", err)
	}
	if same {
		return nil, nil
	}
	return upgrade.Compare(old, p), nil
}

// changed is the error of a text that has changed over existing state.
func changed(spec jobSpec, m *checkpoint.Manifest, r *upgrade.Report) error {
	what, fresh := "its last checkpoint", "with --fresh"
	if m.Savepoint {
		what, fresh = "the savepoint", "without a savepoint"
	}
	return sqlerr.New(sqlerr.CodeStateMismatch, 0, "job %q does not compute what it did at %s (epoch %d)", spec.name, what, m.Epoch).
		WithDetail("What would become of the state:\n%s", strings.TrimSuffix(r.String(), "\n")).
		WithHint("Start it with --allow-non-restored-state to go on like that, %s to begin anew, or give it another name with SET 'job.name' = '…'.", fresh)
}

// carry is how the runtime asks whether and how plan p goes on with a checkpoint.
func (e *Engine) carry(spec jobSpec, p *plan.Plan) func(m *checkpoint.Manifest) (*plan.Carry, error) {
	return func(m *checkpoint.Manifest) (*plan.Carry, error) {
		old, err := decodePlan(m)
		if err != nil {
			return nil, err
		}
		r, err := difference(old, p)
		if r == nil {
			return nil, err
		}
		if !r.Clean() && !spec.how.AllowNonRestored {
			err = changed(spec, m, r)
		}
		return r.Carry(), err
	}
}

// ExplainUpgrade reports what would become of a job's state: of the savepoint at path or,
// when path is "", of the job's last checkpoint.
func (e *Engine) ExplainUpgrade(ctx context.Context, f *File, path string) (string, error) {
	spec := f.spec(Start{FromSavepoint: path, Fresh: path != ""})
	m, err := e.origin(ctx, spec)
	if err != nil {
		return "", err
	}
	if m == nil {
		return "", sqlerr.New(sqlerr.CodeUndefinedObject, 0, "job %q has no checkpoint in %q", f.Name, e.opts.DataDir).
			WithHint("Name the savepoint to compare with.")
	}
	_, r, err := e.compare(spec, m)
	switch {
	case err != nil:
		return "", f.script.Fix(err)
	case r == nil:
		return "everything goes on as it is: the file computes what it did\n", nil
	}
	return r.String(), nil
}

// explainUpgrade runs EXPLAIN UPGRADE.
func (s *Session) explainUpgrade(ctx context.Context, st *tree.ExplainUpgrade) (*Result, error) {
	text, err := os.ReadFile(st.File.Value)
	if err != nil {
		var p *os.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return nil, sqlerr.New(sqlerr.CodeUndefinedObject, st.File.Pos, "cannot read %q: %v", st.File.Value, err)
	}
	f, err := s.e.Load(JobName(st.File.Value), string(text))
	if err != nil {
		return nil, elsewhere(err, st.File)
	}
	out, err := s.e.ExplainUpgrade(ctx, f, s.e.SavepointPath(st.Savepoint.Value))
	if err != nil {
		return nil, elsewhere(err, st.File)
	}
	return &Result{Tag: "EXPLAIN", Text: out}, nil
}

// elsewhere turns an error with a place in a file into one at the mention of the file.
func elsewhere(err error, file tree.StringArg) error {
	return move(err, func(sqlerr.Pos) sqlerr.Pos { return file.Pos })
}
