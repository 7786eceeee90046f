package state

import (
	"math/rand/v2"
	"testing"
)

// TestFloodedIndex fills an index with hash words that somebody chose to be alike in
// many bits: the steps of all searches together stay a small multiple of their number,
// whichever bits are alike. Words that are alike in all bits are of one search.
func TestFloodedIndex(t *testing.T) {
	const n = 1 << 15
	for name, word := range map[string]func(i uint64) uint64{
		"in the top":    func(i uint64) uint64 { return 0xabcdef<<40 | i },
		"in the bottom": func(i uint64) uint64 { return i<<40 | 0xabcdef },
		"in both":       func(i uint64) uint64 { return 0xabcd<<48 | i<<24 | 0xabcd },
		"in a step":     func(i uint64) uint64 { return i * 0x9e3779b97f4a7c15 },
		"random":        func(uint64) uint64 { return rand.Uint64() },
	} {
		words := make([]uint64, n)
		var x index
		x.reset(n)
		for i := range words {
			words[i] = word(uint64(i))
			x.add(words[i], uint32(i))
		}
		steps := 0
		for slot, e := range x.slots {
			if e != 0 {
				steps += 1 + (slot-x.home(words[uint32(e)-1]))&(len(x.slots)-1)
			}
		}
		if steps > 4*n {
			t.Errorf("%s: %d steps for %d words", name, steps, n)
		}
	}
}
