package runtime

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// actor is something that runs in steps. Only one goroutine steps it.
type actor interface {
	// step does one piece of work. progress is false when there was nothing to do; the
	// actor's waker then says when to try again. done means never again.
	step(ctx context.Context) (progress, done bool, err error)
	waker() waker
	// where names the actor in errors.
	where() string
}

// executor runs the actors of an attempt and what they want done in the background.
type executor interface {
	// run steps a until it is done, fails, or the attempt ends.
	run(a actor)
	// background calls f once, which may block; order among calls is not kept.
	background(f func(ctx context.Context))
	// later calls f once when d has passed; f neither blocks nor computes.
	later(d time.Duration, f func())
	// decode calls f once like background, with bounded concurrency: f only computes.
	decode(f func())
	// each calls f for every number below n, on several goroutines where there are cores,
	// and returns when all calls have: with the error of the lowest number that has one.
	each(n int, f func(i int) error) error
}

// goroutines is the executor of real jobs.
type goroutines struct {
	ctx    context.Context
	wg     sync.WaitGroup
	tokens chan struct{}
	// failed ends the attempt; a is nil when it was a background call.
	failed func(a actor, err error)
}

func newGoroutines(ctx context.Context, failed func(actor, error)) *goroutines {
	return &goroutines{ctx: ctx, tokens: make(chan struct{}, runtime.GOMAXPROCS(0)), failed: failed}
}

func (g *goroutines) run(a actor) {
	g.wg.Go(func() {
		if err := g.loop(a); err != nil && g.ctx.Err() == nil {
			g.failed(a, err)
		}
	})
}

func (g *goroutines) loop(a actor) (err error) {
	defer recoverTo(&err)
	w := a.waker()
	for g.ctx.Err() == nil {
		progress, done, err := a.step(g.ctx)
		if err != nil || done {
			return err
		}
		if progress {
			continue
		}
		select {
		case <-w:
		case <-g.ctx.Done():
		}
	}
	return nil
}

func (g *goroutines) background(f func(context.Context)) {
	g.wg.Go(func() {
		var err error
		defer func() {
			if err != nil {
				g.failed(nil, err)
			}
		}()
		defer recoverTo(&err)
		f(g.ctx)
	})
}

func (g *goroutines) later(d time.Duration, f func()) { time.AfterFunc(d, f) }

func (g *goroutines) decode(f func()) {
	g.wg.Go(func() {
		select {
		case g.tokens <- struct{}{}:
			f()
			<-g.tokens
		case <-g.ctx.Done():
		}
	})
}

func (g *goroutines) each(n int, f func(i int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				func() {
					defer recoverTo(&errs[i])
					errs[i] = f(i)
				}()
			}
		})
	}
	wg.Wait()
	return cmp.Or(errs...)
}
