package nats

import (
	"bytes"
	"context"
	"errors"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/connectors/nats/embedded"
)

const benchMessages = 200_000

// BenchmarkRead reads 200-byte messages through the source and, by turns on the same
// stream, with the client's ordered consumer that drops them. Server and client share
// the process; "cpu-ns/msg" is of both.
func BenchmarkRead(b *testing.B) {
	br := newBroker(b, embedded.Options{})
	fill(b, br, bids(), "bids.a")
	measure := func(name string, read func(b *testing.B)) {
		b.Run(name, func(b *testing.B) {
			cpu := cpuTime(b)
			for range b.N {
				read(b)
			}
			n := float64(benchMessages * b.N)
			b.ReportMetric(n/b.Elapsed().Seconds(), "msgs/s")
			b.ReportMetric(float64(cpuTime(b)-cpu)/n, "cpu-ns/msg")
		})
	}
	for range 3 {
		measure("source", func(b *testing.B) { readSource(b, br) })
		measure("discard", func(b *testing.B) { readDiscard(b, br) })
	}
}

// fill makes a stream with messages of 200 bytes.
func fill(b *testing.B, br *broker, cfg jetstream.StreamConfig, subject string) {
	br.create(cfg)
	payload := bytes.Repeat([]byte("x"), 200)
	for range benchMessages {
		_, err := br.js.PublishAsync(subject, payload, jetstream.WithStallWait(time.Minute))
		must(b, err)
	}
	<-br.js.PublishAsyncComplete()
}

// BenchmarkReadQueue empties a work queue, released about ten times on the way.
func BenchmarkReadQueue(b *testing.B) {
	br := newBroker(b, embedded.Options{})
	var cpu time.Duration
	for range b.N {
		b.StopTimer()
		_ = br.js.DeleteStream(context.Background(), "work")
		fill(b, br, queue(), "work.a")
		began := cpuTime(b)
		b.StartTimer()
		rd := openJob(b, br.jobConfig("1", 1, "stream", "work", "end", "now"), nil)
		for at := benchMessages / 10; at < benchMessages; at += benchMessages / 10 {
			rd.until(at)
			rd.release(rd.pos)
		}
		rd.toEnd()
		rd.release(rd.pos)
		for br.state("work").Msgs > 0 {
			time.Sleep(time.Millisecond)
		}
		cpu += cpuTime(b) - began
		rd.crash()
	}
	n := float64(benchMessages * b.N)
	b.ReportMetric(n/b.Elapsed().Seconds(), "msgs/s")
	b.ReportMetric(float64(cpu)/n, "cpu-ns/msg")
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func readSource(b *testing.B, br *broker) {
	rd := open(b, br.config("stream", "bids", "end", "now"), nil)
	n, chunks := 0, 0
	for {
		c, err := rd.r.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		must(b, err)
		n += len(c.Payloads)
		chunks++
	}
	if n != benchMessages {
		b.Fatalf("read %d", n)
	}
	must(b, rd.r.Close())
	b.ReportMetric(float64(n)/float64(chunks), "rows/chunk")
}

func readDiscard(b *testing.B, br *broker) {
	c, err := br.js.OrderedConsumer(context.Background(), "bids", jetstream.OrderedConsumerConfig{})
	must(b, err)
	n, done := 0, make(chan struct{})
	cc, err := c.Consume(func(jetstream.Msg) {
		if n++; n == benchMessages {
			close(done)
		}
	}, jetstream.PullMaxMessages(10_000))
	must(b, err)
	<-done
	cc.Stop()
}
