package embedded

import (
	"context"
	"strings"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

func TestStart(t *testing.T) {
	dir := t.TempDir()
	began := time.Now()
	s, err := Start(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("it took %s to start", d)
	}
	if !strings.HasPrefix(s.URL(), "nats://127.0.0.1:") {
		t.Errorf("it listens at %s", s.URL())
	}
	_, err = Start(dir, Options{})
	if e := sqlerr.As(err); e == nil || e.Code != sqlerr.CodeNotReady || !strings.Contains(e.Msg, "in use by another streamsql") || e.Hint == "" {
		t.Fatalf("a second server in the directory: %v", err)
	}
	publish := func(s *Server) uint64 {
		nc, err := natsgo.Connect(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		if nc.MaxPayload() != MaxPayload {
			t.Errorf("payload up to %d", nc.MaxPayload())
		}
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := js.CreateOrUpdateStream(context.Background(), jetstream.StreamConfig{Name: "s", AllowAtomicPublish: true, AllowMsgTTL: true}); err != nil {
			t.Fatal(err)
		}
		ack, err := js.Publish(context.Background(), "s", make([]byte, 2<<20))
		if err != nil {
			t.Fatal(err)
		}
		return ack.Sequence
	}
	publish(s)
	s.Shutdown()
	s.Shutdown()
	again, err := Start(dir, Options{NoSync: true})
	if err != nil {
		t.Fatalf("after a shutdown: %v", err)
	}
	defer again.Shutdown()
	if n := publish(again); n != 2 {
		t.Errorf("sequence %d after a restart", n)
	}
	if _, err := Start("/dev/null/x", Options{}); sqlerr.CodeOf(err) != sqlerr.CodeOption {
		t.Errorf("a directory that cannot be: %v", err)
	}
}
