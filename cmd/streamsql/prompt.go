package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/repl"
)

// prompt runs the statements of -c and -f, of a pipe, or opens the prompt.
func (a *app) prompt(ctx context.Context, command string, files []string, stopOnError bool) error {
	var text string
	interactive := false
	switch {
	case command != "" && len(files) > 0:
		return usageError{fmt.Errorf("-c and -f exclude each other")}
	case command != "":
		text, stopOnError = command, true
	case len(files) > 0:
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				return usageError{err}
			}
			text += string(b) + "\n"
		}
	case repl.IsTerminal(a.stdin) && repl.IsTerminal(a.stdout):
		interactive = true
	default:
		b, err := io.ReadAll(a.stdin)
		if err != nil {
			return err
		}
		text = string(b)
	}
	return a.withEngine(ctx, func(e *engine.Engine) error {
		o := repl.Options{Engine: e, Out: a.stdout, Err: a.stderr, Format: a.format, StopOnError: stopOnError}
		if interactive {
			o.History = repl.HistoryFile(e.DataDir())
			return repl.Prompt(ctx, o)
		}
		ctx, stop := untilSignal(ctx)
		defer stop()
		err := repl.Script(ctx, o, text)
		if errors.Is(err, repl.ErrStopped) {
			return shownError{err, exitUsage}
		}
		return err
	})
}
