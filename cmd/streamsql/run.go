package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/repl"
)

func (a *app) runCommand() *cobra.Command {
	var how engine.Start
	var resets []string
	c := &cobra.Command{
		Use:                   "run FILE.sql …",
		DisableFlagsInUseLine: true,
		Short:                 "run files as jobs until they end or are stopped",
		Long: "Runs each file as one job, all in one process. Bounded input ends a job; SIGINT and SIGTERM end it\n" +
			"after a last checkpoint, a second one at once. The same command again goes on from the last\n" +
			"checkpoint. FILE may be - for standard input.\n\n" +
			"A file of SELECTs alone prints their results one after another. Where it runs beside other files, and\n" +
			"beside other outputs, a SELECT prints its changes as they come.",
		Example: "  streamsql run bids.sql --var POSTGRES_URL=postgres://me@localhost/mydb\n" +
			"  streamsql run report.sql --format csv > report.csv",
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) (err error) {
			if how.ResetSource, err = pairs("--reset-source", resets); err != nil {
				return err
			}
			return a.run(c.Context(), args, how)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&resets, "reset-source", nil, "`TABLE=position` to read a table from in place of the checkpoint's: earliest, latest or sequence:N; may be repeated")
	f.BoolVar(&how.Fresh, "fresh", false, "start anew: take a new job id and ignore earlier checkpoints")
	f.StringVar(&how.FromSavepoint, "from-savepoint", "", "start from the savepoint at this `path`; with --fresh also when the job has checkpoints of its own")
	f.BoolVar(&how.ReplayIntoSinks, "replay-into-sinks", false, "start from a savepoint that is older than what tables written by key hold")
	f.BoolVar(&how.AllowNonRestored, "allow-non-restored-state", false, "go on although the query has changed, with what of the state fits it (explain --upgrade shows it)")
	f.BoolVar(&how.AbandonPending, "abandon-pending", false, "go on without what the last checkpoint holds for sinks that are gone or have another target")
	f.BoolVar(&how.TakeOver, "take-over", false, "take targets from another job")
	f.BoolVar(&how.Continue, "continue", false, "go on with a finished job from its positions")
	return c
}

// jobFile is a file with the text that positions count in.
type jobFile struct {
	*engine.File
	path, src string
}

// load reads a job file.
func (a *app) load(e *engine.Engine, path string) (jobFile, error) {
	src, err := readFile(path, a.stdin)
	if err != nil {
		return jobFile{}, usageError{err}
	}
	name := engine.JobName(path)
	if path == "-" {
		name = "stdin"
	}
	f, err := e.Load(name, src)
	if err != nil {
		return jobFile{}, a.show(err, src, exitUsage)
	}
	return jobFile{f, path, src}, nil
}

// readFile gives a file's text without the mark that some editors begin it with.
func readFile(path string, stdin io.Reader) (string, error) {
	read := func() ([]byte, error) { return os.ReadFile(path) }
	if path == "-" {
		read = func() ([]byte, error) { return io.ReadAll(stdin) }
	}
	b, err := read()
	return strings.TrimPrefix(string(b), "\ufeff"), err
}

// untilSignal gives a context that SIGINT or SIGTERM ends; a second signal ends the
// program.
func untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	// Room for two: the second may come before the first is taken.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	over := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				if ctx.Err() != nil {
					os.Exit(128 + int(s.(syscall.Signal)))
				}
				cancel()
			case <-over:
				return
			}
		}
	}()
	return ctx, sync.OnceFunc(func() {
		signal.Stop(signals)
		close(over)
		cancel()
	})
}

func (a *app) run(ctx context.Context, paths []string, how engine.Start) error {
	switch {
	case len(paths) > 1 && how.FromSavepoint != "":
		return usageError{fmt.Errorf("--from-savepoint is for one file")}
	case len(paths) > 1 && len(how.ResetSource) > 0:
		return usageError{fmt.Errorf("--reset-source is for one file")}
	case how.Continue && (how.Fresh || how.FromSavepoint != ""):
		return usageError{fmt.Errorf("--continue goes on with a finished job: it excludes --fresh and --from-savepoint")}
	case how.ReplayIntoSinks && how.FromSavepoint == "":
		return usageError{fmt.Errorf("--replay-into-sinks goes with --from-savepoint")}
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	return a.withEngine(ctx, func(e *engine.Engine) error {
		var files []jobFile
		names := make(map[string]string)
		for _, p := range paths {
			f, err := a.load(e, p)
			if err != nil {
				return err
			}
			if other, dup := names[f.Name]; dup {
				return usageError{fmt.Errorf("%s and %s are both job %q: name one with SET 'job.name' = '…'", other, p, f.Name)}
			}
			names[f.Name] = p
			files = append(files, f)
		}
		if queries := files[0].Queries(); queries != nil && len(files) == 1 {
			if len(how.ResetSource) > 0 {
				return usageError{fmt.Errorf("--reset-source is for jobs: a SELECT keeps no positions")}
			}
			return a.results(ctx, e, files[0])
		}
		return a.jobs(ctx, e, files, how)
	})
}

// results prints the rows of a file's SELECTs, one after another.
func (a *app) results(ctx context.Context, e *engine.Engine, f jobFile) error {
	format := a.format
	if format == "" && !repl.IsTerminal(a.stdout) {
		format = "csv"
	}
	p := repl.NewPrinter(a.stdout, format, repl.IsTerminal(a.stdout))
	queries := f.Queries()
	for i, q := range queries {
		run, err := e.Query(ctx, f.File, q)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return a.show(err, f.src, exitOf(err))
		}
		if !run.Bounded && i < len(queries)-1 {
			run.Stop()
			return a.show(sqlerr.New(sqlerr.CodeNotSupported, q.Pos, "this SELECT never ends, so those after it would never run"), f.src, exitUsage)
		}
		err = p.Query(ctx, run)
		run.Stop()
		a.tellDropped("the query", run.Status())
		if errors.Is(err, context.Canceled) {
			return nil
		}
		if err != nil {
			return a.show(err, f.src, exitFailed)
		}
	}
	return nil
}
