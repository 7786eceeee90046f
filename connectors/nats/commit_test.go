package nats

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/nats/embedded"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/vec"
)

// perEpoch rows are in every epoch; epoch e holds those from (e-1)*perEpoch.
const perEpoch = 100

func (b *broker) committer(t testing.TB, job string, attempt uint64, kv ...string) *committer {
	t.Helper()
	k := b.sink(t, append([]string{"subject", "out.{region}", "delivery", exactlyOnce}, kv...)...)
	c, err := k.Committer(context.Background(), job, attempt)
	must(t, err)
	return c.(*committer)
}

func (b *broker) acquired(t testing.TB, job string, attempt uint64, kv ...string) *committer {
	t.Helper()
	c := b.committer(t, job, attempt, kv...)
	must(t, c.Acquire(context.Background(), []connectors.Sink{c.k}, false))
	return c
}

func (c *committer) id(e stream.Epoch) connectors.CommitID {
	return connectors.CommitID{Job: c.job, Attempt: c.attempt, Epoch: e, Prev: e - 1, Checksum: fmt.Sprint("sum", e)}
}

// parts gives an epoch's rows in batches of 7.
func (c *committer) parts(e stream.Epoch, n int) []connectors.Part {
	return []connectors.Part{{Sink: c.k, Rows: func(ctx context.Context, yield func(*vec.Batch) error) error {
		for i := 0; i < n; i += 7 {
			if err := yield(rows((int(e)-1)*n+i, min(7, n-i))); err != nil {
				return err
			}
		}
		return nil
	}}}
}

func (c *committer) commit(e stream.Epoch) error {
	return c.Commit(context.Background(), c.id(e), c.parts(e, perEpoch))
}

func fence(t testing.TB, c *committer) connectors.Fence {
	t.Helper()
	f, err := c.Fence(context.Background())
	must(t, err)
	return f
}

func TestCommit(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	st := b.create(outStream(true))
	c := b.committer(t, "j1", 1)
	if f := fence(t, c); f.Known {
		t.Fatalf("fence of an empty stream: %+v", f)
	}
	must(t, c.Acquire(context.Background(), nil, false))
	for e := stream.Epoch(1); e <= 3; e++ {
		must(t, c.commit(e))
		must(t, c.commit(e)) // once more is nothing
	}
	b.wantRows(0, 3*perEpoch)
	if f := fence(t, c); f != (connectors.Fence{Known: true, Job: "j1", Attempt: 1, Epoch: 3, Checksum: "sum3"}) {
		t.Fatalf("fence %+v", f)
	}
	// An epoch without rows moves the fence, and one marker is enough.
	must(t, c.Commit(context.Background(), c.id(4), nil))
	if f := fence(t, c); f.Epoch != 4 {
		t.Fatalf("fence %+v", f)
	}
	time.Sleep(20 * time.Millisecond)
	info, err := st.Info(context.Background())
	must(t, err)
	if info.State.Msgs != 3*perEpoch+1 {
		t.Errorf("%d messages, want the rows and one marker", info.State.Msgs)
	}
	// A reader of the stream does not see the marker.
	rd := open(t, b.config("stream", "out", "end", "now"), nil)
	rd.toEnd()
	if len(rd.got) != 3*perEpoch {
		t.Errorf("a reader sees %d rows", len(rd.got))
	}
	// The next attempt takes over where this one ended.
	next := b.acquired(t, "j1", 2)
	if f := fence(t, next); f.Epoch != 4 || f.Checksum != "sum4" || f.Attempt != 2 {
		t.Fatalf("fence of the next attempt %+v", f)
	}
	must(t, next.commit(5))
	mustCode(t, next.commit(3), sqlerr.CodeFenced)
}

func TestZombie(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(outStream(true))
	old := b.acquired(t, "j1", 1)
	must(t, old.commit(1))
	// The old attempt has sent its batch and sleeps before the commit.
	var next *committer
	old.point = func(name string) error {
		if name == "commit" && next == nil {
			next = b.acquired(t, "j1", 2)
			must(t, next.commit(2))
		}
		return nil
	}
	e := mustCode(t, old.commit(2), sqlerr.CodeFenced)
	if e.Retry {
		t.Fatal("a fenced commit must not be tried again")
	}
	mustCode(t, old.commit(3), sqlerr.CodeFenced)
	mustCode(t, old.Acquire(context.Background(), nil, false), sqlerr.CodeFenced)
	b.wantRows(0, 2*perEpoch)
	must(t, next.commit(3))
	b.wantRows(0, 3*perEpoch)
}

func TestOtherJob(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(outStream(true))
	first := b.acquired(t, "j1", 1)
	must(t, first.commit(1))
	second := b.committer(t, "j2", 1)
	mustCode(t, second.Acquire(context.Background(), nil, false), sqlerr.CodeFenced)
	must(t, second.Acquire(context.Background(), nil, true))
	if f := fence(t, second); f.Job != "j2" || f.Epoch != 0 {
		t.Fatalf("fence %+v", f)
	}
	mustCode(t, first.commit(2), sqlerr.CodeFenced)
	must(t, first.Relinquish(context.Background())) // of what is not its own any more
	mustCode(t, b.committer(t, "j4", 1).Acquire(context.Background(), nil, false), sqlerr.CodeFenced)
	// With a marker of its own another job writes beside.
	beside := b.acquired(t, "j3", 1, "marker.subject", "out.markers.j3")
	must(t, beside.Commit(context.Background(), beside.id(1), beside.parts(2, perEpoch)))
	b.wantRows(0, 2*perEpoch)
}

// A job that has ended well leaves its fence and no claim: it may come back, or another
// may come without asking.
func TestRelinquish(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(outStream(true))
	first := b.acquired(t, "j1", 1)
	must(t, first.commit(1))
	must(t, first.Relinquish(context.Background()))
	again := b.acquired(t, "j1", 2)
	if f := fence(t, again); f.Job != "j1" || f.Epoch != 1 || f.Checksum != "sum1" {
		t.Fatalf("fence %+v", f)
	}
	mustCode(t, b.committer(t, "j2", 1).Acquire(context.Background(), nil, false), sqlerr.CodeFenced)
	must(t, again.commit(2))
	must(t, again.Relinquish(context.Background()))
	must(t, again.Relinquish(context.Background()))
	// One that has committed nothing gives back what it found.
	refused := b.acquired(t, "refused", 1)
	must(t, refused.Relinquish(context.Background()))
	if f := fence(t, b.committer(t, "j1", 3)); f.Job != "j1" || f.Epoch != 2 || f.Checksum != "sum2" {
		t.Fatalf("fence %+v", f)
	}
	second := b.acquired(t, "j2", 1)
	must(t, second.commit(1))
	mustCode(t, again.commit(3), sqlerr.CodeFenced)
	mustCode(t, b.committer(t, "j1", 3).Acquire(context.Background(), nil, false), sqlerr.CodeFenced)
}

// A job that dies after it has claimed the stream and before it has committed anything has
// not made the stream forget what is in it of the job before.
func TestClaimedAndDied(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(outStream(true))
	first := b.acquired(t, "j1", 1)
	must(t, first.commit(1))
	must(t, first.commit(2))
	must(t, first.Relinquish(context.Background()))
	b.acquired(t, "j2", 1) // dies
	third := b.committer(t, "j3", 1)
	must(t, third.Acquire(context.Background(), nil, true)) // dies too
	again := b.committer(t, "j1", 2)
	mustCode(t, again.Acquire(context.Background(), nil, false), sqlerr.CodeFenced)
	must(t, again.Acquire(context.Background(), nil, true))
	if f := fence(t, again); f.Job != "j1" || f.Epoch != 2 || f.Checksum != "sum2" || f.Attempt != 2 {
		t.Fatalf("fence %+v", f)
	}
	must(t, again.commit(2))
	must(t, again.commit(3))
	b.wantRows(0, 3*perEpoch)
	// Behind the first commit of another job nothing counts any more.
	last := b.committer(t, "j4", 1)
	must(t, last.Acquire(context.Background(), nil, true))
	must(t, last.Commit(context.Background(), last.id(1), last.parts(4, perEpoch)))
	if f := fence(t, b.committer(t, "j1", 3)); f.Job != "j4" || f.Epoch != 1 {
		t.Fatalf("fence %+v", f)
	}
}

// The batch is stored and the answer never comes.
func TestDoneButReportedFailed(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(outStream(true))
	rnd := rand.New(rand.NewPCG(1, 2))
	lost := errors.New("the answer was lost")
	fails := 0
	var c *committer
	attempt := uint64(0)
	fresh := func() {
		attempt++
		c = b.acquired(t, "j1", attempt)
		c.point = func(string) error {
			if rnd.IntN(3) == 0 {
				fails++
				return &outcomeUnknown{lost.Error()}
			}
			return nil
		}
	}
	fresh()
	e := stream.Epoch(1)
	for ; fails < 25; e++ {
		for {
			err := c.commit(e)
			if err == nil {
				break
			}
			if x := mustCode(t, err, sqlerr.CodeConnection); !x.Retry {
				t.Fatalf("not to be tried again: %v", err)
			}
			if rnd.IntN(2) == 0 { // the process dies
				fresh()
			}
		}
	}
	b.wantRows(0, int(e-1)*perEpoch)
}

// An epoch larger than a batch is committed in parts, each once, through crashes.
func TestParts(t *testing.T) {
	b := tuned(t, func(o *server.Options) { o.JetStreamLimits.MaxBatchSize = 20 })
	b.create(outStream(true))
	for _, pack := range []string{"1", "3"} {
		must(t, b.js.DeleteStream(context.Background(), "out"))
		b.create(outStream(true))
		rnd := rand.New(rand.NewPCG(3, 4))
		attempt, crashes := uint64(0), 0
		for e := stream.Epoch(1); e <= 4; e++ {
			for {
				attempt++
				c := b.acquired(t, "j1", attempt, "rows.per.message", pack)
				c.point = func(string) error {
					if crashes < 12 && rnd.IntN(4) == 0 {
						crashes++
						return &outcomeUnknown{"killed"}
					}
					return nil
				}
				if f := fence(t, c); f.Epoch != e-1 && f.Epoch != e {
					t.Fatalf("the fence moved to %d with a part of epoch %d", f.Epoch, e)
				}
				if err := c.commit(e); err == nil {
					break
				}
			}
		}
		if crashes < 6 {
			t.Fatalf("only %d crashes", crashes)
		}
		seen := map[string]int{}
		n := 0
		for _, m := range b.all("out") {
			for _, line := range lines(m) {
				seen[line]++
				n++
			}
		}
		for i := range 4 * perEpoch {
			if seen[row(i)] != 1 {
				t.Fatalf("rows.per.message %s: row %d is there %d times", pack, i, seen[row(i)])
			}
		}
		if n != 4*perEpoch {
			t.Fatalf("%d rows", n)
		}
	}
	b.publish("out.x", 0, 1)
}

func lines(m string) []string {
	var out []string
	for at, start := 0, 0; at <= len(m); at++ {
		if at == len(m) || m[at] == '\n' {
			line := m[start:at]
			for i := range line {
				if line[i] == '{' {
					out = append(out, line[i:])
					break
				}
			}
			start = at + 1
		}
	}
	return out
}

// The server restarts between the rows and the commit, and between commits.
func TestCommitThroughRestarts(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(outStream(true))
	c := b.acquired(t, "j1", 1)
	restarts := 0
	c.point = func(name string) error {
		if name == "commit" && restarts < 3 {
			restarts++
			b.restart()
		}
		return nil
	}
	for e := stream.Epoch(1); e <= 6; e++ {
		for tries := 0; ; tries++ {
			err := c.commit(e)
			if err == nil {
				break
			}
			if x := sqlerr.As(err); x == nil || !x.Retry || tries > 200 {
				t.Fatalf("epoch %d: %v", e, err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	b.wantRows(0, 6*perEpoch)
	if restarts != 3 {
		t.Fatalf("%d restarts", restarts)
	}
}

func TestMarkerGone(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	st := b.create(outStream(true))
	c := b.acquired(t, "j1", 1)
	must(t, c.commit(1))
	must(t, st.Purge(context.Background()))
	mustCode(t, c.commit(2), sqlerr.CodeGap)
	b.wantRows(0, 0)
}

func TestMarkerOutlivesMaxAge(t *testing.T) {
	t.Parallel()
	b := newBroker(t, embedded.Options{})
	cfg := outStream(true)
	cfg.MaxAge, cfg.Duplicates = 500*time.Millisecond, 500*time.Millisecond
	st := b.create(cfg)
	c := b.acquired(t, "j1", 1)
	must(t, c.commit(1))
	deadline := time.Now().Add(patience)
	for {
		info, err := st.Info(context.Background())
		must(t, err)
		if info.State.Msgs == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d messages are left", info.State.Msgs)
		}
		time.Sleep(20 * time.Millisecond)
	}
	must(t, c.commit(2))
	if f := fence(t, c); f.Epoch != 2 {
		t.Fatalf("fence %+v", f)
	}
}

// Several tables of one stream with one marker become visible together.
func TestTwoTables(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(outStream(true))
	c := b.acquired(t, "j1", 1)
	other := b.sink(t, "subject", "out.{region}", "delivery", exactlyOnce)
	if other.Group() != c.k.Group() {
		t.Fatalf("groups %q and %q", other.Group(), c.k.Group())
	}
	second := c.parts(2, perEpoch)[0]
	second.Sink = other
	must(t, c.Commit(context.Background(), c.id(1), append(c.parts(1, perEpoch), second)))
	b.wantRows(0, 2*perEpoch)
}

// A refused row that its policy lets go is left out of the batch.
func TestCommitRefusedRow(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(jetstream.StreamConfig{Name: "out", Subjects: []string{"out.>"}, AllowAtomicPublish: true, AllowMsgTTL: true, MaxMsgSize: 4000})
	c := b.acquired(t, "j1", 1)
	n := 0
	p := c.parts(1, perEpoch)[0]
	all := p.Rows
	p.Rows = func(ctx context.Context, yield func(*vec.Batch) error) error {
		bad := vec.NewBatch(outSchema.Types(), 1)
		bad.Cols[0].AppendInt64(1)
		bad.Cols[1].AppendNull()
		bad.AppendOp(vec.Insert)
		if err := yield(bad); err != nil {
			return err
		}
		return all(ctx, yield)
	}
	mustCode(t, c.Commit(context.Background(), c.id(1), []connectors.Part{p}), sqlerr.CodeNotNull)
	b.wantRows(0, 0)
	p.Refused = func(*vec.Batch, int, *sqlerr.Error) error { n++; return nil }
	must(t, c.Commit(context.Background(), c.id(1), []connectors.Part{p}))
	b.wantRows(0, perEpoch)
	if n != 1 {
		t.Fatalf("%d rows refused", n)
	}
}
