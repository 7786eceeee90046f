// Package repl is the prompt: it reads statements from a terminal or a pipe, runs them
// in a session of the engine and prints what they give.
package repl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser"
)

// Options of a prompt.
type Options struct {
	Engine *engine.Engine
	Out    io.Writer // results
	Err    io.Writer // everything else
	Format string    // table, csv, json, changelog; "" chooses
	// StopOnError ends a script at its first error.
	StopOnError bool
	// History is the file of the lines typed before, "" for none.
	History string
}

// ErrStopped is returned by Script when StopOnError ended it; the error was printed.
var ErrStopped = errors.New("stopped at the first error")

// errQuit is \q.
var errQuit = errors.New("quit")

// shell is the state of a prompt.
type shell struct {
	Options
	session     *engine.Session
	interactive bool
	timing      bool
	expanded    bool
	out         io.Writer // Out, or the file of \o
	outFile     *os.File
}

func newShell(o Options, interactive bool) *shell {
	return &shell{Options: o, session: o.Engine.NewSession(), interactive: interactive, out: o.Out}
}

// Script runs the statements of text, as from a pipe.
func Script(ctx context.Context, o Options, text string) error {
	sh := newShell(o, false)
	defer sh.closeOut()
	return sh.script(ctx, text)
}

// script runs statements and backslash commands, which stand on lines of their own.
func (sh *shell) script(ctx context.Context, text string) error {
	var buf strings.Builder
	for _, line := range strings.SplitAfter(text, "\n") {
		if strings.TrimSpace(buf.String()) == "" && strings.HasPrefix(strings.TrimSpace(line), `\`) {
			if err := sh.report(sh.meta(ctx, strings.TrimSpace(line)), ""); err != nil {
				return ignoreQuit(err)
			}
			buf.Reset()
			continue
		}
		buf.WriteString(line)
		if !strings.Contains(line, ";") || parser.Incomplete(buf.String()) {
			continue
		}
		if err := sh.run(ctx, buf.String()); err != nil {
			return ignoreQuit(err)
		}
		buf.Reset()
	}
	if strings.TrimSpace(buf.String()) != "" {
		return ignoreQuit(sh.run(ctx, buf.String()))
	}
	return nil
}

func ignoreQuit(err error) error {
	if errors.Is(err, errQuit) {
		return nil
	}
	return err
}

// run executes the statements of text and prints results and errors. It returns an
// error only to end the prompt.
func (sh *shell) run(ctx context.Context, text string) error {
	script, err := sh.session.Parse(text)
	if err != nil {
		return sh.report(err, text)
	}
	for i := range script.Statements {
		err := sh.exec(ctx, script, i)
		if ctx.Err() != nil && !sh.interactive {
			return ctx.Err()
		}
		if err != nil {
			return sh.report(err, text)
		}
	}
	return nil
}

// report prints an error; under StopOnError it ends the script.
func (sh *shell) report(err error, text string) error {
	if err == nil || errors.Is(err, errQuit) {
		return err
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(sh.Err, "cancelled")
	} else {
		fmt.Fprint(sh.Err, sqlerr.Render(err, text))
	}
	if sh.StopOnError && !sh.interactive {
		return ErrStopped
	}
	return nil
}

func (sh *shell) exec(ctx context.Context, script *engine.Script, i int) error {
	done := sh.clock()
	r, err := sh.session.Exec(ctx, script, i)
	if err != nil {
		return err
	}
	switch {
	case r.Query != nil:
		err = sh.printer().Query(ctx, r.Query)
		r.Query.Stop()
		if err != nil {
			return err
		}
	case r.Columns != nil:
		if err := sh.printer().Table(r.Columns, r.Rows); err != nil {
			return err
		}
	case r.Job != nil:
		if err := sh.started(ctx, r); err != nil {
			return err
		}
	case r.Text != "":
		fmt.Fprintln(sh.out, strings.TrimRight(r.Text, "\n"))
	default:
		fmt.Fprintln(sh.out, r.Tag)
	}
	done()
	return nil
}

// started reports a job. At a prompt it goes on in the background; a script waits for
// one that ends by itself.
func (sh *shell) started(ctx context.Context, r *engine.Result) error {
	if sh.interactive || !r.Job.Bounded() {
		fmt.Fprintf(sh.out, "%s: job %q runs in the background\n", r.Tag, r.Job.Name)
		return nil
	}
	select {
	case <-r.Job.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := r.Job.Wait(); err != nil {
		return err
	}
	fmt.Fprintf(sh.out, "%s %d\n", r.Tag, r.Job.Status().RowsOut)
	return nil
}

func (sh *shell) printer() *Printer {
	p := NewPrinter(sh.out, sh.Format, sh.interactive && sh.outFile == nil)
	p.expanded = sh.expanded
	return p
}

func (sh *shell) closeOut() {
	if sh.outFile != nil {
		_ = sh.outFile.Close()
		sh.outFile = nil
	}
	sh.out = sh.Out
}
