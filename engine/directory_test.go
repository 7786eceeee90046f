package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// TestDirectoryOfAnotherJob: a directory is left to the next job by one that ended well
// and by one whose start was refused, and by no other.
func TestDirectoryOfAnotherJob(t *testing.T) {
	ctx := context.Background()
	e, err := engine.Open(ctx, engine.Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, e)
	in, out := filepath.Join(t.TempDir(), "in.json"), filepath.Join(t.TempDir(), "out")
	job := func(from, more string) string {
		return fmt.Sprintf(`CREATE TABLE a (id BIGINT) WITH (connector = 'file', format = 'json', path = '%s'%s);
CREATE TABLE b (id BIGINT) WITH (connector = 'file', format = 'csv', path = '%s');
INSERT INTO b SELECT id FROM a`, from, more, out)
	}
	write(t, in, `{"id":1}`)
	if _, err := e.Run(ctx, load(t, e, "refused", job(in+".missing", "")), engine.Start{}); sqlerr.CodeOf(err) != sqlerr.CodeSchema {
		t.Fatalf("a source that is not there: %v", err)
	}
	for _, name := range []string{"one", "two"} {
		j, err := e.Run(ctx, load(t, e, name, job(in, "")), engine.Start{})
		if err != nil {
			t.Fatal(err)
		}
		if err := ended(t, j); err != nil {
			t.Fatal(err)
		}
	}
	running, err := e.Run(ctx, load(t, e, "running", job(in, ", follow = 'true'")), engine.Start{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Run(ctx, load(t, e, "late", job(in, "")), engine.Start{}); sqlerr.CodeOf(err) != sqlerr.CodeFenced {
		t.Fatalf("the directory of a running job: %v", err)
	}
	eventually(t, "rows", func() bool { return running.Status().RowsIn == 1 })
	running.Cancel()
	if _, err := e.Run(ctx, load(t, e, "late", job(in, "")), engine.Start{}); sqlerr.CodeOf(err) != sqlerr.CodeFenced {
		t.Fatalf("the directory of a job that was cancelled: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(out, "*.csv"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, strings.Fields(string(text))...)
	}
	if !slices.Contains([]string{"1 1", "1 1 1"}, strings.Join(rows, " ")) {
		t.Fatalf("rows %q", rows)
	}
}
