package nats

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/connectors/nats/embedded"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

func bids() jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: "bids", Subjects: []string{"bids.>"}, AllowAtomicPublish: true, AllowMsgTTL: true}
}

func TestReadAndResume(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(bids())
	b.publish("bids.a", 0, 5000)
	rd := open(t, b.config("stream", "bids"), nil)
	rd.until(5000)
	rd.numbered(0, 5000)
	if !rd.last.CaughtUp || rd.last.Pending != 0 {
		t.Fatalf("caught up %v, pending %d after the last row", rd.last.CaughtUp, rd.last.Pending)
	}
	if s, p := rd.last.Where(len(rd.last.Payloads) - 1); s != "bids.a" || p != "sequence 5000" {
		t.Fatalf("the last row is at %q %q", s, p)
	}
	b.publish("bids.a", 5000, 3)
	rd.until(5003)
	again := open(t, b.config("stream", "bids"), rd.pos)
	b.publish("bids.a", 5003, 7)
	again.until(7)
	again.numbered(5003, 7)
}

func TestStart(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(bids())
	b.publish("bids.a", 0, 10)
	time.Sleep(5 * time.Millisecond)
	middle := time.Now().UTC().Format(time.RFC3339Nano)
	time.Sleep(5 * time.Millisecond)
	b.publish("bids.a", 10, 10)
	for _, c := range []struct {
		start string
		from  int
	}{{"earliest", 0}, {"sequence:1", 0}, {"sequence:15", 14}, {"time:" + middle, 10}, {"time:2001-01-01T00:00:00Z", 0}} {
		rd := open(t, b.config("stream", "bids", "start", c.start, "end", "now"), nil)
		rd.toEnd()
		rd.numbered(c.from, 20-c.from)
	}
	latest := open(t, b.config("subject", "bids.>", "start", "latest"), nil)
	must(t, latest.next(patience))
	if !latest.last.CaughtUp || len(latest.got) != 0 || len(latest.pos) == 0 {
		t.Fatalf("latest of a quiet stream: %+v", latest.last)
	}
	// "latest" holds for the first start only: what comes while the job is stopped, on
	// new subjects too, is read.
	must(t, latest.r.Close())
	b.publish("bids.new", 20, 10)
	again := open(t, b.config("subject", "bids.>", "start", "latest"), latest.pos)
	again.until(10)
	again.numbered(20, 10)
}

func TestBounded(t *testing.T) {
	t.Parallel()
	b := newBroker(t, embedded.Options{})
	st := b.create(bids())
	empty := open(t, b.config("stream", "bids", "end", "now"), nil)
	empty.toEnd()
	empty.numbered(0, 0)

	b.publish("bids.a", 0, 3000)
	now := open(t, b.config("stream", "bids", "end", "now"), nil)
	must(t, now.next(patience))
	b.publish("bids.a", 3000, 10)
	pos := now.pos
	now.toEnd()
	now.numbered(0, 3000)
	// The end was resolved once and is part of the position.
	again := open(t, b.config("stream", "bids", "end", "now"), pos)
	again.toEnd()
	if n := len(now.got) - len(again.got); n <= 0 || again.got[len(again.got)-1] != "2999" {
		t.Fatalf("resumed, it read %d rows up to %s", len(again.got), again.got[len(again.got)-1])
	}
	finished := open(t, b.config("stream", "bids", "end", "now"), now.pos)
	finished.toEnd()
	finished.numbered(0, 0)

	// The tail before the end was deleted.
	for seq := uint64(3001); seq <= 3010; seq++ {
		must(t, st.DeleteMsg(context.Background(), seq))
	}
	gone := open(t, b.config("stream", "bids", "start", "sequence:2991", "end", "now"), nil)
	gone.toEnd()
	gone.numbered(2990, 10)

	// An end that is not there yet is waited for.
	future := open(t, b.config("stream", "bids", "start", "sequence:3011", "end", "sequence:3015"), nil)
	future.quiet(300 * time.Millisecond)
	b.publish("bids.a", 0, 8)
	future.toEnd()
	future.numbered(0, 5)

	soon := time.Now().Add(200 * time.Millisecond).UTC().Format(time.RFC3339Nano)
	timed := open(t, b.config("stream", "bids", "start", "sequence:3011", "end", "time:"+soon), nil)
	timed.until(8)
	time.Sleep(250 * time.Millisecond)
	b.publish("bids.a", 8, 2)
	timed.toEnd()
	timed.numbered(0, 8)
}

// An end that comes while the reader waits for it is not taken for the end of what has
// arrived.
func TestEndAhead(t *testing.T) {
	t.Parallel()
	b := newBroker(t, embedded.Options{})
	b.create(bids())
	for k := range 12 {
		rd := open(t, b.config("stream", "bids", "start", fmt.Sprintf("sequence:%d", 8*k+1), "end", fmt.Sprintf("sequence:%d", 8*k+5)), nil)
		must(t, rd.next(patience))
		time.Sleep(240 * time.Millisecond) // about when the reader looks for its end
		b.publish("bids.a", 0, 8)
		rd.toEnd()
		rd.numbered(0, 5)
	}
}

func TestFilterAndMetadata(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(jetstream.StreamConfig{Name: "orders", Subjects: []string{"orders.>", "other"}})
	b.publish("orders.eu.1", 0, 2)
	b.publish("other", 100, 5)
	b.publish("orders.us.2", 2, 1)
	b.publish("orders.us", 100, 1)
	m := natsgo.NewMsg("orders.ap.3")
	m.Data = []byte("3")
	m.Header.Set("Trace", `a"b`)
	_, err := b.js.PublishMsg(context.Background(), m)
	must(t, err)
	c := b.config("stream", "orders", "subject", "orders.{region}.{id}", "end", "now")
	c.Meta = []string{"token.region", "sequence", "subject", "timestamp", "headers", "token.id"}
	rd := open(t, c, nil)
	rd.until(4)
	rd.numbered(0, 4)
	rd2 := open(t, c, nil)
	must(t, rd2.next(patience))
	var got []string
	for i := range rd2.last.Payloads {
		var f []string
		for k, v := range rd2.last.Meta {
			x := v.Value(i)
			switch {
			case k == 3 && time.Since(time.UnixMicro(x.I)).Abs() < time.Minute:
				f = append(f, "now")
			case x.Null:
				f = append(f, "null")
			case k == 1:
				f = append(f, time.Unix(x.I, 0).UTC().Format("05"))
			default:
				f = append(f, x.S)
			}
		}
		got = append(got, strings.Join(f, " "))
	}
	want := []string{"eu 01 orders.eu.1 now null 1", "eu 02 orders.eu.1 now null 1", "us 08 orders.us.2 now null 2",
		`ap 10 orders.ap.3 now {"Trace":["a\"b"]} 3`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTargetErrors(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(bids())
	cases := []struct {
		opts             []string
		code, msg, holds string
	}{
		{[]string{"stream", "bidz"}, sqlerr.CodeSchema, `stream "bidz" does not exist`, `Did you mean "bids"? Create it with: nats stream add bidz --subjects "bidz"`},
		{[]string{"subject", "nowhere.>"}, sqlerr.CodeSchema, `no stream takes subject "nowhere.>"`, "nats stream add nowhere"},
		{[]string{"stream", "bids", "subject", "asks.>"}, sqlerr.CodeSchema, `stream "bids" does not take subject "asks.>"`, `nats stream edit bids --subjects "bids.>,asks.>"`},
		{[]string{"stream", "bids", "start", "sometimes"}, sqlerr.CodeOption, `"start" has "sometimes"`, "earliest"},
		{[]string{"stream", "bids", "end", "time:noon"}, sqlerr.CodeOption, `"end" has "time:noon"`, "RFC3339"},
		{[]string{"subject", "a..b"}, sqlerr.CodeOption, `"a..b"`, "tokens"},
	}
	for _, c := range cases {
		_, err := tryOpen(t, b.config(c.opts...), nil)
		e := mustCode(t, err, c.code)
		if !strings.Contains(e.Msg, c.msg) || !strings.Contains(e.Hint, c.holds) {
			t.Errorf("%v: got %q, hint %q", c.opts, e.Msg, e.Hint)
		}
	}
	rd := open(t, b.config("stream", "made", "subject", "made.{x}", "auto.create", "true", "end", "now"), nil)
	rd.toEnd()
	st, err := b.js.Stream(context.Background(), "made")
	must(t, err)
	if cfg := st.CachedInfo().Config; !cfg.AllowAtomicPublish || !cfg.AllowMsgTTL || !cfg.AllowDirect || cfg.Subjects[0] != "made.*" {
		t.Fatalf("made %+v", cfg)
	}
}

func TestServerAway(t *testing.T) {
	c := newBroker(t, embedded.Options{}).config("stream", "bids", "url", "nats://u:hidden@127.0.0.1:1")
	began := time.Now()
	_, err := tryOpen(t, c, nil)
	e := mustCode(t, err, sqlerr.CodeConnection)
	if !e.Retry || e.Class != sqlerr.External || time.Since(began) > 2*time.Second {
		t.Fatalf("got %+v after %s", e, time.Since(began))
	}
	if s := sqlerr.Render(err, ""); strings.Contains(s, "hidden") || !strings.Contains(s, "127.0.0.1:1") {
		t.Fatalf("message %q", s)
	}
}

// A message larger than all that is asked for at once comes alone.
func TestLargerThanRoom(t *testing.T) {
	b := tuned(t, func(o *server.Options) {
		o.MaxPayload, o.MaxPending, o.JetStreamMaxMemory = 64<<20, 128<<20, 1<<30
	})
	cfg := bids()
	cfg.Storage = jetstream.MemoryStorage
	b.create(cfg)
	sizes := []int{1, 20 << 20, maxOutstandingBytes + 1, 2}
	for _, n := range sizes {
		_, err := b.js.Publish(context.Background(), "bids.a", make([]byte, n))
		must(t, err)
	}
	rd := open(t, b.config("stream", "bids", "end", "now"), nil)
	rd.toEnd()
	for i, n := range sizes {
		if len(rd.got) != len(sizes) || len(rd.got[i]) != n {
			t.Fatalf("%d messages of %d, or not the same", len(rd.got), len(sizes))
		}
	}
}
