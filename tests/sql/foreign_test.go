package sql

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// foreign starts a NATS server as others run it: with default limits, and what change
// makes of them. The account of user "a" is limited to limits.
func foreign(t *testing.T, jetStream bool, limits map[string]server.JetStreamAccountLimits) string {
	t.Helper()
	acc := server.NewAccount("A")
	opts := &server.Options{Host: "127.0.0.1", Port: -1, JetStream: jetStream, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
		Accounts: []*server.Account{acc}, Users: []*server.User{{Username: "a", Password: "hunter2-wrong", Account: acc}}}
	srv, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	go srv.Start()
	t.Cleanup(srv.Shutdown)
	if !srv.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	if jetStream {
		a, err := srv.LookupAccount("A")
		if err != nil {
			t.Fatal(err)
		}
		if err := a.EnableJetStream(limits, nil); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Replace(srv.ClientURL(), "nats://", "nats://a:${PASSWORD}@", 1)
}

// TestForeignServer runs jobs on servers whose limits are in the way: each ends at once
// or after its first checkpoint, and says which limit it was.
func TestForeignServer(t *testing.T) {
	all := newWorld(t)
	all.exec("CREATE TABLE o (i bigint)")
	unlimited := map[string]server.JetStreamAccountLimits{"": {MaxMemory: -1, MaxStore: -1, MaxStreams: -1, MaxConsumers: -1, MaxAckPending: -1, MemoryMaxStreamBytes: -1, StoreMaxStreamBytes: -1}}
	limit := func(f func(*server.JetStreamAccountLimits)) map[string]server.JetStreamAccountLimits {
		l := unlimited[""]
		f(&l)
		return map[string]server.JetStreamAccountLimits{"": l}
	}
	for _, c := range []struct {
		name      string
		jetStream bool
		limits    map[string]server.JetStreamAccountLimits
		retention jetstream.RetentionPolicy
		wide      bool
		says      []string // nothing: the job has all rows
	}{
		{"no JetStream", false, nil, jetstream.LimitsPolicy, false, []string{"JetStream"}},
		{"default limits", true, unlimited, jetstream.LimitsPolicy, false, nil},
		{"default limits, a work queue", true, unlimited, jetstream.WorkQueuePolicy, false, nil},
		{"few acks pending", true, limit(func(l *server.JetStreamAccountLimits) { l.MaxAckPending = 10 }), jetstream.WorkQueuePolicy, false, nil},
		{"no more consumers", true, limit(func(l *server.JetStreamAccountLimits) { l.MaxConsumers = 1 }), jetstream.WorkQueuePolicy, false, []string{"consumers"}},
		{"no more consumers to read with", true, limit(func(l *server.JetStreamAccountLimits) { l.MaxConsumers = 1 }), jetstream.LimitsPolicy, false, []string{"consumers"}},
		{"a row above the largest message", true, unlimited, jetstream.LimitsPolicy, true, []string{"1048576"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := *all
			w.t, w.dir, w.log = t, t.TempDir(), &lines{}
			w.exec("TRUNCATE o", "DROP TABLE IF EXISTS streamsql_fence, streamsql_target")
			url := foreign(t, c.jetStream, c.limits)
			if c.jetStream {
				w.fill(strings.Replace(url, "${PASSWORD}", "hunter2-wrong", 1), c.retention, strings.HasPrefix(c.name, "no more"))
			}
			text := fmt.Sprintf("CREATE TABLE ev (i BIGINT) WITH (connector = 'nats', url = '%s', stream = 'EVENTS', subject = 'ev.a', format = 'json', 'end' = 'now');\n", url)
			if c.wide {
				text += fmt.Sprintf("CREATE TABLE o (i BIGINT, s VARCHAR) WITH (connector = 'nats', url = '%s', stream = 'OUT', subject = 'out.a', format = 'json');\nINSERT INTO o SELECT i, REPEAT('x', 1048576) FROM ev;", url)
			} else {
				text += w.sink("o", "i BIGINT", ", mode = 'append'") + "INSERT INTO o SELECT i FROM ev;"
			}
			e := w.open("restart.attempts", "1")
			defer e.Close(context.Background())
			j, err := w.start(e, text)
			if err == nil {
				select {
				case <-j.Done():
					err = j.Wait()
				case <-time.After(60 * time.Second):
					t.Fatalf("the job neither ends nor fails: %+v\n%s", j.Status(), w.log.String())
				}
			}
			if c.says == nil {
				if err != nil {
					t.Fatal(err)
				}
				w.equal("rows", w.rows("SELECT count(*), count(DISTINCT i) FROM o"), "100|100")
				return
			}
			if err == nil {
				t.Fatal("nothing is wrong")
			}
			if sqlerr.ClassOf(err) == sqlerr.Internal {
				t.Errorf("an internal error: %v", err)
			}
			for _, s := range c.says {
				if !strings.Contains(strings.ToLower(sqlerr.Render(err, text)), strings.ToLower(s)) {
					t.Errorf("%q is not in: %s", s, sqlerr.Render(err, text))
				}
			}
		})
	}
}

// fill makes the stream of 100 numbers, and a consumer of somebody else's when taken.
func (w *world) fill(url string, retention jetstream.RetentionPolicy, taken bool) {
	w.t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		w.t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx := context.Background()
	for name, subject := range map[string]string{"EVENTS": "ev.>", "OUT": "out.>"} {
		cfg := jetstream.StreamConfig{Name: name, Subjects: []string{subject}, AllowMsgTTL: true, AllowAtomicPublish: true}
		if name == "EVENTS" {
			cfg.Retention = retention
		}
		if _, err := js.CreateStream(ctx, cfg); err != nil {
			w.t.Fatal(err)
		}
	}
	for i := range 100 {
		if _, err := js.Publish(ctx, "ev.a", fmt.Appendf(nil, `{"i":%d}`, i)); err != nil {
			w.t.Fatal(err)
		}
	}
	if taken {
		if _, err := js.CreateConsumer(ctx, "EVENTS", jetstream.ConsumerConfig{Durable: "other", AckPolicy: jetstream.AckExplicitPolicy, FilterSubject: "ev.other"}); err != nil {
			w.t.Fatal(err)
		}
	}
}
