package engine

import (
	"context"
	"errors"
	"time"

	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/runtime"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/planner/plan"
)

// Start says what a job starts from. The zero value goes on from the newest checkpoint
// of the job's name, or begins anew when there is none.
type Start struct {
	// Fresh takes a new job id and ignores earlier checkpoints.
	Fresh bool
	// FromSavepoint is a savepoint's directory or name: the job's state before its first
	// checkpoint. It is refused for a job that has checkpoints of its own, unless Fresh is
	// set too.
	FromSavepoint string
	// TakeOver takes targets from another job.
	TakeOver bool
	// ReplayIntoSinks starts from a savepoint that is older than what the job's keyed
	// tables hold; they end up right.
	ReplayIntoSinks bool
	// AllowNonRestored goes on although the job's text has changed, with as much of the
	// state as the report says that EXPLAIN UPGRADE prints.
	AllowNonRestored bool
	// AbandonPending goes on without what the last checkpoint holds for sinks that the text
	// no longer has, or whose target is another.
	AbandonPending bool
	// ResetSource gives tables of the job another position than their checkpoint's, in the
	// form of the option "start" of their connector.
	ResetSource map[string]string
	// Continue goes on with a finished bounded job from its positions.
	Continue bool
}

// ErrFinished is returned by Run for a job whose bounded input was read to its end by
// an earlier run.
var ErrFinished = runtime.ErrFinished

// ErrRefused is in the chain of the error of a job, and of Run, when a target has refused
// what a checkpoint holds for it.
var ErrRefused = runtime.ErrRefused

// Job is a job of this process. Its methods are safe for concurrent use.
type Job struct {
	Name string
	// SQL is the job's text with ${NAME} replaced, save in the values of WITH (…).
	SQL     string
	Plan    *plan.Plan
	Started time.Time
	// Upgrade is what the job went on with when its text had changed, "" when it had not.
	Upgrade string
	run     *runtime.Job
	uses    *catalog.Snapshot // what a session declared for it, nil for a file's job
	fix     func(error) error // turns positions in SQL into those of what was typed
}

// Running reports whether the job has not ended.
func (j *Job) Running() bool {
	select {
	case <-j.run.Done():
		return false
	default:
		return true
	}
}

// Wait waits for the job's end and returns why it ended, nil when it was done or
// stopped. Positions count in the text that was given to Load or Parse.
func (j *Job) Wait() error { return j.fix(j.run.Wait()) }

// Done is closed when the job has ended.
func (j *Job) Done() <-chan struct{} { return j.run.Done() }

// Stop ends the job after a last checkpoint, which becomes a savepoint in the directory
// path when path is not empty. It returns what Wait does, or ctx's error when that ends
// first: then the job goes on stopping. A job that has ended gives why it failed, or
// that it does not run.
func (j *Job) Stop(ctx context.Context, path string) error {
	if !j.Running() {
		if err := j.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		return j.notRunning()
	}
	if path != "" {
		if err := onlySavepoint(path); err != nil {
			return err
		}
	}
	if err := j.run.Stop(ctx, path); err != nil {
		return j.fix(err)
	}
	if path == "" {
		return nil
	}
	if _, _, err := OpenSavepoint(ctx, path); err != nil {
		return sqlerr.New(sqlerr.CodeCheckpoint, 0, "job %q ended before its savepoint was made", j.Name)
	}
	return nil
}

func (j *Job) notRunning() error {
	return sqlerr.New(sqlerr.CodeUndefinedObject, 0, "job %q is not running but %s", j.Name, j.Status().State)
}

func (j *Job) stopIfRunning(ctx context.Context) error {
	if !j.Running() {
		return nil
	}
	return j.fix(j.run.Stop(ctx, ""))
}

// Cancel ends the job at once; the last complete checkpoint stays.
func (j *Job) Cancel() { j.run.Cancel() }

// Bounded reports that all input of the job ends by itself.
func (j *Job) Bounded() bool { return bounded(j.Plan) }

// Savepoint makes a savepoint of the running job in the directory path.
func (j *Job) Savepoint(ctx context.Context, path string) error { return j.run.Savepoint(ctx, path) }

// bounded reports that every source of p ends.
func bounded(p *plan.Plan) bool {
	for _, n := range p.Nodes {
		if n.Source != nil && !n.Source.Bounded {
			return false
		}
	}
	return true
}

// updating reports that some sink of p gets rows that are taken back.
func updating(p *plan.Plan) bool {
	for _, n := range p.Nodes {
		if n.Sink != nil && n.Changelog != plan.Append {
			return true
		}
	}
	return false
}
