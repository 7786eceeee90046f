package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/connectors/nats/embedded"
	"github.com/streamsql/streamsql/internal/pgtest"
)

// TestExamples runs the files of the README as they are: what they publish and count is
// what PostgreSQL counts of the messages in the stream.
func TestExamples(t *testing.T) {
	pg := pgtest.Start(t)
	srv, err := embedded.Start(t.TempDir(), embedded.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Shutdown()
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	p := newPlace(t)
	if got := p.run("", "run", filepath.Join(examples, "publish.sql"), "--nats", srv.URL()); got.code != 0 || !strings.Contains(got.err, "finished: 460000 rows in, 460000 rows out") {
		t.Fatalf("%+v", got)
	}

	db := pg.Open(t)
	if _, err := db.Exec("CREATE TABLE messages (bid jsonb)"); err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	in, err := tx.Prepare("COPY messages (bid) FROM STDIN")
	if err != nil {
		t.Fatal(err)
	}
	eachMessage(t, srv.URL(), func(data []byte) {
		if _, err := in.Exec(string(data)); err != nil {
			t.Fatal(err)
		}
	})
	if _, err := in.Exec(); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	// The windows that have ended before the newest bid by more than the watermark's delay.
	const want = `WITH b AS (
		SELECT (bid->>'auction')::bigint AS auction, (bid->>'price')::bigint AS price, (bid->>'dateTime')::timestamp(3) AS ts FROM messages),
	w AS (SELECT *, date_bin('10 s', ts, '1970-01-01') AS ws FROM b WHERE price >= 100)
	SELECT auction, ws, ws + interval '10 s', count(*), sum(price), max(price) FROM w
	WHERE ws + interval '13.999 s' <= (SELECT max(ts) FROM b) GROUP BY auction, ws`
	truth, err := pgtest.Query(db, "SELECT count(*), coalesce(sum(count), 0) FROM ("+want+") q")
	if err != nil || truth[0] == "0|0" {
		t.Fatalf("%v, %v", truth, err)
	}

	job := []string{"run", filepath.Join(examples, "bids.sql"), "--nats", srv.URL(), "--var", "POSTGRES_URL=" + pg.DSN}
	s := p.start(job...)
	eventually(t, "rows", func() bool { got, _ := pgtest.Query(db, "SELECT 1 FROM auction_bids LIMIT 1"); return len(got) == 1 })
	s.stop(os.Kill)
	s = p.start(job...)
	eventually(t, "all windows", func() bool {
		got, _ := pgtest.Query(db, "SELECT count(*), coalesce(sum(bids), 0) FROM auction_bids")
		return len(got) == 1 && got[0] == truth[0]
	})
	if got := s.stop(os.Interrupt); got.code != 0 || !strings.Contains(got.err, `job "bids" stopped: `) {
		t.Errorf("%+v", got)
	}
	const table = "SELECT auction, window_start, window_end, bids, total, highest FROM auction_bids"
	for _, q := range []string{want + " EXCEPT " + table, table + " EXCEPT (" + want + ")"} {
		if diff, err := pgtest.Query(db, q); err != nil || len(diff) > 0 {
			t.Errorf("%s\n%v, %v", q, diff, err)
		}
	}
}

// eachMessage reads what the stream of the examples holds.
func eachMessage(t *testing.T, url string, f func(data []byte)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	st, err := js.Stream(ctx, "NEXMARK")
	if err != nil {
		t.Fatal(err)
	}
	c, err := st.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	it, err := c.Messages()
	if err != nil {
		t.Fatal(err)
	}
	defer it.Stop()
	for range st.CachedInfo().State.Msgs {
		m, err := it.Next(jetstream.NextContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		f(m.Data())
	}
}
