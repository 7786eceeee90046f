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

// setBytes points word w of a record at a copy of b, and adds to total what the heap grows
// by.
func (p *Page) setBytes(slot, w int, b []byte, width int, heaps []int, total *int) {
	rec := p.Record(slot, width)
	old := int(rec[w] & 0xffffffff)
	if len(b) <= old {
		off := rec[w] >> 32
		copy(p.Heap[off:], b)
		rec[w] = off<<32 | uint64(len(b))
		p.waste += old - len(b)
		return
	}
	had := cap(p.Heap)
	p.waste += old
	rec[w] = 0
	if p.waste > 256 && p.waste > len(p.Heap)/2 {
		p.compact(width, heaps)
	}
	rec[w] = uint64(len(p.Heap))<<32 | uint64(len(b))
	p.Heap = append(p.Heap, b...)
	*total += cap(p.Heap) - had
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

// Load makes p the page of the live records whose words lie one after the other at the
// beginning of w, which is as large as a page, and whose references lie in heap; the rest
// of w is zero. It takes both over. It reports false, with the page in an undefined but
// safe state, when a reference lies outside heap.
func (p *Page) Load(live uint64, w []uint64, heap []byte, width int, heaps []int) bool {
	for k, rest := bits.OnesCount64(live)-1, live; rest != 0 && live != ^uint64(0); k-- {
		slot := 63 - bits.LeadingZeros64(rest)
		rest &^= 1 << slot
		if slot == k {
			break // so are those before it
		}
		from := w[k*width : (k+1)*width]
		copy(w[slot*width:], from)
		clear(from)
	}
	*p = Page{Live: live, W: w, Heap: heap}
	if len(heaps) == 0 {
		return true
	}
	used := uint64(0)
	for in := live; in != 0; in &= in - 1 {
		rec := p.Record(bits.TrailingZeros64(in), width)
		for _, h := range heaps {
			n := rec[h] & 0xffffffff
			if used += n; rec[h]>>32+n > uint64(len(heap)) || used > uint64(len(heap)) {
				*p = Page{W: make([]uint64, len(w))}
				return false
			}
		}
	}
	p.waste = len(heap) - int(used)
	return true
}

// Merge replaces the records in changed: by the live ones among them, whose words lie
// one after the other in words, and whose references lie in heap; the others are
// dead. It reports false, with the page in an undefined but safe state, when the
// words are too few or a reference lies outside heap.
func (p *Page) Merge(changed, live uint64, words []uint64, heap []byte, width int, heaps []int) bool {
	if len(words) != bits.OnesCount64(changed&live)*width {
		return false
	}
	for gone := changed & p.Live; gone != 0; gone &= gone - 1 {
		p.wipe(bits.TrailingZeros64(gone), width, heaps)
	}
	p.Live &^= changed
	grown := 0 // nobody counts
	for in := changed & live; in != 0; in &= in - 1 {
		slot := bits.TrailingZeros64(in)
		src := words[:width]
		words = words[width:]
		for _, w := range heaps {
			if src[w]>>32+src[w]&0xffffffff > uint64(len(heap)) {
				return false
			}
		}
		dst := p.Record(slot, width)
		copy(dst, src)
		for _, w := range heaps {
			dst[w] = 0
		}
		p.Live |= 1 << slot
		for _, w := range heaps {
			off, n := src[w]>>32, src[w]&0xffffffff
			p.setBytes(slot, w, heap[off:off+n], width, heaps, &grown)
		}
	}
	return true
}

// size is the memory of the page in bytes.
func (p *Page) size() int { return 8*len(p.W) + cap(p.Heap) + pageOverhead }

// pageOverhead is a Page itself.
const pageOverhead = 80

// pageBytes is the memory of a page without heap.
func pageBytes(width int) int { return 8*PageRows*width + pageOverhead }

// Pool keeps the pages of stores that were dropped for the next store of the same
// width. One goroutine owns it.
type Pool struct {
	pages []*Page
	bytes int
	used  int // what the stores take but for heaps, and what Add has counted
	heaps int // of the stores' pages
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

// Add counts n more bytes of something that goes with the stores of the pool.
func (o *Pool) Add(n int) {
	if o != nil {
		o.used += n
	}
}

// Memory is the number of bytes that the pool keeps and its stores take. Old versions of
// pages count until their store is used again.
func (o *Pool) Memory() int { return o.Kept() + o.used + o.heaps }

// Kept is the number of bytes that the pool keeps for the next store.
func (o *Pool) Kept() int { return o.bytes + 8*cap(o.pages) }
