package cell

import "math/bits"

// PageRows is the number of records in a page: a page's live and changed records
// are one word of bits each.
const PageRows = 64

// Page is PageRows records and the heap of their bytes. While a snapshot holds it, it
// is immutable and any goroutine may read it.
type Page struct {
	Live  uint64   // bit s: record s exists
	W     []uint64 // PageRows * width
	Heap  []byte
	waste int // bytes of Heap that no live record refers to
}

// NewPage returns a page of dead records of width words.
func NewPage(width int) *Page { return &Page{W: make([]uint64, PageRows*width)} }

func (p *Page) clone() *Page {
	return &Page{
		Live:  p.Live,
		W:     append([]uint64(nil), p.W...),
		Heap:  append([]byte(nil), p.Heap...),
		waste: p.waste,
	}
}

// Record returns the words of the record at this slot.
func (p *Page) Record(slot, width int) []uint64 {
	o := slot * width
	return p.W[o : o+width : o+width]
}

// Bytes returns the bytes that a word refers to: offset in the upper half, length in
// the lower.
func (p *Page) Bytes(ref uint64) []byte {
	off, n := ref>>32, ref&0xffffffff
	return p.Heap[off : off+n : off+n]
}

// setBytes points word w of a record at a copy of b.
func (p *Page) setBytes(slot, w int, b []byte, width int, heaps []int) {
	rec := p.Record(slot, width)
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
		p.compact(width, heaps)
	}
	rec[w] = uint64(len(p.Heap))<<32 | uint64(len(b))
	p.Heap = append(p.Heap, b...)
}

// wipe zeroes a record, so that nothing of it outlives it.
func (p *Page) wipe(slot, width int, heaps []int) {
	rec := p.Record(slot, width)
	for _, w := range heaps {
		n := int(rec[w] & 0xffffffff)
		clear(p.Bytes(rec[w]))
		p.waste += n
	}
	clear(rec)
}

// compact rewrites the heap without the bytes that nobody refers to.
func (p *Page) compact(width int, heaps []int) {
	heap := make([]byte, 0, len(p.Heap))
	for live := p.Live; live != 0; live &= live - 1 {
		rec := p.Record(bits.TrailingZeros64(live), width)
		for _, w := range heaps {
			b := p.Bytes(rec[w])
			rec[w] = uint64(len(heap))<<32 | uint64(len(b))
			heap = append(heap, b...)
		}
	}
	p.Heap, p.waste = heap, 0
}

// Check reports whether every reference of the live records lies inside the heap,
// wipes the dead records and counts the heap's waste: a page that came from outside
// is safe to use only after it.
func (p *Page) Check(width int, heaps []int) bool {
	if len(p.W) != PageRows*width {
		return false
	}
	for dead := ^p.Live; dead != 0; dead &= dead - 1 {
		clear(p.Record(bits.TrailingZeros64(dead), width))
	}
	used := 0
	for live := p.Live; len(heaps) > 0 && live != 0; live &= live - 1 {
		rec := p.Record(bits.TrailingZeros64(live), width)
		for _, w := range heaps {
			off, n := rec[w]>>32, rec[w]&0xffffffff
			if off+n > uint64(len(p.Heap)) {
				return false
			}
			used += int(n)
		}
	}
	p.waste = max(0, len(p.Heap)-used)
	return true
}

// size is the memory of the page in bytes.
func (p *Page) size() int { return 8*len(p.W) + cap(p.Heap) + 80 }

// Pool keeps the pages of stores that were dropped for the next store of the same
// width. One goroutine owns it.
type Pool struct {
	pages []*Page
	bytes int
}

// maxPool bounds the memory that a pool keeps; what is beyond it is garbage.
const maxPool = 64 << 20

func (o *Pool) get(width int) *Page {
	if o == nil || len(o.pages) == 0 {
		return NewPage(width)
	}
	p := o.pages[len(o.pages)-1]
	o.pages = o.pages[:len(o.pages)-1]
	o.bytes -= p.size()
	return p
}

func (o *Pool) put(p *Page) {
	if o.bytes > maxPool {
		return
	}
	clear(p.W)
	p.Live, p.waste, p.Heap = 0, 0, p.Heap[:0]
	if cap(p.Heap) > 16<<10 {
		p.Heap = nil
	}
	o.pages = append(o.pages, p)
	o.bytes += p.size()
}

// Memory is the number of bytes the pool keeps.
func (o *Pool) Memory() int { return o.bytes + 8*cap(o.pages) }
