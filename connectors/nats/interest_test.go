package nats

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/nats/embedded"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

func interest() jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: "news", Subjects: []string{"news.>"}, Retention: jetstream.InterestPolicy}
}

// Each of two jobs gets every message of an interest stream, and both have to let go.
func TestInterest(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(interest())
	b.publish("news.a", 0, 10) // nobody is interested
	one := openJob(t, b.jobConfig("1", 1, "stream", "news"), nil)
	two := openJob(t, b.jobConfig("2", 1, "stream", "news", "subject", "news.{x}"), nil)
	b.publish("news.a", 10, 2000)
	one.until(2000)
	one.numbered(10, 2000)
	one.release(one.pos)
	two.until(1000)
	b.holds("news", 2000)
	two.crash()
	two = openJob(t, b.jobConfig("2", 2, "stream", "news", "subject", "news.{x}"), two.pos)
	two.until(1)
	b.publish("news.a", 2010, 90)
	one.until(2090)
	for two.got[len(two.got)-1] != "2099" {
		must(t, two.next(patience))
	}
	first, n := 0, len(two.got)
	fmt.Sscan(two.got[0], &first)
	two.numbered(first, n)
	two.release(two.pos)
	b.holds("news", 90)
	one.release(one.pos)
	b.holds("news", 0)

	// "latest" holds for the first start, whether or not there was a checkpoint.
	late := openJob(t, b.jobConfig("3", 1, "stream", "news", "start", "latest"), nil)
	late.crash()
	b.publish("news.a", 3000, 5)
	late = openJob(t, b.jobConfig("3", 2, "stream", "news", "start", "latest"), nil)
	late.until(5)
	late.numbered(3000, 5)
}

// Without its consumer a job does not know what it has missed.
func TestInterestConsumerDeleted(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	st := b.create(interest())
	rd := openJob(t, b.jobConfig("1", 1, "stream", "news"), nil)
	b.publish("news.a", 0, 10)
	rd.until(10)
	must(t, st.DeleteConsumer(context.Background(), "streamsql-1-t-1-1"))
	b.publish("news.a", 10, 10)
	if e := mustCode(t, rd.untilError(), sqlerr.CodeGap); e.Retry || !strings.Contains(e.Hint, "on.gap") {
		t.Fatalf("%+v", e)
	}
	_, err := tryJob(t, b.jobConfig("1", 2, "stream", "news"), rd.pos)
	mustCode(t, err, sqlerr.CodeGap)
	on := openJob(t, b.jobConfig("1", 3, "stream", "news", "on.gap", "warn"), rd.pos)
	b.publish("news.a", 20, 10)
	on.until(10)
	on.numbered(20, 10)
	if s := on.r.(connectors.Reporter).Status(); s.Warnings == 0 {
		t.Error("no warning")
	}
}

// A job under the name of another (--fresh) sees what is there and lets the other's
// consumer go, but not before it has a checkpoint of its own.
func TestInterestFresh(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(interest())
	old := openJob(t, b.jobConfig("1", 1, "stream", "news"), nil)
	b.publish("news.a", 0, 10)
	old.until(10)
	old.crash()
	c := b.jobConfig("2", 1, "stream", "news")
	c.Owner.Replaces = "1"
	rd := openJob(t, c, nil)
	rd.until(10)
	rd.numbered(0, 10)
	rd.crash()
	if n := len(b.consumers("news")); n != 2 {
		t.Fatalf("consumers %v", b.consumers("news"))
	}
	// The next start is no --fresh any more.
	rd = openJob(t, b.jobConfig("2", 2, "stream", "news"), rd.pos)
	rd.quiet(200 * time.Millisecond)
	rd.release(rd.pos)
	b.holds("news", 0)
	if names := b.consumers("news"); len(names) != 1 || names[0] != "streamsql-2-t-2-1" {
		t.Fatalf("consumers %v", names)
	}
}

// A position that is left aside on purpose is not put back to where the consumer is; what
// is left out is kept until a checkpoint has the new position.
func TestInterestReset(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(interest())
	other := openJob(t, b.jobConfig("2", 1, "stream", "news"), nil)
	rd := openJob(t, b.jobConfig("1", 1, "stream", "news"), nil)
	b.publish("news.a", 0, 100)
	rd.until(100)
	rd.release(rd.pos)
	for k, start := range []string{"sequence:91", "earliest", "latest"} {
		rd.crash()
		b.publish("news.a", 100+10*k, 10)
		c := b.jobConfig("1", uint64(k+2), "stream", "news", "start", start)
		c.Owner.Reset = true
		rd = openJob(t, c, nil)
		must(t, rd.next(patience))
		switch from := []int{90, 0, 130}[k]; k {
		case 2:
			b.publish("news.a", 130, 10)
			rd.until(10)
			rd.numbered(from, 10)
		default:
			rd.until(110 + 10*k - from)
			rd.numbered(from, 110+10*k-from)
		}
	}
	other.until(140)
	other.release(other.pos)
	b.holds("news", 140)
	rd.release(rd.pos)
	b.holds("news", 0)
}

// A fork starts from a savepoint: what its origin has acknowledged since is gone.
func TestInterestFork(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(interest())
	old := openJob(t, b.jobConfig("1", 1, "stream", "news"), nil)
	b.publish("news.a", 0, 10)
	old.until(10)
	old.release(old.pos)
	b.holds("news", 0)
	save := old.pos
	b.publish("news.a", 10, 10)
	old.until(20)
	fork := openJob(t, b.jobConfig("2", 1, "stream", "news"), save)
	fork.until(10)
	fork.numbered(10, 10)
	old.release(old.pos)
	b.holds("news", 10)
	_, err := tryJob(t, b.jobConfig("3", 1, "stream", "news"), save)
	if e := mustCode(t, err, sqlerr.CodeGap); !strings.Contains(e.Msg, "to sequence 20") || !strings.Contains(e.Msg, "is 10") {
		t.Fatalf("%q", e.Msg)
	}
	if n := len(b.consumers("news")); n != 2 {
		t.Fatalf("a refused start left a consumer: %v", b.consumers("news"))
	}
}
