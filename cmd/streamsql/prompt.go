package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/repl"
)

// prompt runs the statements of files or of a pipe, or opens the prompt.
func (a *app) prompt(ctx context.Context, files []string, stopOnError bool) error {
	if len(files) == 0 && repl.IsTerminal(a.stdin) && repl.IsTerminal(a.stdout) {
		ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		return a.withEngine(ctx, func(e *engine.Engine) error {
			return repl.Prompt(ctx, repl.Options{Engine: e, Out: a.stdout, Err: a.stderr, Format: a.format,
				History: repl.HistoryFile(e.DataDir())})
		})
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	for _, f := range files {
		if err := a.scriptFile(ctx, f, stopOnError); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) scriptFile(ctx context.Context, path string, stopOnError bool) error {
	in := a.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return usageError{err}
		}
		defer f.Close()
		in = f
	}
	return a.script(ctx, in, stopOnError)
}

// script runs the statements of in as they come.
func (a *app) script(ctx context.Context, in io.Reader, stopOnError bool) error {
	ctx, stop := untilSignal(ctx)
	defer stop()
	return a.withEngine(ctx, func(e *engine.Engine) error {
		err := repl.Script(ctx, repl.Options{Engine: e, Out: a.stdout, Err: a.stderr, Format: a.format, StopOnError: stopOnError}, in)
		var stopped *repl.StoppedError
		switch {
		case errors.As(err, &stopped) && stopped.Ran:
			return shownError{err, exitFailed}
		case stopped != nil:
			return shownError{err, exitOf(err)}
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			return nil // ended by a signal
		}
		return err
	})
}
