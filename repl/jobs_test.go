package repl

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/engine"
)

const failing = `CREATE TABLE g (id BIGINT) WITH (connector = 'generator', kind = 'columns', 'fields.id.kind' = 'sequence');
CREATE TABLE b (id BIGINT) WITH (connector = 'blackhole');
INSERT INTO b
  SELECT 10 / (id - 5) FROM g;
`

// untilEnd waits for the end of the job of a name.
func untilEnd(t *testing.T, e *engine.Engine, name string) {
	t.Helper()
	j, ok := e.Job(name)
	if !ok {
		t.Fatalf("there is no job %q", name)
	}
	select {
	case <-j.Done():
	case <-time.After(20 * time.Second):
		t.Fatalf("job %q does not end", name)
	}
}

// TestFailedJobIsTold: the failure of a job in the background is printed after the next
// statement or at the end of the script, with the place in the script, and ends the
// script when errors do.
func TestFailedJobIsTold(t *testing.T) {
	const told = "ERROR: job \"job-1\" failed: division by zero\nLINE 4:   SELECT 10 / (id - 5) FROM g;\n                    ^\n"
	for _, c := range []struct {
		name, rest string
		stop       bool
		out        string
	}{
		{"at the end", "", false, ""},
		{"after a statement", "SELECT 1 AS a;\n", false, "a\n1\n"},
		{"stop at the end", "", true, ""},
		{"stop after a statement", "SELECT 1 AS a;\nSELECT 2 AS a;\n", true, "a\n1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := open(t)
			in, feed := io.Pipe()
			var out, errs bytes.Buffer
			done := make(chan error, 1)
			go func() {
				done <- Script(context.Background(), Options{Engine: e, Out: &out, Err: &errs, Format: "csv", StopOnError: c.stop}, in)
				in.Close()
			}()
			if _, err := io.WriteString(feed, failing+"\n"); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(20 * time.Second); len(e.Jobs()) == 0 && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
			untilEnd(t, e, "job-1")
			_, _ = io.WriteString(feed, c.rest) // fails when the script has ended
			feed.Close()
			err := <-done
			var stopped *StoppedError
			if errors.As(err, &stopped) != c.stop || c.stop && !stopped.Ran {
				t.Errorf("the script ended with %v", err)
			}
			if n := strings.Count(errs.String(), told); n != 1 {
				t.Errorf("the failure was told %d times:\n%s", n, errs.String())
			}
			if out.String() != c.out {
				t.Errorf("output %q, want %q", out.String(), c.out)
			}
		})
	}
}

// TestPromptTellsWhatEnded: a prompt says of each job of the background that it has
// finished or failed, once; SHOW JOBS says why.
func TestPromptTellsWhatEnded(t *testing.T) {
	e := open(t)
	var out, errs bytes.Buffer
	sh := newShell(Options{Engine: e, Out: &out, Err: &errs, Format: "csv"}, true)
	ctx := context.Background()
	if err := sh.run(ctx, failing+"INSERT INTO b VALUES (1);", 0); err != nil {
		t.Fatal(err)
	}
	untilEnd(t, e, "job-1")
	untilEnd(t, e, "job-2")
	for range 2 {
		if err := sh.ended(); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(errs.String(), `ERROR: job "job-1" failed: division by zero`); n != 1 {
		t.Errorf("the failure was told %d times:\n%s", n, errs.String())
	}
	if n := strings.Count(out.String(), "job \"job-2\" has finished, 1 row out\n"); n != 1 {
		t.Errorf("the end was told %d times:\n%s", n, out.String())
	}
	out.Reset()
	if err := sh.run(ctx, "SHOW JOBS", 0); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), ",division by zero\n") {
		t.Errorf("SHOW JOBS does not say why:\n%s", out.String())
	}
}
