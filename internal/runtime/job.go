package runtime

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/vec"
)

// Job is a running job: one attempt after another until its input ends, it is
// stopped, or an error is not worth another attempt.
type Job struct {
	cfg    Config
	cancel context.CancelFunc
	done   chan struct{}

	mu        sync.Mutex
	id        string
	cur       *attempt
	stop      *checkpoint.StopRequested
	restarts  int
	lastError error
	started   int64

	last    uint64 // number of the newest attempt; used by one goroutine
	err     error  // once done is closed
	stopped bool
}

// Start starts a job. The first attempt's checks — targets that are missing or do not
// fit, positions that are gone, fences — are its errors; later ones are Wait's.
// ErrFinished says that the job's bounded input was read to its end before.
func Start(ctx context.Context, cfg Config) (*Job, error) {
	cfg = cfg.withDefaults()
	ctx, cancel := context.WithCancel(ctx)
	j := &Job{cfg: cfg, cancel: cancel, done: make(chan struct{}), started: cfg.Clock.Now()}
	id, old, bound, err := jobID(ctx, cfg)
	if err != nil {
		cancel()
		return nil, err
	}
	j.id, j.cfg.replaces = id, old
	x, err := j.prepare(ctx)
	if err != nil && bound && external(err) {
		// A job that has run before waits for what is away, as it would while running.
		if m, lerr := Latest(ctx, cfg.Store, cfg.Name); lerr == nil && m != nil && ctx.Err() == nil {
			j.err, err = err, nil
		}
	}
	if err == nil && !bound {
		if err = checkpoint.BindName(ctx, cfg.Store, cfg.Name, id); err != nil {
			x.cancel()
			_ = x.close()
		}
	}
	if err != nil {
		cancel()
		return nil, err
	}
	go j.loop(ctx, x)
	return j, nil
}

// jobID finds the id that the name stands for, or makes one. A name that stands for an
// older job (old) moves to the new id only when all targets have taken it: a start that
// is refused must leave the way back.
func jobID(ctx context.Context, cfg Config) (id, old string, bound bool, err error) {
	old, err = checkpoint.JobOf(ctx, cfg.Store, cfg.Name)
	if err != nil || old != "" && !cfg.Fresh {
		return old, "", true, err
	}
	id = checkpoint.NewID()
	if old != "" {
		return id, old, false, nil
	}
	return id, "", true, checkpoint.BindName(ctx, cfg.Store, cfg.Name, id)
}

// Latest gives the newest checkpoint of the job called name, nil when there is none:
// what its plan and text were.
func Latest(ctx context.Context, s checkpoint.Store, name string) (*checkpoint.Manifest, error) {
	id, err := checkpoint.JobOf(ctx, s, name)
	if err != nil || id == "" {
		return nil, err
	}
	live, _, err := checkpoint.Epochs(ctx, s, id)
	if err != nil {
		return nil, err
	}
	for i := len(live) - 1; i >= 0; i-- {
		m, _, err := checkpoint.Load(ctx, s, id, live[i])
		if err == nil {
			return m, nil
		}
		if sqlerr.CodeOf(err) != sqlerr.CodeCheckpoint || i == 0 {
			return nil, err
		}
	}
	return nil, nil
}

// running is an attempt with its goroutines.
type running struct {
	*attempt
	exec   *goroutines
	cancel context.CancelFunc
}

// prepare makes the next attempt, ready to run.
func (j *Job) prepare(ctx context.Context) (*running, error) {
	if j.last > 0 {
		// Another process has started the job meanwhile: the older one does not take it back.
		if err := checkpoint.CheckAttempt(ctx, j.cfg.Store, j.id, j.last); err != nil {
			return nil, err
		}
	}
	actx, cancel := context.WithCancel(ctx)
	r := &running{cancel: cancel}
	r.exec = newGoroutines(actx, func(x actor, err error) {
		where := "checkpoint"
		if x != nil {
			where = x.where()
		}
		r.fail(where, err)
	})
	a, err := newAttempt(actx, j.cfg, j.id, r.exec, j.cfg.Clock.Now())
	if a.n > 0 {
		j.last = a.n
		if j.cfg.first == 0 {
			j.cfg.first = a.n
		}
	}
	if err != nil {
		cancel()
		return nil, err
	}
	r.attempt = a
	a.ended = cancel
	j.mu.Lock()
	j.cur = a
	if j.stop != nil {
		a.event(*j.stop)
	}
	j.mu.Unlock()
	return r, nil
}

// newAttempt creates the attempt, opens what is outside, and restores the state. After
// an error the attempt is closed and of no use but for its number.
func newAttempt(ctx context.Context, cfg Config, job string, exec executor, now int64) (*attempt, error) {
	a := &attempt{cfg: cfg, job: job, exec: exec}
	a.clock.us.Store(now)
	err := a.open(ctx)
	if err != nil {
		if (a.restored == nil || a.imported) && a.highestFence() == 0 && sqlerr.As(err) != nil && !external(err) {
			a.relinquish(ctx) // refused before it ever wrote
		}
		_ = a.close()
		return a, err
	}
	return a, nil
}

func (a *attempt) open(ctx context.Context) error {
	a.driver = &driver{run: a, wake: newWaker()}
	var err error
	if a.graph, err = newGraph(a.cfg.Plan, a.cfg.Parallelism); err != nil {
		return err
	}
	if err := a.checkResets(); err != nil {
		return err
	}
	if a.n, err = checkpoint.NewAttempt(ctx, a.cfg.Store, a.job); err != nil {
		return err
	}
	if err := a.openSinks(ctx); err != nil {
		return err
	}
	if err := a.checkTargets(ctx); err != nil {
		return err
	}
	if err := a.acquire(ctx); err != nil {
		return err
	}
	if err := a.recover(ctx); err != nil {
		return err
	}
	if a.restored != nil && a.restored.Finished && !a.cfg.Continue {
		a.finishSources(ctx, a.restored)
		return ErrFinished
	}
	if err := a.newCoordinator(); err != nil {
		return err
	}
	return a.reserve(ctx)
}

// ErrFinished is returned by Start for a job whose bounded input was read to its end
// by an earlier run.
var ErrFinished = &sqlerr.Error{Class: sqlerr.User, Code: sqlerr.CodeCheckpoint, Msg: "the job has finished",
	Hint: "Start it with --fresh to run it again, or with --continue to go on from its positions."}

func (a *attempt) newCoordinator() error {
	plan, err := json.Marshal(a.cfg.Plan)
	if err != nil {
		return sqlerr.Internalf("encode plan: %v", err)
	}
	s := checkpoint.Start{Settings: a.cfg.Settings, Next: a.next, Kept: a.kept, Now: a.now(),
		Manifest: checkpoint.Manifest{Job: a.job, Name: a.cfg.Name, Attempt: a.n, Program: a.cfg.Program,
			Hash: vec.HashVersion, Groups: max(a.cfg.Plan.KeyGroups, 1), SQL: a.cfg.SQL, Plan: plan}}
	for _, o := range a.sinks {
		s.Sinks = append(s.Sinks, checkpoint.SinkState{Node: o.node, Mode: string(a.cfg.Plan.Nodes[o.node].Sink.Mode), Target: o.target.Group(), Identity: identity(o.target)})
	}
	for _, g := range a.groups {
		s.Groups = append(s.Groups, checkpoint.Group{Name: g.name, Nodes: g.nodes, After: g.after})
	}
	s.Bounded = a.bounded()
	isSource := map[checkpoint.TaskID]bool{}
	for _, t := range a.sources {
		s.Sources = append(s.Sources, t.id)
		isSource[t.id] = true
	}
	for _, t := range a.tasks {
		if !isSource[t.id] {
			s.Others = append(s.Others, t.id)
		}
	}
	a.driver.coord = checkpoint.NewCoordinator(s)
	a.actors = append(a.actors, a.driver)
	return nil
}

// tickEvery is the period of ticks.
const tickEvery = 5 * time.Millisecond

// runOnce runs an attempt to its end and returns its error.
func (j *Job) runOnce(ctx context.Context, r *running) (stopped bool, err error) {
	r.attempt.start()
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	for r.exec.ctx.Err() == nil {
		select {
		case <-ticker.C:
			r.tick(j.cfg.Clock.Now())
		case <-r.exec.ctx.Done():
		}
	}
	r.cancel()
	r.exec.wg.Wait()
	if r.endedWell() {
		if r.last.Finished {
			r.finishSources(ctx, r.last)
		}
		rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		r.relinquish(rctx)
		cancel()
	}
	cerr := r.close()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.failed:
		return false, r.outcome
	case !r.finished:
		return false, context.Cause(ctx)
	}
	return r.stopped, cerr
}

func (r *running) endedWell() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.finished && !r.failed
}

// loop runs attempts by the restart strategy.
func (j *Job) loop(ctx context.Context, r *running) {
	defer close(j.done)
	defer j.cancel()
	wait, tries := j.cfg.Restart.Initial, 0
	for {
		newest := uint64(0)
		if r != nil {
			var err error
			j.stopped, err = j.runOnce(ctx, r)
			newest = r.driver.status.get().epoch
			j.err = err
		}
		if j.err == nil || ctx.Err() != nil || !retryable(j.err) || j.stopping() {
			return
		}
		if newest > 0 {
			wait, tries = j.cfg.Restart.Initial, 0
		}
		tries++
		if max := j.cfg.Restart.Attempts; max < 0 || max > 0 && tries > max {
			return
		}
		j.noteRestart(j.err, wait)
		sleep(ctx, wait)
		wait = min(2*wait, j.cfg.Restart.Max)
		if ctx.Err() != nil || j.stopping() {
			return
		}
		next, err := j.prepare(ctx)
		r = next
		if err != nil {
			j.err, r = err, nil
		}
	}
}

// stopping reports whether the job was asked to stop: then a failed attempt is not
// followed by another, and the next start goes on from its last checkpoint.
func (j *Job) stopping() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.stop != nil
}

func (j *Job) noteRestart(err error, wait time.Duration) {
	j.mu.Lock()
	j.restarts++
	j.lastError = err
	j.mu.Unlock()
	j.cfg.Logger.Warn("job restarts from its last checkpoint", "job", j.cfg.Name, "error", err, "wait", wait)
	if j.cfg.OnRestart != nil {
		j.cfg.OnRestart(err, wait)
	}
}

// external reports that something outside is away and may come back.
func external(err error) bool {
	e := sqlerr.As(err)
	return e != nil && e.Class == sqlerr.External && e.Retry
}

// retryable reports whether another attempt may go better.
func retryable(err error) bool {
	return sqlerr.As(err) == nil || external(err)
}

// Stop asks for a last checkpoint, and a savepoint unless path is empty, and waits for
// the end of the job or of ctx.
func (j *Job) Stop(ctx context.Context, path string) error {
	j.mu.Lock()
	j.stop = &checkpoint.StopRequested{Savepoint: path}
	if j.cur != nil {
		j.cur.event(*j.stop)
	}
	j.mu.Unlock()
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Savepoint writes a savepoint of the running job.
func (j *Job) Savepoint(ctx context.Context, path string) error {
	j.mu.Lock()
	a := j.cur
	j.mu.Unlock()
	if a == nil {
		return sqlerr.New(sqlerr.CodeNotReady, 0, "the job is waiting for another system and has nothing to save")
	}
	ch := a.driver.status.expect(path)
	a.event(checkpoint.SavepointRequested{Path: path})
	select {
	case err := <-ch:
		return err
	case <-j.done:
		return sqlerr.New(sqlerr.CodeCheckpoint, 0, "the job ended before the savepoint was complete")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Cancel ends the job at once, without a checkpoint, and waits until it has.
func (j *Job) Cancel() {
	j.cancel()
	<-j.done
}

// Wait waits for the end of the job and returns why it ended: nil when its input
// ended or it was stopped.
func (j *Job) Wait() error {
	<-j.done
	return j.err
}

// Done is closed when the job has ended.
func (j *Job) Done() <-chan struct{} { return j.done }

// ID is the job's random id.
func (j *Job) ID() string { return j.id }

// Stopped reports, once the job has ended, whether it was stopped on request.
func (j *Job) Stopped() bool { return j.stopped }
