package state

import (
	"math/rand/v2"
	"testing"

	"github.com/streamsql/streamsql/internal/vec"
)

// TestGrowthBySteps: while a large index grows, records are found, made, deleted and made
// again as in a map, and no chunk of rows moves more than its part.
func TestGrowthBySteps(t *testing.T) {
	for seed := range uint64(2) {
		rng := rand.New(rand.NewPCG(seed, 41))
		tab := intTable(t)
		model := map[int64]uint32{}
		grown, moving := 0, 0
		const batch = 1000
		hashes, ids, found := make([]uint64, batch), make([]uint32, batch), make([]uint32, batch)
		for len(model) < 140_000 {
			xs := make([]int64, batch)
			for i := range xs {
				xs[i] = rng.Int64N(200_000)
			}
			cols := intColumn(xs...)
			vec.HashColumns(cols, batch, hashes)
			tab.Find(hashes, cols, nil, found)
			for i, x := range xs {
				if want, ok := model[x]; ok != (found[i] != NoRecord) || ok && want != found[i] {
					t.Fatalf("seed %d: key %d is record %d, want %d (%v)", seed, x, found[i], want, ok)
				}
			}
			page, was := tab.index.page, tab.index.old != nil
			tab.Upsert(hashes, cols, nil, ids)
			now := tab.index.old != nil
			switch {
			case now && !was:
				grown++
			case now && tab.index.page-page > 4*movePages:
				t.Fatalf("seed %d: %d pages moved with %d rows", seed, tab.index.page-page, batch)
			case now:
				moving++
			}
			for i, x := range xs {
				if old, ok := model[x]; ok && old != ids[i] {
					t.Fatalf("seed %d: key %d was record %d and is %d", seed, x, old, ids[i])
				}
				model[x] = ids[i]
			}
			for i, x := range xs {
				if id, ok := model[x]; ok && i%4 == 0 {
					tab.Delete(id)
					delete(model, x)
				}
			}
			if tab.Len() != len(model) || tab.index.n != len(model) {
				t.Fatalf("seed %d: %d records, %d in the index, want %d", seed, tab.Len(), tab.index.n, len(model))
			}
		}
		if grown < 2 || moving < 40 {
			t.Errorf("seed %d: the index grew %d times by steps, in %d batches", seed, grown, moving)
		}
		for tab.index.old != nil {
			tab.Find(hashes, intColumn(make([]int64, batch)...), nil, found)
		}
		entries := 0
		for _, e := range tab.index.slots {
			if e != 0 {
				entries++
			}
		}
		if entries != len(model) {
			t.Errorf("seed %d: %d entries for %d records", seed, entries, len(model))
		}
	}
}
