package nats

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/nats/embedded"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

var outSchema = types.Schema{{Name: "id", Type: types.TBigInt}, {Name: "region", Type: types.TText}}

// rows makes a batch of n rows numbered from; region goes round eu, us, ap.
func rows(from, n int) *vec.Batch {
	b := vec.NewBatch(outSchema.Types(), n)
	for i := from; i < from+n; i++ {
		b.Cols[0].AppendInt64(int64(i))
		b.Cols[1].AppendString([]string{"eu", "us", "ap"}[i%3])
		b.AppendOp(vec.Insert)
	}
	return b
}

func row(i int) string {
	return fmt.Sprintf(`{"id":%d,"region":"%s"}`, i, []string{"eu", "us", "ap"}[i%3])
}

func (b *broker) sink(t testing.TB, kv ...string) *sink {
	t.Helper()
	k, err := b.trySink(t, kv...)
	must(t, err)
	return k
}

func (b *broker) trySink(t testing.TB, kv ...string) (*sink, error) {
	t.Helper()
	c := b.config(kv...)
	c.Format, c.Schema = "json", outSchema
	k, err := openSink(context.Background(), c)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { k.Close() })
	return k.(*sink), k.Check(context.Background())
}

// all gives the messages of a stream that are rows, as "subject payload".
func (b *broker) all(stream string) []string {
	b.t.Helper()
	st, err := b.js.Stream(context.Background(), stream)
	must(b.t, err)
	info := st.CachedInfo().State
	c, err := b.js.OrderedConsumer(context.Background(), stream, jetstream.OrderedConsumerConfig{})
	must(b.t, err)
	var out []string
	deadline := time.Now().Add(patience)
	for more := info.Msgs > 0; more; {
		if time.Now().After(deadline) {
			b.t.Fatalf("%d rows came of %d messages", len(out), info.Msgs)
		}
		f, err := c.Fetch(1000, jetstream.FetchMaxWait(100*time.Millisecond))
		must(b.t, err)
		for m := range f.Messages() {
			md, err := m.Metadata()
			must(b.t, err)
			more = md.NumPending > 0
			if m.Headers().Get(markerHeader) == "" {
				out = append(out, m.Subject()+" "+string(m.Data()))
			}
		}
	}
	return out
}

func (b *broker) wantRows(from, n int) {
	b.t.Helper()
	got := b.all("out")
	if len(got) != n {
		b.t.Fatalf("the stream has %d rows, want %d", len(got), n)
	}
	for i, s := range got {
		if want := "out." + []string{"eu", "us", "ap"}[(from+i)%3] + " " + row(from+i); s != want {
			b.t.Fatalf("message %d is %s, want %s", i, s, want)
		}
	}
}

func outStream(atomic bool) jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: "out", Subjects: []string{"out.>"}, AllowAtomicPublish: atomic, AllowMsgTTL: atomic}
}

func TestWriter(t *testing.T) {
	for _, atomic := range []bool{true, false} {
		t.Run(fmt.Sprintf("atomic=%v", atomic), func(t *testing.T) {
			b := newBroker(t, embedded.Options{})
			b.create(outStream(atomic))
			k := b.sink(t, "subject", "out.{region}")
			w, err := k.OpenWriter(context.Background(), connectors.WriterContext{})
			must(t, err)
			must(t, w.Write(context.Background(), rows(0, 1500)))
			must(t, w.Write(context.Background(), rows(1500, 1)))
			must(t, w.Flush(context.Background()))
			b.wantRows(0, 1501)
			if tok, err := w.Seal(context.Background(), 1); tok != nil || err != nil || k.Group() != "" {
				t.Fatalf("token %q, error %v, group %q", tok, err, k.Group())
			}
		})
	}
}

func TestWriterPacksAndRefuses(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(outStream(true))
	w, err := b.sink(t, "subject", "out.{region}", "rows.per.message", "2", "headers", "App: streamsql").OpenWriter(context.Background(), connectors.WriterContext{})
	must(t, err)
	must(t, w.Write(context.Background(), rows(0, 7)))
	must(t, w.Flush(context.Background()))
	want := []string{"out.eu " + row(0) + "\n" + row(3), "out.us " + row(1) + "\n" + row(4), "out.ap " + row(2) + "\n" + row(5), "out.eu " + row(6)}
	if got := b.all("out"); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Fatalf("got %q, want %q", got, want)
	}

	var refused []string
	w, err = b.sink(t, "subject", "out.x.{region}", "headers", "Id: n{id}").OpenWriter(context.Background(), connectors.WriterContext{
		Refused: func(_ *vec.Batch, i int, cause *sqlerr.Error) error {
			refused = append(refused, fmt.Sprint(i, " ", cause.Code))
			return nil
		}})
	must(t, err)
	bad := vec.NewBatch(outSchema.Types(), 4)
	for i, r := range []string{"a.b", "", ">", "fine"} {
		bad.Cols[0].AppendInt64(int64(i))
		bad.Cols[1].AppendString(r)
		bad.AppendOp(vec.Insert)
	}
	bad.Cols[0].AppendInt64(4)
	bad.Cols[1].AppendNull()
	bad.AppendOp(vec.Insert)
	huge := vec.NewBatch(outSchema.Types(), 1)
	huge.Cols[0].AppendInt64(5)
	huge.Cols[1].AppendString(strings.Repeat("x", 9<<20))
	huge.AppendOp(vec.Insert)
	must(t, w.Write(context.Background(), bad))
	must(t, w.Write(context.Background(), huge))
	must(t, w.Flush(context.Background()))
	if s := strings.Join(refused, ","); s != "0 22023,1 22023,2 22023,4 23502,0 22001" {
		t.Fatalf("refused %s", s)
	}
	st, err := b.js.Stream(context.Background(), "out")
	must(t, err)
	m, err := st.GetLastMsgForSubject(context.Background(), "out.x.fine")
	must(t, err)
	if m.Header.Get("Id") != "n3" {
		t.Fatalf("headers %v", m.Header)
	}
}

// A server that goes away while rows are written holds the writer up; every row is
// there in the end, and the last copies are in order.
func TestWriterOutage(t *testing.T) {
	t.Parallel()
	for _, atomic := range []bool{true, false} {
		b := newBroker(t, embedded.Options{})
		b.create(outStream(atomic))
		stalled := make(chan error, 1)
		w, err := b.sink(t, "subject", "out.{region}").OpenWriter(context.Background(), connectors.WriterContext{Stalled: func(err error) {
			select {
			case stalled <- err:
			default: // the first reason is enough
			}
		}})
		must(t, err)
		done := make(chan error, 1)
		go func() {
			for i := range 20 {
				if err := w.Write(context.Background(), rows(i*1000, 1000)); err != nil {
					done <- err
					return
				}
			}
			done <- w.Flush(context.Background())
		}()
		time.Sleep(10 * time.Millisecond)
		b.srv.Shutdown()
		select {
		case err := <-stalled:
			if err == nil {
				t.Fatal("no reason for the stall")
			}
		case err := <-done:
			t.Fatalf("atomic %v: the writer ended in the outage: %v", atomic, err)
		case <-time.After(patience):
			t.Fatalf("atomic %v: the writer does not tell of the outage", atomic)
		}
		b.start()
		select {
		case err := <-done:
			must(t, err)
		case <-time.After(patience):
			t.Fatalf("atomic %v: the writer does not go on: %+v", atomic, w.(connectors.Reporter).Status())
		}
		last := map[string]int{}
		got := b.all("out")
		for i, s := range got {
			last[s] = i
		}
		for i := 1; i < 20_000; i++ {
			region := []string{"eu", "us", "ap"}
			a, ok := last["out."+region[(i-1)%3]+" "+row(i-1)]
			z := last["out."+region[i%3]+" "+row(i)]
			if !ok || z < a {
				t.Fatalf("atomic %v: row %d is missing or behind its follower", atomic, i-1)
			}
		}
	}
}

func TestSinkTargetErrors(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(jetstream.StreamConfig{Name: "plain", Subjects: []string{"plain.*"}})
	b.create(jetstream.StreamConfig{Name: "narrow", Subjects: []string{"narrow.rows"}, AllowAtomicPublish: true})
	b.create(jetstream.StreamConfig{Name: "aged", Subjects: []string{"aged.>"}, AllowAtomicPublish: true, MaxAge: time.Hour})
	b.create(jetstream.StreamConfig{Name: "full", Subjects: []string{"full.>"}, AllowAtomicPublish: true, AllowMsgTTL: true, MaxMsgs: 10})
	b.create(jetstream.StreamConfig{Name: "work", Subjects: []string{"work.>"}, AllowAtomicPublish: true, Retention: jetstream.WorkQueuePolicy})
	cases := []struct {
		opts              []string
		code, msg, advice string
	}{
		{[]string{"subject", "nowhere.{id}"}, sqlerr.CodeSchema, `no stream takes subject "nowhere.*"`, `nats stream add nowhere --subjects "nowhere.*"`},
		{[]string{"stream", "plaim", "subject", "plain.{id}"}, sqlerr.CodeSchema, `stream "plaim" does not exist`, `Did you mean "plain"?`},
		{[]string{"stream", "plain", "subject", "other.{id}"}, sqlerr.CodeSchema, `does not take subject "other.*"`, `nats stream edit plain --subjects "plain.*,other.*"`},
		{[]string{"subject", "plain.{idd}"}, sqlerr.CodeUndefinedColumn, `names column "idd"`, `Did you mean "id"?`},
		{[]string{"subject", "plain.>"}, sqlerr.CodeOption, "cannot be written", "column in braces"},
		{[]string{"stream", "plain"}, sqlerr.CodeOption, "cannot be written", ""},
		{[]string{"subject", "plain.{id}", "delivery", exactlyOnce}, sqlerr.CodeSchema, "does not allow atomic batches", "nats stream edit plain --allow-batch"},
		{[]string{"subject", "narrow.rows", "delivery", exactlyOnce}, sqlerr.CodeSchema, `does not take subject "narrow.rows.txn"`, `--subjects "narrow.rows,narrow.rows.txn"`},
		{[]string{"subject", "{region}.x", "delivery", exactlyOnce}, sqlerr.CodeOption, "no literal head", "marker.subject"},
		{[]string{"subject", "aged.{id}", "delivery", exactlyOnce}, sqlerr.CodeSchema, "drops messages after 1h0m0s", "--allow-msg-ttl"},
		{[]string{"subject", "full.{id}", "delivery", exactlyOnce}, sqlerr.CodeSchema, "drops its oldest messages", "marker.evictable"},
		{[]string{"subject", "work.{id}", "delivery", exactlyOnce}, sqlerr.CodeNotSupported, `retention "workqueue"`, ""},
	}
	for _, c := range cases {
		_, err := b.trySink(t, c.opts...)
		e := mustCode(t, err, c.code)
		if !strings.Contains(e.Msg, c.msg) || !strings.Contains(e.Hint, c.advice) {
			t.Errorf("%v: got %q, hint %q", c.opts, e.Msg, e.Hint)
		}
	}
	_, err := b.trySink(t, "subject", "full.{id}", "delivery", exactlyOnce, "marker.evictable", "accept")
	must(t, err)
	k := b.sink(t, "subject", "made.{id}", "delivery", exactlyOnce, "auto.create", "true")
	if k.stream != "made" || k.marker != "made.txn" || k.Group() == "" {
		t.Fatalf("made stream %q, marker %q, group %q", k.stream, k.marker, k.Group())
	}
}

func TestBatchLimitIsAsked(t *testing.T) {
	for _, limit := range []int{0, 50} {
		b := tuned(t, func(o *server.Options) { o.JetStreamLimits.MaxBatchSize = limit })
		b.create(outStream(true))
		n, err := b.sink(t, "subject", "out.{region}").s.batchLimit(context.Background(), "out.txn")
		must(t, err)
		if want := max(limit, 1000-limit*20); n != want {
			t.Errorf("limit %d, want %d", n, want)
		}
	}
}

// A batch that its server forgot as it went away may pass when the server is back.
func TestMayPass(t *testing.T) {
	cases := []struct {
		code        int
		err         jetstream.ErrorCode
		description string
		want        bool
	}{
		{400, errBatchIncomplete, "atomic publish batch is incomplete", true},
		{400, 10077, "maximum messages exceeded", true},
		{503, 10008, "JetStream system temporarily unavailable", true},
		{429, 10210, "atomic publish too many inflight", true},
		{400, errBatchDisabled, "atomic publish is disabled", false},
		{400, 10177, "atomic publish unsupported header used: Nats-TTL", false},
	}
	for _, c := range cases {
		if got := mayPass(&jetstream.APIError{Code: c.code, ErrorCode: c.err, Description: c.description}); got != c.want {
			t.Errorf("%d %q: got %v", c.err, c.description, got)
		}
	}
}
