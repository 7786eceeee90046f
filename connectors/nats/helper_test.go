package nats

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// patience is how long a test waits for what has to come. Nothing waits without it: what
// never comes ends the test with what is known then.
const patience = 30 * time.Second

// broker is a real server that a test may stop, start and break.
type broker struct {
	t    testing.TB
	dir  string
	opts embedded.Options
	tune func(*server.Options) // of a server that is not the embedded one
	srv  interface{ Shutdown() }
	url  string
	nc   *natsgo.Conn
	js   jetstream.JetStream
}

func newBroker(t testing.TB, opts embedded.Options) *broker {
	t.Helper()
	b := &broker{t: t, dir: t.TempDir(), opts: opts}
	b.opts.NoSync = true
	b.start()
	t.Cleanup(func() {
		b.nc.Close()
		b.srv.Shutdown()
	})
	return b
}

// tuned starts a server with settings that the embedded one does not have.
func tuned(t testing.TB, tune func(*server.Options), as ...natsgo.Option) *broker {
	t.Helper()
	b := &broker{t: t, dir: t.TempDir(), tune: tune}
	b.launch()
	b.connect(as...)
	t.Cleanup(func() {
		b.nc.Close()
		b.srv.Shutdown()
	})
	return b
}

// launch starts the server, at the same port when it ran before.
func (b *broker) launch() {
	b.t.Helper()
	if b.tune == nil {
		srv, err := embedded.Start(b.dir, b.opts)
		must(b.t, err)
		b.srv, b.url = srv, srv.URL()
	} else {
		srv, err := server.NewServer(b.settings())
		must(b.t, err)
		srv.Start()
		if !srv.ReadyForConnections(patience) {
			b.t.Fatal("the server is not ready")
		}
		b.srv, b.url = srv, srv.ClientURL()
	}
	if b.opts.Port == 0 {
		must(b.t, scanPort(b.url, &b.opts.Port))
	}
}

func (b *broker) settings() *server.Options {
	o := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: b.dir}
	if b.opts.Port != 0 {
		o.Port = b.opts.Port
	}
	b.tune(o)
	return o
}

func (b *broker) reload(tune func(*server.Options)) {
	b.t.Helper()
	b.tune = tune
	must(b.t, b.srv.(*server.Server).ReloadOptions(b.settings()))
}

func (b *broker) start() {
	b.t.Helper()
	b.launch()
	b.connect()
}

func scanPort(url string, port *int) error {
	_, err := fmt.Sscanf(url[strings.Index(url, "//"):], "//127.0.0.1:%d", port)
	return err
}

func (b *broker) connect(opts ...natsgo.Option) {
	b.t.Helper()
	if b.nc != nil {
		b.nc.Close()
	}
	var err error
	b.nc, err = natsgo.Connect(b.url, opts...)
	must(b.t, err)
	b.js, err = jetstream.New(b.nc)
	must(b.t, err)
}

func (b *broker) restart() {
	b.t.Helper()
	b.srv.Shutdown()
	b.start()
}

func (b *broker) create(cfg jetstream.StreamConfig) jetstream.Stream {
	b.t.Helper()
	// A stream of this name that was just deleted may still be leaving the disk.
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		st, err := b.js.CreateStream(context.Background(), cfg)
		if err == nil || time.Now().After(deadline) {
			must(b.t, err)
			return st
		}
	}
}

// publish stores n messages "from", "from+1", … on subject.
func (b *broker) publish(subject string, from, n int) {
	b.t.Helper()
	for i := from; i < from+n; i++ {
		_, err := b.js.PublishAsync(subject, []byte(fmt.Sprint(i)), jetstream.WithStallWait(patience))
		must(b.t, err)
	}
	select {
	case <-b.js.PublishAsyncComplete():
	case <-time.After(patience):
		b.t.Fatal("publishing was not acknowledged")
	}
}

func (b *broker) config(kv ...string) connectors.Config {
	c := connectors.Config{Table: "t", Options: map[string]string{"url": b.url}}
	for i := 0; i < len(kv); i += 2 {
		c.Options[kv[i]] = kv[i+1]
	}
	return c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mustCode checks the code of err and returns it.
func mustCode(t testing.TB, err error, code string) *sqlerr.Error {
	t.Helper()
	e := sqlerr.As(err)
	if e == nil || e.Code != code {
		t.Fatalf("got error %v, want code %s", err, code)
	}
	return e
}

// reading is an open source with what was read of it.
type reading struct {
	t    testing.TB
	src  connectors.Source
	r    connectors.Reader
	pos  connectors.Position
	last *connectors.Chunk
	got  []string
}

func open(t testing.TB, c connectors.Config, pos connectors.Position) *reading {
	t.Helper()
	rd, err := tryOpen(t, c, pos)
	must(t, err)
	return rd
}

func tryOpen(t testing.TB, c connectors.Config, pos connectors.Position) (*reading, error) {
	t.Helper()
	src, err := openSource(context.Background(), c)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { src.Close() })
	splits, err := src.Splits(context.Background())
	must(t, err)
	r, err := src.Open(context.Background(), splits[0], pos)
	if err != nil {
		return nil, err
	}
	return &reading{t: t, src: src, r: r, pos: pos}, nil
}

// next reads one chunk.
func (rd *reading) next(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c, err := rd.r.Next(ctx)
	if err != nil {
		return err
	}
	rd.pos, rd.last = c.Pos, c
	for _, p := range c.Payloads {
		rd.got = append(rd.got, string(p))
	}
	if c.Release != nil {
		c.Release()
	}
	return nil
}

// until reads until n payloads are there in all.
func (rd *reading) until(n int) {
	rd.t.Helper()
	deadline := time.Now().Add(patience)
	for len(rd.got) < n {
		if err := rd.next(time.Until(deadline)); err != nil {
			rd.t.Fatalf("after %d of %d: %v", len(rd.got), n, err)
		}
	}
}

// toEnd reads to io.EOF.
func (rd *reading) toEnd() {
	rd.t.Helper()
	for {
		err := rd.next(patience)
		if errors.Is(err, io.EOF) {
			return
		}
		must(rd.t, err)
	}
}

// untilError reads until an error other than the end of the time.
func (rd *reading) untilError() error {
	deadline := time.Now().Add(patience)
	for {
		if err := rd.next(time.Until(deadline)); err != nil {
			return err
		}
	}
}

// quiet checks that nothing more comes for a while.
func (rd *reading) quiet(d time.Duration) {
	rd.t.Helper()
	n := len(rd.got)
	for {
		err := rd.next(d)
		if errors.Is(err, context.DeadlineExceeded) {
			break
		}
		must(rd.t, err)
	}
	if len(rd.got) != n {
		rd.t.Fatalf("%d rows came that should not: %v", len(rd.got)-n, rd.got[n:])
	}
}

// numbered checks that exactly from, from+1, … were read, n of them.
func (rd *reading) numbered(from, n int) {
	rd.t.Helper()
	if len(rd.got) != n {
		rd.t.Fatalf("read %d rows, want %d", len(rd.got), n)
	}
	for i, s := range rd.got {
		if s != fmt.Sprint(from+i) {
			rd.t.Fatalf("row %d is %q, want %d", i, s, from+i)
		}
	}
}
