package state

import (
	"testing"

	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// TestIndexIsLoaded: every record is found by the index that is made in bulk, and no other.
func TestIndexIsLoaded(t *testing.T) {
	for _, n := range []int{0, 1, 63, 5000, 300_000} {
		for _, bulk := range []int{1, 7, bulkPages} {
			be, err := New(Decl{Name: "t", Keys: []types.Type{types.TBigInt}, Words: 1})
			if err != nil {
				t.Fatal(err)
			}
			x := be.Table("t")
			keys := []*vec.Vector{vec.New(types.TBigInt, n)}
			for k := range n {
				keys[0].AppendInt64(int64(k))
			}
			hashes, ids, found := make([]uint64, n), make([]uint32, n), make([]uint32, n)
			vec.HashColumns(keys, n, hashes)
			x.Upsert(hashes, keys, nil, ids)
			for k := 0; k < n; k += 3 {
				x.Delete(ids[k])
				ids[k] = NoRecord
			}
			x.index = index{}
			x.index.load(x.cells, bulk)
			x.Find(hashes, keys, nil, found)
			for k := range n {
				if found[k] != ids[k] {
					t.Fatalf("%d keys, %d pages at a time: key %d is record %d, not %d", n, bulk, k, found[k], ids[k])
				}
			}
			if x.index.n != x.Len() {
				t.Fatalf("the index counts %d of %d records", x.index.n, x.Len())
			}
		}
	}
}
