package runtime

import (
	"sync"
	"sync/atomic"

	"github.com/streamsql/streamsql/internal/stream"
)

// waker wakes one actor: a send that is not taken up yet is enough for any number of
// reasons to wake.
type waker chan struct{}

func newWaker() waker { return make(waker, 1) }

func (w waker) wake() {
	select {
	case w <- struct{}{}:
	default:
	}
}

// Limits of a port: it takes a batch while it holds less than both, so that a batch
// of any size travels alone.
const (
	portRows  = 16384
	portBytes = 1 << 20
)

// mailbox is the input of one task: its ports and its control messages. Any goroutine
// may put in, the task takes out.
type mailbox struct {
	owner waker

	mu    sync.Mutex
	ports []*port
	ctl   []control
	ctlN  atomic.Int32
}

// port is the receiving end of an edge and, as its Outlet, the sending end.
type port struct {
	box    *mailbox
	sender waker // of the task that sends here

	// Guarded by box.mu.
	ring        []stream.Message
	head, n     int
	rows, bytes int
	shut, want  bool // shut for alignment; the sender waits

	count atomic.Int32 // n, for looking without the lock
}

// control is a message to a task from the driver, or from who asks for the status.
type control struct {
	kind    controlKind
	epoch   stream.Epoch
	barrier stream.Barrier
}

type controlKind uint8

const (
	ctlInject controlKind = iota
	ctlAbort
	ctlComplete
	ctlSendEnd
	ctlMeasure // what the task holds in memory
)

func newMailbox(owner waker) *mailbox { return &mailbox{owner: owner} }

// addPort returns a new port that wakes sender when there is room again.
func (m *mailbox) addPort(sender waker) *port {
	p := &port{box: m, sender: sender, ring: make([]stream.Message, 8)}
	m.ports = append(m.ports, p)
	return p
}

// TrySend implements stream.Outlet.
func (p *port) TrySend(m stream.Message) bool {
	p.box.mu.Lock()
	size := 0
	if m.Kind == stream.KindBatch {
		size = m.Batch.Size()
	}
	if p.shut || m.Kind == stream.KindBatch && p.n > 0 && (p.rows >= portRows || p.bytes >= portBytes) {
		p.want = true
		p.box.mu.Unlock()
		return false
	}
	if m.Kind == stream.KindWatermark && p.n > 0 {
		if tail := &p.ring[(p.head+p.n-1)&(len(p.ring)-1)]; tail.Kind == stream.KindWatermark {
			tail.Time = m.Time
			p.box.mu.Unlock()
			return true
		}
	}
	if p.n == len(p.ring) {
		bigger := make([]stream.Message, 2*len(p.ring))
		for i := range p.n {
			bigger[i] = p.ring[(p.head+i)&(len(p.ring)-1)]
		}
		p.ring, p.head = bigger, 0
	}
	p.ring[(p.head+p.n)&(len(p.ring)-1)] = m
	p.n++
	p.count.Store(int32(p.n))
	if m.Kind == stream.KindBatch {
		p.rows += m.Batch.N
		p.bytes += size
	}
	p.box.mu.Unlock()
	p.box.owner.wake()
	return true
}

// Room implements stream.Outlet: the sender's own waker, which it waits on anyway.
func (p *port) Room() <-chan struct{} { return p.sender }

// Empty reports whether the receiver has nothing waiting on this port.
func (p *port) Empty() bool { return p.count.Load() == 0 }

// take removes the next message of port i; ok is false when there is none or the
// port is shut.
func (m *mailbox) take(i int) (msg stream.Message, ok bool) {
	p := m.ports[i]
	if p.count.Load() == 0 {
		return msg, false
	}
	m.mu.Lock()
	if p.n == 0 || p.shut {
		m.mu.Unlock()
		return msg, false
	}
	msg = p.ring[p.head]
	p.ring[p.head] = stream.Message{}
	p.head = (p.head + 1) & (len(p.ring) - 1)
	p.n--
	p.count.Store(int32(p.n))
	if msg.Kind == stream.KindBatch {
		p.rows -= msg.Batch.N
		p.bytes -= msg.Batch.Size()
	}
	wake := p.want
	p.want = false
	m.mu.Unlock()
	if wake {
		p.sender.wake()
	}
	return msg, true
}

// gate shuts or opens port i for alignment.
func (m *mailbox) gate(i int, shut bool) {
	p := m.ports[i]
	m.mu.Lock()
	p.shut = shut
	wake := !shut && p.want
	if wake {
		p.want = false
	}
	m.mu.Unlock()
	if wake {
		p.sender.wake()
	}
}

// tell puts in a control message.
func (m *mailbox) tell(c control) {
	m.mu.Lock()
	m.ctl = append(m.ctl, c)
	m.ctlN.Store(int32(len(m.ctl)))
	m.mu.Unlock()
	m.owner.wake()
}

// controls takes out all control messages.
func (m *mailbox) controls() []control {
	if m.ctlN.Load() == 0 {
		return nil
	}
	m.mu.Lock()
	c := m.ctl
	m.ctl = nil
	m.ctlN.Store(0)
	m.mu.Unlock()
	return c
}

// memory is what the batches in the ports take, in bytes.
func (m *mailbox) memory() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, p := range m.ports {
		n += p.bytes
	}
	return n
}
