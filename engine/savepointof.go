package engine

import (
	"context"
	"errors"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/runtime"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/planner/plan"
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
		none := sqlerr.New(sqlerr.CodeCheckpoint, 0, "the sinks of job %q have confirmed none of its checkpoints", name).
			WithHint("Start the job again: it commits what is pending.")
		if p, err := decodePlan(list[len(list)-1]); err == nil && e.asksEmbedded(p) {
			none.Hint = otherServer + " " + none.Hint
		}
		return nil, none
	}
	dst, err := createSavepoint(path)
	if err != nil {
		return nil, err
	}
	return m, checkpoint.WriteSavepoint(ctx, e.store, dst, m)
}

// confirmed reports that nothing of a checkpoint waits to be committed.
func (e *Engine) confirmed(ctx context.Context, m *checkpoint.Manifest) (bool, error) {
	if !m.Pending() {
		return true, nil // no server is asked
	}
	p, err := decodePlan(m)
	if err != nil {
		return false, err
	}
	cfg, err := e.config(ctx, jobSpec{name: m.Name, src: m.SQL, snap: catalog.Empty, settings: e.base, asking: true}, p, nil)
	if err != nil {
		return false, err
	}
	ok, err := runtime.Confirmed(ctx, cfg, m)
	if x := sqlerr.As(err); x != nil && !x.Retry && e.asksEmbedded(p) {
		x.Hint = otherServer
	}
	return ok, err
}

// otherServer is the hint for what the embedded server does not know.
const otherServer = "The embedded NATS server was asked: if the job runs on another, name it with --nats."

// asksEmbedded reports that some sink of p is on the embedded server, as far as is known
// here.
func (e *Engine) asksEmbedded(p *plan.Plan) bool {
	return e.opts.NATSURL == "" && usesDefaultNATS(p, true)
}
