package state

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// TestMemoryOfBuckets: the running count of a timed table is what its buckets take, summed
// up, whatever was done to them.
func TestMemoryOfBuckets(t *testing.T) {
	decls := []Decl{
		{Name: "w", Kind: KindTimed, Keys: []types.Type{types.TText}, Words: 2, Heaps: []int{1}},
		{Name: "d", Kind: KindChild, Parent: "w", Keys: []types.Type{types.TBigInt}, Words: 1},
	}
	for seed := range uint64(5) {
		b, err := New(decls...)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(seed, 7))
		w, d := b.Timed("w"), b.Timed("d")
		same := func() {
			t.Helper()
			for _, x := range []*Timed{w, d} {
				sum := x.pool.Kept()
				for _, tab := range x.tables {
					sum += tab.Memory()
				}
				if got := x.Memory(); got != sum {
					t.Fatalf("seed %d: the buckets take %d bytes and are counted as %d", seed, sum, got)
				}
			}
		}
		var snaps []*Snapshot
		for range 200 {
			bucket := rng.Int64N(6)
			switch rng.IntN(8) {
			case 0:
				w.Drop(bucket)
			case 1:
				snaps = append(snaps, b.Freeze(rng.IntN(3) == 0))
			case 2:
				if len(snaps) > 0 {
					if s := snaps[0]; rng.IntN(2) == 0 {
						b.Complete(s)
					} else {
						b.Abort(s)
					}
					snaps = snaps[1:]
				}
			default:
				n := rng.IntN(3000)
				text, xs := vec.New(types.TText, n), make([]int64, n)
				for i := range n {
					xs[i] = rng.Int64N(5000)
					text.AppendString(fmt.Sprintf("key %0*d", rng.IntN(60), xs[i]))
				}
				hashes, ids, kids := make([]uint64, n), make([]uint32, n), make([]uint32, n)
				vec.HashColumns([]*vec.Vector{text}, n, hashes)
				tab, child := w.At(bucket), d.At(bucket)
				tab.Upsert(hashes, []*vec.Vector{text}, nil, ids)
				tab.Cells().Touch(ids)
				for _, id := range ids {
					tab.Cells().SetBytes(id, tab.ValueOffset()+1, make([]byte, rng.IntN(100)))
				}
				vec.HashColumns(intColumn(xs...), n, hashes)
				child.UpsertOf(ids, hashes, intColumn(xs...), nil, kids)
				o := child.Order(0)
				in := map[uint32]bool{}
				for _, id := range kids {
					if child.Cells().Touch([]uint32{id}); child.Cells().Record(id)[child.ValueOffset()] == 0 && !in[id] {
						in[id] = true
						child.Cells().Record(id)[child.ValueOffset()] = 1
						o.Enter(id)
					}
				}
			}
			same()
		}
	}
}
