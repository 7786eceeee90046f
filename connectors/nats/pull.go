package nats

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

const (
	// maxOutstanding bounds what is asked for and not yet handed to the runtime.
	maxOutstanding      = 10_000
	maxOutstandingBytes = 32 << 20

	pullExpires   = 30 * time.Second
	pullHeartbeat = time.Second
	// silentFor is how long nothing may be heard while a request is out.
	silentFor = 2500 * time.Millisecond

	// inactive is how long the server keeps a consumer that nobody pulls from; a
	// longer stall upstream makes a new one.
	inactive = 5 * time.Minute
)

// puller reads a consumer by pull requests of its own: the server never has leave to
// send more than fits in the queue. Anything unexpected (a hole in the consumer's own
// numbering, silence, a deleted consumer) breaks the puller, and its owner attaches
// another one behind the last message taken.
type puller struct {
	s        *session
	consumer string
	stream   string
	next     string // subject of pull requests
	sub      *natsgo.Subscription
	acks     *acks // what has to be acknowledged; nil for an ephemeral consumer without

	mu       sync.Mutex
	queue    []item
	queued   int // bytes in queue
	out      int // messages asked for and not arrived
	outBytes int
	numbered uint64 // last number given by the consumer
	eager    bool   // the reader sleeps until the first message
	large    bool   // the next message is larger than what was asked for
	idle     bool   // the server said that it has nothing to send
	seen     uint64 // then: the last sequence that it has looked at
	broken   string
	heard    uint64 // counts arrivals
	wake     func()
}

// attach makes an ephemeral consumer without acknowledgements that starts behind
// sequence last, and reads it. The returned pending is the number of messages that wait.
func attach(ctx context.Context, s *session, stream, filter string, last uint64, wake func()) (p *puller, pending uint64, err error) {
	p = &puller{s: s, stream: stream, consumer: "streamsql-" + nuid.Next(), wake: wake}
	err = s.call(ctx, "read stream \""+stream+"\" of", func(ctx context.Context) error {
		c, err := s.js.CreateConsumer(ctx, stream, jetstream.ConsumerConfig{
			Name:              p.consumer,
			DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
			OptStartSeq:       last + 1,
			AckPolicy:         jetstream.AckNonePolicy,
			FilterSubject:     filter,
			InactiveThreshold: inactive,
			MemoryStorage:     true,
			Replicas:          1,
		})
		if err == nil {
			pending = c.CachedInfo().NumPending
		}
		return err
	})
	if err == nil {
		err = p.open()
	}
	return p, pending, err
}

// open gives the consumer a place to deliver to.
func (p *puller) open() (err error) {
	p.next = p.s.api + "CONSUMER.MSG.NEXT." + p.stream + "." + p.consumer
	p.sub, err = p.s.nc.Subscribe(p.s.nc.NewInbox(), p.arrive)
	if err == nil {
		err = p.sub.SetPendingLimits(-1, -1)
	}
	if err != nil {
		p.close()
		return p.s.classify(err, "read from")
	}
	p.s.deliveries.add(p.consumer, p.deliver)
	return nil
}

// arrive takes what the client library reads for the puller, in order: words of the
// server, and messages where the connection is not the protocol in plain.
func (p *puller) arrive(m *natsgo.Msg) {
	d, _, ok := parseAck([]byte(m.Reply))
	if !ok {
		p.control(m)
		return
	}
	p.deliver([]item{{subject: []byte(m.Subject), data: m.Data, header: m.Header, size: m.Size(), delivery: d}})
}

// deliver takes messages from the server, in order.
func (p *puller) deliver(items []item) {
	p.mu.Lock()
	before, bytes := len(p.queue), p.queued
	for i := range items {
		it := &items[i]
		p.heard++
		p.out--
		p.outBytes -= it.size
		if p.broken == "" && it.consumer != p.numbered+1 {
			p.broken = "messages were lost on the way"
		}
		if p.broken != "" {
			continue
		}
		p.numbered, p.idle = it.consumer, false
		if p.acks != nil {
			p.acks.arrived(it.delivery)
		}
		p.queue = append(p.queue, *it)
		p.queued += it.size
	}
	// While more is on its way the reader is left to sleep until a chunk is full.
	n := len(p.queue)
	ready := items[len(items)-1].pending == 0 || before == 0 && p.eager || p.out <= 0 || p.broken != "" ||
		before < chunkRows && n >= chunkRows || bytes < chunkBytes && p.queued >= chunkBytes
	p.mu.Unlock()
	if ready {
		p.wake()
	}
}

// control takes a status that the server sends in place of a message.
func (p *puller) control(m *natsgo.Msg) {
	status := m.Header.Get("Status")
	p.mu.Lock()
	p.heard++
	switch status {
	case "100":
		last, err1 := strconv.ParseUint(m.Header.Get("Nats-Last-Stream"), 10, 64)
		num, err2 := strconv.ParseUint(m.Header.Get("Nats-Last-Consumer"), 10, 64)
		if err1 == nil && err2 == nil && num == p.numbered {
			p.idle, p.seen = true, last
		}
	case "404", "408", "409":
		left, err := strconv.Atoi(m.Header.Get("Nats-Pending-Messages"))
		bytes, _ := strconv.Atoi(m.Header.Get("Nats-Pending-Bytes"))
		if err != nil || m.Header.Get("Description") == "Server Shutdown" {
			p.broken = or(m.Header.Get("Description"), "the consumer is gone")
			break
		}
		p.out -= left
		p.outBytes -= bytes
		p.large = p.large || m.Header.Get("Description") == "Message Size Exceeds MaxBytes"
	case "503":
		p.broken = "the consumer does not answer"
	default:
		p.broken = "status " + status + " " + m.Header.Get("Description")
	}
	p.mu.Unlock()
	p.wake()
}

// take hands over what has arrived; the caller gives the slice of its last take back.
// idle says that the server has nothing more to send, having looked at all sequences up
// to seen. eager asks to be woken by the next message, not only by a full chunk.
func (p *puller) take(spare []item, eager bool) (q []item, bytes int, idle bool, seen uint64) {
	p.mu.Lock()
	q, bytes, idle, seen = p.queue, p.queued, p.idle, p.seen
	p.queue, p.queued, p.eager = spare[:0], 0, eager
	p.mu.Unlock()
	if p.acks != nil {
		p.acks.repeat()
	}
	return q, bytes, idle, seen
}

// ask requests as much as there is room for beside held messages and bytes; a message
// larger than all room comes alone.
func (p *puller) ask(held, heldBytes int) {
	p.mu.Lock()
	n := maxOutstanding - max(p.out, 0) - len(p.queue) - held
	b := maxOutstandingBytes - max(p.outBytes, 0) - p.queued - heldBytes
	low := p.out < maxOutstanding/2 || p.outBytes < maxOutstandingBytes/2
	room := p.broken == "" && low && n >= maxOutstanding/4 && b >= maxOutstandingBytes/4
	if room {
		if p.large && b == maxOutstandingBytes {
			p.large, n, b = false, 1, 0
		}
		p.out = max(p.out, 0) + n
		p.outBytes = max(p.outBytes, 0) + b
	}
	p.mu.Unlock()
	if !room {
		return
	}
	req, err := json.Marshal(pullRequest{Batch: n, MaxBytes: b, Expires: pullExpires, Heartbeat: pullHeartbeat})
	if err == nil {
		err = p.s.nc.PublishRequest(p.next, p.sub.Subject, req)
	}
	if err != nil {
		p.fail("the connection is away")
	}
}

type pullRequest struct {
	Batch     int           `json:"batch"`
	MaxBytes  int           `json:"max_bytes,omitempty"`
	Expires   time.Duration `json:"expires"`
	Heartbeat time.Duration `json:"idle_heartbeat"`
}

func (p *puller) fail(why string) {
	p.mu.Lock()
	if p.broken == "" {
		p.broken = why
	}
	p.mu.Unlock()
	p.wake()
}

// state gives why the puller is broken ("" when it is not), how often something was
// heard, and whether a request is out.
func (p *puller) state() (broken string, heard uint64, asked bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken, p.heard, p.out > 0
}

// tookAll reports whether everything up to the consumer's number n was taken over.
func (p *puller) tookAll(n uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken == "" && p.numbered == n && len(p.queue) == 0
}

// close gives up the consumer; what it has not handed over will be read again. The
// server removes an idle ephemeral consumer by itself, so an error here does no harm.
func (p *puller) close() {
	p.mu.Lock()
	p.broken = or(p.broken, "closed")
	p.mu.Unlock()
	p.s.deliveries.remove(p.consumer)
	if p.sub != nil {
		_ = p.sub.Unsubscribe()
	}
	if p.acks != nil {
		return
	}
	_ = p.s.nc.Publish(p.s.api+"CONSUMER.DELETE."+p.stream+"."+p.consumer, nil)
}
