// Package cell is the memory of keyed state: records of 64-bit words in small
// pages. A record never holds a pointer, so the garbage collector does not look
// inside; a page holds no address, so it can be written out and read back as it is.
//
// A record of width w is w consecutive words of its page. A 64-bit integer takes
// one word, a double one (its bits), a 128-bit integer two (low, high), bytes one
// (a reference into the page's heap). What the words mean is the business of the
// table and of the accumulators that declared them.
package cell

import "math/bits"

// PageRows is the number of records in a page: a page's live and changed records
// are one word of bits each.
const PageRows = 64

// Page is PageRows records and the heap of their bytes. Once frozen it is
// immutable, and any goroutine may read it.
type Page struct {
	Live  uint64   // bit s: record s exists
	W     []uint64 // PageRows * width
	Heap  []byte
	waste int // bytes of Heap that no record refers to

	dirty  uint64 // bit s: record s changed since the last Freeze
	frozen bool   // a snapshot holds this page; the owner copies before writing
}

// Store is a growing array of records. One goroutine owns it.
type Store struct {
	width int
	heaps []int // words of a record that refer to the heap
	Pages []*Page
	dirty []uint32 // pages with dirty != 0
	next  uint32   // first never-used record
	free  []uint32
}

// NewStore returns an empty store of records of width words.
func NewStore(width int) *Store { return &Store{width: width} }

// Heaps declares which words of a record refer to the page's heap. It is called
// once, before any bytes are stored, on a new store and on a loaded one.
func (s *Store) Heaps(words []int) { s.heaps = words }

// Width is the number of words of a record.
func (s *Store) Width() int { return s.width }

// Cap is one more than the highest record id ever used.
func (s *Store) Cap() uint32 { return s.next }

// Len counts the live records.
func (s *Store) Len() int { return int(s.next) - len(s.free) }

// Alloc makes a zeroed live record and returns its id. The record counts as touched.
func (s *Store) Alloc() uint32 {
	if n := len(s.free); n > 0 {
		id := s.free[n-1]
		s.free = s.free[:n-1]
		p := s.own(id)
		clear(p.record(id, s.width))
		p.Live |= 1 << (id & 63)
		return id
	}
	id := s.next
	if id&63 == 0 {
		s.Pages = append(s.Pages, &Page{W: make([]uint64, PageRows*s.width)})
	}
	s.next++
	s.own(id).Live |= 1 << (id & 63)
	return id
}

// Free ends a record. Its id may be handed out again by Alloc.
func (s *Store) Free(id uint32) {
	p := s.own(id)
	p.Live &^= 1 << (id & 63)
	s.free = append(s.free, id)
}

// own returns the page of id, private to the owner and with id marked as changed.
func (s *Store) own(id uint32) *Page {
	i := id >> 6
	p := s.Pages[i]
	if p.frozen {
		p = &Page{Live: p.Live, W: append([]uint64(nil), p.W...), Heap: append([]byte(nil), p.Heap...), waste: p.waste}
		s.Pages[i] = p
	}
	if p.dirty == 0 {
		s.dirty = append(s.dirty, i)
	}
	p.dirty |= 1 << (id & 63)
	return p
}

// Touch must be called with the ids of records before their words are written: it
// copies pages that a snapshot holds and notes what changed.
func (s *Store) Touch(ids []uint32) {
	pages := s.Pages
	for _, id := range ids {
		p := pages[id>>6]
		if p.frozen || p.dirty == 0 {
			s.own(id)
			continue
		}
		p.dirty |= 1 << (id & 63)
	}
}

// Record returns the words of a live record; writing needs Touch first.
func (s *Store) Record(id uint32) []uint64 { return s.Pages[id>>6].record(id, s.width) }

func (p *Page) record(id uint32, width int) []uint64 {
	o := int(id&63) * width
	return p.W[o : o+width : o+width]
}

// Bytes returns the bytes that word w of record id refers to. Word 0 stands for the
// empty string, as does every reference of length 0.
func (s *Store) Bytes(id uint32, w int) []byte {
	p := s.Pages[id>>6]
	return p.bytes(p.record(id, s.width)[w])
}

func (p *Page) bytes(ref uint64) []byte {
	off, n := ref>>32, ref&0xffffffff
	return p.Heap[off : off+n]
}

// SetBytes points word w of record id at a copy of b. The record has been touched.
// heapWords are all words of a record that refer to the heap; nil stands for those
// declared with Heaps.
func (s *Store) SetBytes(id uint32, w int, b []byte, heapWords []int) {
	if heapWords == nil {
		heapWords = s.heaps
	}
	p := s.Pages[id>>6]
	rec := p.record(id, s.width)
	old := int(rec[w] & 0xffffffff)
	if len(b) <= old {
		off := rec[w] >> 32
		copy(p.Heap[off:], b)
		rec[w] = off<<32 | uint64(len(b))
		p.waste += old - len(b)
		return
	}
	p.waste += old
	rec[w] = 0
	if p.waste > 256 && p.waste > len(p.Heap)/2 {
		p.compact(s.width, heapWords)
	}
	rec[w] = uint64(len(p.Heap))<<32 | uint64(len(b))
	p.Heap = append(p.Heap, b...)
}

// compact rewrites the heap without the bytes that nobody refers to.
func (p *Page) compact(width int, heapWords []int) {
	heap := make([]byte, 0, len(p.Heap))
	for live := p.Live; live != 0; live &= live - 1 {
		rec := p.record(uint32(bits.TrailingZeros64(live)), width)
		for _, w := range heapWords {
			b := p.bytes(rec[w])
			rec[w] = uint64(len(heap))<<32 | uint64(len(b))
			heap = append(heap, b...)
		}
	}
	p.Heap, p.waste = heap, 0
}

// Frozen is one page of a snapshot: the page as it was, and which records of it
// changed since the snapshot before.
type Frozen struct {
	Index   uint32
	Page    *Page
	Changed uint64
}

// Freeze returns the pages that changed since the last Freeze and starts a new
// round. It costs a few nanoseconds a page; nothing is copied until a page is
// written again.
func (s *Store) Freeze() []Frozen {
	out := make([]Frozen, len(s.dirty))
	for k, i := range s.dirty {
		p := s.Pages[i]
		out[k] = Frozen{Index: i, Page: p, Changed: p.dirty}
		p.dirty = 0
		p.frozen = true
	}
	s.dirty = s.dirty[:0]
	return out
}

// FreezeAll returns every page, with Changed all ones, and starts a new round: the
// image from which later deltas count.
func (s *Store) FreezeAll() []Frozen {
	out := make([]Frozen, len(s.Pages))
	for i, p := range s.Pages {
		p.dirty, p.frozen = 0, true
		out[i] = Frozen{Index: uint32(i), Page: p, Changed: ^uint64(0)}
	}
	s.dirty = s.dirty[:0]
	return out
}

// Unfreeze gives a snapshot's changes back to the current round: the epoch they were
// frozen for was aborted.
func (s *Store) Unfreeze(f []Frozen) {
	for _, x := range f {
		p := s.Pages[x.Index]
		if p.frozen {
			p = &Page{Live: p.Live, W: append([]uint64(nil), p.W...), Heap: append([]byte(nil), p.Heap...), waste: p.waste}
			s.Pages[x.Index] = p
		}
		if p.dirty == 0 {
			s.dirty = append(s.dirty, x.Index)
		}
		p.dirty |= x.Changed
	}
}

// Load builds a store from pages as Freeze gave them, each at its index; missing
// indexes are empty pages. It takes the pages over.
func Load(width int, pages []*Page) *Store {
	s := &Store{width: width, Pages: pages, next: uint32(len(pages)) * PageRows}
	for i, p := range pages {
		if p == nil {
			p = &Page{W: make([]uint64, PageRows*width)}
			pages[i] = p
		}
		for dead := ^p.Live; dead != 0; dead &= dead - 1 {
			s.free = append(s.free, uint32(i)<<6|uint32(bits.TrailingZeros64(dead)))
		}
	}
	return s
}

// Memory is the number of bytes the store takes.
func (s *Store) Memory() int {
	n := 4*cap(s.free) + 4*cap(s.dirty) + 8*cap(s.Pages)
	for _, p := range s.Pages {
		n += 8*len(p.W) + cap(p.Heap) + 96
	}
	return n
}
