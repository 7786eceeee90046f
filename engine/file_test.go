package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

const declared = `CREATE TABLE g (id BIGINT, v INT) WITH (connector = 'generator', kind = 'columns', rows = '3');
CREATE TABLE b (id BIGINT) WITH (connector = 'blackhole');
`

// TestLoad is what a job's file may hold, and in what order.
func TestLoad(t *testing.T) {
	e := open(t, engine.Options{Vars: map[string]string{"LONG": "a_rather_long_name"}})
	for _, c := range []struct {
		text string
		name string // of the job
		want string // part of the rendered error, "" for none
	}{
		{declared + "INSERT INTO b SELECT id FROM g", "file", ""},
		{declared + "SET 'job.name' = 'mine'; SET 'parallelism' = 2; INSERT INTO b SELECT id FROM g; INSERT INTO b SELECT v FROM g;", "mine", ""},
		{declared + "BEGIN STATEMENT SET; INSERT INTO b SELECT id FROM g; END;", "file", ""},
		{declared + "SELECT 1; SELECT 2", "file", ""},
		{"INSERT INTO ${LONG} VALUES (1)", "file", ""}, // names are looked up when it runs
		{declared, "", "there is nothing to run"},
		{"", "", "there is nothing to run"},
		{declared + "INSERT INTO b SELECT id FROM g;\nSET 'parallelism' = 2", "", "SET after the first output of a job\nLINE 4: SET"},
		{"/* ${LONG} */ SET 'x' = '${LONG}'; SELECT 1", "", "there is no setting \"x\"\nLINE 1: /* ${LONG} */ SET 'x' = '${LONG}'; SELECT 1\n                          ^"},
		{"SELECT '${LONG}'; SHOW TABLES", "", "does not belong in a job's file\nLINE 1: SELECT '${LONG}'; SHOW TABLES\n                          ^"},
		{"STOP JOB x", "", "does not belong"},
		{"EXPLAIN SELECT 1", "", "does not belong"},
		{"RESET 'parallelism'", "", "does not belong"},
		{"DROP TABLE b", "", `there is no table "b"`},
		{"SELECT 1 +", "", "syntax error"},
	} {
		f, err := e.Load("file", c.text)
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(sqlerr.Render(err, c.text), c.want) {
				t.Errorf("%s\ngives %v, want %s", c.text, rendered(err, c.text), c.want)
			}
		case err != nil:
			t.Errorf("%s\n%s", c.text, rendered(err, c.text))
		case f.Name != c.name:
			t.Errorf("%s\nis job %q, want %q", c.text, f.Name, c.name)
		}
	}
}

func rendered(err error, text string) string {
	if err == nil {
		return "no error"
	}
	return sqlerr.Render(err, text)
}

// TestRunRules is what only the start of a file finds.
func TestRunRules(t *testing.T) {
	e := open(t, engine.Options{})
	for _, c := range []struct{ text, want string }{
		{declared + "INSERT INTO b SELECT id FROM g; SELECT 1; SELECT 2", "a second SELECT beside other outputs is not supported yet\nLINE 3: INSERT INTO b SELECT id FROM g; SELECT 1; SELECT 2\n                                                  ^"},
		{declared + "INSERT INTO c SELECT id FROM g", `relation "c" does not exist`},
	} {
		f := load(t, e, "rules", c.text)
		if _, err := e.Run(context.Background(), f, engine.Start{}); err == nil || !strings.Contains(rendered(err, c.text), c.want) {
			t.Errorf("%s\ngives %s, want %s", c.text, rendered(err, c.text), c.want)
		}
		if _, ok := e.Job("rules"); ok {
			t.Errorf("%s\nis a job all the same", c.text)
		}
	}
	if f := load(t, e, "q", "SELECT 1; SELECT 2"); len(f.Queries()) != 2 {
		t.Errorf("a file of two SELECTs has %d", len(f.Queries()))
	}
	if f := load(t, e, "q", declared+"INSERT INTO b SELECT 1; SELECT 2"); f.Queries() != nil {
		t.Errorf("a SELECT beside an INSERT runs by itself")
	}
}

func load(t *testing.T, e *engine.Engine, name, text string) *engine.File {
	t.Helper()
	f, err := e.Load(name, text)
	if err != nil {
		t.Fatal(rendered(err, text))
	}
	return f
}

// run runs a file to its end.
func run(t *testing.T, e *engine.Engine, name, text string, how engine.Start) (*engine.Job, error) {
	t.Helper()
	j, err := e.Run(context.Background(), load(t, e, name, text), how)
	if err != nil {
		return nil, err
	}
	return j, ended(t, j)
}

// ended waits for the end of a job.
func ended(t *testing.T, j *engine.Job) error {
	t.Helper()
	select {
	case <-j.Done():
	case <-time.After(60 * time.Second):
		t.Fatalf("the job does not end: %+v", j.Status())
	}
	return j.Wait()
}

// TestFinished is what happens to a job whose input was read to its end.
func TestFinished(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.json")
	write(t, in, `{"id":1}`, `{"id":2}`)
	text := `CREATE TABLE i (id BIGINT) WITH (connector = 'file', path = '` + in + `', format = 'json');
CREATE TABLE o (n BIGINT, id BIGINT) WITH (connector = 'file', path = '` + filepath.Join(dir, "out") + `', format = 'csv');
INSERT INTO o SELECT 1, id FROM i`
	e := open(t, engine.Options{})
	if _, err := run(t, e, "j", text, engine.Start{}); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, e, "j", text, engine.Start{}); !errors.Is(err, engine.ErrFinished) {
		t.Fatalf("a second run gives %v", err)
	}
	// Going on reads what has come since.
	write(t, in, `{"id":3}`)
	j, err := run(t, e, "j", text, engine.Start{Continue: true})
	if err != nil || j.Status().RowsIn != 3 {
		t.Fatalf("going on: %v, %d rows in of both runs", err, j.Status().RowsIn)
	}
	if got := lines(t, filepath.Join(dir, "out")); got != "1,1 1,2 1,3" {
		t.Fatalf("the files hold %q", got)
	}
	// Another text over the same state is refused, and not over none.
	other := strings.Replace(text, "SELECT 1", "SELECT 2", 1)
	if _, err := run(t, e, "j", other, engine.Start{}); sqlerr.CodeOf(err) != sqlerr.CodeStateMismatch {
		t.Fatalf("a changed text gives %v", err)
	}
	if _, err := run(t, e, "j", other, engine.Start{Fresh: true, TakeOver: true}); err != nil {
		t.Fatal(err)
	}
	if got := lines(t, filepath.Join(dir, "out")); got != "1,1 1,2 1,3 2,1 2,2 2,3" {
		t.Fatalf("the files hold %q", got)
	}
}

// TestStoredPlan shows that unchanged text goes on with the plan that its state was made
// by, whatever is set now.
func TestStoredPlan(t *testing.T) {
	dir := t.TempDir()
	text := `CREATE TABLE g (id BIGINT) WITH (connector = 'generator', kind = 'columns', rate = '100', 'fields.id.kind' = 'sequence');
CREATE TABLE b (z VARCHAR) WITH (connector = 'blackhole');
INSERT INTO b SELECT CAST(TO_TIMESTAMP(id) AS VARCHAR) FROM g`
	plans := make([]string, 2)
	for i, rule := range []string{"skip", "fail"} {
		e := open(t, engine.Options{DataDir: dir, Settings: map[string]string{"on.error": rule}})
		j, err := e.Run(context.Background(), load(t, e, "j", text), engine.Start{})
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "rows", func() bool { return j.Status().RowsIn > 0 })
		plans[i] = j.Plan.Nodes[0].Source.OnError
		shut(t, e)
	}
	if plans[0] != "skip" || plans[1] != "skip" {
		t.Errorf("the plans do with broken rows %q", plans)
	}
}

// TestPromptJobKeepsDeclarations: the text of a job from a prompt has its tables in it,
// so that another table of the same name is another job.
func TestPromptJobKeepsDeclarations(t *testing.T) {
	e := open(t, engine.Options{})
	insert := "SET 'job.name' = 'j'; INSERT INTO b SELECT \"Odd\" FROM w"
	decl := func(id string) string {
		return `CREATE TABLE "table g" (id BIGINT) WITH (connector = 'generator', kind = 'columns', rows = '3');
CREATE TABLE unrelated (id BIGINT) WITH (connector = 'blackhole');
CREATE VIEW v AS SELECT id FROM "table g"; CREATE VIEW w AS SELECT ` + id + ` AS "Odd" FROM v;
CREATE TABLE b (id BIGINT) WITH (connector = 'blackhole');`
	}
	if got := execAll(e.NewSession(), decl("id")+insert); !strings.HasSuffix(got, "INSERT j: finished, 3 in, 3 out, 0 late, 0 broken\n") {
		t.Fatal(got)
	}
	j, _ := e.Job("j")
	want := `CREATE TABLE b (id BIGINT) WITH (connector = 'blackhole');
CREATE TABLE "table g" (id BIGINT) WITH (connector = 'generator', kind = 'columns', rows = '3');
CREATE VIEW v AS SELECT id FROM "table g";
CREATE VIEW w AS SELECT id AS "Odd" FROM v;
INSERT INTO b SELECT "Odd" FROM w`
	if j.SQL != want {
		t.Errorf("the job's text is\n%s", j.SQL)
	}
	if got := execAll(e.NewSession(), "-- later\n"+decl("id")+insert); !strings.Contains(got, "the job has finished") {
		t.Error(got)
	}
	if got := execAll(e.NewSession(), decl("id + 1")+insert); !strings.Contains(got, `job "j" does not compute what it did at its last checkpoint`) {
		t.Error(got)
	}
}

// write appends lines to a file.
func write(t *testing.T, path string, lines ...string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, l := range lines {
		if _, err := f.WriteString(l + "\n"); err != nil {
			t.Fatal(err)
		}
	}
}

// lines gives the lines of the visible files of a directory, sorted.
func lines(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, x := range entries {
		if strings.HasPrefix(x.Name(), ".") || x.IsDir() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, x.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range strings.Split(string(b), "\n") {
			if strings.ContainsAny(l, "0123456789") {
				out = append(out, l)
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}
