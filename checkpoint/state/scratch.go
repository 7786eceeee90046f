package state

import "github.com/streamsql/streamsql/internal/vec"

// chunk is the number of rows that are looked up together, so that their cache misses
// overlap.
const chunk = 256

// scratch is the working memory of a chunk of rows.
type scratch struct {
	words  [chunk]uint64 // hash words
	firsts [chunk]uint64 // first index entries
	vals   [chunk]int64  // selected integer keys
	misses [chunk]uint16 // rows not found at their first slot
}

// hashWords computes the hash words of n rows from position from.
func (c *scratch) hashWords(hashes []uint64, keys []*vec.Vector, sel []int32, from, n int) {
	ws := c.words[:n]
	if sel == nil {
		for k, h := range hashes[from : from+n] {
			ws[k] = h & hashBits
		}
	} else {
		for k, i := range sel[from : from+n] {
			ws[k] = hashes[i] & hashBits
		}
	}
	for col, v := range keys[:min(len(keys), 8)] {
		if v.Valid == nil {
			continue
		}
		for k := range ws {
			if v.IsNull(rowOf(sel, from+k)) {
				ws[k] |= 1 << col
			}
		}
	}
}

// first fetches the entries at which the searches of n rows start.
func (c *scratch) first(x *index, n int) {
	es := c.firsts[:n]
	slots, seed, shift := x.slots, x.seed, x.shift&63
	for k, w := range c.words[:n] {
		es[k] = slots[w*seed>>shift]
	}
}

// all lists every row as a miss.
func (c *scratch) all(n int) []uint16 {
	for k := range n {
		c.misses[k] = uint16(k)
	}
	return c.misses[:n]
}
