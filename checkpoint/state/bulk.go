package state

import (
	"math/bits"

	"github.com/streamsql/streamsql/internal/cell"
)

const (
	// partSlots is the part of an index that is filled in one go: 256 KiB.
	partSlots = 1 << 15
	// bulkPages are up to 64 MiB of slotted.
	bulkPages = 1 << 16
)

// slotted is an entry of an index and the slot at which its search starts.
type slotted struct {
	entry uint64
	home  int
}

// load indexes all records of a store that was read back. Records are sorted by the part
// of the index that they belong to: filled in their own order, a large index would be
// waited for at each of them. bulk is how many pages are sorted at a time.
func (x *index) load(s *cell.Store, bulk int) {
	x.reset(s.Len())
	parts := max(1, len(x.slots)/partSlots)
	room := min(len(s.Pages), bulk) * cell.PageRows
	var (
		next   = make([]int, parts)
		sorted = make([]slotted, min(room, s.Len()))
		width  = s.Width()
		mask   = len(x.slots) - 1
	)
	for from := 0; from < len(s.Pages); from += bulk {
		pages := s.Pages[from:min(from+bulk, len(s.Pages))]
		clear(next)
		for _, p := range pages {
			for live := p.Live; live != 0; live &= live - 1 {
				next[x.home(p.W[bits.TrailingZeros64(live)*width])/partSlots]++
			}
		}
		n := 0
		for i, count := range next {
			next[i], n = n, n+count
		}
		for i, p := range pages {
			for live := p.Live; live != 0; live &= live - 1 {
				slot := bits.TrailingZeros64(live)
				w := p.W[slot*width]
				home := x.home(w)
				at := &next[home/partSlots]
				sorted[*at] = slotted{entry(w, uint32(from+i)<<6|uint32(slot)), home}
				*at++
			}
		}
		for _, e := range sorted[:n] {
			at := e.home
			for x.slots[at] != 0 {
				at = (at + 1) & mask
			}
			x.slots[at] = e.entry
		}
		x.n += n
	}
}
