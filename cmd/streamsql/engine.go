package main

import (
	"context"
	"fmt"

	"github.com/streamsql/streamsql/engine"
)

// withEngine runs do with an engine on the data directory, and stops what still runs
// after it.
func (a *app) withEngine(ctx context.Context, do func(*engine.Engine) error) error {
	o, err := a.options()
	if err != nil {
		return err
	}
	return a.withOptions(ctx, o, do)
}

func (a *app) withOptions(ctx context.Context, o engine.Options, do func(*engine.Engine) error) error {
	e, err := engine.Open(ctx, o)
	if err != nil {
		return err
	}
	err = do(e)
	if cerr := a.show(a.close(ctx, e), "", exitFailed); err == nil {
		err = cerr
	}
	return err
}

// close stops the jobs of an engine and says so, for that may take a while.
func (a *app) close(ctx context.Context, e *engine.Engine) error {
	n := 0
	for _, j := range e.Jobs() {
		if j.Running() {
			n++
		}
	}
	switch {
	case n == 1:
		fmt.Fprintln(a.stderr, "streamsql: stopping one job after a last checkpoint")
	case n > 1:
		fmt.Fprintf(a.stderr, "streamsql: stopping %d jobs after a last checkpoint\n", n)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return e.Close(ctx)
}
