package nats

import (
	"sync"
	"sync/atomic"
)

// A tap reads into slabs that grow from one size to the other while the server has as
// much to say.
const slabMin, slabMax = 16 << 10, 256 << 10

// slab is memory that messages lie in. Its bytes are used again when nobody holds any of
// them; a holder that forgets to release leaves it to the garbage collector.
type slab struct {
	bytes []byte
	holds atomic.Int64 // the tap's, and one for each message
	home  *slabs
}

func (s *slab) retain(n int) { s.holds.Add(int64(n)) }

func (s *slab) release(n int) {
	if s.holds.Add(-int64(n)) > 0 {
		return
	}
	spoil(s.bytes)
	if len(s.bytes) == slabMax {
		s.home.free.Put(s)
	}
}

// unused reports that the tap alone holds the slab.
func (s *slab) unused() bool {
	if s.holds.Load() > 1 {
		return false
	}
	spoil(s.bytes)
	return true
}

// slabs are those of the largest size that are free: memory that the processor has at
// hand costs a message half of what fresh memory does.
type slabs struct{ free sync.Pool }

// get gives a slab of a size, held once. Its bytes are those of earlier messages.
func (p *slabs) get(size int) *slab {
	s, ok := (*slab)(nil), false
	if size == slabMax {
		s, ok = p.free.Get().(*slab)
	}
	if !ok {
		s = &slab{bytes: make([]byte, size), home: p}
	}
	s.holds.Store(1)
	return s
}
