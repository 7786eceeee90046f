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
	"time"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Options of a prompt.
type Options struct {
	Engine *engine.Engine
	Out    io.Writer // results
	Err    io.Writer // everything else
	Format string    // table, csv, json, changelog; "" is table
	// StopOnError ends a script at its first error.
	StopOnError bool
	// History is the file of the lines typed before, "" for none.
	History string
}

// StoppedError is returned by Script when StopOnError ended it, or when its output was
// closed. Err was printed, except for a closed output.
type StoppedError struct {
	Err error
	// Ran tells an error of rows that were flowing from one found before.
	Ran bool
}

func (e *StoppedError) Error() string { return "stopped at the first error: " + e.Err.Error() }

// Unwrap gives the error that ended the script.
func (e *StoppedError) Unwrap() error { return e.Err }

// errQuit is \q.
var errQuit = errors.New("quit")

// ranError is an error of rows that were flowing.
type ranError struct{ error }

func (e ranError) Unwrap() error { return e.error }

// shell is the state of a prompt. One goroutine uses it, completion included.
type shell struct {
	Options
	session     *engine.Session
	interactive bool
	timing      bool
	expanded    bool
	out         io.Writer // Out, or the file of \o
	outFile     *os.File
	pending     string // the lines typed before of a statement that goes on
	depth       int    // files of \i inside one another
	running     source // of the statement that runs
	jobs        []background
}

func newShell(o Options, interactive bool) *shell {
	return &shell{Options: o, session: o.Engine.NewSession(), interactive: interactive, out: o.Out}
}

// run executes the statements of text, which begins after so many lines of its input,
// one after another, and prints results and errors. It returns an error only to end the
// prompt.
func (sh *shell) run(ctx context.Context, text string, lines int) error {
	for _, p := range split(text) {
		sh.running = source{text, lines, int(p.Pos) - 1}
		err := sh.statement(ctx, p.Text)
		if ctx.Err() != nil && !sh.interactive {
			return ctx.Err()
		}
		if err := sh.report(err, sh.running); err != nil {
			return err
		}
		if err := sh.ended(); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil // Ctrl-C ends what was typed with the statement too
		}
	}
	return nil
}

// statement runs what is one statement, unless it is none.
func (sh *shell) statement(ctx context.Context, text string) error {
	script, err := sh.session.Parse(text)
	if err != nil {
		return err
	}
	for i := range script.Statements {
		if err := sh.exec(ctx, script, i); err != nil {
			return err
		}
	}
	return nil
}

// source is the text that a statement was a part of: the input had so many lines before
// the text, and the text so many bytes before the statement. The zero source is none.
type source struct {
	text   string
	lines  int
	before int
}

// report prints an error with its place in the source. It returns one to end the prompt:
// \q, a closed output, or the first error under StopOnError.
func (sh *shell) report(err error, src source) error {
	var stopped *StoppedError
	switch {
	case err == nil || errors.Is(err, errQuit) || errors.As(err, &stopped):
		return err
	case OutputClosed(err):
		return &StoppedError{Err: err, Ran: true}
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(sh.Err, "cancelled")
	default:
		text, shown := src.place(err)
		fmt.Fprint(sh.Err, engine.Render(shown, text))
	}
	if sh.StopOnError && !sh.interactive {
		var ran ranError
		return &StoppedError{Err: err, Ran: errors.As(err, &ran)}
	}
	return nil
}

// place moves an error's position to where it is in the input.
func (s source) place(err error) (text string, placed error) {
	e := sqlerr.As(err)
	if e == nil || e.Pos == 0 || s.text == "" {
		return "", err
	}
	c := *e
	c.Msg, c.Err, c.Pos = err.Error(), nil, e.Pos+sqlerr.Pos(s.lines+s.before)
	return strings.Repeat("\n", s.lines) + s.text, &c
}

// exec runs one statement and prints what it gives.
func (sh *shell) exec(ctx context.Context, script *engine.Script, i int) error {
	start := time.Now()
	r, err := sh.session.Exec(ctx, script, i)
	if err != nil {
		return err
	}
	switch {
	case r.Query != nil:
		err = sh.printer().Query(ctx, r.Query)
		r.Query.Stop()
		if err != nil {
			err = ranError{err}
		}
	case r.Columns != nil:
		err = sh.printer().Table(r.Columns, r.Rows)
	case r.Job != nil:
		err = sh.started(ctx, r)
	case r.Text != "":
		err = sh.println(strings.TrimRight(r.Text, "\n"))
	default:
		err = sh.note(r.Tag)
	}
	if err == nil && sh.timing {
		err = sh.note(fmt.Sprintf("Time: %.3f ms", float64(time.Since(start).Microseconds())/1000))
	}
	return err
}

// note says what was done, which is no result: a script's results can be read by a
// program.
func (sh *shell) note(line string) error {
	w := sh.Out
	if !sh.interactive {
		w = sh.Err
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

func (sh *shell) println(line string) error {
	_, err := fmt.Fprintln(sh.out, line)
	return err
}

func (sh *shell) printer() *Printer {
	p := NewPrinter(sh.out, sh.Format, sh.interactive && sh.outFile == nil)
	p.expanded = sh.expanded
	return p
}

// closeOut ends \o.
func (sh *shell) closeOut() error {
	sh.out = sh.Out
	f := sh.outFile
	if f == nil {
		return nil
	}
	sh.outFile = nil
	return f.Close()
}
