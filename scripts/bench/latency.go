package main

import (
	"context"
	"database/sql"
	"fmt"
	"sort"
	"sync"
	"time"

	"github.com/lib/pq"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/engine"
)

// latencyRate is the events a second: half of the windowed rate that one asks of two
// cores with server and database beside.
const latencyRate = 175_000

// benchLatency measures how long after the event that closes a window was published the
// window's last row is visible in PostgreSQL, where a notification tells of the commit,
// and how long the same rows take there by hand: one statement in one transaction, under
// the same publishing, without a job.
func benchLatency(s *natsServer, pg *database, db *sql.DB, keys int) error {
	const window, run = 100 * time.Millisecond, 10 * time.Second
	ctx := context.Background()
	name := fmt.Sprintf("live%d", keys)
	if _, err := s.js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name}}); err != nil {
		return err
	}
	if _, err := db.Exec(`DROP TABLE IF EXISTS live; CREATE TABLE live (k bigint, start timestamp(3), n bigint, PRIMARY KEY (k, start));
CREATE OR REPLACE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM pg_notify('seen', (extract(epoch FROM start) * 1000)::bigint::text) FROM (SELECT DISTINCT start FROM fresh) w; RETURN NULL; END $$;
CREATE TRIGGER tell AFTER INSERT ON live REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION tell()`); err != nil {
		return err
	}
	seen := map[int64]time.Time{} // by the window's start in milliseconds
	var mu sync.Mutex
	l := pq.NewListener(pg.DSN(), time.Second, time.Minute, nil)
	defer l.Close()
	if err := l.Listen("seen"); err != nil {
		return err
	}
	go func() {
		for n := range l.Notify {
			var at int64
			if n == nil {
				continue
			}
			if _, err := fmt.Sscan(n.Extra, &at); err != nil {
				continue
			}
			mu.Lock()
			seen[at] = time.Now()
			mu.Unlock()
		}
	}()
	e, err := engine.Open(ctx, engine.Options{})
	if err != nil {
		return err
	}
	defer e.Close(ctx)
	f, err := e.Load(name, fmt.Sprintf(`CREATE TABLE ev (k BIGINT, price BIGINT, "dateTime" TIMESTAMP(3), extra VARCHAR, WATERMARK FOR "dateTime" AS "dateTime" - INTERVAL '0.001' SECOND)
 WITH (connector = 'nats', url = '%s', stream = '%s', format = 'json');
CREATE TABLE live (k BIGINT, start TIMESTAMP(3), n BIGINT, PRIMARY KEY (k, start)) WITH (connector = 'postgres', url = '%s');
INSERT INTO live SELECT k, window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE ev, DESCRIPTOR("dateTime"), INTERVAL '0.1' SECOND)) GROUP BY k, window_start, window_end;`, s.url, name, pg.DSN()))
	if err != nil {
		return err
	}
	j, err := e.Run(ctx, f, engine.Start{})
	if err != nil {
		return err
	}
	for _, by := range []string{"by the job", "by hand"} {
		closed := func(int64) {}
		if by == "by hand" {
			closed = func(start int64) { go func() { _ = upsertByHand(db, keys, start) }() }
		}
		published, err := s.live(name, run, window, keys, closed)
		if err != nil {
			return err
		}
		time.Sleep(time.Second)
		j.Cancel()
		mu.Lock()
		all, missing := published.shown(seen)
		mu.Unlock()
		if len(all) == 0 {
			return fmt.Errorf("no window was seen")
		}
		ms := func(q int) float64 { return float64(all[len(all)*q/100].Microseconds()) / 1000 }
		fmt.Printf("published to visible, windows of %v, %d keys, %d k events/s, %s: p50 %.1f ms, p99 %.1f ms (%d windows, %d not seen)\n",
			window, keys, latencyRate/1000, by, ms(50), ms(99), len(all), missing)
	}
	return nil
}

// upsertByHand writes the rows of a window.
func upsertByHand(db *sql.DB, keys int, start int64) error {
	ks, counts := make([]int64, keys), make([]int64, keys)
	for i := range ks {
		ks[i], counts[i] = int64(i), int64(latencyRate/10/keys)
	}
	_, err := db.Exec(`INSERT INTO live SELECT k, $3::timestamp, n FROM unnest($1::bigint[], $2::bigint[]) u(k, n)
 ON CONFLICT (k, start) DO UPDATE SET n = excluded.n`, pq.Array(ks), pq.Array(counts), time.UnixMilli(start).UTC())
	return err
}

// closings tells when the event was published that closed the window from a start in
// milliseconds.
type closings map[int64]time.Time

func (c closings) first() int64 {
	first := int64(1) << 62
	for start := range c {
		first = min(first, start)
	}
	return first
}

// shown is how long each window took to be seen, the shortest first, and how many were
// not. The first second's meet a job that is starting.
func (c closings) shown(seen map[int64]time.Time) (all []time.Duration, missing int) {
	for start, at := range c {
		if start < c.first()+1000 {
			continue
		}
		if shown, ok := seen[start]; ok {
			all = append(all, shown.Sub(at))
		} else {
			missing++
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	return all, missing
}

// live publishes events of the moment at a steady rate, some in a message, and calls
// closed just after the event that closes a window was published.
func (s *natsServer) live(subject string, run, window time.Duration, keys int, closed func(start int64)) (closings, error) {
	const pack = 25
	out := closings{}
	size := window.Milliseconds()
	begin := time.Now()
	var buf []byte
	open := int64(0) // the window that events go into
	for n := 0; ; n += pack {
		if ahead := time.Duration(n)*time.Second/latencyRate - time.Since(begin); ahead > 0 {
			time.Sleep(ahead)
		}
		now := time.Now()
		if now.Sub(begin) > run {
			<-s.js.PublishAsyncComplete()
			return out, nil
		}
		buf = make([]byte, 0, cap(buf))
		for i := range pack {
			buf = fmt.Appendf(buf, `{"k":%d,"price":%d,"dateTime":"`, (n+i)%keys, n)
			buf = now.UTC().AppendFormat(buf, "2006-01-02 15:04:05.000")
			buf = append(buf, `","extra":"a hundred bytes or so, as in an event of the benchmark, which nobody reads but everybody sends"}`+"\n"...)
		}
		was := open
		open = now.UnixMilli() / size * size
		if was != 0 && was != open {
			out[was] = time.Now()
		}
		if _, err := s.js.PublishAsync(subject, buf, jetstream.WithStallWait(time.Minute)); err != nil {
			return nil, err
		}
		if was != 0 && was != open {
			closed(was)
		}
	}
}
