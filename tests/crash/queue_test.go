package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/internal/crashpoint"
)

// queue makes a work queue with all the bids in it.
func (w *world) queue() {
	w.t.Helper()
	ctx := context.Background()
	if err := w.js.DeleteStream(ctx, "QUEUE"); err != nil && err != jetstream.ErrStreamNotFound {
		w.t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		s, err := w.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "QUEUE", Retention: jetstream.WorkQueuePolicy,
			Sources: []*jetstream.StreamSource{{Name: "NEXMARK"}}})
		if err == nil && s.CachedInfo().State.Msgs == uint64(w.bids) {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("the queue is not full: %v", err)
		}
	}
}

// emptied checks that neither messages nor consumers are left. Nothing promises that the
// server takes a message out before it answers the acknowledgement.
func (w *world) emptied() {
	w.t.Helper()
	var st jetstream.StreamState
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		s, err := w.js.Stream(context.Background(), "QUEUE")
		if err != nil {
			w.t.Fatal(err)
		}
		if st = s.CachedInfo().State; st.Consumers != 0 {
			break
		}
		if st.Msgs == 0 {
			return
		}
	}
	w.t.Fatalf("the queue holds %d messages (sequences %d to %d) and %d consumers at the end", st.Msgs, st.FirstSeq, st.LastSeq, st.Consumers)
}

// queueJobs read the queue into PostgreSQL: with rows written early, and with rows that
// the checkpoint commits.
func (w *world) queueJobs() []job {
	bid := fmt.Sprintf(`CREATE TABLE bid (auction BIGINT, bidder BIGINT, price BIGINT) WITH (
  connector = 'nats', url = '%s', stream = 'QUEUE', 'end' = 'now', format = 'json');
`, w.url)
	pg := func(table, columns, more string) string {
		return fmt.Sprintf("CREATE TABLE %s (%s) WITH (connector = 'postgres', url = '%s'%s);\n", table, columns, w.pg.DSN, more)
	}
	return []job{
		{"append", []string{"CREATE TABLE b (bidder bigint, price bigint)"},
			bid + pg("b", "bidder BIGINT, price BIGINT", ", mode = 'append'") + "INSERT INTO b SELECT bidder, price FROM bid;",
			"SELECT bidder, price FROM b ORDER BY 1, 2", "SELECT bidder, price FROM truth ORDER BY 1, 2"},
		{"totals", []string{"CREATE TABLE tot (auction bigint PRIMARY KEY, bids bigint, total numeric)"},
			bid + pg("tot", "auction BIGINT, bids BIGINT, total DECIMAL(38, 0), PRIMARY KEY (auction)", "") +
				"INSERT INTO tot SELECT auction, COUNT(*), SUM(price) FROM bid GROUP BY auction;",
			"SELECT * FROM tot ORDER BY 1", "SELECT auction, count(*), sum(price) FROM truth GROUP BY 1 ORDER BY 1"},
	}
}

// TestQueueKilledAtRandom kills a job that reads a work queue. A message that left the
// queue before its checkpoint would be missing, one that came back would be there twice.
func TestQueueKilledAtRandom(t *testing.T) {
	w := newWorld(t, 150_000)
	for _, j := range w.queueJobs() {
		t.Run(j.name, func(t *testing.T) {
			w := w.of(t)
			rnd := seed(t)
			w.queue()
			w.exec(j.tables...)
			file, data := w.file("job", j.sql), t.TempDir()
			if w.killSome(rnd, file, data) == 0 {
				t.Fatal("the job was never killed")
			}
			w.finish(file, data)
			w.same(j.got, j.want)
			w.emptied()
		})
	}
}

func (w *world) of(t *testing.T) *world {
	return &world{t: t, nats: w.nats, url: w.url, dir: w.dir, pg: w.pg, db: w.db, js: w.js, bids: w.bids}
}

// killSome kills the job at random moments, up to 8 times, and counts them.
func (w *world) killSome(rnd *rand.Rand, file, data string) (kills int) {
	w.t.Helper()
	for k := range 8 {
		p := w.start(file, data)
		if p.ended(time.Duration(30+rnd.IntN(100+50*k)) * time.Millisecond) {
			if p.err != nil {
				w.t.Fatalf("the job failed: %v\n%s", p.err, p.stderr.String())
			}
			return kills
		}
		p.kill()
		kills++
	}
	return kills
}

// TestQueueReaderWakes: a process is stopped while it reads the queue, another takes the
// job over and ends it without waiting for what the first one holds, the first wakes up
// and ends.
func TestQueueReaderWakes(t *testing.T) {
	w := newWorld(t, 150_000)
	for _, j := range w.queueJobs() {
		t.Run(j.name, func(t *testing.T) {
			w := w.of(t)
			w.queue()
			w.exec("DROP TABLE IF EXISTS b, tot, streamsql_fence, streamsql_target")
			w.exec(j.tables...)
			file, data := w.file("job", j.sql), t.TempDir()
			old := w.start(file, data)
			w.begun(old)
			if err := old.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			w.finish(file, data)
			w.same(j.got, j.want)
			w.emptied()
			if err := old.cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			if !old.ended(60 * time.Second) {
				t.Fatalf("the overtaken process goes on\n%s", old.stderr.String())
			}
			if old.err == nil {
				t.Error("the overtaken process ended as if all were well")
			}
			w.same(j.got, j.want)
			w.emptied()
		})
	}
}

// TestQueueKilledAtCrashPoints kills the job the first and the second time that it comes
// to each named place, with a full queue for each of them.
func TestQueueKilledAtCrashPoints(t *testing.T) {
	w := newWorld(t, 20_000)
	j := w.queueJobs()[1]
	for _, name := range crashpoint.Names {
		t.Run(name, func(t *testing.T) {
			w := w.of(t)
			w.queue()
			w.exec("DROP TABLE IF EXISTS tot")
			w.exec(j.tables...)
			file, data := w.file("job", j.sql), t.TempDir()
			died := 0
			for _, n := range []int{1, 2} {
				if w.died(w.start(file, data, crashAt(name, n))) {
					died++
				}
			}
			if died == 0 {
				t.Fatal("the job never died")
			}
			w.finish(file, data)
			w.same(j.got, j.want)
			w.emptied()
		})
	}
}
