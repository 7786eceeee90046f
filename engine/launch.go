package engine

import (
	"context"
	"time"

	"github.com/streamsql/streamsql/checkpoint/memstore"
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/runtime"
	"github.com/streamsql/streamsql/parser"
	"github.com/streamsql/streamsql/planner/plan"
)

// start plans and starts a job that goes on in the background. One without a name is a
// new job.
func (e *Engine) start(ctx context.Context, spec jobSpec) (*Job, error) {
	spec.how.Fresh = spec.how.Fresh || spec.name == ""
	return e.jobs.add(spec.name, func(name string) (*Job, error) {
		spec.name = name
		p, upgrade, err := e.planOrStored(ctx, spec)
		if err == nil && spec.snap != nil {
			err = e.refuseSecrets(spec)
		}
		if err != nil {
			return nil, spec.fix(err)
		}
		r, err := e.launch(ctx, spec, p, nil)
		if err != nil {
			return nil, spec.fix(err)
		}
		return &Job{Name: spec.name, SQL: spec.src, Plan: p, Started: time.Now(), Upgrade: upgrade, run: r, uses: spec.uses, fix: spec.fix}, nil
	})
}

// launch hands a plan to the runtime. A query (show is set) keeps nothing: it lives in
// memory, takes no checkpoints, and ends with its first failure. The end of ctx ends
// the start, and nothing that has started.
func (e *Engine) launch(ctx context.Context, spec jobSpec, p *plan.Plan, show *connectors.Connector) (*runtime.Job, error) {
	cfg, err := e.config(ctx, spec, p, show)
	if err != nil {
		return nil, err
	}
	jctx, cancel := context.WithCancel(e.ctx)
	wanted, open := context.AfterFunc(ctx, cancel), context.AfterFunc(e.closing, cancel)
	r, err := runtime.Start(jctx, cfg)
	isWanted, isOpen := wanted(), open()
	if err == nil && !(isWanted && isOpen) {
		r.Cancel()
	}
	switch {
	case !isWanted:
		err = context.Cause(ctx)
	case !isOpen:
		err = errClosed()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	go func() {
		<-r.Done()
		cancel()
	}()
	return r, nil
}

// WatchEdge is runtime.WatchEdge.
type WatchEdge = runtime.WatchEdge

// config is a job as the runtime wants it.
func (e *Engine) config(ctx context.Context, spec jobSpec, p *plan.Plan, show *connectors.Connector) (runtime.Config, error) {
	var none runtime.Config
	env := connectors.Env{DataDir: e.opts.DataDir, Stdout: e.opts.Stdout, OutputFormat: e.opts.Format}
	if usesDefaultNATS(p, spec.asking) {
		url, err := e.NATSURL()
		if err != nil {
			return none, err
		}
		env.NATSURL = url
	}
	cfg := runtime.Config{
		Plan:            p,
		Store:           e.store,
		Name:            spec.name,
		SQL:             spec.src,
		Program:         Version,
		Connector:       e.connector(show),
		Env:             env,
		Settings:        spec.settings.checkpoints(),
		Parallelism:     e.parallelism(spec.settings),
		BatchRows:       e.opts.BatchRows,
		WatchEdge:       e.opts.WatchEdge,
		Fresh:           spec.how.Fresh,
		TakeOver:        spec.how.TakeOver,
		ReplayIntoSinks: spec.how.ReplayIntoSinks,
		Continue:        spec.how.Continue,
		ResetSource:     spec.how.ResetSource,
		Query:           show != nil,
		Carry:           e.carry(spec, p),
		AbandonPending:  spec.how.AbandonPending,
		OpenSavepoint:   createSavepoint,
		Resolve:         e.resolve,
		Logger:          e.opts.Log,
		Restart:         runtime.Restart{Attempts: restarts(spec.settings.int("restart.attempts"))},
	}
	if spec.how.FromSavepoint != "" {
		sp, _, err := OpenSavepoint(ctx, e.SavepointPath(spec.how.FromSavepoint))
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

// usesDefaultNATS reports that some nats table of p, or some that is written, names no
// server.
func usesDefaultNATS(p *plan.Plan, written bool) bool {
	unnamed := func(connector string, options map[string]string) bool {
		return connector == "nats" && options["url"] == "" && options["context"] == ""
	}
	for _, n := range p.Nodes {
		if n.Source != nil && !written && unnamed(n.Source.Connector, n.Source.Options) || n.Sink != nil && unnamed(n.Sink.Connector, n.Sink.Options) {
			return true
		}
	}
	return false
}

// resolve replaces ${NAME} in the value of an option.
func (e *Engine) resolve(value string) (string, error) {
	src, err := parser.Substitute(value, e.lookup, false)
	if err != nil {
		return "", err
	}
	return src.Text, nil
}
