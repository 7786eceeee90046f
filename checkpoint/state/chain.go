package state

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/streamsql/streamsql/internal/cell"
)

// contents are the pages of every table of one old subtask, by bucket.
type contents struct {
	lays   []*layout
	timed  []bool
	tables []map[int64][]*cell.Page
}

// buckets lists the buckets of a table, ascending.
func (c *contents) buckets(table int) []int64 {
	out := make([]int64, 0, len(c.tables[table]))
	for b := range c.tables[table] {
		out = append(out, b)
	}
	slices.Sort(out)
	return out
}

// loadChain applies an image and the deltas that follow it.
func (b *Backend) loadChain(blobs [][]byte) (*contents, error) {
	c := &contents{
		lays:   make([]*layout, len(b.decls)),
		timed:  make([]bool, len(b.decls)),
		tables: make([]map[int64][]*cell.Page, len(b.decls)),
	}
	for i := range b.decls {
		c.lays[i], c.timed[i] = b.layoutOf(i), b.timed[i] != nil
		c.tables[i] = map[int64][]*cell.Page{}
	}
	for n, data := range blobs {
		x, err := parse(data)
		if err != nil {
			return nil, err
		}
		if x.image != (n == 0) {
			return nil, damaged("blob %d of the chain is not what stands there", n)
		}
		if err := checkTables(x.sigs, b.decls); err != nil {
			return nil, err
		}
		for i := range x.sections {
			if err := c.apply(&x.sections[i], x.raw/pageHeader); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// apply applies one section; pages is the most pages that its blob can hold.
func (c *contents) apply(x *section, pages int) error {
	if !c.timed[x.table] && (x.bucket != 0 || x.typ == sectionDrops) {
		return damaged("table without buckets has one")
	}
	raw, err := x.unpack()
	if err != nil {
		return err
	}
	if x.typ == sectionPages {
		return c.applyPages(x, raw, pages)
	}
	if len(raw)%8 != 0 {
		return damaged("list of dropped buckets is malformed")
	}
	for ; len(raw) > 0; raw = raw[8:] {
		delete(c.tables[x.table], int64(binary.LittleEndian.Uint64(raw)))
	}
	return nil
}

func (c *contents) applyPages(x *section, raw []byte, limit int) error {
	lay := c.lays[x.table]
	pages := c.tables[x.table][x.bucket]
	limit += len(pages)
	fresh := newSlab(raw, lay.width)
	words := make([]uint64, cell.PageRows*lay.width)
	for len(raw) > 0 {
		if len(raw) < pageHeader {
			return damaged("page is cut off")
		}
		index, heapLen := int(binary.LittleEndian.Uint32(raw)), int(binary.LittleEndian.Uint32(raw[4:]))
		changed, live := binary.LittleEndian.Uint64(raw[8:]), binary.LittleEndian.Uint64(raw[16:])
		raw = raw[pageHeader:]
		n := bits.OnesCount64(changed&live) * lay.width
		size := 8*n + (heapLen+7)&^7
		if len(raw) < size || index >= limit || index >= 1<<26 {
			return damaged("page is malformed")
		}
		if index >= len(pages) {
			pages = append(pages, make([]*cell.Page, index+1-len(pages))...)
		}
		heap := raw[8*n : 8*n+heapLen]
		ok := true
		switch p := pages[index]; {
		case changed == ^uint64(0):
			p, w, own := fresh.page(heap)
			readWords(w[:n], raw)
			pages[index] = p
			ok = p.Load(live, w, own, lay.width, lay.heaps)
		case p == nil:
			pages[index] = cell.NewPage(lay.width)
			fallthrough
		default:
			readWords(words[:n], raw)
			ok = pages[index].Merge(changed, live, words[:n], heap, lay.width, lay.heaps)
		}
		if !ok {
			return damaged("reference outside its page")
		}
		raw = raw[size:]
	}
	c.tables[x.table][x.bucket] = pages
	return nil
}

func readWords(dst []uint64, raw []byte) {
	raw = raw[:8*len(dst)]
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint64(raw[8*i:])
	}
}

// slab is the memory of the pages of a section that are read whole: one allocation for
// all of them, and one for their bytes.
type slab struct {
	pages []cell.Page
	words []uint64
	heap  []byte
	width int
}

// newSlab has room for the whole pages of a section, as far as it is well-formed.
func newSlab(raw []byte, width int) *slab {
	n, heap := 0, 0
	for len(raw) >= pageHeader {
		heapLen := int(binary.LittleEndian.Uint32(raw[4:]))
		changed, live := binary.LittleEndian.Uint64(raw[8:]), binary.LittleEndian.Uint64(raw[16:])
		size := pageHeader + 8*bits.OnesCount64(changed&live)*width + (heapLen+7)&^7
		if size > len(raw) {
			break
		}
		if changed == ^uint64(0) {
			n, heap = n+1, heap+heapLen
		}
		raw = raw[size:]
	}
	return &slab{pages: make([]cell.Page, n), words: make([]uint64, n*cell.PageRows*width), heap: make([]byte, 0, heap),
		width: cell.PageRows * width}
}

// page gives the memory of the next page, and a copy of its heap.
func (s *slab) page(heap []byte) (p *cell.Page, w []uint64, own []byte) {
	p, s.pages = &s.pages[0], s.pages[1:]
	w, s.words = s.words[:s.width:s.width], s.words[s.width:]
	from := len(s.heap)
	s.heap = append(s.heap, heap...)
	return p, w, s.heap[from:len(s.heap):len(s.heap)]
}
