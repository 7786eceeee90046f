package state

import (
	"math/bits"
	"math/rand/v2"

	"github.com/streamsql/streamsql/internal/cell"
)

// slotSeed is a secret odd multiplier, drawn once per process: with it the place of
// a hash word in an index is universal hashing (Dietzfelbinger et al., 1997), so
// that nobody outside can choose keys that fall together. It has no influence on
// the order of records.
var slotSeed = rand.Uint64() | 1

// minSlots is the size of the index of an empty table. An index of up to sparseSlots
// (1 MiB) is kept at most a quarter full: most searches then end at the first slot.
const (
	minSlots    = 16
	sparseSlots = 1 << 17
)

// index is an open-addressing hash index with linear probing, at most half full. An
// entry is 32 bits of the hash word and the record's id plus one; 0 is free.
type index struct {
	slots []uint64
	n     int
	limit int // the most records before it grows
	seed  uint64
	shift uint
}

// home is the slot at which the search for a hash word starts.
func (x *index) home(w uint64) int { return int(w * x.seed >> x.shift) }

func entry(w uint64, id uint32) uint64 { return w>>8<<32 | uint64(id+1) }

// reset empties the index and makes it large enough for n records.
func (x *index) reset(n int) {
	size := minSlots
	for size < 2*n || size < 4*n && size < sparseSlots {
		size *= 2
	}
	if size == len(x.slots) {
		clear(x.slots)
	} else {
		x.slots = make([]uint64, size)
	}
	x.n, x.seed, x.shift = 0, slotSeed, uint(64-bits.TrailingZeros(uint(size)))
	x.limit = size / 2
	if size < sparseSlots {
		x.limit = size / 4
	}
}

// insert adds a live record that is not in the index and whose hash word is w.
func (x *index) insert(s *cell.Store, w uint64, id uint32) {
	if x.n == x.limit {
		x.rebuild(s, x.n+1)
		return
	}
	x.add(w, id)
}

func (x *index) add(w uint64, id uint32) {
	slots := x.slots
	mask := len(slots) - 1
	slot := x.home(w)
	for slots[slot] != 0 {
		slot = (slot + 1) & mask
	}
	slots[slot] = entry(w, id)
	x.n++
}

// rebuild indexes all records of s, with room for n.
func (x *index) rebuild(s *cell.Store, n int) {
	x.reset(max(n, s.Len()))
	width := s.Width()
	for i, p := range s.Pages {
		for live := p.Live; live != 0; live &= live - 1 {
			slot := bits.TrailingZeros64(live)
			x.add(p.W[slot*width], uint32(i)<<6|uint32(slot))
		}
	}
}

// remove takes a live record out, moving later entries up so that no search breaks.
func (x *index) remove(s *cell.Store, id uint32) {
	slots := x.slots
	mask := len(slots) - 1
	at := x.home(s.Record(id)[0])
	for uint32(slots[at]) != id+1 {
		at = (at + 1) & mask
	}
	for j := (at + 1) & mask; slots[j] != 0; j = (j + 1) & mask {
		home := x.home(s.Record(uint32(slots[j]) - 1)[0])
		if (j-home)&mask >= (j-at)&mask {
			slots[at] = slots[j]
			at = j
		}
	}
	slots[at] = 0
	x.n--
}

// shrink makes an index smaller that is nearly empty.
func (x *index) shrink(s *cell.Store) {
	if len(x.slots) > minSlots && 32*x.n < len(x.slots) {
		x.rebuild(s, 2*x.n)
	}
}

func (x *index) memory() int { return 8 * cap(x.slots) }
