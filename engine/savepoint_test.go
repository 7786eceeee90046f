package engine_test

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/pgtest"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// stateful is a job with windows, groups that change, and three sinks; where it writes
// is said by variables, so that its text is the same for every fork.
const stateful = `CREATE TABLE i (k BIGINT, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
  WITH (connector = 'file', path = '${IN}', format = 'json', follow = 'true');
CREATE TABLE win (k BIGINT, ws TIMESTAMP(3), n BIGINT, s NUMERIC, PRIMARY KEY (k, ws))
  WITH (connector = 'postgres', url = '${DSN}', password = '${PW}', table = '${PRE}win', 'auto.create' = 'true');
CREATE TABLE tot (k BIGINT PRIMARY KEY, n BIGINT, s NUMERIC)
  WITH (connector = 'postgres', url = '${DSN}', password = '${PW}', table = '${PRE}tot', 'auto.create' = 'true', mode = 'wal');
CREATE TABLE f (k BIGINT, ws TIMESTAMP(3), n BIGINT) WITH (connector = 'file', path = '${OUT}', format = 'csv');
INSERT INTO win SELECT k, window_start, COUNT(*), SUM(v) FROM TUMBLE(i, ts, INTERVAL '10' SECOND) GROUP BY k, window_start, window_end;
INSERT INTO tot SELECT k, COUNT(*), SUM(v) FROM i GROUP BY k;
INSERT INTO f SELECT k, window_start, COUNT(*) FROM TUMBLE(i, ts, INTERVAL '10' SECOND) GROUP BY k, window_start, window_end`

const password = "sekret-of-the-test"

// world is the input of the job, and a PostgreSQL that has the same rows in table truth.
type world struct {
	t   *testing.T
	pg  *pgtest.Server
	db  *sql.DB
	dir string
	n   int
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, pg: pgtest.Start(t), dir: t.TempDir()}
	w.db = w.pg.Open(t)
	w.exec("CREATE TABLE truth (k bigint, v bigint, ts timestamp(3))")
	write(t, filepath.Join(w.dir, "in.json"))
	return w
}

func (w *world) exec(stmt string) {
	w.t.Helper()
	if _, err := w.db.Exec(stmt); err != nil {
		w.t.Fatalf("%s: %v", stmt, err)
	}
}

// feed adds rows to the input, a second of event time each, with keys in turn.
func (w *world) feed(rows int) {
	w.t.Helper()
	var text []string
	for range rows {
		k, v, ts := w.n%7, w.n*w.n%101, time.Unix(int64(1_700_000_000+w.n), 0).UTC().Format("2006-01-02 15:04:05")
		text = append(text, fmt.Sprintf(`{"k":%d,"v":%d,"ts":"%s"}`, k, v, ts))
		w.exec(fmt.Sprintf("INSERT INTO truth VALUES (%d, %d, '%s')", k, v, ts))
		w.n++
	}
	write(w.t, filepath.Join(w.dir, "in.json"), text...)
}

// open opens an engine whose jobs write under a prefix.
func (w *world) open(pre, data string, parallelism int) *engine.Engine {
	return open(w.t, engine.Options{DataDir: filepath.Join(w.dir, data), Parallelism: parallelism, BatchRows: 3,
		Vars: map[string]string{"IN": filepath.Join(w.dir, "in.json"), "OUT": filepath.Join(w.dir, pre+"out"),
			"DSN": w.pg.DSN, "PW": password, "PRE": pre},
		Settings: map[string]string{"checkpoint.interval": "20ms"}})
}

// expect waits until the targets hold what PostgreSQL computes of the rows; of windows
// that were shown before the fork those of the first rows are left out.
func (w *world) expect(pre string, before int) {
	w.t.Helper()
	last := time.Unix(int64(1_700_000_000+w.n-1), 0).UTC().Format("2006-01-02 15:04:05")
	shown := time.Unix(int64(1_700_000_000+before-1), 0).UTC().Format("2006-01-02 15:04:05")
	closed := fmt.Sprintf(`SELECT k, ws, count(*) AS n, sum(v) AS s
		FROM (SELECT *, timestamp 'epoch' + floor(extract(epoch FROM ts) / 10) * interval '10 s' AS ws FROM truth) q
		GROUP BY k, ws HAVING ws + interval '9.999 s' <= '%s' AND ws + interval '9.999 s' > '%s'`, last, shown)
	for _, c := range []struct{ got, want string }{
		{fmt.Sprintf("SELECT k, n, s FROM %q ORDER BY k", pre+"tot"), "SELECT k, count(*), sum(v) FROM truth GROUP BY k ORDER BY k"},
		{fmt.Sprintf("SELECT k, ws, n, s FROM %q ORDER BY k, ws", pre+"win"), closed + " ORDER BY k, ws"},
	} {
		want := w.pg.Rows(w.t, w.db, c.want)
		var got []string
		eventually(w.t, "result in "+c.got, func() bool {
			got, _ = pgtest.Query(w.db, c.got)
			return reflect.DeepEqual(got, want)
		})
	}
	want := w.pg.Rows(w.t, w.db, "SELECT k || ',' || ws || ',' || n AS l FROM ("+closed+") q ORDER BY (k || ',' || ws || ',' || n) COLLATE \"C\"")
	eventually(w.t, "files", func() bool { return lines(w.t, filepath.Join(w.dir, pre+"out")) == strings.Join(want, " ") })
}

// TestSavepoints takes state along: from a running job, from one that is stopped with a
// savepoint, and from what a stopped one left; at another parallelism and elsewhere.
func TestSavepoints(t *testing.T) {
	w, ctx := newWorld(t), context.Background()
	a := w.open("", "a", 2)
	j, err := a.Run(ctx, load(t, a, "j", stateful), engine.Start{})
	if err != nil {
		t.Fatal(err)
	}
	w.feed(33)
	w.expect("", 0)
	running, stopped, left := filepath.Join(w.dir, "running"), filepath.Join(w.dir, "stopped"), filepath.Join(w.dir, "left")
	if err := j.Savepoint(ctx, running); err != nil {
		t.Fatal(err)
	}
	w.feed(20)
	w.expect("", 0)
	if err := j.Stop(ctx, stopped); err != nil {
		t.Fatal(err)
	}
	if st := j.Status(); st.State != "stopped" || st.RowsIn != 53*3 && st.RowsIn != 53 || st.RowsOut == 0 || st.Late != 0 || st.Broken != 0 {
		t.Errorf("status %+v", st)
	}
	if m, err := a.SavepointOf(ctx, "j", left); err != nil || !m.Stopped {
		t.Fatalf("savepoint of a stopped job: %v", err)
	}
	w.noSecrets(a)
	shut(t, a)
	// The data directory may go: a savepoint needs nothing else.
	if err := os.RemoveAll(filepath.Join(w.dir, "a")); err != nil {
		t.Fatal(err)
	}

	for i, c := range []struct {
		pre, from   string
		parallelism int
		before      int // rows whose windows were shown before
	}{
		{"", stopped, 3, 0},
		{"fork_", running, 1, 33},
		{"left_", left, 2, 53},
	} {
		e := w.open(c.pre, fmt.Sprint("fork", i), c.parallelism)
		how := engine.Start{FromSavepoint: c.from}
		// The first job wrote on into the same database, though into other tables.
		how.ReplayIntoSinks = c.from == running
		f := load(t, e, "j", stateful)
		// A start that is refused gives the targets up again: here to the next one.
		damaged := how
		damaged.FromSavepoint = damagedCopy(t, c.from)
		if _, err := e.Run(ctx, load(t, e, "damaged", stateful), damaged); sqlerr.CodeOf(err) != sqlerr.CodeCheckpoint {
			t.Fatalf("%+v: a start from a damaged savepoint gives %v", c, err)
		}
		j, err := e.Run(ctx, f, how)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		w.feed(14)
		w.expect(c.pre, c.before)
		if err := j.Stop(ctx, ""); err != nil {
			t.Fatal(err)
		}
		// Now the job has checkpoints of its own.
		if _, err := e.Run(ctx, f, how); sqlerr.CodeOf(err) != sqlerr.CodeStateMismatch {
			t.Errorf("a second start from the savepoint gives %v", err)
		}
		if _, err = e.Run(ctx, f, engine.Start{}); err != nil {
			t.Fatal(err)
		}
		w.feed(7)
		w.expect(c.pre, c.before)
		other := strings.Replace(stateful, "SUM(v)", "MAX(v)", 1)
		if _, err := e.Run(ctx, load(t, e, "k", other), engine.Start{FromSavepoint: c.from}); sqlerr.CodeOf(err) != sqlerr.CodeStateMismatch {
			t.Errorf("another text from the savepoint gives %v", err)
		}
		shut(t, e)
	}
	s, m, err := engine.OpenSavepoint(ctx, running)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Verify(ctx, s, m); err != nil {
		t.Error(err)
	}
}

// damagedCopy copies a savepoint and flips a bit of its largest object.
func damagedCopy(t *testing.T, from string) string {
	t.Helper()
	to, largest, size := t.TempDir(), "", int64(0)
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "manifest") {
			return err
		}
		if i, err := d.Info(); err == nil && i.Size() > size {
			largest, size = path, i.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(largest)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(largest, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

// noSecrets looks for the password in all that the engine shows and keeps.
func (w *world) noSecrets(e *engine.Engine) {
	w.t.Helper()
	declared := stateful[:strings.Index(stateful, "INSERT")]
	shown := execAll(e.NewSession(), declared+"SHOW CREATE TABLE win; EXPLAIN INSERT INTO tot SELECT k, 1, 1 FROM i; SHOW JOBS; SHOW CHECKPOINTS; DESCRIBE tot")
	shown += execAll(e.NewSession(), "CREATE TABLE p (k BIGINT PRIMARY KEY) WITH (connector = 'postgres', dsn = 'postgres://u:"+password+"@h/d', password = '"+password+"', table = 'x'); SHOW CREATE TABLE p")
	if !strings.Contains(shown, "password = '${PW}'") || !strings.Contains(shown, "dsn = '***', password = '***'") || strings.Contains(shown, "ERROR") {
		w.t.Errorf("shown\n%s", shown)
	}
	if strings.Contains(shown, password) {
		w.t.Errorf("the password is shown\n%s", shown)
	}
	files := 0
	err := filepath.WalkDir(e.DataDir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), password) {
			w.t.Errorf("the password is in %s", path)
		}
		return err
	})
	if err != nil || files == 0 {
		w.t.Errorf("%d files, %v", files, err)
	}
	for _, j := range e.Jobs() {
		if text := fmt.Sprintf("%+v %+v %s", j.Status(), j.Plan, j.SQL); strings.Contains(text, password) {
			w.t.Errorf("the password is in %s", text)
		}
	}
}

// TestSavepointConfirmed: what a target has not confirmed is in no savepoint.
func TestSavepointConfirmed(t *testing.T) {
	w, ctx := newWorld(t), context.Background()
	e := w.open("", "d", 1)
	// The upsert of the windows would hold a checkpoint up; what wal keeps does not.
	text := strings.Replace(stateful, "INSERT INTO win", "-- INSERT INTO win", 1)
	f := load(t, e, "j", strings.Replace(text, "INSERT INTO f", "-- INSERT INTO f", 1))
	j, err := e.Run(ctx, f, engine.Start{})
	if err != nil {
		t.Fatal(err)
	}
	w.feed(10)
	eventually(t, "rows", func() bool {
		got, _ := pgtest.Query(w.db, "SELECT sum(n) FROM tot")
		return reflect.DeepEqual(got, []string{"10"})
	})
	confirmed := j.Status().Epoch
	if err := w.pg.StopImmediate(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(w.dir, "in.json"), `{"k":1,"v":1,"ts":"2023-11-14 22:13:30"}`)
	eventually(t, "pending epoch", func() bool { return j.Status().Epoch > confirmed })
	j.Cancel()
	sp := filepath.Join(w.dir, "sp")
	if _, err := e.SavepointOf(ctx, "j", sp); sqlerr.ClassOf(err) != sqlerr.External {
		t.Errorf("with the database away: %v", err)
	}
	if err := w.pg.Cluster.Start(ctx); err != nil {
		t.Fatal(err)
	}
	m, err := e.SavepointOf(ctx, "j", sp)
	if err != nil || m.Epoch > confirmed {
		t.Fatalf("epoch %d is saved, %d is confirmed: %v", m.Epoch, confirmed, err)
	}
	list, _, err := e.Checkpoints(ctx, "j")
	if err != nil {
		t.Fatal(err)
	}
	newest := list[len(list)-1].Epoch
	if j, err = e.Run(ctx, f, engine.Start{}); err != nil {
		t.Fatal(err)
	}
	if err := j.Stop(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if m, err := e.SavepointOf(ctx, "j", filepath.Join(w.dir, "sp2")); err != nil || m.Epoch < newest {
		t.Errorf("after the next start epoch %d is saved, %d was pending: %v", m.Epoch, newest, err)
	}
}
