package nats

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"reflect"
	"runtime"
	"strings"
	"testing"

	natsgo "github.com/nats-io/nats.go"

	"github.com/streamsql/streamsql/connectors/nats/embedded"
)

// wire gives bytes in pieces of chosen sizes.
type wire struct {
	net.Conn
	rest []byte
	next func() int
}

func (w *wire) Read(p []byte) (int, error) {
	if len(w.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, w.rest[:min(len(w.rest), max(1, w.next()))])
	w.rest = w.rest[n:]
	return n, nil
}

// through sends bytes through a tap, in pieces that read and size choose, and gives what
// passes and what consumers c1 and c2 get. Slabs come back late, some never.
func through(t testing.TB, in []byte, read, size func() int) (passed []byte, got []string) {
	t.Helper()
	to := &deliveries{}
	var out []item
	for _, name := range []string{"c1", "c2"} {
		to.add(name, func(items []item) {
			for _, it := range items {
				got = append(got, fmt.Sprintf("%s %s %q %v %d %d", name, it.subject, it.data, it.header, it.size, it.stream))
			}
			out = append(out, items...)
			for len(out) > 20 {
				out[0].slab.release(1)
				out = out[1:]
			}
		})
	}
	tp := &tap{Conn: &wire{rest: in, next: read}, to: to}
	for {
		p := make([]byte, max(1, size()))
		n, err := tp.Read(p)
		passed = append(passed, p[:n]...)
		if err == io.EOF {
			return passed, got
		}
		must(t, err)
	}
}

// Whatever the pieces, the deliveries of the consumers are taken out and nothing else.
func TestTap(t *testing.T) {
	type op struct{ bytes, want string }
	message := func(subject, reply, payload string) string {
		if reply != "" {
			reply += " "
		}
		return fmt.Sprintf("MSG %s 7 %s%d\r\n%s\r\n", subject, reply, len(payload), payload)
	}
	ack := func(consumer string, seq int) string {
		return fmt.Sprintf("$JS.ACK.bids.%s.1.%d.%d.17.9", consumer, seq, seq)
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for seed := range 150 {
		var ops []op
		for i := range 5 + rnd.IntN(80) {
			subject, payload := fmt.Sprintf("bids.%d", i), strings.Repeat(fmt.Sprintf("%d\r\nMSG PING\r\n", i), rnd.IntN(60))
			reply := ack("c1", i)
			size := func(more int) int { return len(subject) + len(reply) + len(payload) + more }
			switch rnd.IntN(13) {
			case 0:
				ops = append(ops, op{bytes: "PING\r\n"})
			case 1:
				ops = append(ops, op{bytes: "INFO {\"server_id\":\"x\"}\r\n"})
			case 2:
				ops = append(ops, op{bytes: []string{"+OK\r\n", "PONG\r\n", "-ERR 'Slow Consumer'\r\n"}[rnd.IntN(3)]})
			case 3:
				ops = append(ops, op{bytes: message(subject, "", payload)})
			case 4:
				ops = append(ops, op{bytes: message(subject, "_INBOX.a.b", payload)})
			case 5:
				ops = append(ops, op{bytes: message(subject, ack("c3", i), payload)})
			case 6:
				ops = append(ops, op{bytes: message(subject, "$JS.ACK.bids.c1.1.2.3", payload)})
			case 7:
				head := "NATS/1.0\r\nA: b\r\nC: d\r\n\r\n"
				ops = append(ops, op{fmt.Sprintf("HMSG %s 7 %s %d %d\r\n%s%s\r\n", subject, reply, len(head), len(head)+len(payload), head, payload),
					fmt.Sprintf("c1 %s %q %v %d %d", subject, payload, natsgo.Header{"A": {"b"}, "C": {"d"}}, size(len(head)), i)})
			case 8:
				head := "NATS/1.0 100 Idle Heartbeat\r\n\r\n"
				ops = append(ops, op{bytes: fmt.Sprintf("HMSG _INBOX.q 7 %d %d\r\n%s\r\n", len(head), len(head), head)})
			case 9:
				payload = strings.Repeat(payload, 500)
				ops = append(ops, op{message(subject, reply, payload), fmt.Sprintf("c1 %s %q %v %d %d", subject, payload, natsgo.Header(nil), size(0), i)})
			case 10:
				head := []string{"none", "NATS/1.0\r\nno colon\r\n\r\n"}[rnd.IntN(2)]
				ops = append(ops, op{fmt.Sprintf("HMSG %s 7 %s %d %d\r\n%s%s\r\n", subject, reply, len(head), len(head)+len(payload), head, payload),
					fmt.Sprintf("c1 %s %q %v %d %d", subject, payload, natsgo.Header(nil), size(len(head)), i)})
			case 11:
				reply = "$JS.ACK.hub.ACC" + strings.TrimPrefix(ack("c2", i), "$JS.ACK") + ".rand"
				ops = append(ops, op{message(subject, reply, payload), fmt.Sprintf("c2 %s %q %v %d %d", subject, payload, natsgo.Header(nil), size(0), i)})
			default:
				ops = append(ops, op{message(subject, reply, payload), fmt.Sprintf("c1 %s %q %v %d %d", subject, payload, natsgo.Header(nil), size(0), i)})
			}
		}
		var in, rest []byte
		var want []string
		for _, o := range ops {
			in = append(in, o.bytes...)
			if o.want != "" {
				want = append(want, o.want)
			} else {
				rest = append(rest, o.bytes...)
			}
		}
		largest := []int{1, 7, 300, 40_000, 1 << 20}[seed%5]
		if largest < 100 {
			in = in[:min(len(in), 60_000)]
		}
		pieces := func() int { return 1 + rnd.IntN(largest) }
		passed, got := through(t, in, pieces, func() int { return 1 + rnd.IntN(40_000) })
		if largest < 100 {
			whole, same := through(t, in, func() int { return 1 << 20 }, func() int { return 32 << 10 })
			rest, want = whole, same
		}
		if !bytes.Equal(passed, rest) {
			t.Fatalf("seed %d: %d bytes passed, want %d", seed, len(passed), len(rest))
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: %d messages of %d, or not the same", seed, len(got), len(want))
		}
	}
}

// What is not the protocol in plain passes untouched, and so does all behind it.
func TestTapBlind(t *testing.T) {
	mine := "MSG bids.a 7 $JS.ACK.bids.c1.1.1.1.17.9 1\r\nx\r\n"
	for _, in := range []string{
		"INFO {}\r\n\x16\x03\x01\x00\x05hello" + mine,
		"HTTP/1.1 101 Switching Protocols\r\n\r\n" + mine,
		"msg bids.a 7 1\r\nx\r\n" + mine,
		"MSG bids.a 7 x\r\n" + mine,
		"MSG bids.a 7 $JS.ACK.bids.c1.1.1.1.17.9 99999999999\r\n" + mine,
		"HMSG bids.a 7 $JS.ACK.bids.c1.1.1.1.17.9 5 1\r\nx\r\n" + mine,
		"PING\n" + mine,
	} {
		for _, n := range []int{1, 5, 1000} {
			passed, got := through(t, []byte(in), func() int { return n }, func() int { return 10 })
			if string(passed) != in || len(got) > 0 {
				t.Errorf("%q: passed %q, took %q", in, passed, got)
			}
		}
	}
}

// A line may be longer than a slab, and a message is read where it began, however small
// the pieces are.
func TestTapLarge(t *testing.T) {
	fix := func(n int) func() int { return func() int { return n } }
	for _, n := range []int{16 << 10, 256 << 10, 900_000} {
		in := "INFO {" + strings.Repeat("x", n) + "}\r\nPING\r\n"
		if passed, _ := through(t, []byte(in), fix(1<<20), fix(32<<10)); string(passed) != in {
			t.Errorf("of a line of %d bytes %d passed", n, len(passed))
		}
	}
	payload := strings.Repeat("x", 4<<20)
	in := []byte(fmt.Sprintf("MSG bids.a 7 $JS.ACK.bids.c1.1.1.1.17.9 %d\r\n%s\r\n", len(payload), payload))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, got := through(t, in, fix(1460), fix(32<<10))
	runtime.ReadMemStats(&after)
	if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; len(got) != 1 || mib > 200 {
		t.Errorf("%d messages for %d MiB of memory", len(got), mib)
	}
}

// Without a consumer that waits all bytes pass, and how they are cut changes nothing.
func FuzzTap(f *testing.F) {
	f.Add([]byte("INFO {}\r\nMSG a 1 $JS.ACK.bids.c1.1.1.1.17.9 1\r\nx\r\nHMSG a 1 $JS.ACK.bids.c2.1.2.2.17.9 12 12\r\nNATS/1.0\r\n\r\n\r\nPING\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		fix := func(n int) func() int { return func() int { return n } }
		whole, all := through(t, in, fix(1<<20), fix(1<<20))
		cut, some := through(t, in, fix(1), fix(3))
		if !bytes.Equal(whole, cut) || !reflect.DeepEqual(all, some) {
			t.Errorf("whole %q %q, cut %q %q", whole, all, cut, some)
		}
		tp := &tap{Conn: &wire{rest: in, next: fix(5)}, to: &deliveries{}}
		if out, err := io.ReadAll(tp); err != nil || !bytes.Equal(out, in) {
			t.Errorf("%q became %q, %v", in, out, err)
		}
	})
}

// The messages of a plain connection are taken off before the client library counts them.
func TestTapTakes(t *testing.T) {
	b := newBroker(t, embedded.Options{})
	b.create(bids())
	b.publish("bids.a", 0, 3000)
	rd := open(t, b.config("stream", "bids", "end", "now"), nil)
	rd.toEnd()
	rd.numbered(0, 3000)
	if n := rd.src.(*source).s.nc.Stats().InMsgs; n > 100 {
		t.Errorf("%d messages went through the client library", n)
	}
}
