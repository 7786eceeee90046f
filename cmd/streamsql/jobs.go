package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/repl"
)

// stopTimeout bounds the last checkpoint and its commits after SIGINT.
const stopTimeout = 90 * time.Second

// statusEvery is the time between two status lines.
const statusEvery = 500 * time.Millisecond

// running is a job with the text that positions count in.
type running struct {
	*engine.Job
	src string
}

// jobs runs files as jobs until all have ended. One that fails leaves the others
// alone.
func (a *app) jobs(ctx context.Context, e *engine.Engine, files []jobFile, how engine.Start) error {
	var jobs []running
	for _, f := range files {
		j, err := a.start(ctx, e, f, how)
		if err != nil {
			return err
		}
		if j != nil {
			jobs = append(jobs, running{j, f.src})
		}
	}
	return a.wait(ctx, jobs)
}

// start starts a job; nil when it has finished before.
func (a *app) start(ctx context.Context, e *engine.Engine, f jobFile, how engine.Start) (*engine.Job, error) {
	j, err := e.Run(ctx, f.File, how)
	if errors.Is(err, engine.ErrFinished) {
		anew, terr := a.startsAnew(e, f)
		switch {
		case terr != nil:
			return nil, a.show(terr, f.src, exitOf(terr))
		case !anew:
			fmt.Fprintf(a.stderr, "streamsql: job %q has finished; --fresh runs it again, --continue goes on from its positions\n", f.Name)
			return nil, nil
		}
		how.Fresh = true
		j, err = e.Run(ctx, f.File, how)
	}
	if ctx.Err() != nil && err != nil {
		fmt.Fprintf(a.stderr, "streamsql: job %q was stopped before it had started\n", f.Name)
		return nil, shownError{err, exitFailed}
	}
	if err == nil && j.Upgrade != "" {
		fmt.Fprintf(a.stderr, "streamsql: the query of job %q has changed:\n%s", f.Name, j.Upgrade)
	}
	return j, a.show(err, f.src, exitOf(err))
}

// startsAnew reports that a finished job runs again by itself: nothing it wrote is
// left, or no data directory was named for its checkpoints.
func (a *app) startsAnew(e *engine.Engine, f jobFile) (bool, error) {
	if a.dataDir == "" {
		return true, nil
	}
	return e.Transient(f.File)
}

// wait waits for the jobs' end or, on a signal, stops them after a last checkpoint.
func (a *app) wait(ctx context.Context, jobs []running) error {
	ended := make(chan running)
	for _, j := range jobs {
		go func() {
			<-j.Done()
			ended <- j
		}()
	}
	status := repl.NewStatusLine(a.stderr)
	defer status.Close()
	stalls := make(map[string]string) // by job, as told
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	interrupt := ctx.Done()
	var late <-chan time.Time
	var failed error
	for left := len(jobs); left > 0; {
		select {
		case j := <-ended:
			left--
			status.Close()
			st := j.Status()
			a.tellDropped(fmt.Sprintf("job %q", j.Name), st)
			if err := a.show(j.Wait(), j.src, exitFailed); err != nil {
				failed = err
				continue
			}
			a.tellEnd(j.Name, st)
		case <-tick.C:
			if len(jobs) == 1 && status.On() {
				status.Show(jobs[0].Status())
				continue
			}
			for _, j := range jobs {
				if st := j.Status(); st.Stall != stalls[j.Name] {
					a.tellStall(j.Name, st.Stall)
					stalls[j.Name] = st.Stall
				}
			}
		case <-interrupt:
			interrupt = nil
			status.Close()
			fmt.Fprintln(a.stderr, "streamsql: stopping after a last checkpoint; a second Ctrl-C ends it at once")
			late = time.After(stopTimeout)
			for _, j := range jobs {
				go func() { _ = j.Stop(context.WithoutCancel(ctx), "") }() // its end comes through ended
			}
		case <-late:
			err := fmt.Errorf("no last checkpoint within %v; the next start goes on from the one before", stopTimeout)
			for _, j := range jobs {
				go j.Cancel()
			}
			late, failed = nil, a.show(err, "", exitFailed)
		}
	}
	return failed
}

// tellStall says that a job waits for something outside, or no longer.
func (a *app) tellStall(job, why string) {
	if why == "" {
		fmt.Fprintf(a.stderr, "streamsql: job %q goes on\n", job)
		return
	}
	fmt.Fprintf(a.stderr, "streamsql: job %q waits: %s\n", job, why)
}

// tellEnd says what a job did that ended well.
func (a *app) tellEnd(job string, st engine.Status) {
	fmt.Fprintf(a.stderr, "streamsql: job %q %s: %d rows in, %d rows out, %d checkpoints\n", job, st.State, st.RowsIn, st.RowsOut, st.Checkpoints)
}

// tellDropped says what the result lacks: nothing is dropped in silence.
func (a *app) tellDropped(what string, st engine.Status) {
	if st.Late > 0 || st.Broken > 0 {
		fmt.Fprintf(a.stderr, "streamsql: %s dropped rows: %d late, %d broken\n", what, st.Late, st.Broken)
	}
	if st.PartlyLate > 0 {
		fmt.Fprintf(a.stderr, "streamsql: %s left rows out of windows that had fired: %d partly late\n", what, st.PartlyLate)
	}
	if st.DeadLetters > 0 {
		fmt.Fprintf(a.stderr, "streamsql: %s put rows aside: %d dead letters\n", what, st.DeadLetters)
	}
}
