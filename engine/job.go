package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/runtime"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/parser"
	"github.com/streamsql/streamsql/planner"
	"github.com/streamsql/streamsql/planner/plan"
)

// jobSpec is all that a job is started from.
type jobSpec struct {
	name     string
	src      string // the text of the whole script
	outputs  []parser.Statement
	snap     *catalog.Snapshot
	settings settings
	how      Start
	// stored is the plan of a savepoint that is restored as it was, in place of outputs.
	stored *plan.Plan
}

// Start says what a job starts from.
type Start struct {
	// Fresh takes a new job id and ignores earlier checkpoints.
	Fresh bool
	// FromSavepoint is a savepoint's directory; the job gets a new id.
	FromSavepoint string
	// AllowNonRestored accepts a savepoint with state that the job has no place for.
	AllowNonRestored bool
	// TakeOver takes targets from another job.
	TakeOver bool
	// Continue goes on with a finished bounded job from its positions.
	Continue bool
	// ReplayIntoSinks lets keyed sinks be behind what their target already holds.
	ReplayIntoSinks bool
}

// Job is a job of this process.
type Job struct {
	Name    string
	SQL     string
	Plan    *plan.Plan
	Started time.Time
	run     *runtime.Job
}

// Query is a running SELECT.
type Query struct {
	Schema types.Schema
	// Bounded: the rows end by themselves; what is left after the changes is the result.
	Bounded bool
	// Updating: rows may be taken back.
	Updating bool
	job      *runtime.Job
	pipe     *rowPipe
}

// Next returns the next rows, which the caller releases; io.EOF after the last.
func (q *Query) Next(ctx context.Context) (*vec.Batch, error) { return q.pipe.next(ctx) }

// Stop ends the query.
func (q *Query) Stop() {
	q.pipe.stop()
	q.job.Cancel()
	_ = q.job.Wait()
}

// Status tells how the query is doing.
func (q *Query) Status() runtime.Status { return q.job.Status() }

// Running reports whether the job has not ended.
func (j *Job) Running() bool {
	select {
	case <-j.run.Done():
		return false
	default:
		return true
	}
}

// Wait waits for the job's end and returns why it ended, nil when it was done or stopped.
func (j *Job) Wait() error { return j.run.Wait() }

// Done is closed when the job has ended.
func (j *Job) Done() <-chan struct{} { return j.run.Done() }

// Stop ends the job after a last checkpoint, which becomes a savepoint when path is
// not empty.
func (j *Job) Stop(ctx context.Context, path string) error { return j.run.Stop(ctx, path) }

// Cancel ends the job at once; the last complete checkpoint stays.
func (j *Job) Cancel() error {
	j.run.Cancel()
	err := j.run.Wait()
	if sqlerr.CodeOf(err) == sqlerr.CodeCancelled {
		return nil
	}
	return err
}

// Savepoint makes a savepoint of the running job.
func (j *Job) Savepoint(ctx context.Context, path string) error { return j.run.Savepoint(ctx, path) }

// Status tells how the job is doing.
func (j *Job) Status() runtime.Status { return j.run.Status() }

func (j *Job) row() []string {
	st := j.Status()
	return []string{j.Name, st.State, fmt.Sprint(st.RowsIn), fmt.Sprint(st.RowsOut), fmt.Sprint(st.Late),
		fmt.Sprint(st.Errors), fmt.Sprint(st.Epoch), fmt.Sprint(st.Restarts), stamp(j.Started.UnixMicro())}
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
	}
}

// plan plans the outputs of a job. The rows of a SELECT among them go to show, to the
// console when it is nil.
func (e *Engine) plan(spec jobSpec, show *connectors.Connector) (*plan.Plan, error) {
	to := planner.ShowSink{Connector: "console"}
	if show != nil {
		to.Connector = show.Name
	}
	outputs := make([]planner.Output, len(spec.outputs))
	for i, st := range spec.outputs {
		outputs[i] = planner.Output{Stmt: st, Source: spec.src, Show: to}
	}
	return planner.Plan(outputs, spec.snap, e.planOptions(spec.settings, show))
}

// start plans and starts a job that goes on in the background.
func (e *Engine) start(ctx context.Context, spec jobSpec) (*Job, error) {
	p := spec.stored
	if p == nil {
		var err error
		if p, err = e.plan(spec, nil); err != nil {
			return nil, err
		}
	}
	return e.add(spec.name, func() (*Job, error) {
		r, err := e.launch(ctx, spec, p, nil)
		if err != nil {
			return nil, err
		}
		return &Job{Name: spec.name, SQL: spec.src, Plan: p, Started: time.Now(), run: r}, nil
	})
}

// query plans and starts a SELECT; its rows come through the returned Query.
func (e *Engine) query(ctx context.Context, st *parser.QueryStmt, src string, snap *catalog.Snapshot, set settings) (*Query, error) {
	pipe := newRowPipe(nil)
	conn := pipe.connector()
	spec := jobSpec{name: "query", src: src, outputs: []parser.Statement{st}, snap: snap, settings: set}
	p, err := e.plan(spec, &conn)
	if err != nil {
		return nil, err
	}
	schema, err := planner.OutputSchema(st.Query, src, snap, e.planOptions(set, &conn))
	if err != nil {
		return nil, err
	}
	pipe.schema = schema
	r, err := e.launch(ctx, spec, p, &conn)
	if err != nil {
		return nil, err
	}
	go func() { pipe.finish(r.Wait()) }()
	return &Query{Schema: schema, Bounded: bounded(p), Updating: updating(p), job: r, pipe: pipe}, nil
}

// bounded reports that every source of p ends.
func bounded(p *plan.Plan) bool {
	for _, n := range p.Nodes {
		if n.Source != nil && !n.Source.Bounded {
			return false
		}
	}
	return true
}

// updating reports that some sink of p gets rows that are taken back.
func updating(p *plan.Plan) bool {
	for _, n := range p.Nodes {
		if n.Sink != nil && n.Changelog != plan.Append {
			return true
		}
	}
	return false
}

// launch hands a plan to the runtime.
func (e *Engine) launch(ctx context.Context, spec jobSpec, p *plan.Plan, extra *connectors.Connector) (*runtime.Job, error) {
	env := connectors.Env{DataDir: e.opts.DataDir, Stdout: e.opts.Stdout, OutputFormat: e.opts.Format}
	for _, n := range p.Nodes {
		if n.Source != nil && n.Source.Connector == "nats" && n.Source.Options["url"] == "" ||
			n.Sink != nil && n.Sink.Connector == "nats" && n.Sink.Options["url"] == "" {
			url, err := e.NATSURL()
			if err != nil {
				return nil, err
			}
			env.NATSURL = url
		}
	}
	cfg := runtime.Config{
		Plan:             p,
		Name:             spec.name,
		SQL:              spec.src,
		Program:          Version,
		Store:            e.store,
		Connectors:       e.connector(extra),
		Env:              env,
		Clock:            e.opts.Clock,
		Checkpoints:      spec.settings.checkpoints(),
		Parallelism:      e.parallelism(spec.settings),
		MaxRestarts:      spec.settings.int("restart.attempts"),
		ResolveSecret:    e.lookup,
		Log:              e.opts.Log,
		BatchRows:        e.opts.BatchRows,
		Fresh:            spec.how.Fresh,
		TakeOver:         spec.how.TakeOver,
		Continue:         spec.how.Continue,
		AllowNonRestored: spec.how.AllowNonRestored,
		ReplayIntoSinks:  spec.how.ReplayIntoSinks,
		Transient:        extra != nil,
		OpenSavepoint:    openSavepoint,
	}
	if spec.how.FromSavepoint != "" {
		cfg.FromSavepoint = e.SavepointPath(spec.how.FromSavepoint)
	}
	return runtime.Start(ctx, cfg)
}

// SavepointPath makes a savepoint's name a directory: a bare name lies in the data
// directory.
func (e *Engine) SavepointPath(p string) string {
	if filepath.Base(p) == p && p != "." && p != ".." {
		return filepath.Join(e.opts.DataDir, "savepoints", p)
	}
	return p
}
