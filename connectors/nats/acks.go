package nats

import (
	"context"
	"strconv"
	"sync"
	"time"
)

const (
	ackDone     = "+ACK"
	ackProgress = "+WPI"

	// ackPiece is how many acknowledgements are sent before arrivals get their turn.
	ackPiece = 1000
)

// acks is what the newest consumer has delivered and what has not been acknowledged
// yet. A message is acknowledged when a checkpoint has released it, and as
// soon as the reader sees it when that was long ago. Any goroutine may call its methods.
type acks struct {
	s *session

	mu       sync.Mutex
	head     string // of the reply subjects
	runs     []run  // in order
	again    []run  // came though it was released long ago
	released uint64 // up to this sequence all is released
	aged     uint64 // up to this sequence all has been here for a beat
}

// run is consecutive messages with consecutive numbers of the consumer.
type run struct{ stream, consumer, n uint64 }

func (r run) last() uint64 { return r.stream + r.n - 1 }

// reset forgets what was delivered: another consumer delivers it again.
func (a *acks) reset() {
	a.mu.Lock()
	a.runs, a.again, a.aged = nil, nil, 0
	a.mu.Unlock()
}

// arrived takes note of a delivery, without a word to the server. One that is not above all before it is a redelivery
// of what is here.
func (a *acks) arrived(d delivery) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if string(d.head) != a.head {
		a.head = string(d.head)
	}
	if d.stream <= a.released {
		a.again = append(a.again, run{d.stream, d.consumer, 1})
		return
	}
	if n := len(a.runs); n > 0 {
		switch r := &a.runs[n-1]; {
		case d.stream <= r.last():
			return
		case d.stream == r.stream+r.n && d.consumer == r.consumer+r.n:
			r.n++
			return
		}
	}
	a.runs = append(a.runs, run{d.stream, d.consumer, 1})
}

// repeat acknowledges what came again.
func (a *acks) repeat() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.again {
		_ = a.send(r.stream, r.consumer, ackDone)
	}
	a.again = a.again[:0]
}

// release acknowledges everything up to sequence to. What does not reach the server is
// delivered again and acknowledged then.
func (a *acks) release(to uint64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.released = max(a.released, to)
	for k := 1; len(a.runs) > 0 && a.runs[0].stream <= a.released; k++ {
		r := &a.runs[0]
		if err := a.send(r.stream, r.consumer, ackDone); err != nil {
			return a.s.classify(err, "acknowledge messages of")
		}
		r.stream, r.consumer, r.n = r.stream+1, r.consumer+1, r.n-1
		if r.n == 0 {
			a.runs = a.runs[1:]
		}
		if k%ackPiece == 0 {
			a.mu.Unlock()
			a.mu.Lock()
		}
	}
	return nil
}

// beat tells the server, every so often until ctx ends, that what was here already at
// the beat before is still being worked on.
func (a *acks) beat(ctx context.Context, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			a.progress()
		case <-ctx.Done():
			return
		}
	}
}

func (a *acks) progress() {
	a.mu.Lock()
	defer a.mu.Unlock()
	aged := a.aged
	if n := len(a.runs); n > 0 {
		a.aged = a.runs[n-1].last()
	}
	for next, k := uint64(0), 1; ; k++ {
		r, ok := a.from(next)
		if !ok || r.stream > aged || a.send(r.stream, r.consumer, ackProgress) != nil {
			return
		}
		next = r.stream + 1
		if k%ackPiece == 0 {
			a.mu.Unlock()
			a.mu.Lock()
		}
	}
}

// from gives the first message at or behind a sequence.
func (a *acks) from(seq uint64) (r run, ok bool) {
	lo, hi := 0, len(a.runs)
	for lo < hi {
		if m := (lo + hi) / 2; a.runs[m].last() < seq {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo == len(a.runs) {
		return r, false
	}
	r = a.runs[lo]
	if seq > r.stream {
		r.stream, r.consumer = seq, r.consumer+seq-r.stream
	}
	return r, true
}

// send answers a delivery. Of the reply subject the server reads the sequences only.
func (a *acks) send(stream, consumer uint64, what string) error {
	b := make([]byte, 0, len(a.head)+48)
	b = append(append(b, a.head...), "1."...)
	b = strconv.AppendUint(b, stream, 10)
	b = append(b, '.')
	b = strconv.AppendUint(b, consumer, 10)
	b = append(b, ".0.0"...)
	return a.s.nc.Publish(string(b), []byte(what))
}
