package sql

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// forgetting makes EVENTS a stream that forgets what its consumers have acknowledged.
func (w *world) forgetting(r jetstream.RetentionPolicy) {
	w.t.Helper()
	ctx := context.Background()
	if err := w.js.DeleteStream(ctx, "EVENTS"); err != nil {
		w.t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, err := w.js.CreateStream(ctx, jetstream.StreamConfig{Name: "EVENTS", Subjects: []string{"ev.>"}, Retention: r})
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatal(err)
		}
	}
}

// events gives the stream and the names of its consumers.
func (w *world) events() (jetstream.StreamState, []string) {
	w.t.Helper()
	s, err := w.js.Stream(context.Background(), "EVENTS")
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for n := range s.ConsumerNames(context.Background()).Name() {
		names = append(names, n)
	}
	return s.CachedInfo().State, names
}

func (w *world) close(e *engine.Engine) {
	w.t.Helper()
	if err := e.Close(context.Background()); err != nil {
		w.t.Fatal(err)
	}
}

// TestQueueFollowsTheCheckpoint is B101: a message leaves a work queue when a checkpoint
// covers it that all sinks have confirmed, and not before.
func TestQueueFollowsTheCheckpoint(t *testing.T) {
	w := newWorld(t)
	w.forgetting(jetstream.WorkQueuePolicy)
	w.exec(totalsTable)
	w.numbers("ev.a", 1, 20)
	for range 3 {
		e := w.open("checkpoint.interval", "1h")
		j := w.mustStart(e, totals(w, ""), engine.Start{})
		w.eventually("all messages are read", func() bool { return j.Status().RowsIn >= 20 })
		j.Cancel()
		w.close(e)
		w.equal("before a checkpoint", w.rows("SELECT count(*) FROM totals"), "0")
	}
	if s, _ := w.events(); s.Msgs != 20 {
		t.Fatalf("the queue holds %d messages, and no checkpoint was made", s.Msgs)
	}
	e := w.open("checkpoint.retained", "1")
	j := w.mustStart(e, totals(w, ""), engine.Start{})
	w.numbers("ev.a", 21, 30)
	w.wantTotals(30)
	w.eventually("the queue is empty", func() bool { s, _ := w.events(); return s.Msgs == 0 })
	j.Cancel()
	w.close(e)
	w.numbers("ev.a", 31, 40)
	e = w.open("checkpoint.retained", "1")
	j = w.mustStart(e, totals(w, ""), engine.Start{})
	w.wantTotals(40)
	if err := j.Stop(soon(t), ""); err != nil {
		t.Fatal(err)
	}
	if s, names := w.events(); s.Msgs != 0 || len(names) != 1 {
		t.Errorf("after the stop the queue holds %d messages, consumers %v", s.Msgs, names)
	}
}

// TestQueueBounded: a bounded job leaves neither message nor consumer, two INSERTs read
// the queue once, and a query leaves all as it is.
func TestQueueBounded(t *testing.T) {
	w := newWorld(t)
	w.forgetting(jetstream.WorkQueuePolicy)
	w.exec(totalsTable, "CREATE TABLE got (v bigint)")
	w.numbers("ev.a", 1, 500)
	e := w.open()
	f, err := e.Load("look", w.source("k VARCHAR, v BIGINT", ", 'end' = 'now'")+"SELECT COUNT(*) AS n FROM ev;")
	if err != nil {
		t.Fatal(err)
	}
	q, err := e.Query(context.Background(), f, f.Queries()[0])
	if err != nil {
		t.Fatal(err)
	}
	last := int64(0)
	for {
		b, err := q.Next(soon(t))
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		last = b.Cols[0].I64[b.N-1]
		b.Release()
	}
	if last != 500 {
		t.Errorf("the query counts %d", last)
	}
	q.Stop()
	w.eventually("the query's consumer is gone", func() bool { _, names := w.events(); return len(names) == 0 })
	if s, _ := w.events(); s.Msgs != 500 {
		t.Fatalf("a query took %d messages", 500-s.Msgs)
	}
	w.close(e)
	text := totals(w, ", 'end' = 'now'") + w.sink("got", "v BIGINT", ", mode = 'append'") + "INSERT INTO got SELECT v FROM ev;"
	if _, err := w.run(text); err != nil {
		t.Fatal(err)
	}
	w.wantTotals(500)
	w.equal("rows", w.rows("SELECT count(*), sum(v) FROM got"), "500|125250")
	if s, names := w.events(); s.Msgs != 0 || len(names) != 0 {
		t.Errorf("the finished job leaves %d messages and consumers %v", s.Msgs, names)
	}
	if _, err := w.run(text); !errors.Is(err, engine.ErrFinished) {
		t.Errorf("once more: %v", err)
	}
}

// TestQueueOfTwoJobs: the second reader of a queue is refused and leaves no trace, unless
// it takes over; then the first one ends.
func TestQueueOfTwoJobs(t *testing.T) {
	w := newWorld(t)
	w.forgetting(jetstream.WorkQueuePolicy)
	w.exec(totalsTable, "CREATE TABLE got (v bigint)")
	w.numbers("ev.a", 1, 20)
	e := w.open()
	first := w.mustStart(e, totals(w, ""), engine.Start{})
	w.wantTotals(20)
	text := w.source("k VARCHAR, v BIGINT", "") + w.sink("got", "v BIGINT", ", mode = 'append'") + "INSERT INTO got SELECT v FROM ev;"
	run := func(how engine.Start) (*engine.Job, error) {
		f, err := e.Load("other", text)
		if err != nil {
			t.Fatal(err)
		}
		return e.Run(context.Background(), f, how)
	}
	_, err := run(engine.Start{})
	x := sqlerr.As(err)
	if x == nil || x.Code != sqlerr.CodeFenced || !strings.Contains(x.Msg, `read by job "job"`) || !strings.Contains(x.Hint, "--take-over") {
		t.Fatalf("a second job: %v", err)
	}
	if _, names := w.events(); len(names) != 1 {
		t.Errorf("consumers %v", names)
	}
	second, err := run(engine.Start{TakeOver: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.ended(first); sqlerr.CodeOf(err) != sqlerr.CodeFenced {
		t.Errorf("the first job ended with %v", err)
	}
	w.numbers("ev.a", 21, 30)
	w.eventually("the second job reads", func() bool { return w.rows("SELECT count(*) FROM got WHERE v > 20") == "10" })
	if !second.Running() {
		t.Errorf("the second job ended with %v", second.Wait())
	}
}

// TestInterestOfTwoJobs: each job gets every message, through its restarts.
func TestInterestOfTwoJobs(t *testing.T) {
	w := newWorld(t)
	w.forgetting(jetstream.InterestPolicy)
	w.exec(totalsTable, "CREATE TABLE got (v bigint)")
	w.numbers("ev.a", 1000, 1010) // before anybody listens
	text := w.source("k VARCHAR, v BIGINT", "") + w.sink("got", "v BIGINT", ", mode = 'append'") + "INSERT INTO got SELECT v FROM ev;"
	e := w.open("checkpoint.retained", "1")
	w.mustStart(e, totals(w, ""), engine.Start{})
	other := func() *engine.Job {
		f, err := e.Load("other", text)
		if err != nil {
			t.Fatal(err)
		}
		j, err := e.Run(context.Background(), f, engine.Start{})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	j := other()
	w.numbers("ev.a", 1, 20)
	w.wantTotals(20)
	w.eventually("the other job", func() bool { return w.rows("SELECT count(*) FROM got") == "20" })
	j.Cancel()
	w.numbers("ev.a", 21, 60)
	w.wantTotals(60)
	other()
	w.eventually("the other job after its restart", func() bool { return w.rows("SELECT count(*), sum(v) FROM got") == "60|1830" })
	w.numbers("ev.a", 61, 70)
	w.eventually("the other job on and on", func() bool { return w.rows("SELECT count(*), sum(v) FROM got") == "70|2485" })
	w.wantTotals(70)
	w.eventually("both have let go", func() bool { s, _ := w.events(); return s.Msgs == 0 })
}

// TestStreamIsGivenUp: a job that has ended well leaves its stream to the next, which is
// refused while the job may come back.
func TestStreamIsGivenUp(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	_, err := w.js.CreateStream(ctx, jetstream.StreamConfig{Name: "OUT", Subjects: []string{"out.>"}, AllowAtomicPublish: true, AllowMsgTTL: true})
	if err != nil {
		t.Fatal(err)
	}
	w.numbers("ev.a", 1, 20)
	text := w.source("k VARCHAR, v BIGINT", "") + "CREATE TABLE o (v BIGINT) WITH (connector = 'nats', url = '" + w.nats.URL() +
		"', subject = 'out.rows', delivery = 'exactly-once', format = 'json');\nINSERT INTO o SELECT v FROM ev;"
	count := func() uint64 {
		s, err := w.js.Stream(ctx, "OUT")
		if err != nil {
			t.Fatal(err)
		}
		return s.CachedInfo().State.Msgs
	}
	e := w.open()
	j := w.mustStart(e, text, engine.Start{})
	w.eventually("the rows and the marker", func() bool { return count() == 21 })
	j.Cancel()
	other := func() (*engine.Job, error) {
		f, err := e.Load("other", text)
		if err != nil {
			t.Fatal(err)
		}
		return e.Run(ctx, f, engine.Start{})
	}
	if _, err := other(); sqlerr.CodeOf(err) != sqlerr.CodeFenced {
		t.Fatalf("a second job: %v", err)
	}
	j = w.mustStart(e, text, engine.Start{})
	if err := j.Stop(soon(t), ""); err != nil {
		t.Fatal(err)
	}
	if j, err = other(); err != nil {
		t.Fatal(err)
	}
	w.eventually("the rows of the second job", func() bool { return count() == 41 })
	if err := j.Stop(soon(t), ""); err != nil {
		t.Fatal(err)
	}
}
