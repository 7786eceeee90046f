package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/internal/crashpoint"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// clockJump is how far a tick may lie after the one before, in microseconds; beyond
// it the process was stopped, and another attempt may have taken over.
const clockJump = 10e6

// driver is the actor that feeds the coordinator and does what it says.
type driver struct {
	run   *attempt
	coord *checkpoint.Coordinator
	wake  waker
	last  int64 // tick

	mu    sync.Mutex
	queue []checkpoint.Event
	spare []checkpoint.Event

	// One collection and one release at a time; the newest one waiting wins.
	busy    [2]bool
	waiting [2]checkpoint.Action

	status driverStatus
}

func (d *driver) waker() waker  { return d.wake }
func (d *driver) where() string { return "checkpoint coordinator" }

// put queues an event. Ticks that follow one another become one.
func (d *driver) put(e checkpoint.Event) {
	d.mu.Lock()
	if t, ok := e.(checkpoint.Tick); ok && len(d.queue) > 0 {
		if _, ok := d.queue[len(d.queue)-1].(checkpoint.Tick); ok {
			d.queue[len(d.queue)-1] = t
			d.mu.Unlock()
			return
		}
	}
	d.queue = append(d.queue, e)
	d.mu.Unlock()
	d.wake.wake()
}

// step implements actor: it handles the events that are there.
func (d *driver) step(ctx context.Context) (progress, done bool, err error) {
	d.mu.Lock()
	events := d.queue
	d.queue, d.spare = d.spare[:0], nil
	d.mu.Unlock()
	for i, e := range events {
		events[i] = nil
		if t, ok := e.(checkpoint.Tick); ok {
			if err := d.jumped(ctx, t.Now); err != nil {
				return true, true, err
			}
		}
		for _, act := range d.coord.Step(e) {
			d.act(act)
		}
		if d.run.over() {
			return true, true, nil
		}
	}
	d.spare = events[:0]
	return len(events) > 0, false, nil
}

// jumped checks the attempt when the process seems to have been stopped.
func (d *driver) jumped(ctx context.Context, now int64) error {
	last := d.last
	d.last = now
	if last == 0 || now-last <= clockJump {
		return nil
	}
	return checkpoint.CheckAttempt(ctx, d.run.cfg.Store, d.run.job, d.run.n)
}

// act does one action of the coordinator.
func (d *driver) act(act checkpoint.Action) {
	run := d.run
	switch act := act.(type) {
	case checkpoint.Inject:
		d.status.begin(act.Barrier.Epoch, run.now())
		for _, id := range act.Tasks {
			run.byID[id].box.tell(control{kind: ctlInject, epoch: act.Barrier.Epoch, barrier: act.Barrier})
		}
	case checkpoint.SendEnd:
		for _, id := range act.Tasks {
			run.byID[id].box.tell(control{kind: ctlSendEnd})
		}
	case checkpoint.Complete:
		d.status.completed(act.Epoch, run.now())
		for _, t := range run.tasks {
			t.box.tell(control{kind: ctlComplete, epoch: act.Epoch})
		}
	case checkpoint.Abort:
		for _, t := range run.tasks {
			t.box.tell(control{kind: ctlAbort, epoch: act.Epoch})
		}
	case checkpoint.PutManifest:
		run.exec.background(func(ctx context.Context) { d.putManifest(ctx, act.Manifest) })
	case checkpoint.ReadManifest:
		run.exec.background(func(ctx context.Context) { d.readManifest(ctx, act) })
	case checkpoint.Commit:
		run.exec.background(func(ctx context.Context) { d.commit(ctx, act) })
	case checkpoint.Savepoint:
		run.exec.background(func(ctx context.Context) { d.savepoint(ctx, act) })
	case checkpoint.Collect:
		d.oneAtATime(0, act)
	case checkpoint.Release:
		d.oneAtATime(1, act)
	case checkpoint.Finish:
		run.last = act.Manifest
		run.end(nil, act.Stopped)
	case checkpoint.Fail:
		run.fail("", act.Err)
	}
}

func (d *driver) putManifest(ctx context.Context, m *checkpoint.Manifest) {
	crashpoint.Here("before-manifest")
	sum, err := checkpoint.Put(ctx, d.run.cfg.Store, m)
	switch {
	case err == nil:
		crashpoint.Here("after-manifest")
		d.put(checkpoint.ManifestCreated{Epoch: m.Epoch, Checksum: sum})
	case sqlerr.CodeOf(err) == sqlerr.CodeFenced:
		d.put(checkpoint.AttemptSuperseded{})
	case errors.Is(err, checkpoint.ErrOvertaken):
		d.run.fail("", err)
	default:
		d.put(checkpoint.ManifestFailed{Epoch: m.Epoch, Err: err})
	}
}

func (d *driver) readManifest(ctx context.Context, act checkpoint.ReadManifest) {
	run := d.run
	m, sum, err := checkpoint.Load(ctx, run.cfg.Store, run.job, act.Epoch)
	found := err == nil
	if errors.Is(err, checkpoint.ErrNotFound) {
		err = nil
	}
	if err == nil {
		err = checkpoint.CheckAttempt(ctx, run.cfg.Store, run.job, run.n)
	}
	stall := ""
	if err != nil {
		stall = fmt.Sprintf("the store does not say whether checkpoint %d exists: %v", act.Epoch, err)
	}
	d.status.stalled("", stall)
	switch {
	case sqlerr.CodeOf(err) == sqlerr.CodeFenced && err != nil:
		d.put(checkpoint.AttemptSuperseded{})
	case err != nil || !found:
		d.put(checkpoint.ManifestRead{Epoch: act.Epoch, Err: err})
	default:
		d.put(checkpoint.ManifestRead{Epoch: act.Epoch, Found: true, Attempt: m.Attempt, Checksum: sum})
	}
}

func (d *driver) commit(ctx context.Context, act checkpoint.Commit) {
	for _, g := range d.run.groups {
		if g.name != act.Group {
			continue
		}
		err := d.run.commit(ctx, g, act.Manifest, act.Checksum)
		if err == nil {
			d.status.stalled(g.name, "")
			d.put(checkpoint.Committed{Group: g.name, Epoch: act.Manifest.Epoch})
			return
		}
		e := sqlerr.As(err)
		retry := e != nil && e.Retry
		if retry {
			d.status.stalled(g.name, pendingError(g.name, act.Manifest.Epoch, err))
		}
		d.put(checkpoint.CommitFailed{Group: g.name, Epoch: act.Manifest.Epoch, Err: err, Retry: retry})
	}
}

func (d *driver) savepoint(ctx context.Context, act checkpoint.Savepoint) {
	run := d.run
	var err error
	if run.cfg.OpenSavepoint == nil {
		err = sqlerr.Internalf("no place for savepoints")
	} else {
		var dst checkpoint.Store
		if dst, err = run.cfg.OpenSavepoint(act.Path); err == nil {
			err = checkpoint.WriteSavepoint(ctx, run.cfg.Store, dst, act.Manifest)
		}
	}
	d.status.savepointDone(act.Path, err)
	d.put(checkpoint.SavepointDone{Path: act.Path, Err: err})
}

// oneAtATime runs collections and releases one after another. They are repeated with
// every checkpoint, so a failure is only logged.
func (d *driver) oneAtATime(kind int, act checkpoint.Action) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting[kind] = act
	if d.busy[kind] {
		return
	}
	d.busy[kind] = true
	d.run.exec.background(func(ctx context.Context) { d.sweep(ctx, kind) })
}

func (d *driver) sweep(ctx context.Context, kind int) {
	for {
		d.mu.Lock()
		act := d.waiting[kind]
		d.waiting[kind] = nil
		d.busy[kind] = act != nil
		d.mu.Unlock()
		var err error
		switch act := act.(type) {
		case nil:
			return
		case checkpoint.Collect:
			crashpoint.Here("before-collect")
			err = checkpoint.Sweep(ctx, d.run.cfg.Store, d.run.job, d.run.n, act.Keep)
		case checkpoint.Release:
			crashpoint.Here("before-release")
			err = d.run.release(ctx, act.Manifest)
		}
		switch {
		case err == nil || ctx.Err() != nil:
		case sqlerr.CodeOf(err) == sqlerr.CodeFenced:
			d.put(checkpoint.AttemptSuperseded{})
		default:
			d.run.cfg.Logger.Warn("after a checkpoint", "job", d.run.cfg.Name, "error", err)
		}
	}
}
