package engine

import (
	"context"
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/checkpoint/memstore"
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
	// TakeOver takes targets from another job.
	TakeOver bool
	// Continue goes on with a finished bounded job from its positions.
	Continue bool
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
	plan     *plan.Plan
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
func (q *Query) Status() Status { return statusOf(q.job, q.plan) }

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
func (j *Job) Cancel() { j.run.Cancel() }

// Bounded reports that all input of the job ends by itself.
func (j *Job) Bounded() bool { return bounded(j.Plan) }

// Savepoint makes a savepoint of the running job.
func (j *Job) Savepoint(ctx context.Context, path string) error { return j.run.Savepoint(ctx, path) }

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
	p, err := e.planOrStored(spec)
	if err != nil {
		return nil, err
	}
	return e.add(spec.name, func() (*Job, error) {
		r, err := e.launch(spec, p, nil)
		if err != nil {
			return nil, err
		}
		return &Job{Name: spec.name, SQL: spec.src, Plan: p, Started: time.Now(), run: r}, nil
	})
}

// planOrStored gives the plan to run: that of the job's newest checkpoint when its text
// has not changed, so that a later version goes on with what the state was made by.
func (e *Engine) planOrStored(spec jobSpec) (*plan.Plan, error) {
	if spec.stored != nil {
		return spec.stored, nil
	}
	if !spec.how.Fresh && spec.how.FromSavepoint == "" {
		m, err := runtime.Latest(e.ctx, e.store, spec.name)
		if err != nil {
			return nil, err
		}
		if m != nil && m.SQL == spec.src {
			return decodePlan(m)
		}
		if m != nil {
			return nil, sqlerr.New(sqlerr.CodeStateMismatch, 0, "the text of job %q is not that of its last checkpoint (epoch %d)", spec.name, m.Epoch).
				WithHint("Start it with --fresh to begin anew, or give it another name with SET 'job.name' = '…'.")
		}
	}
	return e.plan(spec, nil)
}

// decodePlan reads the plan of a manifest.
func decodePlan(m *checkpoint.Manifest) (*plan.Plan, error) {
	p := &plan.Plan{}
	if err := json.Unmarshal(m.Plan, p); err != nil {
		return nil, &sqlerr.Error{Class: sqlerr.User, Code: sqlerr.CodeCheckpoint, Msg: "the stored plan cannot be read", Err: err}
	}
	if p.Version > plan.Version {
		return nil, sqlerr.New(sqlerr.CodeCheckpoint, 0, "the stored plan has version %d, and this program reads up to version %d", p.Version, plan.Version).
			WithHint("Use a later version of streamsql.")
	}
	return p, nil
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
	r, err := e.launch(spec, p, &conn)
	if err != nil {
		return nil, err
	}
	go func() { pipe.finish(r.Wait()) }()
	return &Query{Schema: schema, Bounded: bounded(p), Updating: updating(p), plan: p, job: r, pipe: pipe}, nil
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

// launch hands a plan to the runtime. A query (show is set) keeps nothing: it lives in
// memory, takes no checkpoints, and ends with its first failure.
func (e *Engine) launch(spec jobSpec, p *plan.Plan, show *connectors.Connector) (*runtime.Job, error) {
	cfg, err := e.config(spec, p, show)
	if err != nil {
		return nil, err
	}
	return runtime.Start(e.ctx, cfg)
}

// config is a job as the runtime wants it.
func (e *Engine) config(spec jobSpec, p *plan.Plan, show *connectors.Connector) (runtime.Config, error) {
	var none runtime.Config
	env := connectors.Env{DataDir: e.opts.DataDir, Stdout: e.opts.Stdout, OutputFormat: e.opts.Format}
	if usesDefaultNATS(p) {
		url, err := e.NATSURL()
		if err != nil {
			return none, err
		}
		env.NATSURL = url
	}
	cfg := runtime.Config{
		Plan:          p,
		Store:         e.store,
		Name:          spec.name,
		SQL:           spec.src,
		Program:       Version,
		Connector:     e.connector(show),
		Env:           env,
		Settings:      spec.settings.checkpoints(),
		Parallelism:   e.parallelism(spec.settings),
		BatchRows:     e.opts.BatchRows,
		Fresh:         spec.how.Fresh,
		TakeOver:      spec.how.TakeOver,
		Continue:      spec.how.Continue,
		OpenSavepoint: openSavepoint,
		Resolve:       e.resolve,
		Logger:        e.opts.Log,
		Restart:       runtime.Restart{Attempts: restarts(spec.settings.int("restart.attempts"))},
	}
	if spec.how.FromSavepoint != "" {
		sp, _, err := OpenSavepoint(e.ctx, e.SavepointPath(spec.how.FromSavepoint))
		if err != nil {
			return none, err
		}
		cfg.Savepoint = sp
	}
	if show != nil {
		cfg.Store = memstore.New()
		cfg.Settings.Interval = int64(24 * time.Hour / time.Microsecond)
		cfg.Restart.Attempts = -1
	}
	return cfg, nil
}

// restarts turns the setting (-1 for any number) into the runtime's (0 for any number).
func restarts(n int) int {
	switch {
	case n < 0:
		return 0
	case n == 0:
		return -1
	}
	return n
}

func usesDefaultNATS(p *plan.Plan) bool {
	for _, n := range p.Nodes {
		if n.Source != nil && n.Source.Connector == "nats" && n.Source.Options["url"] == "" ||
			n.Sink != nil && n.Sink.Connector == "nats" && n.Sink.Options["url"] == "" {
			return true
		}
	}
	return false
}

// resolve replaces ${NAME} in the value of an option.
func (e *Engine) resolve(value string) (string, error) {
	src, err := parser.Substitute(value, e.lookup)
	if err != nil {
		return "", err
	}
	return src.Text, nil
}

// SavepointPath makes a savepoint's name a directory: a bare name lies in the data
// directory.
func (e *Engine) SavepointPath(p string) string {
	if filepath.Base(p) == p && p != "." && p != ".." {
		return filepath.Join(e.opts.DataDir, "savepoints", p)
	}
	return p
}

// ErrFinished is returned by Run for a job whose bounded input was read to its end by
// an earlier run.
var ErrFinished = runtime.ErrFinished
