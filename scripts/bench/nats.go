package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/connectors/generator/nexmark"
	"github.com/streamsql/streamsql/engine"
)

// natsServer is a server with bids in two streams: ONE holds a bid a message,
// PACKED a hundred, and several times as many, so that start and end do not count.
type natsServer struct {
	*broker
	dir    string
	js     jetstream.JetStream
	nc     *nats.Conn
	events map[string]int // by stream
}

const packing, packedTimes = 100, 5

func startNATS(bids int) (*natsServer, error) {
	dir, err := os.MkdirTemp("", "streamsql-bench-")
	if err != nil {
		return nil, err
	}
	s := &natsServer{dir: dir, events: map[string]int{"ONE": bids, "PACKED": packedTimes * bids}}
	if s.broker, err = startBroker(dir); err != nil {
		return nil, err
	}
	if s.nc, err = nats.Connect(s.url); err != nil {
		return nil, err
	}
	if s.js, err = jetstream.New(s.nc); err != nil {
		return nil, err
	}
	for name, pack := range map[string]int{"ONE": 1, "PACKED": packing} {
		if err := s.fill(name, pack); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// fill publishes bids, pack in a message.
func (s *natsServer) fill(stream string, pack int) error {
	subject := strings.ToLower(stream)
	if _, err := s.js.CreateStream(context.Background(), jetstream.StreamConfig{Name: stream, Subjects: []string{subject}}); err != nil {
		return err
	}
	gen := nexmark.New(nexmark.Config{Seed: 1, Base: nexmark.DefaultBase})
	var buf []byte
	for e, made := int64(0), 0; made < s.events[stream]; e++ {
		if nexmark.KindOf(e) != nexmark.KindBid {
			continue
		}
		buf = append(gen.AppendJSON(buf, e), '\n')
		if made++; made%pack == 0 || made == s.events[stream] {
			if _, err := s.js.PublishAsync(subject, buf, jetstream.WithStallWait(time.Minute)); err != nil {
				return err
			}
			buf = make([]byte, 0, len(buf)+64)
		}
	}
	<-s.js.PublishAsyncComplete()
	return nil
}

func (s *natsServer) close() {
	s.nc.Close()
	s.stop()
	os.RemoveAll(s.dir)
}

// discard reads a stream the fastest safe way and does nothing with it.
func (s *natsServer) discard(stream string) (time.Duration, error) {
	ctx := context.Background()
	str, err := s.js.Stream(ctx, stream)
	if err != nil {
		return 0, err
	}
	want := int64(str.CachedInfo().State.Msgs)
	start := time.Now()
	cons, err := str.CreateConsumer(ctx, jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, InactiveThreshold: 5 * time.Minute})
	if err != nil {
		return 0, err
	}
	var got atomic.Int64
	done := make(chan struct{})
	cc, err := cons.Consume(func(jetstream.Msg) {
		if got.Add(1) == want {
			close(done)
		}
	}, jetstream.PullMaxMessagesWithBytesLimit(10_000, 32<<20))
	if err != nil {
		return 0, err
	}
	<-done
	d := time.Since(start)
	cc.Stop()
	return d, nil
}

// path is a way of the events through a job.
type path struct {
	name, sql string
	// table is the result in PostgreSQL, "" for none.
	table string
}

func paths(dsn string) []path {
	windows := func(name, key string) path {
		return path{name, fmt.Sprintf(`CREATE TABLE win (k BIGINT, start TIMESTAMP(3), n BIGINT, total BIGINT, PRIMARY KEY (k, start))
 WITH (connector = 'postgres', url = '%s', 'auto.create' = 'true');
INSERT INTO win SELECT %s, window_start, COUNT(*), CAST(SUM(price) AS BIGINT) FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR("dateTime"), INTERVAL '10' SECOND)) GROUP BY %s, window_start, window_end;`, dsn, key, key), "win"}
	}
	return []path{
		{"blackhole, 3 columns", "CREATE TABLE out (a BIGINT, b BIGINT, c BIGINT) WITH (connector = 'blackhole'); INSERT INTO out SELECT auction, bidder, price FROM bid;", ""},
		windows("tumble 10 s by auction, upsert", "auction"),
		windows("tumble 10 s by ten keys, upsert", "MOD(auction, 10)"),
		{"stateless, append", fmt.Sprintf(`CREATE TABLE app (auction BIGINT, bidder BIGINT, price BIGINT, "dateTime" TIMESTAMP(3))
 WITH (connector = 'postgres', url = '%s', mode = 'append', 'auto.create' = 'true');
INSERT INTO app SELECT auction, bidder, price, "dateTime" FROM bid;`, dsn), "app"},
	}
}

// spent is the time on the CPU of one run: of the server, and of the job or the client
// that discards.
type spent struct{ server, own time.Duration }

// count runs do and adds what it spends to all.
func (s *natsServer) count(all *[]spent, do func() (time.Duration, error)) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		server, own := s.cpu(), cpuTime()
		d, err := do()
		*all = append(*all, spent{s.cpu() - server, cpuTime() - own})
		return d, err
	}
}

// middleSpent is the middle of each.
func middleSpent(all []spent) spent {
	var server, own []time.Duration
	for _, x := range all {
		server, own = append(server, x.server), append(own, x.own)
	}
	return spent{middle(server), middle(own)}
}

// benchNATS measures whole paths beside what bounds them: reading the stream and doing
// nothing, by turns, the JSON decoder alone, and writing the same rows by hand.
func benchNATS() error {
	m := makeBids(*rows)
	s, err := startNATS(m.n)
	if err != nil {
		return err
	}
	defer s.close()
	pg, db, err := startPG()
	if err != nil {
		return err
	}
	defer pg.close()
	d, err := medianCPU(func() error { return decodeAll(m) })
	if err != nil {
		return err
	}
	decoder := rate(m.n, d)
	fmt.Printf("bids of %d bytes, server, database and job on this machine, median of %d, each path and the discarding client by turns\n", m.bytes/m.n, *repeat)
	fmt.Printf("JSON decoder alone, 7 fields: %.0f k events/s, %.0f ns an event\n", decoder/1e3, 1e9/decoder)
	fmt.Printf("%-46s %10s %8s %8s %8s %9s %11s %9s\n", "path", "k events/s", "/discard", "/decoder", "job ns", "server ns", "k rows/s out", "/by hand")
	for _, stream := range []string{"ONE", "PACKED"} {
		n := s.events[stream]
		per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(n) }
		decl := fmt.Sprintf(bidDDL, "nats", fmt.Sprintf(", url = '%s', stream = '%s', 'end' = 'now'", s.url, stream))
		for _, p := range paths(pg.DSN()) {
			if *only != "" && !strings.Contains(stream+": "+p.name, *only) {
				continue
			}
			var ours, client []spent
			path := s.count(&ours, func() (time.Duration, error) {
				return job(engine.Options{}, decl+p.sql)
			})
			d, base, ratio, err := turns(func() (time.Duration, error) {
				if _, err := db.Exec("DROP TABLE IF EXISTS win, app, streamsql_fence, streamsql_target, streamsql_letter; CHECKPOINT"); err != nil {
					return 0, err
				}
				return path()
			}, s.count(&client, func() (time.Duration, error) { return s.discard(stream) }))
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			x, y := middleSpent(ours), middleSpent(client)
			fmt.Printf("%-46s %10.0f %8s %8.2f %8.0f %9.0f\n", stream+": discard", rate(n, base)/1e3, "", rate(n, base)/decoder, per(y.own), per(y.server))
			fmt.Printf("%-46s %10.0f %8.2f %8.2f %8.0f %9.0f", stream+": "+p.name, rate(n, d)/1e3, 1/ratio, rate(n, d)/decoder, per(x.own), per(x.server))
			if p.table != "" {
				var out int
				if err := db.QueryRow("SELECT count(*) FROM " + p.table).Scan(&out); err != nil {
					return err
				}
				hand, err := againByHand(db, p.table)
				if err != nil {
					return err
				}
				fmt.Printf(" %11.1f %9.2f", rate(out, d)/1e3, rate(out, d)/hand)
			}
			fmt.Println()
		}
	}
	if *only != "" && !strings.Contains("latency", *only) {
		return nil
	}
	for _, keys := range []int{100, 1000} {
		if err := benchLatency(s, pg, db, keys); err != nil {
			return err
		}
	}
	return nil
}
