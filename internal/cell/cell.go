// Package cell is the memory of keyed state: records of 64-bit words in small
// pages. A record never holds a pointer, so the garbage collector does not look
// inside; a page holds no address, so it can be written out and read back as it is.
//
// A record of width w is w consecutive words of its page. A 64-bit integer takes
// one word, a double one (its bits), a 128-bit integer two (low, high), bytes one
// (a reference into the page's heap, declared when the store is made). What the
// words mean is the business of the table and of the accumulators that declared them.
package cell

import "math/bits"

// Store is a growing array of records. One goroutine owns it. The words and bytes it
// hands out are valid until the next Touch, Alloc, Free or SetBytes.
type Store struct {
	// Pages are for kernels: record id is slot id&63 of page id>>6. The words of touched
	// records may be written; the list itself belongs to the store.
	Pages []*Page

	width int
	heaps []int
	marks []mark
	dirty []uint32 // pages with marks.dirty != 0
	next  uint32   // first never-used record
	free  []uint32
	pool  *Pool

	gen   uint32    // number of freezes so far
	floor uint32    // freezes up to this one hold no page any more
	holds []*Frozen // freezes above floor, in order

	spare struct { // of a recycled Frozen
		Index   []uint32
		Pages   []*Page
		Changed []uint64
	}
	doubles int  // bytes of held pages that were copied since nothing was held
	total   *int // of the pages' heaps, with those of the pool's other stores
	counted int  // in the pool's memory
}

// mark is what the owner notes about a page, kept apart from the page so that
// touching and freezing read memory in a row.
type mark struct {
	dirty uint64 // bit s: record s changed since the last Freeze
	hold  uint32 // the last freeze that holds the page, 0 for none
}

// NewStore returns an empty store of records of width words, of which those listed
// in heaps are references to bytes.
func NewStore(width int, heaps ...int) *Store { return NewStoreIn(nil, width, heaps...) }

// NewStoreIn is NewStore with pages taken from, and given back by Drop to, a pool
// that stores of the same width share.
func NewStoreIn(pool *Pool, width int, heaps ...int) *Store {
	s := &Store{width: width, heaps: heaps, pool: pool, total: new(int)}
	if pool != nil {
		s.total = &pool.heaps
	}
	return s
}

// Width is the number of words of a record.
func (s *Store) Width() int { return s.width }

// Heaps lists the words that are references to bytes.
func (s *Store) Heaps() []int { return s.heaps }

// Cap is one more than the highest record id ever used.
func (s *Store) Cap() uint32 { return s.next }

// Len counts the live records.
func (s *Store) Len() int { return int(s.next) - len(s.free) }

// Live reports whether record id exists.
func (s *Store) Live(id uint32) bool {
	return id < s.next && s.Pages[id>>6].Live>>(id&63)&1 != 0
}

// AppendLive appends up to limit ids of live records, in order, starting at from, and
// returns where to go on; the end is reached when that is Cap.
func (s *Store) AppendLive(dst []uint32, from uint32, limit int) ([]uint32, uint32) {
	for from < s.next && limit > 0 {
		rest := s.Pages[from>>6].Live >> (from & 63)
		if rest == 0 {
			from = (from>>6 + 1) << 6
			continue
		}
		from += uint32(bits.TrailingZeros64(rest))
		dst = append(dst, from)
		from++
		limit--
	}
	return dst, min(from, s.next)
}

// Alloc makes a zeroed live record and returns its id. The record counts as touched.
func (s *Store) Alloc() uint32 {
	s.settle()
	var id uint32
	if n := len(s.free); n > 0 {
		id = s.free[n-1]
		s.free = s.free[:n-1]
	} else {
		id = s.next
		if id&63 == 0 {
			p := s.pool.get(s.width)
			*s.total += cap(p.Heap)
			s.Pages = append(s.Pages, p)
			s.marks = append(s.marks, mark{})
			s.count()
		}
		s.next++
	}
	s.own(id).Live |= 1 << (id & 63)
	return id
}

// Free ends a record and wipes it. Its id may be handed out again by Alloc.
func (s *Store) Free(id uint32) {
	s.settle()
	p := s.own(id)
	p.wipe(int(id&63), s.width, s.heaps)
	p.Live &^= 1 << (id & 63)
	had := cap(s.free)
	if s.free = append(s.free, id); cap(s.free) != had {
		s.count()
	}
}

// own returns the page of id, private to the owner and with id marked as changed.
func (s *Store) own(id uint32) *Page {
	i := id >> 6
	m := &s.marks[i]
	if m.hold > s.floor {
		p := s.Pages[i]
		s.doubles += p.size()
		s.Pages[i] = p.clone()
		*s.total += cap(s.Pages[i].Heap) - cap(p.Heap)
		m.hold = 0
		s.count()
	}
	if m.dirty == 0 {
		had := cap(s.dirty)
		if s.dirty = append(s.dirty, i); cap(s.dirty) != had {
			s.count()
		}
	}
	m.dirty |= 1 << (id & 63)
	return s.Pages[i]
}

// Touch must be called with the ids of records before their words are written: it
// copies pages that a snapshot holds and notes what changed.
func (s *Store) Touch(ids []uint32) {
	s.settle()
	marks, floor := s.marks, s.floor
	for _, id := range ids {
		m := &marks[id>>6]
		if m.dirty == 0 || m.hold > floor {
			s.own(id)
			continue
		}
		m.dirty |= 1 << (id & 63)
	}
}

// Record returns the words of a live record; writing needs Touch first.
func (s *Store) Record(id uint32) []uint64 {
	o := int(id&63) * s.width
	return s.Pages[id>>6].W[o : o+s.width]
}

// Bytes returns the bytes that word w of record id refers to. Word 0 stands for the
// empty string, as does every reference of length 0.
func (s *Store) Bytes(id uint32, w int) []byte {
	p := s.Pages[id>>6]
	return p.Bytes(p.W[int(id&63)*s.width+w])
}

// SetBytes points word w of record id, one of Heaps, at a copy of b. The record has
// been touched. The bytes of one page stay below 4 GiB.
func (s *Store) SetBytes(id uint32, w int, b []byte) {
	s.Pages[id>>6].setBytes(int(id&63), w, b, s.width, s.heaps, s.total)
}

// Load makes the store hold these pages, each at its index; nil is a page without
// records. It takes the pages over.
// Nothing counts as changed.
func (s *Store) Load(pages []*Page) {
	*s.total -= s.heapBytes()
	*s = Store{width: s.width, heaps: s.heaps, pool: s.pool, total: s.total, counted: s.counted, Pages: pages,
		marks: make([]mark, len(pages)), next: uint32(len(pages)) * PageRows}
	for i := len(pages) - 1; i >= 0; i-- {
		if pages[i] == nil {
			pages[i] = NewPage(s.width)
		}
		for dead := ^pages[i].Live; dead != 0; {
			b := 63 - bits.LeadingZeros64(dead)
			s.free = append(s.free, uint32(i)<<6|uint32(b))
			dead &^= 1 << b
		}
	}
	*s.total += s.heapBytes()
	s.count()
}

// Drop empties the store and gives the pages that no snapshot holds to its pool.
func (s *Store) Drop() {
	s.settle()
	*s.total -= s.heapBytes()
	if s.pool != nil {
		for i, p := range s.Pages {
			if s.marks[i].hold <= s.floor {
				s.pool.put(p)
			}
		}
	}
	*s = Store{width: s.width, heaps: s.heaps, pool: s.pool, total: s.total, counted: s.counted}
	s.count()
}

// Memory is the number of bytes the store takes, with the old versions of pages that
// snapshots still hold. It looks at the pages only where a pool counts them together.
func (s *Store) Memory() int {
	s.settle()
	if s.pool != nil {
		return s.memory() + s.heapBytes()
	}
	return s.memory() + *s.total
}

func (s *Store) heapBytes() (n int) {
	if len(s.heaps) > 0 {
		for _, p := range s.Pages {
			n += cap(p.Heap)
		}
	}
	return n
}

// count tells the pool what the store takes now.
func (s *Store) count() {
	if s.pool == nil {
		return
	}
	n := s.memory()
	s.pool.used += n - s.counted
	s.counted = n
}

// memory is what the store takes but for the pages' heaps.
func (s *Store) memory() int {
	n := s.doubles + 4*cap(s.spare.Index) + 8*cap(s.spare.Pages) + 8*cap(s.spare.Changed)
	n += 4*cap(s.free) + 4*cap(s.dirty) + 8*cap(s.Pages) + 16*cap(s.marks)
	return n + len(s.Pages)*pageBytes(s.width)
}
