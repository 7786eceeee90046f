package sql

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/pgcluster"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// TestReadOnlyTarget: PostgreSQL turns read-only under a running job, as a primary does
// that was failed over. The job waits, says why, and goes on when it can write again.
func TestReadOnlyTarget(t *testing.T) {
	all := newWorld(t)
	for _, mode := range []string{"upsert", "wal", "append"} {
		t.Run(mode, func(t *testing.T) {
			w := all.fresh(t)
			key := ", PRIMARY KEY (i)"
			if mode == "append" {
				key = ""
			}
			w.exec("CREATE TABLE o (i bigint" + key + ")")
			e := w.open()
			j, err := w.start(e, w.source("i BIGINT", "")+w.sink("o", "i BIGINT"+key, ", mode = '"+mode+"'")+"INSERT INTO o SELECT i FROM ev;")
			if err != nil {
				t.Fatal(err)
			}
			publish := func(from, to int) {
				for i := from; i < to; i++ {
					w.publish("ev.a", fmt.Sprintf(`{"i":%d}`, i))
				}
			}
			shown := func() string { return w.rows("SELECT count(*), count(DISTINCT i) FROM o") }
			publish(0, 20)
			w.eventually("the first rows", func() bool { return shown() == "20|20" })
			w.readOnly("on")
			publish(20, 40)
			w.eventually("the job waits", func() bool { return j.Status().State == "waiting" })
			if s := shown(); s != "20|20" {
				t.Errorf("a read-only table has %s", s)
			}
			if s := j.Status().Stall; !strings.Contains(s, "read-only") {
				t.Errorf("the job waits and says %q", s)
			}
			w.readOnly("off")
			publish(40, 60)
			w.eventually("all rows", func() bool { return shown() == "60|60" })
			w.eventually("the job runs", func() bool { return j.Status().State == "running" })
			j.Cancel()
		})
	}
}

// readOnly sets what PostgreSQL lets new transactions do.
func (w *world) readOnly(value string) {
	w.t.Helper()
	w.exec("ALTER SYSTEM SET default_transaction_read_only = "+value, "SELECT pg_reload_conf()")
	w.eventually("the setting "+value, func() bool { return w.rows("SELECT current_setting('default_transaction_read_only')") == value })
}

// TestWideRows sends rows of 1 MiB from a stream through state to tables and files.
func TestWideRows(t *testing.T) {
	w := newWorld(t)
	const n, size = 12, 1 << 20
	for i := range n {
		w.publish("ev.a", fmt.Sprintf(`{"i":%d,"s":"%s"}`, i, strings.Repeat(string(rune('a'+i)), size)))
	}
	w.exec("CREATE TABLE early (i bigint PRIMARY KEY, s text)", "CREATE TABLE wal (i bigint PRIMARY KEY, s text)", "CREATE TABLE bag (i bigint, s text)", "CREATE TABLE top (g bigint PRIMARY KEY, s text)")
	columns := "i BIGINT, s VARCHAR"
	key := columns + ", PRIMARY KEY (i)"
	files := t.TempDir()
	w.mustRun(w.source(columns, ", 'end' = 'now'") + w.sink("early", key, "") + w.sink("wal", key, ", mode = 'wal'") + w.sink("bag", columns, ", mode = 'append'") +
		w.sink("top", "g BIGINT, s VARCHAR, PRIMARY KEY (g)", "") +
		fmt.Sprintf("CREATE TABLE files (%s) WITH (connector = 'file', path = '%s', format = 'json');\n", columns, files) +
		`INSERT INTO early SELECT * FROM ev;
INSERT INTO wal SELECT * FROM ev;
INSERT INTO bag SELECT * FROM ev;
INSERT INTO files SELECT * FROM ev;
INSERT INTO top SELECT MOD(i, 3), MAX(s) FROM ev GROUP BY MOD(i, 3);`)
	want := fmt.Sprintf("%d|%d|%d", n, n, n*size)
	for _, table := range []string{"early", "wal", "bag"} {
		w.equal(table, w.rows("SELECT count(*), count(DISTINCT md5(s)), sum(length(s)) FROM "+table+" WHERE s = repeat(chr(97 + i::int), 1048576)"), want)
	}
	w.equal("top", w.rows("SELECT g, left(s, 1), length(s) FROM top ORDER BY 1"), "0|j|1048576\n1|k|1048576\n2|l|1048576")
	rows, bytesIn := 0, 0
	for _, data := range w.readAll(files) {
		rows += bytes.Count(data, []byte("\n"))
		bytesIn += len(data)
	}
	if rows != n || bytesIn < n*size {
		t.Errorf("the files have %d rows and %d bytes", rows, bytesIn)
	}
}

// readAll reads all files below a directory.
func (w *world) readAll(dir string) map[string][]byte {
	w.t.Helper()
	out := make(map[string][]byte)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// TestSecretsStayInside gives passwords in each of the ways there are, and looks for them
// in all that a job shows and leaves.
func TestSecretsStayInside(t *testing.T) {
	w := newWorld(t)
	secrets := map[string]string{"vars": "hunter2-wrong", "env": "hunter2-env-6dbd", "pgpassword": "hunter2-pgpassword-91c7"}
	// Of the process: other tests' servers ask nobody for a password.
	for name, value := range map[string]string{"STREAMSQL_TEST_SECRET": secrets["env"], "PGPASSWORD": secrets["pgpassword"]} {
		if err := os.Setenv(name, value); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Unsetenv(name) })
	}
	text := strings.Replace(w.source("k VARCHAR, n BIGINT", ""), "nats://", "nats://someone:${PASSWORD}@", 1)
	url := strings.Replace(w.pg.DSN, pgcluster.User+"@", "", 1)
	option := map[string]string{"vars": ", password = '${PASSWORD}'", "env": ", password = '${STREAMSQL_TEST_SECRET}'", "pgpassword": ""}
	for role, secret := range secrets {
		w.exec(fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'", role, secret), fmt.Sprintf("CREATE TABLE t_%s (k text PRIMARY KEY, n bigint)", role),
			"GRANT ALL ON SCHEMA public TO "+role, fmt.Sprintf("GRANT ALL ON t_%s TO %s", role, role))
		w.wantPassword(role)
		text += fmt.Sprintf("CREATE TABLE t_%s (k VARCHAR, n BIGINT, PRIMARY KEY (k)) WITH (connector = 'postgres', url = '%s', user = '%s'%s, 'fence.schema' = 's_%s');\n",
			role, url, role, option[role], role)
		w.exec(fmt.Sprintf("CREATE SCHEMA s_%s AUTHORIZATION %s", role, role))
	}
	decl := text
	for role := range secrets {
		text += fmt.Sprintf("INSERT INTO t_%s SELECT k, SUM(n) FROM ev GROUP BY k;\n", role)
	}
	var shown strings.Builder
	e := w.open()
	j, err := w.start(e, text)
	if err != nil {
		t.Fatal(err)
	}
	w.publish("ev.a", `{"k":"x","n":1}`, `{"k":"y","n":2}`)
	for role := range secrets {
		w.eventually("rows of "+role, func() bool { return w.rows("SELECT count(*) FROM t_"+role) == "2" })
	}
	fmt.Fprintf(&shown, "%+v\n", j.Status())
	if err := j.Stop(context.Background(), filepath.Join(w.dir, "sp")); err != nil {
		t.Fatal(err)
	}
	// At the prompt.
	s := e.NewSession()
	if _, err := describe(s, decl); err != nil {
		t.Fatal(err)
	}
	statements := []string{"SHOW TABLES", "SHOW JOBS", "SHOW CREATE TABLE ev", "DESCRIBE ev"}
	for role := range secrets {
		statements = append(statements, "SHOW CREATE TABLE t_"+role, "DESCRIBE t_"+role,
			fmt.Sprintf("EXPLAIN INSERT INTO t_%s SELECT k, SUM(n) FROM ev GROUP BY k", role),
			fmt.Sprintf("EXPLAIN (FORMAT JSON) INSERT INTO t_%s SELECT k, SUM(n) FROM ev GROUP BY k", role))
	}
	for _, text := range statements {
		res, err := describe(s, text+";")
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		fmt.Fprintf(&shown, "%s\n%s\n%v\n%v\n", text, res.Text, res.Columns, res.Rows)
	}
	names, err := e.Store().List(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		data, err := e.Store().Get(context.Background(), n)
		if err != nil {
			t.Fatal(err)
		}
		shown.Write(data)
	}
	if !strings.Contains(shown.String(), "${PASSWORD}") {
		t.Error("nothing shows the unresolved name")
	}
	// The logins are refused from now on.
	for role := range secrets {
		w.exec(fmt.Sprintf("ALTER ROLE %s PASSWORD 'another'", role))
	}
	for role := range secrets {
		_, err := e.Run(context.Background(), mustLoad(t, e, decl+fmt.Sprintf("INSERT INTO t_%s SELECT k, n FROM ev;", role)), engine.Start{Fresh: true, TakeOver: true})
		if sqlerr.CodeOf(err) != sqlerr.CodeAuth {
			t.Errorf("%s: a wrong password gives %v", role, err)
		}
		fmt.Fprintf(&shown, "%+v\n%s\n", err, sqlerr.Render(err, decl))
	}
	shown.WriteString(w.log.String())
	all := w.readAll(w.dir)
	all["shown"] = []byte(shown.String())
	if len(all) < 10 {
		t.Errorf("only %d files to look into", len(all))
	}
	for name, data := range all {
		if i := bytes.Index(data, []byte("hunter2")); i >= 0 {
			t.Errorf("%s shows a password: %q", name, data[max(0, i-100):min(len(data), i+50)])
		}
	}
}

func mustLoad(t *testing.T, e *engine.Engine, text string) *engine.File {
	t.Helper()
	f, err := e.Load("job", text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
