package engine

import (
	"context"

	"github.com/streamsql/streamsql/internal/runtime"
)

// Check plans a file and asks its connectors whether the real tables and streams are
// there and fit; nothing runs.
func (e *Engine) Check(ctx context.Context, f *File) error {
	p, err := e.plan(f.spec(Start{}), nil)
	if err != nil {
		return f.script.Fix(err)
	}
	cfg, err := e.config(f.spec(Start{}), p, nil)
	if err != nil {
		return err
	}
	return f.script.Fix(runtime.Check(ctx, cfg))
}
