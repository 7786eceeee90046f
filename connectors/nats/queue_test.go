package nats

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/nats/embedded"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Streams that forget what was acknowledged: work queues, and streams with retention
// interest.

func queue() jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: "work", Subjects: []string{"work.>"}, Retention: jetstream.WorkQueuePolicy}
}

// jobConfig is a table of job id as its attempt-th attempt opens it.
func (b *broker) jobConfig(id string, attempt uint64, kv ...string) connectors.Config {
	c := b.config(kv...)
	c.Owner = connectors.Owner{Job: id, Name: "job " + id, Attempt: attempt, Interval: time.Second}
	return c
}

// tryJob opens a table and reserves what it needs.
func tryJob(t testing.TB, c connectors.Config, pos connectors.Position) (*reading, error) {
	t.Helper()
	rd, err := tryOpen(t, c, pos)
	if err == nil {
		err = rd.src.(connectors.Reserver).Reserve(context.Background())
	}
	return rd, err
}

func openJob(t testing.TB, c connectors.Config, pos connectors.Position) *reading {
	t.Helper()
	rd, err := tryJob(t, c, pos)
	must(t, err)
	return rd
}

// release releases up to pos, as soon as the server is there.
func (rd *reading) release(pos connectors.Position) {
	rd.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		err := rd.src.(connectors.Releaser).Release(context.Background(), connectors.Split{}, pos)
		if e := sqlerr.As(err); e == nil || !e.Retry || time.Now().After(deadline) {
			must(rd.t, err)
			return
		}
	}
}

func (rd *reading) finish() {
	rd.t.Helper()
	must(rd.t, rd.src.(connectors.Reserver).Finish(context.Background(), connectors.Split{}, rd.pos))
}

// crash ends the reading as the end of its process would.
func (rd *reading) crash() {
	rd.t.Helper()
	must(rd.t, rd.src.Close())
}

func (b *broker) state(stream string) jetstream.StreamState {
	b.t.Helper()
	st, err := b.js.Stream(context.Background(), stream)
	must(b.t, err)
	return st.CachedInfo().State
}

// holds waits until a stream has n messages, and checks that it keeps them.
func (b *broker) holds(stream string, n uint64) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	for b.state(stream).Msgs != n && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond)
	if s := b.state(stream); s.Msgs != n {
		b.t.Fatalf("stream %s holds %d messages, want %d", stream, s.Msgs, n)
	}
}

func (b *broker) consumers(stream string) (names []string) {
	b.t.Helper()
	st, err := b.js.Stream(context.Background(), stream)
	must(b.t, err)
	l := st.ConsumerNames(context.Background())
	for n := range l.Name() {
		names = append(names, n)
	}
	must(b.t, l.Err())
	return names
}

// Nothing leaves the queue before it is released, and a restart reads what was not.
func TestQueueReleasesWhatIsDurable(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(queue())
	b.publish("work.a", 0, 3000)
	rd := openJob(t, b.jobConfig("1", 1, "stream", "work"), nil)
	rd.until(3000)
	rd.numbered(0, 3000)
	b.holds("work", 3000)
	first := rd.pos
	rd.release(first)
	b.holds("work", 0)

	b.publish("work.a", 3000, 500)
	rd.until(3500)
	b.holds("work", 500)
	rd.crash() // read and in no checkpoint
	rd = openJob(t, b.jobConfig("1", 2, "stream", "work"), first)
	rd.until(500)
	rd.numbered(3000, 500)
	second := rd.pos
	rd.crash() // in a checkpoint and not released
	rd = openJob(t, b.jobConfig("1", 3, "stream", "work"), second)
	b.publish("work.a", 3500, 10)
	rd.until(10)
	rd.numbered(3500, 10)
	b.holds("work", 510)
	rd.release(second)
	b.holds("work", 10)
	rd.release(rd.pos)
	b.holds("work", 0)
	if names := b.consumers("work"); len(names) != 1 || names[0] != "streamsql-1-t-3-1" {
		t.Fatalf("consumers %v", names)
	}
}

// A bounded read ends where it was to end; what it has read is gone with its consumer
// once it is finished, also by a later start, and what lies behind is left to others.
func TestQueueBounded(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(queue())
	empty := openJob(t, b.jobConfig("1", 1, "stream", "work", "end", "now"), nil)
	empty.toEnd()
	empty.numbered(0, 0)
	empty.finish()

	b.publish("work.a", 0, 2500)
	rd := openJob(t, b.jobConfig("2", 1, "stream", "work", "end", "now"), nil)
	b.publish("work.a", 2500, 10)
	rd.toEnd()
	rd.numbered(0, 2500)
	b.holds("work", 2510)
	rd.crash()
	again := openJob(t, b.jobConfig("2", 2, "stream", "work", "end", "now"), rd.pos)
	again.toEnd()
	again.numbered(0, 0)
	again.pos = rd.pos
	again.finish()
	again.finish()
	b.holds("work", 10)
	if names := b.consumers("work"); len(names) > 0 {
		t.Fatalf("consumers %v", names)
	}
	// The job may go on from there.
	on := openJob(t, b.jobConfig("2", 3, "stream", "work"), []byte(strings.Replace(string(rd.pos), `"bounded":true,`, "", 1)))
	on.until(10)
	on.numbered(2500, 10)
}

// A split that ended in an earlier attempt is finished by one that does not read it.
// Older checkpoints are released before, and who dies in the midst of it may have left
// the queue without a consumer.
func TestQueueEndedBefore(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name   string
		before func(*broker)
		left   uint64
	}{
		{"whole", func(*broker) {}, 0},
		{"without its consumer", func(b *broker) {
			must(b.t, b.js.DeleteConsumer(ctx, "work", "streamsql-1-t-1-1"))
		}, 0},
		{"taken over", func(b *broker) {
			must(b.t, b.js.DeleteConsumer(ctx, "work", "streamsql-1-t-1-1"))
			openJob(b.t, b.jobConfig("2", 1, "stream", "work"), nil)
		}, 200},
		{"made again", func(b *broker) {
			must(b.t, b.js.DeleteStream(ctx, "work"))
			b.create(queue())
			b.publish("work.a", 0, 100)
		}, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBroker(t, embedded.Options{})
			b.create(queue())
			b.publish("work.a", 0, 100)
			rd := openJob(t, b.jobConfig("1", 1, "stream", "work", "end", "sequence:200"), nil)
			rd.until(100)
			older := rd.pos
			b.publish("work.a", 100, 100)
			rd.toEnd()
			rd.crash()
			c.before(b)
			src, err := openSource(ctx, b.jobConfig("1", 2, "stream", "work", "end", "sequence:200"))
			must(t, err)
			defer src.Close()
			must(t, src.(connectors.Reserver).Reserve(ctx))
			must(t, src.(connectors.Releaser).Release(ctx, connectors.Split{}, older))
			for range 2 {
				must(t, src.(connectors.Reserver).Finish(ctx, connectors.Split{}, rd.pos))
				b.holds("work", c.left)
			}
			for _, name := range b.consumers("work") {
				if strings.HasPrefix(name, "streamsql-1-") {
					t.Errorf("consumer %s", name)
				}
			}
		})
	}
}

// A table that has another name in a later attempt goes on where it was.
func TestQueueRenamed(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	for _, cfg := range []jetstream.StreamConfig{queue(), interest()} {
		b.create(cfg)
		subject := cfg.Name + ".a"
		rd := openJob(t, b.jobConfig("1", 1, "stream", cfg.Name), nil)
		b.publish(subject, 0, 100)
		rd.until(100)
		rd.crash()
		b.publish(subject, 100, 10)
		c := b.jobConfig("1", 2, "stream", cfg.Name)
		c.Table = "other"
		on := openJob(t, c, rd.pos)
		on.until(10)
		on.numbered(100, 10)
		on.release(on.pos)
		b.holds(cfg.Name, 0)
		if names := b.consumers(cfg.Name); len(names) != 1 || names[0] != "streamsql-1-other-2-1" {
			t.Fatalf("consumers %v", names)
		}
		c = b.jobConfig("1", 2, "stream", cfg.Name)
		_, err := tryJob(t, c, nil)
		if cfg.Name == "work" {
			mustCode(t, err, sqlerr.CodeFenced)
		} else {
			must(t, err)
		}
	}
}

// Redeliveries come between new messages and in any order: the rows do not.
func TestQueueRedelivery(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	st := b.create(queue())
	b.publish("work.a", 0, 300)
	rd := openJob(t, b.jobConfig("1", 1, "stream", "work"), nil)
	rd.until(300)
	pos := rd.pos
	// The server is told to give up waiting soon, over and over.
	cons, err := st.Consumer(context.Background(), "streamsql-1-t-1-1")
	must(t, err)
	cfg := cons.CachedInfo().Config
	cfg.AckWait = 200 * time.Millisecond
	_, err = st.UpdateConsumer(context.Background(), cfg)
	must(t, err)
	n := 300
	end := time.Now().Add(patience)
	for again := uint64(0); again < 1000; n += 10 {
		if time.Now().After(end) {
			t.Fatalf("only %d messages were delivered again", again)
		}
		b.publish("work.a", n, 10)
		rd.until(n + 10)
		info, err := cons.Info(context.Background())
		must(t, err)
		again = info.Delivered.Consumer - info.Delivered.Stream
		time.Sleep(20 * time.Millisecond)
	}
	rd.numbered(0, n)
	// What was delivered several times is acknowledged once and for all.
	rd.release(pos)
	b.holds("work", uint64(n-300))
	rd.quiet(300 * time.Millisecond)
	rd.crash()
	rd = openJob(t, b.jobConfig("1", 2, "stream", "work"), pos)
	rd.until(n - 300)
	rd.numbered(300, n-300)
	rd.release(rd.pos)
	b.holds("work", 0)
}

// An acknowledgement that is lost is made up for when the message comes again.
func TestQueueLostAcks(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(queue())
	b.publish("work.a", 0, 100)
	rd := openJob(t, b.jobConfig("1", 1, "stream", "work"), nil)
	rd.until(100)
	src := rd.src.(*source)
	src.kept.acks.reset() // they are on their way and do not arrive
	rd.release(rd.pos)
	b.holds("work", 100)
	src.s.up() // the connection comes back
	rd.quiet(200 * time.Millisecond)
	b.holds("work", 0)
	b.publish("work.a", 100, 10)
	rd.until(110)
	rd.numbered(0, 110)
}

// While a checkpoint takes longer than the server waits, it is told to wait on.
func TestQueueProgress(t *testing.T) {
	t.Parallel()
	b := newBroker(t, embedded.Options{})
	st := b.create(queue())
	b.publish("work.a", 0, 1500)
	rd, err := tryOpen(t, b.jobConfig("1", 1, "stream", "work"), nil)
	must(t, err)
	rd.src.(*source).kept.ackWait = 1500 * time.Millisecond
	must(t, rd.src.(connectors.Reserver).Reserve(context.Background()))
	rd.until(1500)
	rd.quiet(4 * time.Second)
	cons, err := st.Consumer(context.Background(), "streamsql-1-t-1-1")
	must(t, err)
	if info := cons.CachedInfo(); info.Delivered.Consumer != 1500 || info.NumAckPending != 1500 {
		t.Fatalf("%d deliveries, %d without acknowledgement", info.Delivered.Consumer, info.NumAckPending)
	}
	rd.release(rd.pos)
	b.holds("work", 0)
}

func TestQueueServerRestarted(t *testing.T) {
	t.Parallel()
	b := newBroker(t, embedded.Options{})
	b.create(queue())
	b.publish("work.a", 0, 24_000)
	rd := openJob(t, b.jobConfig("1", 1, "stream", "work", "end", "now"), nil)
	for k, n := range []int{5000, 12_000, 18_000} {
		rd.until(n)
		if k > 0 {
			rd.release(rd.pos)
		}
		b.restart()
	}
	rd.toEnd()
	rd.numbered(0, 24_000)
	rd.finish()
	b.holds("work", 0)
}

// The consumer is deleted under a running job, and while it is stopped.
func TestQueueConsumerDeleted(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	st := b.create(queue())
	b.publish("work.a", 0, 100)
	rd := openJob(t, b.jobConfig("1", 1, "stream", "work"), nil)
	rd.until(100)
	must(t, st.DeleteConsumer(context.Background(), "streamsql-1-t-1-1"))
	b.publish("work.a", 100, 10)
	rd.until(110)
	rd.crash()
	must(t, st.DeleteConsumer(context.Background(), "streamsql-1-t-1-2"))
	again := openJob(t, b.jobConfig("1", 2, "stream", "work"), rd.pos)
	b.publish("work.a", 110, 10)
	again.until(10)
	again.numbered(110, 10)
	again.release(again.pos)
	b.holds("work", 0)
	// Purged, it has lost messages.
	b.publish("work.a", 120, 10)
	again.crash()
	must(t, st.Purge(context.Background()))
	_, err := tryJob(t, b.jobConfig("1", 3, "stream", "work"), again.pos)
	if e := mustCode(t, err, sqlerr.CodeGap); !strings.Contains(e.Msg, "lost 10 messages") {
		t.Fatalf("%q", e.Msg)
	}
}

// Readers of other subjects do not make gaps.
func TestQueueByFilter(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(queue())
	b.publish("work.a", 0, 10)
	b.publish("work.b", 100, 50)
	one := openJob(t, b.jobConfig("1", 1, "stream", "work", "subject", "work.a"), nil)
	two := openJob(t, b.jobConfig("2", 1, "stream", "work", "subject", "work.b"), nil)
	one.until(10)
	one.numbered(0, 10)
	one.release(one.pos)
	two.until(50)
	two.numbered(100, 50)
	two.release(two.pos)
	b.holds("work", 0)
	one.crash()
	b.publish("work.b", 150, 5)
	two.until(55)
	two.release(two.pos)
	b.publish("work.a", 10, 5)
	one = openJob(t, b.jobConfig("1", 2, "stream", "work", "subject", "work.a"), one.pos)
	one.until(5)
	one.numbered(10, 5)
}
