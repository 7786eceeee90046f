package engine

import (
	"context"
	"errors"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/runtime"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// SavepointOf makes a savepoint of the newest checkpoint of a job, which need not run
// in this process, whose sinks have all confirmed it: a savepoint has no pending
// commits. Where a checkpoint left something to commit the targets are asked.
func (e *Engine) SavepointOf(ctx context.Context, name, path string) (*checkpoint.Manifest, error) {
	list, unreadable, err := e.Checkpoints(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case len(unreadable) > 0:
		return nil, errors.Join(unreadable...)
	case len(list) == 0:
		return nil, sqlerr.New(sqlerr.CodeCheckpoint, 0, "job %q has no complete checkpoint yet", name)
	}
	var m *checkpoint.Manifest
	for i := len(list) - 1; i >= 0 && m == nil; i-- {
		ok, err := e.confirmed(ctx, list[i])
		if err != nil {
			return nil, err
		}
		if ok {
			m = list[i]
		}
	}
	if m == nil {
		return nil, sqlerr.New(sqlerr.CodeCheckpoint, 0, "the sinks of job %q have confirmed none of its checkpoints", name).
			WithHint("Start the job again: it commits what is pending.")
	}
	dst, err := createSavepoint(path)
	if err != nil {
		return nil, err
	}
	return m, checkpoint.WriteSavepoint(ctx, e.store, dst, m)
}

// confirmed reports that nothing of a checkpoint waits to be committed.
func (e *Engine) confirmed(ctx context.Context, m *checkpoint.Manifest) (bool, error) {
	p, err := decodePlan(m)
	if err != nil {
		return false, err
	}
	cfg, err := e.config(ctx, jobSpec{name: m.Name, src: m.SQL, snap: catalog.Empty, settings: e.base}, p, nil)
	if err != nil {
		return false, err
	}
	return runtime.Confirmed(ctx, cfg, m)
}
