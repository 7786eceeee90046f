package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/streamsql/streamsql/internal/pgtest"
)

// eventually waits until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s", what)
		}
	}
}

// started is a run of the program that goes on.
type started struct {
	t         *testing.T
	cmd       *exec.Cmd
	out, errs *output
	done      chan error
}

func (p *place) start(args ...string) *started {
	p.t.Helper()
	s := &started{t: p.t, done: make(chan error, 1)}
	s.cmd, s.out, s.errs = p.command("", args...)
	if err := s.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() { s.done <- s.cmd.Wait() }()
	p.t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	return s
}

// stop sends a signal and waits for the end.
func (s *started) stop(sig os.Signal) result {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
	return s.wait()
}

func (s *started) wait() result {
	s.t.Helper()
	select {
	case err := <-s.done:
		return result{exitCode(s.t, err), s.out.String(), s.errs.String()}
	case <-time.After(60 * time.Second):
		_ = s.cmd.Process.Signal(syscall.SIGQUIT)
		<-s.done
		s.t.Fatalf("the program does not end\n%s", s.errs)
		return result{}
	}
}

const counting = `CREATE TABLE i (k VARCHAR, v BIGINT) WITH (connector = 'file', path = 'in.json', format = 'json', follow = 'true');
CREATE TABLE tot (k VARCHAR PRIMARY KEY, n BIGINT, s NUMERIC) WITH (connector = 'postgres', url = '${DSN}', table = 'tot', mode = '${MODE}', 'auto.create' = 'true');
INSERT INTO tot SELECT k, COUNT(*), SUM(v) FROM i GROUP BY k;`

// TestStopAndGoOn: SIGINT and SIGTERM end a job, and the same command goes on: nothing
// is lost or doubled in PostgreSQL.
func TestStopAndGoOn(t *testing.T) {
	pg := pgtest.Start(t)
	db := pg.Open(t)
	for _, mode := range []string{"upsert", "wal"} {
		p := newPlace(t)
		p.write("job.sql", counting)
		p.write("in.json")
		if _, err := db.Exec("DROP TABLE IF EXISTS tot"); err != nil {
			t.Fatal(err)
		}
		rows, sum := 0, 0
		feed := func() {
			var text []string
			for range 50 {
				text = append(text, fmt.Sprintf(`{"k":"%c","v":%d}`, 'a'+rows%3, rows))
				sum += rows
				rows++
			}
			p.append("in.json", text...)
		}
		shown := func() bool {
			got, _ := pgtest.Query(db, "SELECT sum(n), sum(s) FROM tot")
			return reflect.DeepEqual(got, []string{fmt.Sprintf("%d|%d", rows, sum)})
		}
		for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, os.Interrupt} {
			s := p.start("run", "job.sql", "--data-dir", "d", "--var", "DSN="+pg.DSN, "--var", "MODE="+mode, "--set", "checkpoint.interval=20ms")
			feed()
			eventually(t, "result of "+mode, shown)
			feed() // of these some are read before the signal
			if got := s.stop(sig); got.code != 0 || got.out != "" || !strings.Contains(got.err, "stopping after a last checkpoint") {
				t.Fatalf("%s %v: %+v", mode, sig, got)
			}
		}
		s := p.start("run", "job.sql", "--data-dir", "d", "--var", "DSN="+pg.DSN, "--var", "MODE="+mode)
		eventually(t, "last result of "+mode, shown)
		s.stop(os.Interrupt)
		if !shown() {
			t.Errorf("%s: the table has changed after all", mode)
		}
	}
}

// TestLastCheckpoint: what was printed before SIGINT is not printed again by the next
// run, though no other checkpoint was cut.
func TestLastCheckpoint(t *testing.T) {
	p := newPlace(t)
	p.write("job.sql", "CREATE TABLE i (v BIGINT) WITH (connector = 'file', path = 'in.json', format = 'json', follow = 'true');",
		"CREATE TABLE c (v BIGINT) WITH (connector = 'console', format = 'json');", "INSERT INTO c SELECT v FROM i;")
	p.write("in.json", `{"v":1}`, `{"v":2}`)
	for _, want := range []string{"{\"op\":\"+I\",\"v\":1}\n{\"op\":\"+I\",\"v\":2}\n", "{\"op\":\"+I\",\"v\":3}\n"} {
		s := p.start("run", "job.sql", "--data-dir", "d", "--set", "checkpoint.interval=1h")
		eventually(t, "rows", func() bool { return strings.Count(s.out.String(), "\n") == strings.Count(want, "\n") })
		if got := s.stop(os.Interrupt); got.code != 0 || got.out != want {
			t.Errorf("%+v, want %q", got, want)
		}
		p.append("in.json", `{"v":3}`)
	}
}

// TestQueryInterrupted: SIGINT is the way to end a SELECT that has no end.
func TestQueryInterrupted(t *testing.T) {
	p := newPlace(t)
	p.write("q.sql", "CREATE TABLE g (id BIGINT) WITH (connector = 'generator', kind = 'columns', rate = '100', 'fields.id.kind' = 'sequence'); SELECT id FROM g")
	for _, args := range []string{"run q.sql", "-f q.sql --format csv"} {
		s := p.start(strings.Fields(args)...)
		eventually(t, "rows", func() bool { return strings.HasPrefix(s.out.String(), "id\n0\n") })
		if got := s.stop(os.Interrupt); got.code != 0 || strings.Contains(got.err, "ERROR") {
			t.Errorf("streamsql %s: %+v", args, got)
		}
	}
	p.write("two.sql", "CREATE TABLE g (id BIGINT) WITH (connector = 'generator', kind = 'columns', rate = '100'); SELECT 1; SELECT id FROM g; SELECT 2")
	if got := p.run("", "run", "two.sql"); got.code != 2 || got.out != "?column?\n1\n" || !strings.Contains(got.err, "this SELECT never ends") || !strings.Contains(got.err, "LINE 1: ") {
		t.Errorf("%+v", got)
	}
}

func ran(p *place, args ...string) string { return p.run("", args...).out }

// TestFinishedJob: what a second run of a job does whose input has ended.
func TestFinishedJob(t *testing.T) {
	p := newPlace(t)
	p.write("job.sql", bounded)
	p.write("print.sql", declared, "CREATE TABLE c (id BIGINT) WITH (connector = 'console', format = 'json');", "INSERT INTO c SELECT id FROM g;")
	for _, c := range []struct {
		args     string
		code     int
		out, err string
	}{
		{"run job.sql --data-dir d", 0, "", "streamsql: job \"job\" finished: 3 rows in"},
		{"run job.sql --data-dir d", 0, "", "streamsql: job \"job\" has finished; --fresh runs it again, --continue goes on from its positions\n"},
		{"run job.sql --data-dir d --continue", 0, "", "streamsql: job \"job\" finished: "},
		// It has ended well and left its directory to the next.
		{"run job.sql --data-dir d --fresh", 0, "", "streamsql: job \"job\" finished: 3 rows in"},
		// What is printed is gone: it is printed again.
		{"run print.sql --data-dir d", 0, "{\"op\":\"+I\",\"id\":0}\n{\"op\":\"+I\",\"id\":1}\n{\"op\":\"+I\",\"id\":2}\n", "streamsql: job \"print\" finished: 3 rows in, 3 rows out"},
		{"run print.sql --data-dir d", 0, "{\"op\":\"+I\",\"id\":0}\n{\"op\":\"+I\",\"id\":1}\n{\"op\":\"+I\",\"id\":2}\n", "streamsql: job \"print\" finished: 3 rows in, 3 rows out"},
	} {
		if got := p.run("", strings.Fields(c.args)...); got.code != c.code || got.out != c.out || !strings.Contains(got.err, c.err) || c.err == "" && got.err != "" {
			t.Errorf("streamsql %s: %+v, want %+v", c.args, got, c)
		}
	}
}

// TestSeveralFiles run as jobs of one process; one that fails leaves the others alone.
func TestSeveralFiles(t *testing.T) {
	p := newPlace(t)
	job := func(name, expr string) string {
		return declared + "\nCREATE TABLE o (id BIGINT) WITH (connector = 'file', path = '" + name + "', format = 'csv');\nINSERT INTO o SELECT " + expr + " FROM g;"
	}
	p.write("a.sql", job("a.out", "id"))
	p.write("b.sql", job("b.out", "1 / (id - 1)"))
	p.write("c.sql", "SET 'job.name' = 'a';\n"+job("c.out", "id"))
	got := p.run("", "run", "a.sql", "b.sql", "--data-dir", "d")
	if got.code != 1 || !strings.Contains(got.err, "division by zero\nLINE 3: INSERT INTO o SELECT 1 / (id - 1) FROM g;") {
		t.Errorf("%+v", got)
	}
	if list := ran(p, "checkpoint", "list", "a", "--data-dir", "d"); !strings.Contains(list, "finished") {
		t.Errorf("job a did not finish\n%s", list)
	}
	if got := p.run("", "run", "a.sql", "c.sql", "--data-dir", "d"); got.code != 2 || !strings.Contains(got.err, `a.sql and c.sql are both job "a"`) {
		t.Errorf("%+v", got)
	}
	if got := p.run("", "run", "a.sql", "b.sql", "--from-savepoint", "x"); got.code != 2 || !strings.Contains(got.err, "--from-savepoint is for one file") {
		t.Errorf("%+v", got)
	}
}

// TestSavepointCommands goes through the life of a savepoint, made while the job runs.
func TestSavepointCommands(t *testing.T) {
	p := newPlace(t)
	p.write("job.sql", `CREATE TABLE i (k VARCHAR, v BIGINT) WITH (connector = 'file', path = 'in.json', format = 'json', follow = 'true');
CREATE TABLE o (k VARCHAR, n BIGINT) WITH (connector = 'console', format = 'csv');
INSERT INTO o SELECT k, COUNT(*) FROM i GROUP BY k;`)
	p.write("in.json", `{"k":"a","v":1}`, `{"k":"a","v":2}`)
	s := p.start("run", "job.sql", "--data-dir", "d", "--parallelism", "1", "--set", "checkpoint.interval=20ms")
	eventually(t, "checkpoint", func() bool { return strings.Contains(ran(p, "checkpoint", "list", "--data-dir", "d"), "running") })
	steps := []struct {
		args string
		code int
		out  string // a part
	}{
		{"savepoint create job mine", 0, "mine (epoch "},
		{"savepoint create job mine", 0, "mine (epoch "}, // the same again is the same
		{"savepoint create job " + filepath.Join(p.dir, "elsewhere"), 0, "elsewhere (epoch "},
		{"savepoint list", 0, "d/savepoints/mine"},
		{"savepoint inspect mine", 0, "made by   streamsql 0.1.0"},
		{"savepoint verify mine", 0, ": ok, "},
		{"checkpoint list job", 0, "running"},
		{"checkpoint inspect job", 0, "in.json"},
		{"checkpoint verify job", 0, ": ok, "},
	}
	for _, c := range steps {
		got := p.run("", append(strings.Fields(c.args), "--data-dir", "d")...)
		if got.code != c.code || !strings.Contains(got.out, c.out) {
			t.Errorf("streamsql %s: %+v, want %+v", c.args, got, c)
		}
	}
	if got := s.stop(os.Interrupt); got.code != 0 || !strings.HasPrefix(got.out, "op,k,n\n+I,a,") {
		t.Errorf("%+v", got)
	}
	// From the savepoint the count goes on, in another data directory, wherever the
	// savepoint is.
	if err := os.Rename(filepath.Join(p.dir, "elsewhere"), filepath.Join(p.dir, "moved")); err != nil {
		t.Fatal(err)
	}
	p.write("in.json", `{"k":"a","v":1}`, `{"k":"a","v":2}`, `{"k":"a","v":3}`)
	for _, args := range []string{"--data-dir other --from-savepoint ./moved", "--data-dir d --from-savepoint mine --fresh"} {
		s = p.start(append([]string{"run", "job.sql", "--parallelism", "3", "--set", "checkpoint.interval=20ms"}, strings.Fields(args)...)...)
		eventually(t, "rows", func() bool { return strings.Count(s.out.String(), "\n") == 3 })
		if got := s.stop(os.Interrupt); got.code != 0 || got.out != "op,k,n\n-U,a,2\n+U,a,3\n" {
			t.Errorf("%s: %+v", args, got)
		}
	}
	if got := p.run("", "run", "job.sql", "--data-dir", "d", "--from-savepoint", "mine"); got.code != 2 || !strings.Contains(got.err, "checkpoints of its own") {
		t.Errorf("%+v", got)
	}
	// A damaged savepoint is found out.
	blobs, err := filepath.Glob(filepath.Join(p.dir, "moved", "blob*", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range append(blobs, filepath.Join(p.dir, "moved", "savepoint", "manifest")) {
		if err := os.WriteFile(b, []byte("nonsense"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.run("", "savepoint", "verify", "./moved"); got.code == 0 {
		t.Errorf("%+v", got)
	}
	if got := p.run("", "savepoint", "drop", "mine", "--data-dir", "d"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	if got := ran(p, "savepoint", "list", "--data-dir", "d"); strings.Contains(got, "mine") {
		t.Error(got)
	}
}

// TestCSV prints values of every kind as PostgreSQL's COPY does.
func TestCSV(t *testing.T) {
	pg := pgtest.Start(t)
	p := newPlace(t)
	const query = `SELECT * FROM (VALUES
  (1, 'plain', true, 1.50, 0.1::double precision, DATE '2024-02-29', TIMESTAMP '2024-02-29 12:00:00.120'),
  (-2, '', false, -0.05, 1e20::double precision, DATE '1969-12-31', TIMESTAMP '1969-12-31 23:59:59'),
  (NULL, 'a "quoted", text', NULL, NULL, NULL, NULL, NULL),
  (4, 'two
lines', true, 100.00, 'NaN'::double precision, DATE '2000-01-01', TIMESTAMP '2000-01-01 00:00:00.000001'),
  (5, ' blanks ', false, 0.00, '-Infinity'::double precision, DATE '0001-01-01', TIMESTAMP '2000-01-01 10:00:00'),
  (6, '\.', false, 0.00, 5, DATE '0001-01-01', TIMESTAMP '2000-01-01 10:00:00')
) AS v(i, s, b, n, d, day, at)`
	p.write("q.sql", query)
	// Not t.TempDir: the server, another user, writes there.
	dir, err := os.MkdirTemp("", "streamsql-csv-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := pg.Open(t).Exec("COPY (" + query + ") TO '" + filepath.Join(dir, "want.csv") + "' CSV HEADER"); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(dir, "want.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.run("", "run", "q.sql", "--format", "csv"); got.code != 0 || got.out != string(want) {
		t.Errorf("%+v\nPostgreSQL prints\n%s", got, want)
	}
}

// TestInUse: the embedded server belongs to one process, and the other is told so.
func TestInUse(t *testing.T) {
	p := newPlace(t)
	p.write("job.sql", "CREATE TABLE g (id BIGINT) WITH (connector = 'generator', kind = 'columns', rate = '10');",
		"CREATE TABLE n (id BIGINT) WITH (connector = 'nats', stream = 'S', subject = 's', format = 'json', 'auto.create' = 'true');",
		"INSERT INTO n SELECT id FROM g;")
	s := p.start("run", "job.sql", "--data-dir", "d")
	eventually(t, "checkpoint", func() bool { return strings.Contains(ran(p, "checkpoint", "list", "--data-dir", "d"), "running") })
	got := p.run("", "run", "job.sql", "--data-dir", "d")
	if got.code != 1 || !strings.Contains(got.err, "is in use by another streamsql") || !strings.Contains(got.err, "HINT") {
		t.Errorf("%+v", got)
	}
	if got := s.stop(os.Interrupt); got.code != 0 {
		t.Errorf("%+v", got)
	}
}

// TestSecondSignal: a job that waits for a database stops at the second signal.
func TestSecondSignal(t *testing.T) {
	pg := pgtest.Start(t)
	p := newPlace(t)
	p.write("job.sql", counting)
	p.write("in.json", `{"k":"a","v":1}`)
	args := []string{"run", "job.sql", "--data-dir", "d", "--var", "DSN=" + pg.DSN, "--var", "MODE=wal", "--set", "checkpoint.interval=20ms"}
	s := p.start(args...)
	db := pg.Open(t)
	eventually(t, "rows", func() bool { got, _ := pgtest.Query(db, "SELECT n FROM tot"); return len(got) == 1 })
	if err := pg.StopImmediate(); err != nil {
		t.Fatal(err)
	}
	p.append("in.json", `{"k":"a","v":1}`)
	eventually(t, "word that it waits", func() bool { return strings.Contains(s.errs.String(), `job "job" waits: commit of epoch `) })
	if said := s.errs.String(); strings.Count(said, "waits") != strings.Count(said, "\"job\" waits: ") {
		t.Errorf("it says that it waits more than once in a line\n%s", said)
	}
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	eventually(t, "word of the second signal", func() bool { return strings.Contains(s.errs.String(), "a second Ctrl-C ends it at once") })
	if got := s.stop(os.Interrupt); got.code == 0 {
		t.Errorf("%+v", got)
	}
}

// TestDemo shows windows until it is ended, and ends by itself when told to.
func TestDemo(t *testing.T) {
	p := newPlace(t)
	tmp := t.TempDir()
	p.env = append(p.env, "TMPDIR="+tmp)
	d := p.start("demo", "--format", "csv")
	eventually(t, "window", func() bool { return strings.Count(d.out.String(), "\n") >= 2 })
	got := d.stop(os.Interrupt)
	if got.code != 0 || !strings.HasPrefix(got.out, "window_start,bids,auctions,bidders,highest,total\n2015-07-15 00:00:00,") || !strings.Contains(got.err, "job \"demo-publish\" stopped: ") {
		t.Errorf("%+v", got)
	}
	if got := p.run("", "demo", "--for", "300ms"); got.code != 0 || !strings.Contains(got.err, "job \"demo-publish\" stopped: ") {
		t.Errorf("%+v", got)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestRefusedRow: a row that the target refuses fails the job, when it comes and at each
// start that finds it pending.
func TestRefusedRow(t *testing.T) {
	pg := pgtest.Start(t)
	if _, err := pg.Open(t).Exec("CREATE TABLE o (v bigint CHECK (v < 2))"); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"wal", "append"} {
		p := newPlace(t)
		p.write("in.json", `{"v":1}`, `{"v":2}`)
		p.write("job.sql", "CREATE TABLE i (v BIGINT) WITH (connector = 'file', path = 'in.json', format = 'json');",
			"CREATE TABLE o (v BIGINT) WITH (connector = 'postgres', url = '"+pg.DSN+"', table = 'o', mode = '"+mode+"');", "INSERT INTO o SELECT v FROM i;")
		for range 3 {
			got := p.run("", "run", "job.sql", "--data-dir", "d", "--take-over")
			if got.code != 1 || !strings.HasPrefix(got.err, "ERROR: commit of epoch 1 refused: ") || !strings.Contains(got.err, ` refused: sink "o" refused a row: `) || !strings.Contains(got.err, "\nHINT: Set 'on.error' = 'skip'") {
				t.Errorf("%s: %+v", mode, got)
			}
		}
	}
}
