// Package engine runs statements: it owns the catalog, the settings and the jobs of a
// process, and is what an embedder imports. Open gives an Engine; Load and Run start a
// file as a job; a Session executes statements one by one, as a prompt does.
package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sort"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/checkpoint/dirstore"
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/all"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Version is the program's version; it stands in every manifest.
const Version = "0.1.0"

// Options of an engine.
type Options struct {
	// DataDir holds checkpoints, the embedded server's streams and the index of jobs;
	// "" is a temporary directory that Close removes.
	DataDir string
	// NATSURL is the server of nats tables without a url; "" starts the embedded one in
	// DataDir when the first such table is used.
	NATSURL string
	// NATSStoreDir is where the embedded server keeps its streams; default DataDir/nats.
	NATSStoreDir string
	// Vars are the values of ${NAME}, before the environment.
	Vars map[string]string
	// PlanOnly lets ${NAME} in WITH (…) be undefined: nothing is going to be opened.
	PlanOnly bool
	// Settings are SET before any text is read.
	Settings map[string]string
	// Parallelism overrides the setting when above 0.
	Parallelism int
	// Stdout is the target of console tables, Format their default format.
	Stdout io.Writer
	Format string
	Log    *slog.Logger // nil for none
	// Connectors are an embedder's own, beside the built-in ones.
	Connectors []connectors.Connector
	// BatchRows bounds the rows of a batch; 0 is the default. Tests cut with it.
	BatchRows int
	// WatchEdge sees everything that travels; nil outside tests.
	WatchEdge WatchEdge
}

// Engine is one process's catalog and jobs. Its methods are safe for concurrent use.
type Engine struct {
	ctx    context.Context // of the jobs: not of the call that starts them
	cancel context.CancelFunc
	// closing ends with the beginning of Close: it gives up what is being started.
	closing  context.Context
	startEnd context.CancelFunc
	opts     Options
	temp     bool
	base     settings
	store    *dirstore.Store
	jobs     registry
	nats     ownServer
}

// Open opens the data directory. It starts no job and no server.
func Open(ctx context.Context, o Options) (*Engine, error) {
	e := &Engine{opts: o, base: settings{}}
	if e.opts.Log == nil {
		e.opts.Log = slog.New(slog.DiscardHandler)
	}
	if e.opts.Stdout == nil {
		e.opts.Stdout = os.Stdout
	}
	keys := make([]string, 0, len(o.Settings))
	for k := range o.Settings {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		if err := e.base.set(k, o.Settings[k], 0, 0); err != nil {
			return nil, err
		}
	}
	if e.opts.DataDir == "" {
		dir, err := os.MkdirTemp("", "streamsql-")
		if err != nil {
			return nil, fmt.Errorf("make a data directory: %w", err)
		}
		e.opts.DataDir, e.temp = dir, true
	}
	store, err := dirstore.Open(filepath.Join(e.opts.DataDir, "checkpoints"))
	if x := sqlerr.As(err); x != nil && x.Hint == "" && !e.temp {
		x.Hint = "Name a directory that can be written with --data-dir."
	}
	if err != nil {
		return nil, errors.Join(err, e.removeTemp())
	}
	e.store = store
	e.ctx, e.cancel = context.WithCancel(context.WithoutCancel(ctx))
	e.closing, e.startEnd = context.WithCancel(e.ctx)
	return e, nil
}

// Temporary reports that no data directory was named: nothing outlives the engine.
func (e *Engine) Temporary() bool { return e.temp }

// DataDir is the directory in use.
func (e *Engine) DataDir() string { return e.opts.DataDir }

// Store is where the engine's checkpoints lie.
func (e *Engine) Store() checkpoint.Store { return e.store }

// Close stops all jobs after a last checkpoint, ends the queries, and then the embedded
// server. When ctx ends first the jobs are cancelled: their last complete checkpoint
// stays. A second Close does nothing.
func (e *Engine) Close(ctx context.Context) error {
	e.startEnd()
	jobs, first := e.jobs.close()
	if !first {
		return nil
	}
	errs := make([]error, len(jobs))
	done := make(chan struct{})
	for i, j := range jobs {
		go func() {
			errs[i] = j.stopIfRunning(ctx)
			done <- struct{}{}
		}()
	}
	for range jobs {
		<-done
	}
	e.cancel()
	for _, j := range jobs {
		<-j.Done()
	}
	e.jobs.queries.Wait()
	e.nats.close()
	return errors.Join(append(errs, e.removeTemp())...)
}

func (e *Engine) removeTemp() error {
	if !e.temp {
		return nil
	}
	return os.RemoveAll(e.opts.DataDir)
}

// connector looks a connector up by name; extra is the one a query brings along.
func (e *Engine) connector(extra *connectors.Connector) func(string) (connectors.Connector, bool) {
	return func(name string) (connectors.Connector, bool) {
		if extra != nil && name == extra.Name {
			return *extra, true
		}
		for _, c := range e.opts.Connectors {
			if c.Name == name {
				return c, true
			}
		}
		return all.Find(name)
	}
}

// ListConnectors lists what WITH (connector = …) may name.
func (e *Engine) ListConnectors() []connectors.Connector {
	return append(all.List(), e.opts.Connectors...)
}

func (e *Engine) parallelism(s settings) int {
	if e.opts.Parallelism > 0 {
		return e.opts.Parallelism
	}
	if n := s.int("parallelism"); n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// lookup resolves ${NAME}.
func (e *Engine) lookup(name string) (string, bool) {
	if v, ok := e.opts.Vars[name]; ok {
		return v, true
	}
	return os.LookupEnv(name)
}
