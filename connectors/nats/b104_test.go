package nats

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/nats/embedded"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// The consumer or the stream is not what it was: every case while the job runs and
// while it is stopped at sequence 1000.

// atThousand reads a stream of 1000 messages to its end.
func atThousand(t *testing.T, kv ...string) (*broker, jetstream.Stream, *reading) {
	t.Helper()
	b := newBroker(t, embedded.Options{})
	st := b.create(bids())
	b.publish("bids.a", 1, 1000)
	rd := open(t, b.config(append([]string{"stream", "bids"}, kv...)...), nil)
	rd.until(1000)
	return b, st, rd
}

func TestConsumerDeleted(t *testing.T) {
	b, st, rd := atThousand(t)
	ctx := context.Background()
	for name := range st.ConsumerNames(ctx).Name() {
		must(t, st.DeleteConsumer(ctx, name))
	}
	b.publish("bids.a", 1001, 10)
	rd.until(1010)
	rd.quiet(100 * time.Millisecond)
	rd.numbered(1, 1010)
}

func TestServerRestarted(t *testing.T) {
	t.Parallel()
	b, _, rd := atThousand(t)
	for i := range 3 {
		b.srv.Shutdown()
		// The outage is waited out and told.
		if i == 0 {
			var err error
			for end := time.Now().Add(patience); rd.r.(connectors.Reporter).Status().Waiting == ""; {
				if time.Now().After(end) {
					t.Fatalf("the outage is not told: %v", err)
				}
				err = rd.next(20 * time.Millisecond)
			}
			if rd.last.CaughtUp {
				t.Error("caught up while the server is away")
			}
		}
		b.start()
		b.publish("bids.a", 1001+10*i, 10)
		rd.until(1010 + 10*i)
	}
	rd.quiet(100 * time.Millisecond)
	rd.numbered(1, 1030)
	if s := rd.r.(connectors.Reporter).Status(); s.Waiting != "" {
		t.Errorf("still waiting: %s", s.Waiting)
	}
}

// A restart in the middle of a long read neither loses nor doubles anything.
func TestServerRestartedUnderLoad(t *testing.T) {
	t.Parallel()
	b := newBroker(t, embedded.Options{})
	b.create(bids())
	b.publish("bids.a", 0, 24_000)
	rd := open(t, b.config("stream", "bids", "end", "now"), nil)
	rd.until(5000)
	b.restart()
	rd.until(15_000)
	b.restart()
	rd.toEnd()
	rd.numbered(0, 24_000)
}

func TestStreamRecreated(t *testing.T) {
	b, _, rd := atThousand(t)
	must(t, b.js.DeleteStream(context.Background(), "bids"))
	b.create(bids())
	b.publish("bids.a", 1, 10)
	e := mustCode(t, rd.untilError(), sqlerr.CodeGap)
	if e.Class != sqlerr.User || e.Retry || len(rd.got) != 1000 {
		t.Fatalf("running: %+v after %d rows", e, len(rd.got))
	}
	_, err := tryOpen(t, b.config("stream", "bids", "on.gap", "warn"), rd.pos)
	if e := mustCode(t, err, sqlerr.CodeGap); !strings.Contains(e.Msg, "is not the one that was read") {
		t.Fatalf("stopped: %q", e.Msg)
	}
	must(t, b.js.DeleteStream(context.Background(), "bids"))
	_, err = tryOpen(t, b.config("stream", "bids"), rd.pos)
	mustCode(t, err, sqlerr.CodeSchema)
}

func TestPurgedBehindReader(t *testing.T) {
	b, st, rd := atThousand(t)
	b.publish("bids.a", 1001, 600)
	must(t, st.Purge(context.Background(), jetstream.WithPurgeSequence(1501)))
	_, err := tryOpen(t, b.config("stream", "bids"), rd.pos)
	e := mustCode(t, err, sqlerr.CodeGap)
	if !strings.Contains(e.Msg, "lost 500 messages") || !strings.Contains(e.Msg, "1001 to 1500") {
		t.Fatalf("stopped: %q", e.Msg)
	}
	on := open(t, b.config("stream", "bids", "on.gap", "warn"), rd.pos)
	on.until(100)
	on.numbered(1501, 100)
	if s := on.r.(connectors.Reporter).Status(); s.Warnings != 1 || !strings.Contains(s.Warning, "lost 500 messages") {
		t.Fatalf("warned %+v", s)
	}
}

// purgedAhead puts messages behind the queue of a running reader and purges them.
func purgedAhead(t *testing.T, gap string, more int) *reading {
	b := newBroker(t, embedded.Options{})
	st := b.create(bids())
	b.publish("bids.a", 1, 30_000)
	rd := open(t, b.config("stream", "bids", "on.gap", gap), nil)
	rd.until(1000)
	time.Sleep(50 * time.Millisecond) // the server has sent all that it has leave to send
	must(t, st.Purge(context.Background(), jetstream.WithPurgeSequence(29_901)))
	if more == 0 {
		must(t, st.Purge(context.Background()))
	}
	return rd
}

func TestPurgedAheadOfReader(t *testing.T) {
	t.Parallel()
	for _, more := range []int{100, 0} {
		rd := purgedAhead(t, "fail", more)
		if e := mustCode(t, rd.untilError(), sqlerr.CodeGap); !strings.Contains(e.Msg, "has lost ") {
			t.Fatalf("with %d left: %q", more, e.Msg)
		}
		for i, s := range rd.got {
			if i > 0 && len(s) < len(rd.got[i-1]) {
				t.Fatalf("row %d after a hole: %s", i, s)
			}
		}
	}
	rd := purgedAhead(t, "warn", 100)
	for len(rd.got) == 0 || rd.got[len(rd.got)-1] != "30000" {
		must(t, rd.next(patience))
	}
	if s := rd.r.(connectors.Reporter).Status(); s.Warnings != 1 {
		t.Fatalf("warned %+v", s)
	}
}

func TestRetentionWhileStopped(t *testing.T) {
	b, _, rd := atThousand(t)
	cfg := bids()
	cfg.MaxMsgs = 300
	_, err := b.js.UpdateStream(context.Background(), cfg)
	must(t, err)
	b.publish("bids.a", 1001, 500)
	_, err = tryOpen(t, b.config("stream", "bids"), rd.pos)
	if e := mustCode(t, err, sqlerr.CodeGap); !strings.Contains(e.Msg, "lost 200 messages") {
		t.Fatalf("%q", e.Msg)
	}
}

// Messages deleted one by one are holes and no loss.
func TestHolesAreNoGap(t *testing.T) {
	b, st, rd := atThousand(t)
	b.publish("bids.a", 1001, 100)
	for seq := uint64(1010); seq < 1030; seq++ {
		must(t, st.DeleteMsg(context.Background(), seq))
	}
	must(t, st.DeleteMsg(context.Background(), 500))
	again := open(t, b.config("stream", "bids"), rd.pos)
	again.until(80)
	again.quiet(50 * time.Millisecond)
	if again.got[8] != "1009" || again.got[9] != "1030" {
		t.Fatalf("around the hole: %v", again.got[7:11])
	}
}

// A filtered reader that has seen the whole stream loses nothing when messages of other
// subjects go.
func TestFilteredRetention(t *testing.T) {
	t.Parallel()
	b := newBroker(t, embedded.Options{})
	st := b.create(bids())
	b.publish("bids.a", 1, 5)
	b.publish("bids.b", 1, 500)
	c := b.config("stream", "bids", "subject", "bids.a")
	rd := open(t, c, nil)
	rd.until(5)
	rd.quiet(1500 * time.Millisecond) // a heartbeat tells how far the server has looked
	b.publish("bids.a", 6, 1)
	rd.until(6)
	must(t, st.Purge(context.Background(), jetstream.WithPurgeSequence(400)))
	again := open(t, c, rd.pos)
	b.publish("bids.a", 7, 1)
	again.until(1)
	again.numbered(7, 1)
	rd.until(7)
	rd.numbered(1, 7)
}

func TestOlderCopyRestored(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(bids())
	b.publish("bids.a", 1, 900)
	b.srv.Shutdown()
	must(t, os.CopyFS(filepath.Join(b.dir, "copy"), os.DirFS(filepath.Join(b.dir, "jetstream"))))
	b.start()
	b.publish("bids.a", 901, 100)
	rd := open(t, b.config("stream", "bids"), nil)
	rd.until(1000)
	restore := func() {
		b.srv.Shutdown()
		must(t, os.RemoveAll(filepath.Join(b.dir, "jetstream")))
		must(t, os.CopyFS(filepath.Join(b.dir, "jetstream"), os.DirFS(filepath.Join(b.dir, "copy"))))
		b.start()
	}
	restore()
	e := mustCode(t, rd.untilError(), sqlerr.CodeGap)
	if !strings.Contains(e.Msg, "ends at sequence 900, before the stored position 1000") {
		t.Fatalf("running: %q", e.Msg)
	}
	_, err := tryOpen(t, b.config("stream", "bids"), rd.pos)
	mustCode(t, err, sqlerr.CodeGap)
	// Grown again, the sequences are there but not the messages.
	b.publish("bids.a", 5000, 200)
	_, err = tryOpen(t, b.config("stream", "bids"), rd.pos)
	if e := mustCode(t, err, sqlerr.CodeGap); !strings.Contains(e.Msg, "another message at sequence 1000") {
		t.Fatalf("grown again: %q", e.Msg)
	}
}

// users gives the server one user for the test and one for the reader.
func users(password string, perms *server.Permissions) func(*server.Options) {
	return func(o *server.Options) {
		o.Users = []*server.User{{Username: "admin", Password: "admin"}, {Username: "job", Password: password, Permissions: perms}}
	}
}

func TestPermissionRevoked(t *testing.T) {
	b := tuned(t, users("s3cret", nil), natsgo.UserInfo("admin", "admin"))
	b.create(bids())
	b.publish("bids.a", 1, 100)
	c := b.config("stream", "bids", "auth.user", "job", "auth.password", "s3cret")
	fails := func(rd *reading, what string) {
		t.Helper()
		began := time.Now()
		e := mustCode(t, rd.untilError(), sqlerr.CodeAuth)
		if e.Retry || e.Class != sqlerr.User || strings.Contains(sqlerr.Render(e, ""), "s3cret") || time.Since(began) > 5*time.Second {
			t.Errorf("%s: %s after %s", what, sqlerr.Render(e, ""), time.Since(began))
		}
	}
	rd := open(t, c, nil)
	rd.until(100)
	denied := &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"$JS.API.CONSUMER.>"}}}
	b.reload(users("s3cret", denied))
	began := time.Now()
	_, err := tryOpen(t, c, rd.pos)
	if err == nil {
		fails(open(t, c, rd.pos), "permission denied at the start")
	} else {
		mustCode(t, err, sqlerr.CodeAuth)
	}
	if d := time.Since(began); d > 3*time.Second {
		t.Errorf("it took %s to say so", d)
	}
	b.reload(users("s3cret", nil))
	rd = open(t, c, rd.pos)
	must(t, rd.next(patience))
	b.reload(users("changed", nil))
	fails(rd, "password changed under a running job")
	_, err = tryOpen(t, c, rd.pos)
	if e := mustCode(t, err, sqlerr.CodeAuth); e.Retry || strings.Contains(sqlerr.Render(e, ""), "s3cret") {
		t.Errorf("wrong password: %s", sqlerr.Render(e, ""))
	}
}

func TestSeveralChunksStayInOrder(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(bids())
	big := strings.Repeat("x", 300<<10)
	for range 12 {
		_, err := b.js.Publish(context.Background(), "bids.a", []byte(big))
		must(t, err)
	}
	rd := open(t, b.config("stream", "bids", "end", "now"), nil)
	for {
		err := rd.next(patience)
		if err == io.EOF {
			break
		}
		must(t, err)
		if n := len(rd.last.Payloads); n > 4 {
			t.Fatalf("a chunk of %d bytes", n*len(big))
		}
	}
	if len(rd.got) != 12 {
		t.Fatalf("read %d", len(rd.got))
	}
}
