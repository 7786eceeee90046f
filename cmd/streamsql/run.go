package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/repl"
)

// stopTimeout bounds the last checkpoint and its commits after SIGINT.
const stopTimeout = 90 * time.Second

func (a *app) runCommand() *cobra.Command {
	var how engine.Start
	c := &cobra.Command{
		Use:   "run FILE.sql",
		Short: "run a file as a job until it ends or is stopped",
		Long: "Runs a file as one job. Bounded input ends the job; SIGINT and SIGTERM end it after a last\n" +
			"checkpoint. The same command again goes on from the last checkpoint. FILE may be - for standard input.",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return a.run(c.Context(), args[0], how) },
	}
	f := c.Flags()
	f.BoolVar(&how.Fresh, "fresh", false, "start anew: take a new job id and ignore earlier checkpoints")
	f.StringVar(&how.FromSavepoint, "from-savepoint", "", "start from this savepoint, as a new job")
	f.BoolVar(&how.TakeOver, "take-over", false, "take targets from another job")
	f.BoolVar(&how.Continue, "continue", false, "go on with a finished job from its positions")
	return c
}

// load opens an engine and reads a job file with it.
func (a *app) load(ctx context.Context, path string) (*engine.Engine, *engine.File, string, error) {
	src, err := readFile(path, a.stdin)
	if err != nil {
		return nil, nil, "", usageError{err}
	}
	o, err := a.options()
	if err != nil {
		return nil, nil, "", err
	}
	e, err := engine.Open(ctx, o)
	if err != nil {
		return nil, nil, "", err
	}
	f, err := e.Load(engine.JobName(path), src)
	if err != nil {
		_ = e.Close(ctx)
		return nil, nil, "", a.show(err, src, exitUsage)
	}
	return e, f, src, nil
}

func readFile(path string, stdin io.Reader) (string, error) {
	if path == "-" {
		b, err := io.ReadAll(stdin)
		return string(b), err
	}
	b, err := os.ReadFile(path)
	return string(b), err
}

// untilSignal gives a context that SIGINT or SIGTERM ends; a second signal ends the
// program.
func untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

func (a *app) run(ctx context.Context, path string, how engine.Start) error {
	ctx, stop := untilSignal(ctx)
	defer stop()
	e, f, src, err := a.load(ctx, path)
	if err != nil {
		return err
	}
	defer e.Close(context.WithoutCancel(ctx))
	if queries := f.Queries(); queries != nil {
		format := a.format
		if format == "" && !repl.IsTerminal(a.stdout) {
			format = "csv"
		}
		p := repl.NewPrinter(a.stdout, format, repl.IsTerminal(a.stdout))
		for i, q := range queries {
			run, err := e.Query(ctx, f, q)
			if err != nil {
				return a.show(err, src, exitUsage)
			}
			if !run.Bounded && i < len(queries)-1 {
				run.Stop()
				return a.show(sqlerr.New(sqlerr.CodeNotSupported, q.Pos, "this SELECT never ends, so those after it would never run"), src, exitUsage)
			}
			err = p.Query(ctx, run)
			run.Stop()
			if errors.Is(err, context.Canceled) {
				return nil
			}
			if err != nil {
				return a.show(err, src, exitFailed)
			}
		}
		return nil
	}
	j, err := e.Run(ctx, f, how)
	if errors.Is(err, engine.ErrFinished) {
		fmt.Fprintf(a.stderr, "streamsql: job %q has finished; --fresh runs it again, --continue goes on from its positions\n", f.Name)
		return nil
	}
	if err != nil {
		return a.show(err, src, exitOf(err))
	}
	return a.wait(ctx, j, src)
}

// wait waits for a job's end or, on a signal, stops it after a last checkpoint.
func (a *app) wait(ctx context.Context, j *engine.Job, src string) error {
	status := repl.NewStatusLine(a.stderr)
	defer status.Close()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-j.Done():
			status.Close()
			if err := j.Wait(); err != nil {
				return a.show(err, src, exitFailed)
			}
			return nil
		case <-tick.C:
			status.Show(j.Status())
		case <-ctx.Done():
			status.Close()
			fmt.Fprintln(a.stderr, "streamsql: stopping after a last checkpoint")
			stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
			defer cancel()
			return a.show(j.Stop(stop, ""), src, exitFailed)
		}
	}
}

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use: "explain FILE.sql", Short: "print the plan of a job file", Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			e, f, src, err := a.load(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer e.Close(c.Context())
			text, err := e.Explain(f)
			if err != nil {
				return a.show(err, src, exitUsage)
			}
			fmt.Fprint(a.stdout, text)
			return nil
		},
	}
}

func (a *app) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check FILE.sql", Short: "parse and plan a job file and check its connectors, run nothing", Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			e, f, src, err := a.load(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer e.Close(c.Context())
			if err := e.Check(c.Context(), f); err != nil {
				return a.show(err, src, exitOf(err))
			}
			fmt.Fprintf(a.stdout, "%s: ok\n", args[0])
			return nil
		},
	}
}
