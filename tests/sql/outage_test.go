package sql

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/connectors/nats/embedded"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/pgcluster"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// TestServersGoAndComeBack stalls a job by taking PostgreSQL and then NATS away. It says
// what it waits for, fails nobody, and goes on by itself (B85, B104 b).
func TestServersGoAndComeBack(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	second, err := embedded.Start(dir, embedded.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	w.nats.Shutdown()
	w.nats = second
	w.connect()
	w.stream("EVENTS", "ev.>")
	w.exec(totalsTable)
	e := w.open()
	j := w.mustStart(e, totals(w, ""), engine.Start{})
	w.numbers("ev.a", 1, 30)
	w.wantTotals(30)

	if err := w.pg.StopImmediate(); err != nil {
		t.Fatal(err)
	}
	w.numbers("ev.a", 31, 60)
	w.eventually("the job waits for PostgreSQL", func() bool { st := j.Status(); return st.State == "waiting" && st.Stall != "" })
	if !j.Running() {
		t.Fatalf("the job ended: %v", j.Wait())
	}
	if err := w.pg.Cluster.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	w.db = w.pg.Open(t)
	w.wantTotals(60)

	port := w.port()
	w.nats.Shutdown()
	w.eventually("the job waits for NATS", func() bool { st := j.Status(); return st.State == "waiting" && st.Stall != "" })
	if w.nats, err = embedded.Start(dir, embedded.Options{NoSync: true, Port: port}); err != nil {
		t.Fatal(err)
	}
	w.connect()
	w.numbers("ev.a", 61, 90)
	w.wantTotals(90)
	w.eventually("the job runs", func() bool { return j.Status().State == "running" })
	if n := j.Status().Broken; n != 0 {
		t.Errorf("%d rows failed", n)
	}
}

// TestTargetsThatAreNotThere starts jobs whose stream, table, column or login is not
// there: each is refused at once, with the name, and never with the password.
func TestTargetsThatAreNotThere(t *testing.T) {
	w := newWorld(t)
	w.exec("CREATE TABLE short (k text PRIMARY KEY)", "CREATE TABLE nokey (k text, n bigint)", "CREATE TABLE narrow (k text PRIMARY KEY, n smallint)",
		"CREATE ROLE someone LOGIN PASSWORD 'hunter2-right'")
	w.wantPassword("someone")
	insert := func(name string) string { return "INSERT INTO " + name + " SELECT k, COUNT(*) FROM ev GROUP BY k;" }
	columns := "k VARCHAR, n BIGINT, PRIMARY KEY (k)"
	good := w.source("k VARCHAR", "")
	login := func(password string) string {
		return fmt.Sprintf("CREATE TABLE t (%s) WITH (connector = 'postgres', url = '%s', user = 'someone', password = '%s');\n",
			columns, strings.Replace(w.pg.DSN, pgcluster.User+"@", "", 1), password)
	}
	for _, c := range []struct {
		name, text string
		says       []string
	}{
		{"stream", fmt.Sprintf("CREATE TABLE ev (k VARCHAR) WITH (connector = 'nats', url = '%s', stream = 'EVNTS', format = 'json');\n", w.nats.URL()) +
			"CREATE TABLE out (k VARCHAR) WITH (connector = 'blackhole');\nINSERT INTO out SELECT k FROM ev;", []string{"EVNTS"}},
		{"table", good + w.sink("missing", columns, "") + insert("missing"), []string{"missing", "CREATE TABLE"}},
		{"column", good + w.sink("short", columns, "") + insert("short"), []string{"short", `"n"`}},
		{"key", good + w.sink("nokey", columns, "") + insert("nokey"), []string{"nokey", "k"}},
		{"type", good + w.sink("narrow", columns, "") + insert("narrow"), []string{`"n"`, "smallint"}},
		{"password", good + login("${PASSWORD}") + insert("t"), []string{"someone"}},
		{"password in the text", good + login("hunter2-wrong") + insert("t"), []string{"password", "${NAME}"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := *w
			w.t = t
			e := w.open("restart.attempts", "0")
			defer e.Close(context.Background())
			j, err := w.start(e, c.text)
			if err == nil {
				err = w.ended(j)
			}
			if err == nil {
				t.Fatal("nothing is wrong")
			}
			text := sqlerr.Render(err, c.text)
			shown, _, _ := strings.Cut(text, "LINE ")
			if x := sqlerr.As(err); x != nil {
				shown += x.Detail + x.Hint
			}
			for _, s := range c.says {
				if !strings.Contains(shown, s) {
					t.Errorf("%q is missing in: %s", s, shown)
				}
			}
			// Of the text itself only the line is repeated that the user has written.
			if all := shown + fmt.Sprint(err) + w.log.String(); strings.Contains(all, "hunter2") {
				t.Errorf("the password is shown: %s", all)
			}
		})
	}
}

// wantPassword makes PostgreSQL ask a role for its password.
func (w *world) wantPassword(role string) {
	w.t.Helper()
	file := w.rows("SELECT current_setting('hba_file')")
	old, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, append([]byte("host all "+role+" 127.0.0.1/32 scram-sha-256\n"), old...), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.exec("SELECT pg_reload_conf()")
}

// TestStreamIsNotWhatItWas is B104 c: a stream that was purged beyond the position is
// named and not read in silence. The restore matrix has one that was made again (B104 d).
func TestStreamIsNotWhatItWas(t *testing.T) {
	all := newWorld(t)
	prepare := func(t *testing.T, more string) (*world, string) {
		w := all.fresh(t)
		w.exec(totalsTable)
		text := totals(w, more)
		w.numbers("ev.a", 1, 10)
		e := w.open()
		j := w.mustStart(e, text, engine.Start{})
		w.wantTotals(10)
		if err := j.Stop(soon(t), ""); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		return w, text
	}
	ends := func(t *testing.T, w *world, text string) error {
		e := w.open()
		j, err := w.start(e, text)
		if err != nil {
			return err
		}
		return w.ended(j)
	}
	purge := func(w *world) {
		w.numbers("ev.a", 11, 30)
		s, err := w.js.Stream(context.Background(), "EVENTS")
		if err != nil {
			w.t.Fatal(err)
		}
		if err := s.Purge(context.Background(), jetstream.WithPurgeSequence(21)); err != nil {
			w.t.Fatal(err)
		}
	}
	t.Run("purged", func(t *testing.T) {
		w, text := prepare(t, "")
		purge(w)
		err := ends(t, w, text)
		if e := sqlerr.As(err); sqlerr.CodeOf(err) != sqlerr.CodeGap || !strings.Contains(e.Msg+e.Detail, "10") {
			t.Errorf("the job ends with %v", err)
		}
	})
	t.Run("purged, by option", func(t *testing.T) {
		w, text := prepare(t, ", 'on.gap' = 'warn'")
		purge(w)
		e := w.open()
		j := w.mustStart(e, text, engine.Start{})
		w.eventually("the rows after the gap", func() bool { return w.rows("SELECT sum(n), sum(s) FROM totals") == "20|310" })
		if st := j.Status(); st.Warnings != 1 || !strings.Contains(st.Warning, "EVENTS") {
			t.Errorf("%d warnings: %s", st.Warnings, st.Warning)
		}
		if !strings.Contains(w.log.String(), "EVENTS") {
			t.Errorf("the log does not speak of the gap: %s", w.log.String())
		}
	})
}

// TestTargetAltered is B86 without a pooler: a column more, and a type that grows, under
// a running job; statements prepared before that are made anew.
func TestTargetAltered(t *testing.T) {
	w := newWorld(t)
	w.exec(totalsTable)
	e := w.open()
	j := w.mustStart(e, totals(w, ""), engine.Start{})
	w.numbers("ev.a", 1, 10)
	w.wantTotals(10)
	w.exec("ALTER TABLE totals ADD COLUMN more int DEFAULT 7")
	w.numbers("ev.a", 11, 20)
	w.wantTotals(20)
	w.exec("ALTER TABLE totals ALTER COLUMN s TYPE numeric")
	w.numbers("ev.a", 21, 30)
	w.wantTotals(30)
	if st := j.Status(); st.Restarts != 0 || st.Broken != 0 {
		t.Errorf("%d restarts, %d rows failed: %v", st.Restarts, st.Broken, st.LastError)
	}
}

// TestLockedTable: a job that waits for another session's lock on a table of its own says
// so, and goes on.
func TestLockedTable(t *testing.T) {
	all := newWorld(t)
	for _, mode := range []string{"upsert", "wal"} {
		w := all.fresh(t)
		w.exec("CREATE TABLE got (v bigint PRIMARY KEY)")
		w.numbers("ev.a", 1, 10)
		j := w.mustStart(w.open(), w.source(vTable, "")+w.sink("got", vTable+", PRIMARY KEY (v) NOT ENFORCED", ", mode = '"+mode+"'")+"INSERT INTO got SELECT v FROM ev;", engine.Start{})
		rows := func(n string) func() bool { return func() bool { return w.rows("SELECT count(*) FROM got") == n } }
		w.eventually("the first rows", rows("10"))
		other, err := w.db.Conn(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.ExecContext(context.Background(), "BEGIN; LOCK TABLE got IN EXCLUSIVE MODE"); err != nil {
			t.Fatal(err)
		}
		w.numbers("ev.a", 11, 20)
		w.eventually("word of the lock", func() bool {
			st := j.Status()
			return st.State == "waiting" && strings.HasPrefix(st.Stall, "table got is locked in PostgreSQL by session ")
		})
		if _, err := other.ExecContext(context.Background(), "COMMIT"); err != nil {
			t.Fatal(err)
		}
		other.Close()
		w.eventually("the other rows", rows("20"))
		w.eventually("the job runs", func() bool { return j.Status().State == "running" })
		if err := j.Stop(context.Background(), ""); err != nil {
			t.Fatal(err)
		}
	}
}
