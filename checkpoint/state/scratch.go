package state

import "github.com/streamsql/streamsql/internal/vec"

// chunk is the number of rows that are looked up together, so that their cache misses
// overlap.
const chunk = 256

// scratch is the working memory of a chunk of rows.
type scratch struct {
	words  [chunk]uint64 // hash words
	firsts [chunk]uint64 // first index entries
	vals   [chunk]int64  // an integer key column
	misses [chunk]uint16 // rows not found at their first slot
}

// load computes the hash words of n rows from position from, whose parents are parents
// or nil, and fetches the index entries at which their searches start.
func (c *scratch) load(x *index, parents []uint32, hashes []uint64, keys []*vec.Vector, sel []int32, from, n int) {
	ws, es := c.words[:n], c.firsts[:n]
	slots, seed, shift := x.slots, x.seed, x.shift&63
	if sel == nil && parents == nil && !anyNulls(keys) {
		for k, h := range hashes[from : from+n] {
			w := h & hashBits
			ws[k], es[k] = w, slots[w*seed>>shift]
		}
		return
	}
	for k := range ws {
		ws[k] = hashes[rowOf(sel, from+k)] & hashBits
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
	if parents != nil {
		for k, p := range parents[from : from+n] {
			ws[k] ^= parentMix(p)
		}
	}
	for k, w := range ws {
		es[k] = slots[w*seed>>shift]
	}
}

// ints gives an integer key column of n rows from position from, with 0 for NULL, as
// records have it. The hash words are loaded.
func (c *scratch) ints(keys []*vec.Vector, col int, sel []int32, from, n int) []int64 {
	v := keys[col]
	if sel == nil && v.Valid == nil {
		return v.I64[from : from+n]
	}
	vals := c.vals[:n]
	for k := range vals {
		vals[k] = v.I64[rowOf(sel, from+k)]
	}
	if v.Valid != nil {
		for k := range vals {
			if c.words[k]>>col&1 != 0 {
				vals[k] = 0
			}
		}
	}
	return vals
}

func anyNulls(keys []*vec.Vector) bool {
	for _, v := range keys {
		if v.Valid != nil {
			return true
		}
	}
	return false
}

// all lists every row as a miss.
func (c *scratch) all(n int) []uint16 {
	for k := range n {
		c.misses[k] = uint16(k)
	}
	return c.misses[:n]
}
