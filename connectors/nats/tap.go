package nats

import (
	"bytes"
	"net"
	"sync"

	natsgo "github.com/nats-io/nats.go"
)

const (
	// lineMax bounds a line of the protocol; the server's INFO is the longest.
	lineMax = 1 << 20
	// frameMax bounds a message; the server allows 64 MiB.
	frameMax = 65 << 20
)

// item is a delivered message. Its bytes lie where they were read, and stay as they are
// until the slab has them back.
type item struct {
	subject, data []byte
	header        natsgo.Header
	size          int   // as the server counts it
	slab          *slab // nil for one that has its bytes to itself
	delivery
}

// deliveries is where a session's pullers wait for messages, by the name of the
// consumer.
type deliveries struct {
	slabs slabs
	mu    sync.RWMutex
	takes map[string]func([]item)
}

// add has what a consumer delivers given to take, a batch at a time and in order; take
// must not block or keep the slice, and gives every item back to its slab.
func (d *deliveries) add(consumer string, take func([]item)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.takes == nil {
		d.takes = map[string]func([]item){}
	}
	d.takes[consumer] = take
}

func (d *deliveries) remove(consumer string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.takes, consumer)
}

func (d *deliveries) find(consumer []byte) func([]item) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.takes[string(consumer)]
}

// Dial implements the client's CustomDialer.
func (d *deliveries) Dial(network, address string) (net.Conn, error) {
	c, err := net.DialTimeout(network, address, connectTimeout)
	if err != nil {
		return nil, err
	}
	return &tap{Conn: c, to: d}, nil
}

// tap is a connection as the client library reads it. What is delivered to the session's
// pullers is taken out of the server's bytes where they were read: no copy, no
// allocation and no goroutine for a message. All else passes to the library, and
// everything does as soon as the bytes are not the protocol in plain (TLS, websockets);
// the pullers then get the same messages from the library. Protocol:
// docs.nats.io/reference/reference-protocols/nats-protocol.
type tap struct {
	net.Conn
	to *deliveries

	slab  *slab
	buf   []byte // of the slab, what was read
	from  int    // up to here it was passed or taken
	grow  int    // size of the next slab
	need  int    // bytes of the frame that is not there yet as a whole
	pass  int    // bytes from here on that are the library's
	blind bool

	items []item
	head  []byte // of the reply subjects of items
	take  func([]item)
}

// Read implements net.Conn for the library, which calls it from one goroutine at a time.
func (t *tap) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		n := t.frames(p)
		t.hand()
		switch {
		case n > 0:
			return n, nil
		case t.blind:
			t.slab, t.buf, t.from, t.items = nil, nil, 0, nil
			return t.Conn.Read(p)
		}
		if err := t.fill(); err != nil && t.from == len(t.buf) {
			return 0, err
		} else if err != nil {
			t.blind = true
		}
	}
}

// fill reads what the server has sent.
func (t *tap) fill() error {
	rest := t.buf[t.from:]
	if len(rest) == 0 && t.slab != nil && t.slab.unused() {
		t.buf, t.from = t.buf[:0], 0
	}
	free := cap(t.buf) - len(t.buf)
	if t.slab == nil || free < t.need-len(rest) || t.need == 0 && free < cap(t.buf)/8 {
		t.grow = max(t.grow, slabMin)
		old := t.slab
		// A line that is not there as a whole, and may be long, has as much room again.
		t.slab = t.to.slabs.get(max(t.grow, t.need, 2*len(rest)))
		t.buf, t.from = append(t.slab.bytes[:0], rest...), 0
		if old != nil {
			old.release(1)
		}
	}
	n, err := t.Conn.Read(t.buf[len(t.buf):cap(t.buf)])
	if len(t.buf)+n == cap(t.buf) {
		t.grow = min(2*t.grow, slabMax)
	}
	t.buf = t.buf[:len(t.buf)+n]
	if n > 0 {
		return nil
	}
	return err
}

// frames takes the items out of what is there and copies the rest to p, as far as it
// fits.
func (t *tap) frames(p []byte) (n int) {
	t.need = 0
	for t.from < len(t.buf) {
		b := t.buf[t.from:]
		if t.blind {
			t.pass = len(b)
		}
		if t.pass > 0 {
			k := copy(p[n:], b[:min(t.pass, len(b))])
			n, t.from, t.pass = n+k, t.from+k, t.pass-k
			if n == len(p) {
				return n
			}
			continue
		}
		f := parseFrame(b)
		if f.kind == frameDelivery && !t.delivered(b, &f) {
			f.kind = framePlain
		}
		switch {
		case f.kind == frameStrange:
			t.blind = true
		case f.kind == framePlain:
			t.pass = f.size
		case len(b) < f.size || f.size == 0:
			t.need = f.size
			return n
		default:
			t.from += f.size
		}
	}
	return n
}

// delivered takes a delivery to a puller, once it is there as a whole; it is false for
// one that is the library's.
func (t *tap) delivered(b []byte, f *frame) bool {
	var d delivery
	if t.take != nil && bytes.HasPrefix(f.reply, t.head) {
		if !d.numbers(f.reply[len(t.head):]) {
			return false
		}
		d.head = f.reply[:len(t.head)]
	} else {
		t.hand()
		var consumer []byte
		var ok bool
		if d, consumer, ok = parseAck(f.reply); !ok {
			return false
		}
		take := t.to.find(consumer)
		if take == nil {
			return false
		}
		t.head, t.take = append(t.head[:0], d.head...), take
	}
	if len(b) < f.size {
		return true
	}
	it := item{subject: f.subject, data: b[f.line+f.header : f.size-2 : f.size-2], slab: t.slab, delivery: d,
		size: len(f.subject) + len(f.reply) + f.size - 2 - f.line}
	if f.header > 0 {
		// Headers that cannot be read are none, as for the library. The message must not go
		// there: those behind it would be here first.
		it.header, _ = natsgo.DecodeHeadersMsg(b[f.line : f.line+f.header])
	}
	t.items = append(t.items, it)
	return true
}

// hand gives the items to their puller, which may have another tomorrow.
func (t *tap) hand() {
	if len(t.items) > 0 {
		t.slab.retain(len(t.items))
		t.take(t.items)
		clear(t.items)
		t.items = t.items[:0]
	}
	t.take = nil
}

type frameKind uint8

const (
	frameShort    frameKind = iota // its line is not there as a whole
	framePlain                     // the library's
	frameDelivery                  // of JetStream
	frameStrange                   // not of the protocol
)

// frame is an operation of the protocol at the beginning of some bytes, as the server
// writes them.
type frame struct {
	kind           frameKind
	size           int // of line and payload; 0 while the line is not there as a whole
	line           int // bytes of the line, its end included
	header         int // bytes of the payload that are headers
	subject, reply []byte
}

var verbs = [][]byte{[]byte("MSG "), []byte("HMSG "), []byte("PING"), []byte("PONG"), []byte("INFO "), []byte("+OK"), []byte("-ERR ")}

func parseFrame(b []byte) (f frame) {
	strange := frame{kind: frameStrange}
	verb, i := []byte(nil), 0
	for i, verb = range verbs {
		if n := min(len(b), len(verb)); bytes.Equal(b[:n], verb[:n]) {
			break
		}
		if i == len(verbs)-1 {
			return strange
		}
	}
	f.line = bytes.IndexByte(b, '\n') + 1
	switch {
	case f.line == 0 && len(b) < lineMax:
		return frame{}
	case f.line < len(verb)+2 || b[f.line-2] != '\r':
		return strange
	case i > 1:
		return frame{kind: framePlain, size: f.line, line: f.line}
	}
	args := b[len(verb) : f.line-2]
	var total, header uint64
	if args, total, f.kind = lastNumber(args); f.kind == frameStrange || total > frameMax {
		return strange
	}
	if i == 1 {
		if args, header, f.kind = lastNumber(args); f.kind == frameStrange || header > total {
			return strange
		}
	}
	f.header, f.size, f.kind = int(header), f.line+int(total)+2, framePlain
	if at := bytes.LastIndexByte(args, ' '); at >= 0 && bytes.HasPrefix(args[at+1:], ackPrefix) {
		f.reply, f.kind = args[at+1:], frameDelivery
		f.subject = args[:bytes.IndexByte(args, ' ')]
	}
	return f
}

// lastNumber takes the number off that ends a line.
func lastNumber(b []byte) (rest []byte, n uint64, kind frameKind) {
	at := bytes.LastIndexByte(b, ' ')
	if at < 0 || !number(b[at+1:], &n) {
		return nil, 0, frameStrange
	}
	return b[:at], n, framePlain
}
