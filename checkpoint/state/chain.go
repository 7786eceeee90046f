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
		for len(pages) <= index {
			pages = append(pages, nil)
		}
		p := pages[index]
		if p == nil || changed == ^uint64(0) {
			p = cell.NewPage(lay.width)
			pages[index] = p
		}
		dst := words[:n]
		if changed&live == ^uint64(0) && len(lay.heaps) == 0 {
			dst = p.W
		}
		for i := range dst {
			dst[i] = binary.LittleEndian.Uint64(raw[8*i:])
		}
		switch {
		case len(lay.heaps) > 0 || changed&live != ^uint64(0):
			if !p.Merge(changed, live, dst, raw[8*n:8*n+heapLen], lay.width, lay.heaps) {
				return damaged("reference outside its page")
			}
		default:
			p.Live = live
		}
		raw = raw[size:]
	}
	c.tables[x.table][x.bucket] = pages
	return nil
}
