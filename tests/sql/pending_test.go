package sql

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/connectors/nats/embedded"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

const (
	keep  = "INSERT INTO t (k, n, s) SELECT k, COUNT(*), CAST(SUM(v) AS BIGINT) FROM ev GROUP BY k;\n"
	grow  = "INSERT INTO t SELECT k, COUNT(*), CAST(SUM(v) AS BIGINT), MAX(v) FROM ev GROUP BY k;\n"
	other = "INSERT INTO u SELECT l, COUNT(*), CAST(SUM(v) AS BIGINT) FROM ev GROUP BY l;\n"
	three = "k VARCHAR PRIMARY KEY, n BIGINT, s BIGINT, m BIGINT"
)

// pending runs the job of keep and other until an epoch waits for the database, kills it,
// and brings the database back: 21 rows are in the tables, one is in the checkpoint.
func (w *world) pending(declared string) {
	w.t.Helper()
	w.truth(three)
	w.exec("CREATE TABLE u (" + sums + ")")
	e := w.open()
	j := w.mustStart(e, declared+keep+other, engine.Start{})
	w.rowsOf(1, 1, 21)
	w.eventually("the rows", func() bool { return w.rows("SELECT sum(n) FROM t") == "21" && w.rows("SELECT sum(n) FROM u") == "21" })
	shown := j.Status().Epoch
	if err := w.pg.StopImmediate(); err != nil {
		w.t.Fatal(err)
	}
	w.publish("ev.a", `{"k":"k1","l":"l1","v":30,"ts":"2024-01-01T00:00:30"}`)
	w.eventually("a pending epoch", func() bool { return j.Status().Epoch > shown && j.Status().Stall != "" })
	j.Cancel()
	_ = e.Close(context.Background())
	if err := w.pg.Cluster.Start(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	w.eventually("the database", func() bool { return w.db.Ping() == nil })
	w.exec("INSERT INTO truth VALUES ('k1', 'l1', 30, '2024-01-01T00:00:30', 1)")
	w.equal("what is not committed", w.rows("SELECT sum(n) FROM t"), "21")
}

// TestPendingUnderAnotherQuery: what a killed job had left to commit is committed by the
// plan that kept it, to where it was kept for, before another plan goes on.
func TestPendingUnderAnotherQuery(t *testing.T) {
	all := newWorld(t)
	allow := engine.Start{AllowNonRestored: true}
	counts := "SELECT k, count(*), sum(v), max(v) FILTER (WHERE phase = 2) FROM truth GROUP BY k"
	prepare := func(t *testing.T) (*world, string) {
		w := all.fresh(t)
		declared := w.source(eventColumns, "") + w.sink("t", three, "") + w.sink("u", sums, "")
		w.pending(declared)
		return w, declared
	}
	goesOn := func(w *world, j *engine.Job) {
		w.t.Helper()
		w.rowsOf(2, 31, 40)
		w.equals("both phases,", "SELECT * FROM t", counts)
		w.eventually("a checkpoint", func() bool { return j.Status().Checkpoints > 0 })
	}
	t.Run("both sinks stay", func(t *testing.T) {
		w, declared := prepare(t)
		goesOn(w, w.mustStart(w.open(), declared+grow+other, allow))
		w.equals("both phases,", "SELECT * FROM u", "SELECT l, count(*), sum(v) FROM truth GROUP BY l")
	})
	t.Run("a sink is gone from the file", func(t *testing.T) {
		w, declared := prepare(t)
		goesOn(w, w.mustStart(w.open(), declared+grow, allow))
		w.equals("the first phase,", "SELECT * FROM u", "SELECT l, count(*), sum(v) FROM truth WHERE phase = 1 GROUP BY l")
	})
	t.Run("a sink is gone with its table", func(t *testing.T) {
		w, declared := prepare(t)
		w.exec("DROP TABLE u")
		e := w.open()
		_, err := w.startAs(e, declared+grow, allow)
		if x := sqlerr.As(err); sqlerr.CodeOf(err) != sqlerr.CodeSchema || !strings.Contains(x.Hint, "--abandon-pending") {
			t.Fatalf("with rows pending for a table that is gone: %v", err)
		}
		w.equal("nothing was done", w.rows("SELECT sum(n) FROM t"), "21")
		how := allow
		how.AbandonPending = true
		goesOn(w, w.mustStart(e, declared+grow, how))
	})
	t.Run("another table of that name", func(t *testing.T) {
		w, declared := prepare(t)
		w.exec("DROP TABLE u", "CREATE TABLE u ("+sums+")")
		e := w.open()
		for _, text := range []string{declared + keep + other, declared + grow + other, declared + grow} {
			_, err := w.startAs(e, text, allow)
			if x := sqlerr.As(err); sqlerr.CodeOf(err) != sqlerr.CodeFenced || !strings.Contains(x.Hint, "--abandon-pending") {
				t.Fatalf("into another table: %v", err)
			}
		}
		how := allow
		how.AbandonPending = true
		goesOn(w, w.mustStart(e, declared+grow+other, how))
		w.equals("whole groups that changed since,", "SELECT * FROM u", "SELECT l, count(*), sum(v) FROM truth GROUP BY l")
	})
}

// TestPendingStreamUnderAnotherQuery is the same for a stream that is written exactly once:
// its server was away when the epoch was to be committed.
func TestPendingStreamUnderAnotherQuery(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	out, err := embedded.Start(dir, embedded.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	target := &world{t: t, nats: out}
	target.connect()
	mode := natsMode("INSERT INTO o SELECT k, i FROM ev WHERE i <> 22")
	mode.make(target, "")
	declared := w.source(matrixEvents, "")
	rows := func(from, to int) {
		for i := from; i <= to; i++ {
			w.publish("ev.a", fmt.Sprintf(`{"k":"k","i":%d,"ts":"2024-01-01T00:00:%02d"}`, i, i))
		}
	}
	e := w.open()
	j := w.mustStart(e, declared+mode.job(target, ""), engine.Start{})
	rows(10, 20)
	shown := func(n int) func() bool {
		return func() bool { return strings.Count(mode.shown(target, ""), "k,") == n }
	}
	w.eventually("the first rows", shown(11))
	epoch, port := j.Status().Epoch, target.port()
	out.Shutdown()
	rows(21, 23)
	w.eventually("a pending epoch", func() bool { return j.Status().Epoch > epoch && j.Status().Stall != "" })
	j.Cancel()
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if target.nats, err = embedded.Start(dir, embedded.Options{NoSync: true, Port: port}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.nats.Shutdown() })
	target.connect()
	mode = natsMode("INSERT INTO o SELECT k, i FROM ev WHERE i <> 25")
	w.mustStart(w.open(), declared+mode.job(target, ""), engine.Start{AllowNonRestored: true})
	rows(24, 30)
	w.eventually("the rows of both queries", shown(19))
	want := "k,10 k,11 k,12 k,13 k,14 k,15 k,16 k,17 k,18 k,19 k,20 k,21 k,23 k,24 k,26 k,27 k,28 k,29 k,30"
	w.equal("the stream", strings.ReplaceAll(mode.shown(target, ""), "\n", " "), want)
}

// startAs starts a job file.
func (w *world) startAs(e *engine.Engine, text string, how engine.Start) (*engine.Job, error) {
	f, err := e.Load("job", text)
	if err != nil {
		return nil, err
	}
	return e.Run(context.Background(), f, how)
}
