package engine

import (
	"context"

	"github.com/streamsql/streamsql/internal/runtime"
	"github.com/streamsql/streamsql/planner"
)

// Explain gives the plan of the whole file as text.
func (e *Engine) Explain(f *File) (string, error) {
	p, err := e.plan(f.spec(Start{}), nil)
	if err != nil {
		return "", f.script.Fix(err)
	}
	return planner.Explain(p), nil
}

// Check plans a file and asks its connectors whether the real tables and streams are
// there and fit; nothing runs.
func (e *Engine) Check(ctx context.Context, f *File) error {
	spec := f.spec(Start{})
	p, err := e.plan(spec, nil)
	if err != nil {
		return spec.fix(err)
	}
	cfg, err := e.config(ctx, spec, p, nil)
	if err != nil {
		return spec.fix(err)
	}
	return spec.fix(runtime.Check(ctx, cfg))
}
