package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// TestRestoreOfAChangedJob: a savepoint is restored with the text it was made from, and
// with ALLOW NON RESTORED STATE with the text that the job has now.
func TestRestoreOfAChangedJob(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	in, v1, v2 := filepath.Join(dir, "in.json"), filepath.Join(dir, "v1.sql"), filepath.Join(dir, "v2.sql")
	declared := "CREATE TABLE i (k VARCHAR, v BIGINT) WITH (connector = 'file', path = '" + in + "', format = 'json', follow = 'true');\n" +
		"CREATE TABLE o (k VARCHAR, n BIGINT, m BIGINT) WITH (connector = 'blackhole');\n"
	was, now := declared+"INSERT INTO o SELECT k, COUNT(*), MIN(v) FROM i GROUP BY k", declared+"INSERT INTO o SELECT k, COUNT(*), MAX(v) FROM i GROUP BY k"
	write(t, v1, was)
	write(t, v2, now)
	write(t, in, `{"k":"a","v":1}`)
	e := open(t, engine.Options{DataDir: filepath.Join(dir, "d"), Settings: map[string]string{"checkpoint.interval": "20ms"}})
	run := func(text, savepoint string, how engine.Start) {
		t.Helper()
		j, err := e.Run(ctx, load(t, e, "j", text), how)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "rows", func() bool { return j.Status().RowsIn > 0 })
		if err := j.Stop(ctx, savepoint); err != nil {
			t.Fatal(err)
		}
	}
	run(was, e.SavepointPath("p"), engine.Start{})
	const report = `source "i": reuse
group "o/group": partial
  COUNT(*): reuse
  MAX(v): begins empty
sink "o": reuse
  reuse, but the past was computed as k, COUNT(*), MIN(v) FROM (i GROUP BY k)
`
	s := e.NewSession()
	if got := execAll(s, "EXPLAIN UPGRADE '"+v2+"' FROM SAVEPOINT 'p'"); strings.TrimSpace(got) != strings.TrimSpace(report) {
		t.Errorf("the report is\n%s", got)
	}
	if got := execAll(s, "EXPLAIN UPGRADE '"+v1+"' FROM SAVEPOINT 'p'"); !strings.Contains(got, "everything goes on as it is") {
		t.Errorf("of the same file\n%s", got)
	}
	if _, err := e.Run(ctx, load(t, e, "j", now), engine.Start{}); sqlerr.CodeOf(err) != sqlerr.CodeStateMismatch {
		t.Errorf("without consent: %v", err)
	}
	run(now, "", engine.Start{AllowNonRestored: true})
	for _, c := range []struct{ stmt, aggregate, report string }{
		{"RESTORE JOB j FROM 'p'", "MIN(v)", ""},
		{"RESTORE JOB j FROM 'p' ALLOW NON RESTORED STATE", "MAX(v)", report},
	} {
		// What the job is now is what its last checkpoint says, whoever made it.
		e = reopen(t, e, dir)
		s = e.NewSession()
		script, err := s.Parse(c.stmt)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Exec(ctx, script, 0)
		if err != nil || r.Text != c.report || !strings.Contains(r.Job.SQL, c.aggregate) {
			t.Fatalf("%s: %v\n%+v", c.stmt, err, r)
		}
		eventually(t, "a checkpoint", func() bool { write(t, in, `{"k":"a","v":2}`); return r.Job.Status().Checkpoints > 0 })
		r.Job.Cancel()
		// The job's text is the newer one again.
		if c.report == "" {
			run(now, "", engine.Start{Fresh: true, TakeOver: true})
		}
	}
}

// reopen opens the data directory again in a new engine.
func reopen(t *testing.T, e *engine.Engine, dir string) *engine.Engine {
	t.Helper()
	shut(t, e)
	return open(t, engine.Options{DataDir: filepath.Join(dir, "d"), Settings: map[string]string{"checkpoint.interval": "20ms"}})
}

// TestOlderCheckpointOfAnotherQuery: when the checkpoints of a changed query are damaged,
// the one before them is of the query before: it is gone on with by consent alone.
func TestOlderCheckpointOfAnotherQuery(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	in := filepath.Join(dir, "in.json")
	declared := "CREATE TABLE i (k VARCHAR, v BIGINT) WITH (connector = 'file', path = '" + in + "', format = 'json', follow = 'true');\n" +
		"CREATE TABLE o (k VARCHAR, n BIGINT, m BIGINT) WITH (connector = 'blackhole');\n"
	now := declared + "INSERT INTO o SELECT k, COUNT(*), MAX(v) FROM i GROUP BY k"
	write(t, in, `{"k":"a","v":1}`)
	e := open(t, engine.Options{DataDir: filepath.Join(dir, "d"), Settings: map[string]string{"checkpoint.interval": "20ms"}})
	run := func(text string, rows int64, how engine.Start) {
		t.Helper()
		j, err := e.Run(ctx, load(t, e, "j", text), how)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "rows", func() bool { return j.Status().RowsIn == rows })
		if err := j.Stop(ctx, ""); err != nil {
			t.Fatal(err)
		}
	}
	run(declared+"INSERT INTO o SELECT k, COUNT(*), MIN(v) FROM i GROUP BY k", 1, engine.Start{})
	write(t, in, `{"k":"a","v":2}`)
	run(now, 2, engine.Start{AllowNonRestored: true})
	list, _, err := e.Checkpoints(ctx, "j")
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for _, m := range list {
		for _, b := range checkpoint.Blobs(m) {
			if m.SQL != now {
				continue
			}
			damaged++
			if err := os.WriteFile(filepath.Join(dir, "d", "checkpoints", filepath.FromSlash(b.Name)), []byte("nonsense"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if damaged == 0 || len(list) < 2 {
		t.Fatalf("%d checkpoints, %d objects damaged", len(list), damaged)
	}
	if _, err := e.Run(ctx, load(t, e, "j", now), engine.Start{}); sqlerr.CodeOf(err) != sqlerr.CodeStateMismatch || !strings.Contains(sqlerr.As(err).Detail, "MAX(v): begins empty") {
		t.Fatalf("from the checkpoint of the query before: %v", err)
	}
	// It has read one row; the second comes again.
	run(now, 2, engine.Start{AllowNonRestored: true})
}
