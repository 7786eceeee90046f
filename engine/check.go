package engine

import (
	"context"

	"github.com/streamsql/streamsql/internal/runtime"
	"github.com/streamsql/streamsql/parser/tree"
)

// Explain gives the plan of the whole file.
func (e *Engine) Explain(f *File, format tree.ExplainFormat) (string, error) {
	text, err := e.explain(f.spec(Start{}), format)
	return text, f.script.Fix(err)
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
