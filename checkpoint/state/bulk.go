package state

import (
	"math/bits"

	"github.com/streamsql/streamsql/internal/cell"
)

// load indexes all records of a store that was read back. Each page's slots are looked
// at together before any is written: memory answers many reads in the time of one.
func (x *index) load(s *cell.Store) {
	x.reset(s.Len())
	slots, width := x.slots, s.Width()
	mask := uint32(len(slots) - 1)
	var (
		homes   [cell.PageRows]uint32
		entries [cell.PageRows]uint64
		firsts  [cell.PageRows]uint64
	)
	for i, p := range s.Pages {
		n := 0
		for live := p.Live; live != 0; live &= live - 1 {
			slot := bits.TrailingZeros64(live)
			w := p.W[slot*width]
			homes[n], entries[n] = uint32(x.home(w)), entry(w, uint32(i)<<6|uint32(slot))
			n++
		}
		for k, home := range homes[:n] {
			firsts[k] = slots[home]
		}
		for k, home := range homes[:n] {
			if firsts[k] != 0 || slots[home] != 0 {
				for slots[home] != 0 {
					home = (home + 1) & mask
				}
			}
			slots[home] = entries[k]
		}
	}
	x.n = s.Len()
}
