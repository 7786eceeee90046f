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
//
// A large index grows by steps: new slots take the records that come, and some pages of
// records with every chunk of rows, while old slots are looked at for what is not there
// yet. Nothing is taken out of the old ones: an entry counts only if its record lives and
// has the key that is sought.
type index struct {
	slots []uint64
	n     int
	limit int // the most records before it grows
	seed  uint64
	shift uint

	old      []uint64 // of half the size, nil when all records are in slots
	oldShift uint
	page     int // records of the pages from here up to end may be in old alone
	end      int

	meter meter
}

// meter counts the memory of something with that of a pool of cells.
type meter struct {
	pool    *cell.Pool // nil when nobody counts
	counted int
}

// set says that it takes n bytes now.
func (m *meter) set(n int) {
	m.pool.Add(n - m.counted)
	m.counted = n
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
	x.n, x.seed, x.shift, x.old = 0, slotSeed, shiftOf(size), nil
	x.limit = size / 2
	if size < sparseSlots {
		x.limit = size / 4
	}
	x.meter.set(x.memory())
}

func shiftOf(size int) uint { return uint(64 - bits.TrailingZeros(uint(size))) }

// insert adds a live record that is not in the index and whose hash word is w.
func (x *index) insert(s *cell.Store, w uint64, id uint32) {
	if x.n == x.limit {
		if len(x.slots) < sparseSlots {
			x.rebuild(s, x.n+1)
			return
		}
		x.grow(s)
	}
	x.add(w, id)
}

// grow begins with slots twice as many. Those before are done by now unless records came
// without look-ups between them.
func (x *index) grow(s *cell.Store) {
	x.move(s, len(s.Pages))
	size := 2 * len(x.slots)
	x.old, x.oldShift = x.slots, x.shift
	x.slots, x.shift, x.limit = make([]uint64, size), shiftOf(size), size/2
	x.page, x.end = 0, len(s.Pages)
	x.meter.set(x.memory())
}

// movePages is the number of pages whose records move with a chunk of rows: twice as many
// records as the chunk can bring.
const movePages = 2 * chunk / cell.PageRows

// move takes the records of some pages into the new slots.
func (x *index) move(s *cell.Store, pages int) {
	if x.old == nil {
		return
	}
	width := s.Width()
	var homes [cell.PageRows]int
	var entries, firsts [cell.PageRows]uint64
	for to := min(x.page+pages, x.end); x.page < to; x.page++ {
		p, n := s.Pages[x.page], 0
		for live := p.Live; live != 0; live &= live - 1 {
			slot := bits.TrailingZeros64(live)
			w := p.W[slot*width]
			homes[n], entries[n] = x.home(w), entry(w, uint32(x.page)<<6|uint32(slot))
			n++
		}
		// Slots are looked at together: memory answers many reads in the time of one.
		for k, home := range homes[:n] {
			firsts[k] = x.slots[home]
		}
		for k, home := range homes[:n] {
			if firsts[k] != entries[k] {
				x.place(home, entries[k])
			}
		}
	}
	if x.page == x.end {
		x.old = nil
		x.meter.set(x.memory())
	}
}

// place puts an entry into the first free slot from home on, unless it is met before.
func (x *index) place(home int, e uint64) {
	mask := len(x.slots) - 1
	for x.slots[home] != 0 {
		if x.slots[home] == e {
			return
		}
		home = (home + 1) & mask
	}
	x.slots[home] = e
}

func (x *index) add(w uint64, id uint32) {
	x.place(x.home(w), entry(w, id))
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
	x.n--
	at := x.home(s.Record(id)[0])
	for uint32(slots[at]) != id+1 {
		if slots[at] == 0 {
			return // still in the old slots, where it counts no more once it is dead
		}
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
}

// shrink makes an index smaller that is nearly empty.
func (x *index) shrink(s *cell.Store) {
	if len(x.slots) > minSlots && 32*x.n < len(x.slots) {
		x.rebuild(s, 2*x.n)
	}
}

func (x *index) memory() int { return 8 * (cap(x.slots) + cap(x.old)) }
