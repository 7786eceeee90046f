package engine

import (
	"context"
	"sync"

	"github.com/streamsql/streamsql/internal/runtime"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner"
	"github.com/streamsql/streamsql/planner/plan"
)

// Query is a running SELECT. Whoever got it reads it to its end or stops it; one
// goroutine reads.
type Query struct {
	Schema types.Schema
	// Bounded: the rows end by themselves; what is left after the changes is the result.
	Bounded bool
	// Updating: rows may be taken back.
	Updating bool
	plan     *plan.Plan
	job      *runtime.Job
	pipe     *rowPipe
	fix      func(error) error
	once     sync.Once
}

// Next returns the next rows, which the caller releases; io.EOF after the last.
// Positions of errors count in the text that was given to Load or Parse.
func (q *Query) Next(ctx context.Context) (*vec.Batch, error) {
	b, err := q.pipe.next(ctx)
	return b, q.fix(err)
}

// Stop ends the query and waits until it has ended. It may be called again.
func (q *Query) Stop() {
	q.once.Do(func() {
		q.pipe.stop()
		q.job.Cancel()
		q.pipe.drain()
	})
}

// Status tells how the query is doing.
func (q *Query) Status() Status { return statusOf(q.job, q.plan) }

// query plans and starts a SELECT; its rows come through the returned Query. spec has
// the one output st.
func (e *Engine) query(ctx context.Context, st *tree.QueryStmt, spec jobSpec) (*Query, error) {
	pipe := newRowPipe()
	conn := pipe.connector()
	spec.name = "query"
	p, err := e.plan(spec, &conn)
	if err != nil {
		return nil, spec.fix(err)
	}
	schema, err := planner.OutputSchema(st.Query, spec.src, spec.snap, e.planOptions(spec.settings, &conn))
	if err != nil {
		return nil, spec.fix(err)
	}
	done, err := e.jobs.query()
	if err != nil {
		return nil, err
	}
	r, err := e.launch(ctx, spec, p, &conn)
	if err != nil {
		done()
		return nil, spec.fix(err)
	}
	go func() {
		pipe.finish(r.Wait())
		done()
	}()
	return &Query{Schema: schema, Bounded: bounded(p), Updating: updating(p), plan: p, job: r, pipe: pipe, fix: spec.fix}, nil
}
