package nats

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/nats/embedded"
)

// TestWindowIsOneBatch: where the stream takes atomic batches the early writer's windows
// are such, so that a server that syncs each write syncs once a window.
func TestWindowIsOneBatch(t *testing.T) {
	b, ctx := newBroker(t, embedded.Options{}), context.Background()
	b.create(outStream(true))
	w, err := b.sink(t, "subject", "out.{region}").OpenWriter(ctx, connectors.WriterContext{})
	must(t, err)
	must(t, w.Write(ctx, rows(0, 1500)))
	must(t, w.Flush(ctx))
	st, err := b.js.Stream(ctx, "out")
	must(t, err)
	c, err := st.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	must(t, err)
	got, batches := 0, map[string]int{}
	for got < 1500 {
		m, err := c.Next()
		must(t, err)
		batches[m.Headers().Get("Nats-Batch-Id")]++
		got++
	}
	if len(batches) != 2 || batches[""] > 0 {
		t.Errorf("1500 rows in windows of 1000 are batches of %v", batches)
	}
}
