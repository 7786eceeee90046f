package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/vec"
)

// TestSession runs statements in a session: `exec` prints what each gives, or the error
// with its place in the text as typed.
func TestSession(t *testing.T) {
	datadriven.Walk(t, "testdata/session", func(t *testing.T, path string) {
		e := open(t, engine.Options{Vars: map[string]string{"LONG": "a_rather_long_name", "N": "7", "PW": "sekret", "QUOTE": "it's"}})
		s := e.NewSession()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "exec" {
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			return constant(execAll(s, d.Input), e.DataDir())
		})
	})
}

var times = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\d{8}-\d{6}\.\d{3}`)

// constant takes out of a text what differs from run to run.
func constant(text, dir string) string {
	return times.ReplaceAllString(strings.ReplaceAll(text, dir, "DIR"), "TIME")
}

// execAll runs the statements of a text and describes what they gave.
func execAll(s *engine.Session, text string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	script, err := s.Parse(text)
	if err != nil {
		return engine.Render(err, text)
	}
	var out strings.Builder
	for i := range script.Statements {
		r, err := s.Exec(ctx, script, i)
		if err == nil {
			err = describe(ctx, &out, r)
		}
		if err != nil {
			return out.String() + engine.Render(err, text)
		}
	}
	return out.String()
}

func describe(ctx context.Context, out *strings.Builder, r *engine.Result) error {
	switch {
	case r.Query != nil:
		defer r.Query.Stop()
		fmt.Fprintln(out, strings.Join(r.Query.Schema.Names(), "|"))
		for {
			b, err := r.Query.Next(ctx)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			for i := range b.N {
				var cells []string
				for _, c := range b.Cols {
					cells = append(cells, string(vec.AppendText(nil, c, i)))
				}
				fmt.Fprintf(out, "%s %s\n", b.Op(i), strings.Join(cells, "|"))
			}
			b.Release()
		}
	case r.Columns != nil:
		fmt.Fprintln(out, strings.Join(r.Columns, "|"))
		for _, row := range r.Rows {
			fmt.Fprintln(out, strings.TrimSuffix(strings.Join(row, "|"), "|"))
		}
	case r.Job != nil:
		fmt.Fprintf(out, "%s %s", r.Tag, r.Job.Name)
		if r.Job.Bounded() {
			if err := r.Job.Wait(); err != nil {
				out.WriteByte('\n')
				return err
			}
			st := r.Job.Status()
			fmt.Fprintf(out, ": %s, %d in, %d out, %d late, %d broken", st.State, st.RowsIn, st.RowsOut, st.Late, st.Broken)
		}
		out.WriteByte('\n')
	case r.Text != "":
		fmt.Fprintln(out, r.Text)
	default:
		fmt.Fprintln(out, r.Tag)
	}
	return nil
}

// open opens an engine that ends with the test.
func open(t *testing.T, o engine.Options) *engine.Engine {
	t.Helper()
	if o.Stdout == nil {
		o.Stdout = io.Discard
	}
	if o.DataDir == "" {
		o.DataDir = t.TempDir()
	}
	e, err := engine.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, e) })
	return e
}

func shut(t *testing.T, e *engine.Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := e.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
}
