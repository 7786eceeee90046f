package repl

import (
	"context"
	"errors"
	"fmt"

	"github.com/streamsql/streamsql/engine"
)

// background is a job that this prompt started and left running.
type background struct {
	job *engine.Job
	src source // of its statement
}

// started reports a job. At a prompt it goes on in the background; a script waits for
// one that ends by itself.
func (sh *shell) started(ctx context.Context, r *engine.Result) error {
	if sh.interactive || !r.Job.Bounded() {
		sh.jobs = append(sh.jobs, background{r.Job, sh.running})
		return sh.note(fmt.Sprintf("%s: job %q runs in the background", r.Tag, r.Job.Name))
	}
	select {
	case <-r.Job.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := r.Job.Wait(); err != nil {
		return ranError{err}
	}
	return sh.note(fmt.Sprintf("%s %d", r.Tag, r.Job.Status().RowsOut))
}

// ended reports the jobs of the background that have ended since it was last called, as
// a Unix shell does: those that failed with their error, those that came to their end
// with their rows. One that a statement stopped was reported there. It returns an error
// only to end the prompt.
func (sh *shell) ended() error {
	var failed error
	still := sh.jobs[:0]
	for _, b := range sh.jobs {
		if b.job.Running() {
			still = append(still, b)
			continue
		}
		switch err := b.job.Wait(); {
		case errors.Is(err, context.Canceled):
		case err != nil:
			err = ranError{fmt.Errorf("job %q failed: %w", b.job.Name, err)}
			if err := sh.report(err, b.src); err != nil && failed == nil {
				failed = err
			}
		case b.job.Status().State == "finished":
			if err := sh.note(fmt.Sprintf("job %q has finished, %s out", b.job.Name, rowsOf(b.job.Status().RowsOut))); err != nil {
				failed = err
			}
		}
	}
	sh.jobs = still
	return failed
}

// rowsOf says a number of rows.
func rowsOf(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}
