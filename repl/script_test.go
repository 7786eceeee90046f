package repl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/streamsql/streamsql/engine"
)

// TestScript feeds scripts: `script [format=…] [stop]` prints standard output and, each
// line after "! ", standard error; `file name=…` makes a file for \i; `cat name=…` shows
// one that \o wrote.
func TestScript(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		dir := t.TempDir()
		e := open(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var name, format string
			d.MaybeScanArgs(t, "name", &name)
			d.MaybeScanArgs(t, "format", &format)
			switch d.Cmd {
			case "file":
				if err := os.WriteFile(filepath.Join(dir, name), []byte(d.Input+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				return ""
			case "cat":
				b, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				return string(b)
			case "script":
				in := strings.ReplaceAll(d.Input, "DIR", dir)
				out := script(e, in, Options{Format: format, StopOnError: d.HasArg("stop")})
				return constant(strings.ReplaceAll(out, dir, "DIR"))
			}
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		})
	})
}

var (
	milliseconds = regexp.MustCompile(`Time: [0-9.]+ ms`)
	clockTime    = regexp.MustCompile(`\d\d:\d\d:\d\d`)
)

// constant takes out of a text what differs from run to run.
func constant(text string) string {
	return clockTime.ReplaceAllString(milliseconds.ReplaceAllString(text, "Time: N ms"), "HH:MM:SS")
}

// script runs a script and gives what it printed, and how it ended when that was not
// well.
func script(e *engine.Engine, in string, o Options) string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var out, errs bytes.Buffer
	o.Engine, o.Out, o.Err = e, &out, &errs
	err := Script(ctx, o, strings.NewReader(in))
	text := out.String()
	for _, l := range strings.SplitAfter(errs.String(), "\n") {
		if l != "" {
			text += "! " + l
		}
	}
	var stopped *StoppedError
	switch {
	case errors.As(err, &stopped):
		text += fmt.Sprintf("stopped, ran: %v\n", stopped.Ran)
	case err != nil:
		text += err.Error() + "\n"
	}
	return text
}

func open(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.Open(context.Background(), engine.Options{DataDir: t.TempDir(), Stdout: io.Discard, Vars: map[string]string{"N": "12345"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return e
}

// TestScriptRunsAsItComes: a statement runs when its line is there, and the end of the
// context ends a script that waits for more.
func TestScriptRunsAsItComes(t *testing.T) {
	e := open(t)
	in, feed := io.Pipe()
	answers, out := io.Pipe()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		err := Script(ctx, Options{Engine: e, Out: out, Err: io.Discard, Format: "csv"}, in)
		in.CloseWithError(err) // who feeds it and who reads it hear of its end
		out.CloseWithError(err)
		done <- err
	}()
	for _, c := range []struct{ line, want string }{{"SELECT 1 AS a;\n", "a\n1\n"}, {"SELECT\n 2\n AS b;\n", "b\n2\n"}} {
		if _, err := io.WriteString(feed, c.line); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(c.want))
		if _, err := io.ReadFull(answers, got); err != nil || string(got) != c.want {
			t.Fatalf("%q gives %q, %v", c.line, got, err)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	feed.Close()
}

// TestScriptReadError: an input that breaks off is an error, after what came before it.
func TestScriptReadError(t *testing.T) {
	in := io.MultiReader(strings.NewReader("SELECT 1 AS a;\n"), errReader{})
	var out bytes.Buffer
	err := Script(context.Background(), Options{Engine: open(t), Out: &out, Err: io.Discard, Format: "csv"}, in)
	if !errors.Is(err, errBroken) || out.String() != "a\n1\n" {
		t.Errorf("%v after %q", err, out.String())
	}
}

var errBroken = errors.New("broken")

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errBroken }
