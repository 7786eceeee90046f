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

	"github.com/streamsql/streamsql/connectors/nats/embedded"
	"github.com/streamsql/streamsql/engine"
)

// natsServer is an embedded server with the bids in two streams: ONE holds a bid a
// message, PACKED a hundred.
type natsServer struct {
	*embedded.Server
	dir string
	js  jetstream.JetStream
	nc  *nats.Conn
}

func startNATS(m *bids) (*natsServer, error) {
	dir, err := os.MkdirTemp("", "streamsql-bench-")
	if err != nil {
		return nil, err
	}
	s := &natsServer{dir: dir}
	if s.Server, err = embedded.Start(dir, embedded.Options{NoSync: true}); err != nil {
		return nil, err
	}
	if s.nc, err = nats.Connect(s.URL()); err != nil {
		return nil, err
	}
	if s.js, err = jetstream.New(s.nc); err != nil {
		return nil, err
	}
	for name, pack := range map[string]int{"ONE": 1, "PACKED": 100} {
		subject := strings.ToLower(name)
		if _, err := s.js.CreateStream(context.Background(), jetstream.StreamConfig{Name: name, Subjects: []string{subject}}); err != nil {
			return nil, err
		}
		var buf []byte
		n := 0
		for _, c := range m.texts {
			for _, p := range c.payloads() {
				buf = append(append(buf, p...), '\n')
				if n++; n%pack == 0 {
					if _, err := s.js.PublishAsync(subject, buf, jetstream.WithStallWait(time.Minute)); err != nil {
						return nil, err
					}
					buf = make([]byte, 0, len(buf)+64)
				}
			}
		}
		if len(buf) > 0 {
			if _, err := s.js.PublishAsync(subject, buf); err != nil {
				return nil, err
			}
		}
		<-s.js.PublishAsyncComplete()
	}
	return s, nil
}

func (s *natsServer) close() {
	s.nc.Close()
	s.Shutdown()
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

func benchNATS() error {
	m := makeBids(*rows)
	s, err := startNATS(m)
	if err != nil {
		return err
	}
	defer s.close()
	pg, db, err := startPG()
	if err != nil {
		return err
	}
	defer pg.close()
	fmt.Printf("%d bids of %d bytes, server, database and job on this machine, median of %d\n", m.n, m.bytes/m.n, *repeat)
	fmt.Printf("%-46s %12s %12s\n", "path", "k events/s", "/discard")
	for _, stream := range []string{"ONE", "PACKED"} {
		d, err := median(func() (time.Duration, error) { return s.discard(stream) })
		if err != nil {
			return err
		}
		base := rate(m.n, d)
		fmt.Printf("%-46s %12.0f %12.2f\n", stream+": read and discard", base/1e3, 1.0)
		decl := fmt.Sprintf(bidDDL, "nats", fmt.Sprintf(", url = '%s', stream = '%s', 'end' = 'now'", s.URL(), stream))
		paths := []struct{ name, sql string }{
			{"blackhole, 3 columns", "CREATE TABLE out (a BIGINT, b BIGINT, c BIGINT) WITH (connector = 'blackhole'); INSERT INTO out SELECT auction, bidder, price FROM bid;"},
			{"tumble 10 s, PostgreSQL upsert", fmt.Sprintf(`CREATE TABLE win (auction BIGINT, start TIMESTAMP(3), n BIGINT, total DECIMAL(38,0), PRIMARY KEY (auction, start))
 WITH (connector = 'postgres', url = '%s', 'auto.create' = 'true');
INSERT INTO win SELECT auction, window_start, COUNT(*), SUM(price) FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR("dateTime"), INTERVAL '10' SECOND)) GROUP BY auction, window_start, window_end;`, pg.DSN())},
			{"stateless, PostgreSQL append", fmt.Sprintf(`CREATE TABLE app (auction BIGINT, bidder BIGINT, price BIGINT, "dateTime" TIMESTAMP(3))
 WITH (connector = 'postgres', url = '%s', mode = 'append', 'auto.create' = 'true');
INSERT INTO app SELECT auction, bidder, price, "dateTime" FROM bid;`, pg.DSN())},
		}
		for _, p := range paths {
			d, err := median(func() (time.Duration, error) {
				if _, err := db.Exec("DROP TABLE IF EXISTS win, app, streamsql_fence, streamsql_target"); err != nil {
					return 0, err
				}
				return job(engine.Options{}, decl+p.sql)
			})
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			fmt.Printf("%-46s %12.0f %12.2f\n", stream+": "+p.name, rate(m.n, d)/1e3, rate(m.n, d)/base)
		}
	}
	return nil
}
