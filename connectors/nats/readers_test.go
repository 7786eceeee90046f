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

// Who reads a stream that forgets, and who may not.

func TestQueueReaders(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	st := b.create(queue())
	b.publish("work.a", 0, 100)
	rd := openJob(t, b.jobConfig("1", 1, "stream", "work", "subject", "work.*"), nil)
	rd.until(100)
	for _, c := range []struct {
		conf  connectors.Config
		holds string
	}{
		{b.jobConfig("2", 1, "stream", "work"), `work queue "work" is read by job "job 1"`},
		{b.jobConfig("2", 1, "stream", "work", "subject", "work.a"), `work queue "work" is read by job "job 1"`},
		{b.config("stream", "work"), `work queue "work" is read by job "job 1"`},
		{b.jobConfig("2", 1, "stream", "work", "subject", "work.x.y", "start", "latest"), `read from its earliest message only`},
		{b.jobConfig("2", 1, "stream", "work", "subject", "work.x.y", "start", "sequence:50"), `read from its earliest message only`},
	} {
		_, err := tryJob(t, c.conf, nil)
		if e := sqlerr.As(err); e == nil || e.Class != sqlerr.User || e.Hint == "" || !strings.Contains(e.Msg, c.holds) {
			t.Errorf("%v: %+v", c.conf.Options, err)
		}
	}
	openJob(t, b.jobConfig("3", 1, "stream", "work", "subject", "work.x.y"), nil)
	if n := len(b.consumers("work")); n != 2 {
		t.Fatalf("refused starts left consumers: %v", b.consumers("work"))
	}
	// The server refuses by itself what came in between.
	late, err := tryOpen(t, b.jobConfig("4", 1, "stream", "work", "subject", "work.q.>"), nil)
	must(t, err)
	_, err = st.CreateConsumer(context.Background(), jetstream.ConsumerConfig{Durable: "theirs", FilterSubject: "work.q.1", AckPolicy: jetstream.AckExplicitPolicy})
	must(t, err)
	err = late.src.(connectors.Reserver).Reserve(context.Background())
	if e := mustCode(t, err, sqlerr.CodeFenced); !strings.Contains(e.Msg, `consumer "theirs"`) || !strings.Contains(e.Hint, "nats consumer rm work theirs") {
		t.Errorf("%q, hint %q", e.Msg, e.Hint)
	}
	// --fresh takes the place of the job whose name it takes, --take-over that of any
	// job; whom they replace ends and does not come back.
	fresh := b.jobConfig("5", 1, "stream", "work", "subject", "work.a")
	fresh.Owner.Replaces = "1"
	five := openJob(t, fresh, nil)
	five.until(100)
	five.numbered(0, 100)
	mustCode(t, rd.untilError(), sqlerr.CodeFenced)
	over := b.jobConfig("6", 1, "stream", "work", "subject", "work.*")
	over.Owner.TakeOver = true
	six := openJob(t, over, nil)
	six.until(100)
	mustCode(t, five.untilError(), sqlerr.CodeFenced)
	six.finish()
	b.holds("work", 0)
}

// An attempt that is older than the consumer's ends; so does a second reader of one job.
func TestQueueAttempts(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(queue())
	b.publish("work.a", 0, 100)
	c := b.jobConfig("1", 1, "stream", "work")
	old := openJob(t, c, nil)
	old.until(100)
	_, err := tryJob(t, c, nil)
	mustCode(t, err, sqlerr.CodeNotSupported)
	two := openJob(t, b.jobConfig("1", 2, "stream", "work"), nil)
	two.until(100)
	old.src.(*source).s.up()
	mustCode(t, old.untilError(), sqlerr.CodeFenced)
	b.publish("work.a", 100, 100)
	two.until(200)
	two.numbered(0, 200)
	_, err = tryJob(t, c, nil)
	mustCode(t, err, sqlerr.CodeFenced)
}

// A query looks and takes nothing away.
func TestQueueQuery(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(queue())
	b.publish("work.a", 0, 100)
	rd := openJob(t, b.config("stream", "work", "end", "now"), nil)
	rd.toEnd()
	rd.numbered(0, 100)
	rd.release(rd.pos)
	rd.finish()
	rd.crash()
	b.holds("work", 100)
	deadline := time.Now().Add(patience)
	for len(b.consumers("work")) > 0 && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if names := b.consumers("work"); len(names) > 0 {
		t.Fatalf("consumers %v", names)
	}
}

func TestStreamsThatCannotKeep(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	limited := queue()
	limited.ConsumerLimits.MaxAckPending = 100
	b.create(limited)
	_, err := tryJob(t, b.jobConfig("1", 1, "stream", "work"), nil)
	if e := mustCode(t, err, sqlerr.CodeSchema); !strings.Contains(e.Msg, "100") {
		t.Errorf("%q", e.Msg)
	}
	idle := interest()
	idle.ConsumerLimits.InactiveThreshold = time.Hour
	b.create(idle)
	_, err = tryJob(t, b.jobConfig("1", 1, "stream", "news"), nil)
	if e := mustCode(t, err, sqlerr.CodeSchema); !strings.Contains(e.Msg, "inactive for 1h") {
		t.Errorf("%q", e.Msg)
	}
}

// Names of tables that differ give consumers that differ.
func TestConsumerToken(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"t", "T", "a.b", "a_b", "a b", "a_2eb", "ä", "a-b", "_", ""} {
		k := consumerToken(name)
		if other, dup := seen[k]; dup || strings.ContainsAny(k, ".*> \t") {
			t.Errorf("%q and %q give %q", name, other, k)
		}
		seen[k] = name
	}
}
