package nats

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/nats/embedded"
	"github.com/streamsql/streamsql/internal/stream"
)

// BenchmarkSink writes rows of about 40 bytes, one a message and packed, on a server
// that leaves writing to the system and on one that syncs. "client" is the client's own
// asynchronous publishing of rows encoded beforehand.
func BenchmarkSink(b *testing.B) {
	const n = 20_000
	batch := rows(0, n)
	b.Run("client", func(b *testing.B) {
		br := newBroker(b, embedded.Options{})
		br.create(outStream(false))
		b.ResetTimer()
		for range b.N {
			for i := range n {
				_, err := br.js.PublishAsync("out.eu", []byte(row(i)), jetstream.WithStallWait(time.Minute))
				must(b, err)
			}
			<-br.js.PublishAsyncComplete()
		}
		b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "rows/s")
	})
	for _, c := range []struct {
		name  string
		opts  []string
		sync  bool
		batch bool
	}{
		{"early/async", nil, false, false},
		{"early/batch", nil, false, true},
		{"early/batch/sync", nil, true, true},
		{"early/batch/packed", []string{"rows.per.message", "100"}, false, true},
		{"exactly-once", []string{"delivery", exactlyOnce}, false, true},
		{"exactly-once/sync", []string{"delivery", exactlyOnce}, true, true},
		{"exactly-once/packed", []string{"delivery", exactlyOnce, "rows.per.message", "100"}, false, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			br := newBroker(b, embedded.Options{})
			if c.sync {
				br.nc.Close()
				br.srv.Shutdown()
				var err error
				br.opts.NoSync = false
				br.srv, err = embedded.Start(br.dir, br.opts)
				must(b, err)
				br.connect()
			}
			br.create(outStream(c.batch))
			k := br.sink(b, append([]string{"subject", "out.{region}"}, c.opts...)...)
			ctx := context.Background()
			if k.exactly {
				com := br.acquired(b, "j1", 1, c.opts[2:]...)
				b.ResetTimer()
				for i := range b.N {
					must(b, com.Commit(ctx, com.id(stream.Epoch(i+1)), com.parts(1, n)))
				}
			} else {
				w, err := k.OpenWriter(ctx, connectors.WriterContext{})
				must(b, err)
				b.ResetTimer()
				for range b.N {
					must(b, w.Write(ctx, batch))
					must(b, w.Flush(ctx))
				}
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
