package sql

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/streamsql/streamsql/engine"
)

// totals is an updating job: the values of each key, added up.
func totals(w *world, more string) string {
	return w.source("k VARCHAR, v BIGINT", more) + w.sink("totals", "k VARCHAR, n BIGINT, s BIGINT, PRIMARY KEY (k)", "") +
		"INSERT INTO totals SELECT k, COUNT(*), CAST(SUM(v) AS BIGINT) FROM ev GROUP BY k;"
}

const totalsTable = "CREATE TABLE totals (k text PRIMARY KEY, n bigint, s bigint)"

func (w *world) numbers(subject string, from, to int) {
	w.t.Helper()
	for i := from; i <= to; i++ {
		w.publish(subject, fmt.Sprintf(`{"k":"k%d","v":%d}`, i%3, i))
	}
}

// wantTotals waits until the table holds the sums of 1 to n.
func (w *world) wantTotals(n int) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("the sums of 1 to %d", n), func() bool {
		return w.rows("SELECT sum(n), sum(s) FROM totals") == fmt.Sprintf("%d|%d", n, n*(n+1)/2)
	})
}

func (w *world) mustStart(e *engine.Engine, text string, how engine.Start) *engine.Job {
	w.t.Helper()
	f, err := e.Load("job", text)
	if err != nil {
		w.t.Fatal(err)
	}
	j, err := e.Run(context.Background(), f, how)
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}

// soon is a context for what has to be over soon.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestWrittenBeforeTheCheckpoint is B83: windows are in the table, the job is gone
// before a checkpoint, and writes them again.
func TestWrittenBeforeTheCheckpoint(t *testing.T) {
	w := newWorld(t)
	w.exec("CREATE TABLE win (k text, s timestamp(3), n bigint, PRIMARY KEY (k, s))")
	text := w.source("k VARCHAR, ts TIMESTAMP(3), WATERMARK FOR ts AS ts", "") + w.sink("win", "k VARCHAR, s TIMESTAMP(3), n BIGINT, PRIMARY KEY (k, s)", "") +
		"INSERT INTO win SELECT k, window_start, COUNT(*) FROM TUMBLE(ev, ts, INTERVAL '10' SECOND) GROUP BY k, window_start, window_end;"
	for i := range 60 {
		w.publish("ev.a", fmt.Sprintf(`{"k":"k%d","ts":"2024-01-01T00:00:%02d"}`, i%2, i))
	}
	want := "k0|2024-01-01 00:00:00|5"
	for range 3 {
		e := w.open("checkpoint.interval", "1h")
		j := w.mustStart(e, text, engine.Start{})
		w.eventually("five windows of two keys", func() bool { return w.rows("SELECT count(*) FROM win") == "10" })
		j.Cancel()
		if err := e.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	w.equal("a window", w.rows("SELECT * FROM win ORDER BY s, k LIMIT 1"), want)
	if st := w.rows("SELECT sum(n) FROM win"); st != "50" {
		t.Errorf("%s rows are counted, want 50", st)
	}
}

// TestFreshAndOn is B95: a job that started anew and then crashed goes on from its new
// state, though the old one's checkpoints have higher numbers of rows behind them.
func TestFreshAndOn(t *testing.T) {
	w := newWorld(t)
	w.exec(totalsTable)
	e := w.open("checkpoint.interval", "10ms")
	j := w.mustStart(e, totals(w, ""), engine.Start{})
	for i := 1; i <= 20; i++ {
		w.numbers("ev.a", i, i)
		w.wantTotals(i)
	}
	old := j.Status()
	j.Cancel()
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	w.exec("TRUNCATE totals")
	e = w.open("checkpoint.interval", "10ms")
	j = w.mustStart(e, totals(w, ""), engine.Start{Fresh: true, TakeOver: true})
	w.wantTotals(20)
	w.eventually("a checkpoint", func() bool { return j.Status().Checkpoints > 0 })
	fresh := j.Status()
	if fresh.Job == old.Job {
		t.Fatal("the job that starts anew has the old one's id")
	}
	j.Cancel()
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	e = w.open("checkpoint.interval", "10ms")
	j = w.mustStart(e, totals(w, ""), engine.Start{})
	w.numbers("ev.a", 21, 25)
	w.wantTotals(25)
	if st := j.Status(); st.Job != fresh.Job || st.RowsIn != 25 {
		t.Errorf("job %s has read %d rows; it was %s, before that %s", st.Job, st.RowsIn, fresh.Job, old.Job)
	}
}

// TestLatestHoldsOnce is B100: "latest" is where the first start begins; a subject that
// appears while the job is stopped is read from its first message.
func TestLatestHoldsOnce(t *testing.T) {
	w := newWorld(t)
	w.exec(totalsTable)
	w.numbers("ev.a", 1000, 1010)
	text := totals(w, ", 'start' = 'latest'")
	e := w.open()
	j := w.mustStart(e, text, engine.Start{})
	w.eventually("the job runs", func() bool { return j.Status().Checkpoints > 0 || j.Status().State == "running" })
	time.Sleep(300 * time.Millisecond)
	w.numbers("ev.a", 1, 3)
	w.wantTotals(3)
	if err := j.Stop(soon(t), ""); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	w.numbers("ev.new", 4, 13)
	e = w.open()
	w.mustStart(e, text, engine.Start{})
	w.wantTotals(13)
}

// TestPositionFollowsTheCheckpoint is B101: what was read without a complete checkpoint
// is read again, and the server's own idea of progress is not asked.
func TestPositionFollowsTheCheckpoint(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.exec(totalsTable)
	w.numbers("ev.a", 1, 20)
	for range 3 {
		e := w.open("checkpoint.interval", "1h")
		j := w.mustStart(e, totals(w, ""), engine.Start{})
		w.eventually("all messages are read", func() bool { return j.Status().RowsIn == 20 })
		j.Cancel()
		if err := e.Close(ctx); err != nil {
			t.Fatal(err)
		}
		w.equal("before a checkpoint", w.rows("SELECT count(*) FROM totals"), "0")
	}
	e := w.open()
	j := w.mustStart(e, totals(w, ""), engine.Start{})
	w.numbers("ev.a", 21, 30)
	w.wantTotals(30)
	if err := j.Stop(soon(t), ""); err != nil {
		t.Fatal(err)
	}
}

// TestStopWritesWhatIsPending is B103: the checkpoint interval is an hour, a stop is over
// in seconds, nothing is written twice, and a job from a savepoint takes checkpoints.
func TestStopWritesWhatIsPending(t *testing.T) {
	w := newWorld(t)
	w.exec("CREATE TABLE got (k text, v bigint)")
	text := w.source("k VARCHAR, v BIGINT", "") + w.sink("got", "k VARCHAR, v BIGINT", ", mode = 'append'") + "INSERT INTO got SELECT k, v FROM ev;"
	w.numbers("ev.a", 1, 10)
	e := w.open("checkpoint.interval", "1h")
	j := w.mustStart(e, text, engine.Start{})
	w.eventually("the rows are read", func() bool { return j.Status().RowsIn == 10 })
	w.equal("before the stop", w.rows("SELECT count(*) FROM got"), "0")
	begin := time.Now()
	path := filepath.Join(t.TempDir(), "sp")
	if err := j.Stop(soon(t), path); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("the stop took %s", d)
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	w.equal("after the stop", w.rows("SELECT count(*), sum(v) FROM got"), "10|55")
	w.dir = t.TempDir()
	e = w.open()
	j = w.mustStart(e, text, engine.Start{FromSavepoint: path, TakeOver: true})
	w.numbers("ev.a", 11, 20)
	w.eventually("all rows once", func() bool { return w.rows("SELECT count(*), sum(v) FROM got") == "20|210" })
	w.eventually("checkpoints", func() bool { return j.Status().Checkpoints > 0 })
}

// TestStopTwice is B92: stops during a checkpoint, twice at once, end in time with one
// savepoint.
func TestStopTwice(t *testing.T) {
	w := newWorld(t)
	w.exec(totalsTable)
	w.numbers("ev.a", 1, 50)
	e := w.open("checkpoint.interval", "1ms")
	j := w.mustStart(e, totals(w, ""), engine.Start{})
	w.eventually("checkpoints", func() bool { return j.Status().Checkpoints > 0 })
	path := filepath.Join(t.TempDir(), "sp")
	errs := make(chan error, 2)
	go func() { errs <- j.Stop(soon(t), path) }()
	go func() { errs <- j.Stop(soon(t), path) }()
	for range 2 {
		if err := <-errs; err != nil {
			t.Errorf("stop: %v", err)
		}
	}
	if err := w.ended(j); err != nil {
		t.Errorf("the job ended with %v", err)
	}
	if _, m, err := engine.OpenSavepoint(context.Background(), path); err != nil || m.Job != j.Status().Job {
		t.Errorf("the savepoint: %v", err)
	}
	w.wantTotals(50)
}

// TestStopWithoutADisk is B94: the state directory takes no more files. The stop says so,
// the checkpoint before stays good, a restart goes on from it.
func TestStopWithoutADisk(t *testing.T) {
	w := newWorld(t)
	w.exec(totalsTable)
	e := w.open()
	j := w.mustStart(e, totals(w, ""), engine.Start{})
	w.numbers("ev.a", 1, 10)
	w.wantTotals(10)
	w.eventually("a checkpoint", func() bool { return j.Status().Checkpoints > 0 })
	// A file in place of the directory: also root cannot write there.
	dir := filepath.Join(w.dir, "checkpoints")
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.numbers("ev.a", 11, 20)
	// A checkpoint may fail before the last of them is read, and the job starts again.
	w.eventually("rows are read", func() bool { st := j.Status(); return st.RowsIn == 20 || st.Restarts > 0 })
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if err := j.Stop(ctx, ""); err == nil {
		t.Error("the stop reports success without a checkpoint")
	}
	j.Cancel()
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	if got := w.rows("SELECT sum(n) FROM totals"); got != "10" {
		t.Errorf("the table counts %s rows after the last good checkpoint", got)
	}
	_ = e.Close(context.Background())
	e = w.open()
	w.mustStart(e, totals(w, ""), engine.Start{})
	w.wantTotals(20)
}

// TestIdleInput is B01: an input that says nothing is left out after the idle timeout;
// when it speaks again it starts at the job's time.
func TestIdleInput(t *testing.T) {
	w := newWorld(t)
	w.exec("CREATE TABLE win (k text, s timestamp(3), n bigint, PRIMARY KEY (k, s))")
	columns := "k VARCHAR, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"
	table := func(name, subject string) string {
		return fmt.Sprintf("CREATE TABLE %s (%s) WITH (connector = 'nats', url = '%s', stream = 'EVENTS', subject = '%s', format = 'json', 'watermark.idle-timeout' = '300ms');\n", name, columns, w.nats.URL(), subject)
	}
	text := table("p0", "ev.0") + table("p1", "ev.1") + w.sink("win", "k VARCHAR, s TIMESTAMP(3), n BIGINT, PRIMARY KEY (k, s)", "") +
		"CREATE VIEW inputs AS SELECT * FROM p0 UNION ALL SELECT * FROM p1;\n" +
		"INSERT INTO win SELECT k, window_start, COUNT(*) FROM TUMBLE(inputs, ts, INTERVAL '10' SECOND) GROUP BY k, window_start, window_end;"
	at := func(second int) string { return fmt.Sprintf(`{"k":"x","ts":"2024-01-01T00:00:%02d"}`, second) }
	j := w.mustStart(w.open(), text, engine.Start{})
	w.publish("ev.0", at(1), at(2), at(16))
	w.eventually("the first window", func() bool { return w.rows("SELECT n FROM win") == "2" })
	w.publish("ev.1", at(12), at(3))
	w.eventually("a late row", func() bool { return j.Status().Late == 1 })
	w.publish("ev.0", at(40))
	w.publish("ev.1", at(40))
	w.eventually("the second window", func() bool {
		return w.rows("SELECT s, n FROM win ORDER BY s") == "2024-01-01 00:00:00|2\n2024-01-01 00:00:10|2"
	})
}
