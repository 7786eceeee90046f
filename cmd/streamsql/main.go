// Command streamsql runs SQL over streams: a prompt, files as jobs, savepoints. Flags
// and wiring only; what it does is in package engine and below.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/crashpoint"
	"github.com/streamsql/streamsql/internal/heap"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser"
	"github.com/streamsql/streamsql/repl"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1 // the job failed
	exitUsage  = 2 // wrong usage, or an error in the SQL text
)

// usageError is a mistake in how the program was called.
type usageError struct{ error }

func main() { os.Exit(run()) }

func run() int {
	heap.Spare()
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	for _, check := range []func() error{parser.CheckEnvironment, crashpoint.Check} {
		if err := check(); err != nil {
			fmt.Fprint(a.stderr, sqlerr.Render(err, ""))
			return exitUsage
		}
	}
	// A reader that has seen enough is an error of the write, and not the end.
	signal.Ignore(syscall.SIGPIPE)
	cmd := a.root()
	cmd.SetArgs(os.Args[1:])
	return a.code(cmd.ExecuteContext(context.Background()))
}

// code prints err where it has not been and gives the exit code.
func (a *app) code(err error) int {
	if err == nil {
		return exitDone
	}
	if repl.OutputClosed(err) {
		return exitFailed
	}
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(a.stderr, "streamsql: %v\n", usage.error)
		return exitUsage
	}
	var shown shownError
	if !errors.As(err, &shown) {
		fmt.Fprint(a.stderr, sqlerr.Render(err, ""))
		return exitOf(err)
	}
	return shown.code
}

// exitOf tells an error in what the user wrote, found before anything ran, from a job
// that failed: also one that another has taken the place of, that something outside does
// not let start, or that a pending row stops again.
func exitOf(err error) int {
	e := sqlerr.As(err)
	if e == nil || e.Class != sqlerr.User || errors.Is(err, engine.ErrRefused) {
		return exitFailed
	}
	switch e.Code {
	case sqlerr.CodeFenced, sqlerr.CodeGap, sqlerr.CodeNotReady, sqlerr.CodeAuth:
		return exitFailed
	}
	return exitUsage
}

// shownError was printed already; only its exit code is left.
type shownError struct {
	error
	code int
}

func (e shownError) Unwrap() error { return e.error }

// show prints err with the text its position counts in.
func (a *app) show(err error, src string, code int) error {
	if err == nil {
		return nil
	}
	if !repl.OutputClosed(err) {
		fmt.Fprint(a.stderr, engine.Render(err, src))
	}
	return shownError{err, code}
}
