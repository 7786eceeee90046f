package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/planner/plan"
)

// attempt is one run of a job, from a checkpoint until it ends or fails.
type attempt struct {
	cfg   Config
	job   string // id
	n     uint64 // attempt number
	exec  executor
	clock tickClock
	graph *graph

	restored *checkpoint.Manifest // nil for none
	imported bool                 // restored is a savepoint: the job has no checkpoint of its own
	// carry is set when another plan made what is restored. predecessor has the sinks of
	// that plan open when something of it is to be committed, and heir is the attempt that
	// a predecessor works for.
	carry             *plan.Carry
	predecessor, heir *attempt

	kept []*checkpoint.Manifest
	next stream.Epoch

	tasks   []*task // the common part of every task
	actors  []actor
	byID    map[checkpoint.TaskID]*task
	sources []*sourceTask
	readers []*splitReader
	sinks   []*openSink
	groups  []*group
	// diversions are the ways of rows that commits refuse.
	diversions []*diversion
	driver     *driver
	encoded    atomic.Int64 // bytes of encoded state that are being written

	closers []func() error
	asking  bool // targets are only asked: nothing is made

	mu       sync.Mutex
	outcome  error // first failure
	failed   bool
	finished bool
	stopped  bool
	last     *checkpoint.Manifest // of a job that has ended well
	ended    func()               // called once, when failed or finished
}

// openSink is a sink node with its target.
type openSink struct {
	node   int
	target connectors.Sink
}

func (a *attempt) now() int64 { return a.clock.now() }

// event tells the coordinator.
func (a *attempt) event(e checkpoint.Event) { a.driver.put(e) }

// lingering notes whether a task wants to be woken by ticks.
func (a *attempt) lingering(t *task, on bool) { t.ticks.Store(on) }

// tick gives the time to the attempt.
func (a *attempt) tick(now int64) {
	a.clock.us.Store(now)
	for _, t := range a.tasks {
		if t.ticks.Load() {
			t.wake.wake()
		}
	}
	a.driver.put(checkpoint.Tick{Now: now})
}

// fail ends the attempt with the first error it gets.
func (a *attempt) fail(where string, err error) {
	if where != "" {
		err = locate(where, err)
	}
	a.end(err, false)
}

// end records how the attempt ends; only the first call counts.
func (a *attempt) end(err error, stopped bool) {
	a.mu.Lock()
	first := !a.failed && !a.finished
	if first {
		a.outcome, a.failed, a.finished, a.stopped = err, err != nil, err == nil, stopped
	}
	f := a.ended
	a.mu.Unlock()
	if first && f != nil {
		f()
	}
}

func (a *attempt) over() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed || a.finished
}

// locate says in which operator an error happened.
func locate(where string, err error) error {
	if e := sqlerr.As(err); e != nil && e.Class == sqlerr.User {
		return err // speaks for itself
	}
	return fmt.Errorf("%s: %w", where, err)
}

// start runs the actors.
func (a *attempt) start() {
	for _, x := range a.actors {
		a.exec.run(x)
	}
}

// close gives up connections; no actor runs any more.
func (a *attempt) close() error {
	var errs []error
	for i := len(a.closers) - 1; i >= 0; i-- {
		if err := a.closers[i](); err != nil {
			errs = append(errs, err)
		}
	}
	a.closers = nil
	return errors.Join(errs...)
}

// resolve prepares a table's options: secrets in, defaults filled in.
func (a *attempt) resolve(c connectors.Connector, written map[string]string) (map[string]string, error) {
	out := make(map[string]string, len(written))
	for k, v := range written {
		if a.cfg.Resolve != nil {
			r, err := a.cfg.Resolve(v)
			if err != nil {
				return nil, err
			}
			v = r
		}
		out[k] = v
	}
	for _, o := range c.Options {
		if _, ok := out[o.Name]; !ok && o.Default != "" && !o.Prefix {
			out[o.Name] = o.Default
		}
	}
	return out, nil
}

func (a *attempt) connector(name string, pos sqlerr.Pos) (connectors.Connector, error) {
	c, ok := a.cfg.Connector(name)
	if !ok {
		return c, sqlerr.New(sqlerr.CodeOption, pos, "unknown connector %q", name)
	}
	return c, nil
}

// openSinks opens and checks every sink.
func (a *attempt) openSinks(ctx context.Context) error {
	for _, n := range a.graph.plan.Nodes {
		if n.Sink == nil {
			continue
		}
		if err := a.openSink(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (a *attempt) openSink(ctx context.Context, n *plan.Node) error {
	c, err := a.connector(n.Sink.Connector, n.Sink.Pos)
	if err != nil {
		return err
	}
	options, err := a.resolve(c, n.Sink.Options)
	if err != nil {
		return err
	}
	if _, ok := options["auto.create"]; ok && a.asking {
		options["auto.create"] = "false"
	}
	target, err := c.OpenSink(ctx, connectors.Config{Node: n.ID, Table: n.Sink.Table, Options: options, Format: n.Sink.Format,
		Schema: n.Sink.Columns, Declared: n.Sink.Declared, Key: n.Sink.Key, Parallelism: a.graph.par[n.ID], Env: a.cfg.Env})
	if err != nil {
		return at(n.Sink.Pos, err)
	}
	a.closers = append(a.closers, target.Close)
	if err := target.Check(ctx); err != nil {
		return at(n.Sink.Pos, err)
	}
	a.sinks = append(a.sinks, &openSink{node: n.ID, target: target})
	return nil
}

// at gives an error the position of the statement it is about.
func at(pos sqlerr.Pos, err error) error {
	if e := sqlerr.As(err); e != nil && e.Pos == 0 && pos != 0 {
		e.Pos = pos
	}
	return err
}
