package runtime

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/internal/clock"
)

// Simulation is one attempt of a job without goroutines: every step of every task, of
// the readers and of the driver, and every call that would run in the background, is
// done when it is picked. It is for tests that choose the order by a seed; connectors
// in a simulation must not block.
type Simulation struct {
	a     *attempt
	clock *clock.Manual
	exec  *stepper
	ctx   context.Context
}

// stepper is the executor of simulations: it collects what is to be done.
type stepper struct {
	actors []actor
	calls  []func(context.Context)
}

func (s *stepper) run(a actor)                        { s.actors = append(s.actors, a) }
func (s *stepper) background(f func(context.Context)) { s.calls = append(s.calls, f) }
func (s *stepper) later(_ time.Duration, f func())    { s.decode(f) }
func (s *stepper) decode(f func()) {
	s.calls = append(s.calls, func(context.Context) { f() })
}

func (s *stepper) each(n int, f func(i int) error) error {
	for i := range n {
		if err := f(i); err != nil {
			return err
		}
	}
	return nil
}

// Simulate prepares an attempt of the job at the given time, as Start does.
func Simulate(ctx context.Context, cfg Config, now int64) (*Simulation, error) {
	cfg = cfg.withDefaults()
	c := clock.At(now)
	cfg.Clock = c
	id, old, bound, err := jobID(ctx, cfg)
	if err != nil {
		return nil, err
	}
	cfg.replaces = old
	s := &Simulation{exec: &stepper{}, clock: c, ctx: ctx}
	if s.a, err = newAttempt(ctx, cfg, id, s.exec, now); err != nil {
		return nil, err
	}
	if !bound {
		if err := checkpoint.BindName(ctx, cfg.Store, cfg.Name, id); err != nil {
			return nil, err
		}
	}
	s.a.start()
	return s, nil
}

// Step does one thing, chosen by pick among n, and reports whether it was of use.
// Errors of tasks end the attempt and are told by Outcome.
func (s *Simulation) Step(pick func(n int) int) bool {
	n := len(s.exec.actors)
	i := pick(n + len(s.exec.calls))
	if i >= n {
		k := i - n
		f := s.exec.calls[k]
		s.exec.calls = append(s.exec.calls[:k:k], s.exec.calls[k+1:]...)
		f(s.ctx)
		return true
	}
	x := s.exec.actors[i]
	progress, done, err := s.stepActor(x)
	if err != nil {
		s.a.fail(x.where(), err)
	}
	if done || err != nil {
		s.exec.actors = append(s.exec.actors[:i:i], s.exec.actors[i+1:]...)
	}
	return progress
}

func (s *Simulation) stepActor(x actor) (progress, done bool, err error) {
	defer recoverTo(&err)
	return x.step(s.ctx)
}

// Tick moves the clock.
func (s *Simulation) Tick(now int64) {
	s.clock.Set(now)
	s.a.tick(now)
}

// Stop asks for a last checkpoint and the end.
func (s *Simulation) Stop(savepoint string) {
	s.a.event(checkpoint.StopRequested{Savepoint: savepoint})
}

// Outcome reports whether the attempt is over, and how.
func (s *Simulation) Outcome() (over, stopped bool, err error) {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	return s.a.failed || s.a.finished, s.a.stopped, s.a.outcome
}

// Epoch is the newest complete epoch.
func (s *Simulation) Epoch() uint64 { return s.a.driver.status.get().epoch }

// Close gives up connections. What was not done will never be: a process that died.
func (s *Simulation) Close() error { return s.a.close() }

// Dump describes what every task is doing, for a simulation that does not end.
func (s *Simulation) Dump() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nepoch %d in flight, newest %d, pending %d, calls %d\n", s.a.driver.coord.String(), s.a.driver.coord.Epoch(), s.a.driver.coord.Newest(), s.a.driver.coord.Pending(), len(s.exec.calls))
	for _, t := range s.a.tasks {
		fmt.Fprintf(&b, "%s: align %d ready %v last %d queued %d gathered %d end due %v ended %v ports", t.where(), t.align, t.ready, t.last,
			t.chain.box.queued, t.chain.box.gathered, t.endDue, t.ended)
		for i, p := range t.in {
			n := 0
			if i < len(t.box.ports) {
				n = t.box.ports[i].n
			}
			fmt.Fprintf(&b, " {%d wm %d ended %v aligned %v}", n, p.wm, p.ended, p.aligned)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
