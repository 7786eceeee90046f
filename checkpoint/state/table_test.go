package state

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

func intTable(t testing.TB) *Table {
	b, err := New(Decl{Name: "t", Keys: []types.Type{types.TBigInt}, Words: 1})
	if err != nil {
		t.Fatal(err)
	}
	return b.Table("t")
}

func intColumn(xs ...int64) []*vec.Vector {
	v := vec.New(types.TBigInt, len(xs))
	for _, x := range xs {
		v.AppendInt64(x)
	}
	return []*vec.Vector{v}
}

// probes is the longest way from a record's home slot to its entry.
func probes(t *Table) int {
	longest, mask := 0, len(t.index.slots)-1
	for slot, e := range t.index.slots {
		if e != 0 {
			home := t.index.home(t.cells.Record(uint32(e) - 1)[0])
			longest = max(longest, (slot-home)&mask)
		}
	}
	return longest
}

// TestChosenHashesDoNotFallTogether: hash words that differ only in their lowest,
// highest or middle bits are spread like random ones.
func TestChosenHashesDoNotFallTogether(t *testing.T) {
	const n = 20_000
	for _, shift := range []int{8, 20, 32, 44} {
		tab := intTable(t)
		xs, hashes, ids := make([]int64, n), make([]uint64, n), make([]uint32, n)
		for i := range n {
			xs[i], hashes[i] = int64(i), uint64(i)<<shift|0xab<<56
		}
		tab.Upsert(hashes, intColumn(xs...), nil, ids)
		if p := probes(tab); p > 200 {
			t.Errorf("hashes that differ from bit %d on: an entry lies %d slots from home", shift, p)
		}
	}
}

// TestEqualHashesStayApart: keys whose hashes are all the same are still different.
func TestEqualHashesStayApart(t *testing.T) {
	tab := intTable(t)
	const n = 600
	xs, hashes, ids := make([]int64, n), make([]uint64, n), make([]uint32, n)
	for i := range n {
		xs[i], hashes[i] = int64(i/2), 0xffff_ffff_ffff_ffff
	}
	if created := tab.Upsert(hashes, intColumn(xs...), nil, ids); len(created) != n/2 || tab.Len() != n/2 {
		t.Fatalf("%d records created, Len %d, want %d", len(created), tab.Len(), n/2)
	}
	for i := 0; i < n; i += 4 {
		tab.Delete(ids[i])
	}
	tab.Find(hashes, intColumn(xs...), nil, ids)
	for i, id := range ids {
		if gone := i/2%2 == 0; gone != (id == NoRecord) {
			t.Fatalf("key %d has record %d", xs[i], id)
		}
	}
}

// TestIndexFollowsTheTable: the index grows and shrinks with the number of records.
func TestIndexFollowsTheTable(t *testing.T) {
	tab := intTable(t)
	const n = 100_000
	xs, hashes, ids := make([]int64, n), make([]uint64, n), make([]uint32, n)
	for i := range n {
		xs[i] = int64(i)
	}
	vec.HashColumns(intColumn(xs...), n, hashes)
	tab.Upsert(hashes, intColumn(xs...), nil, ids)
	if slots := len(tab.index.slots); slots < 2*n || slots > 8*n {
		t.Fatalf("%d slots for %d records", slots, n)
	}
	perKey := float64(tab.Memory())/n - 8 - 8 // key and value
	if perKey > 64 {
		t.Fatalf("%.1f bytes a key beyond key and value", perKey)
	}
	for _, id := range ids[10:] {
		tab.Delete(id)
	}
	if slots := len(tab.index.slots); slots > 512 || tab.Len() != 10 {
		t.Fatalf("%d slots for %d records", slots, tab.Len())
	}
	tab.Find(hashes[:20], intColumn(xs[:20]...), nil, ids[:20])
	for i, id := range ids[:20] {
		if (i < 10) != (id != NoRecord) {
			t.Fatalf("key %d has record %d", i, id)
		}
	}
}

// TestKnownKeysAllocateNothing: the data path is free of garbage.
func TestKnownKeysAllocateNothing(t *testing.T) {
	for _, shape := range [][]types.Type{
		{types.TBigInt}, {types.TBigInt, types.TInt}, {types.TText, types.TDouble, types.TBool, types.TDecimal(10, 2)},
	} {
		b, err := New(Decl{Name: "t", Keys: shape, Words: 1})
		if err != nil {
			t.Fatal(err)
		}
		cols := make([]*vec.Vector, len(shape))
		const n = 3000
		sel, ids, hashes := make([]int32, n/2), make([]uint32, n), make([]uint64, n)
		for c, typ := range shape {
			cols[c] = vec.New(typ, n)
			for i := range n {
				if i%10 == 0 {
					cols[c].AppendNull()
					continue
				}
				cols[c].AppendValue(types.Value{Type: typ, I: int64(i), F: float64(i), Dec: types.I128(int64(i)), S: fmt.Sprint(i)})
			}
		}
		for k := range sel {
			sel[k] = int32(2 * k)
		}
		vec.HashColumns(cols, n, hashes)
		tab := b.Table("t")
		tab.Upsert(hashes, cols, nil, ids)
		if a := testing.AllocsPerRun(5, func() {
			tab.Upsert(hashes, cols, nil, ids)
			tab.Find(hashes, cols, sel, ids[:len(sel)])
			tab.Cells().Touch(ids[:len(sel)])
		}); a != 0 {
			t.Errorf("%v: %v allocations", shape, a)
		}
	}
}

// TestDroppedBucketsAreUsedAgain: a window that slides over time takes the memory of
// the buckets that live and no more.
func TestDroppedBucketsAreUsedAgain(t *testing.T) {
	b, err := New(
		Decl{Name: "w", Kind: KindTimed, Keys: []types.Type{types.TBigInt}, Words: 1},
		Decl{Name: "d", Kind: KindChild, Parent: "w", Keys: []types.Type{types.TBigInt}, Words: 1},
	)
	if err != nil {
		t.Fatal(err)
	}
	const n = 1000
	xs, hashes, ids, kids := make([]int64, n), make([]uint64, n), make([]uint32, n), make([]uint32, n)
	w, d, after := b.Timed("w"), b.Timed("d"), 0
	for bucket := range int64(100) {
		for i := range n {
			xs[i] = bucket*n + int64(i)
		}
		vec.HashColumns(intColumn(xs...), n, hashes)
		w.At(bucket).Upsert(hashes, intColumn(xs...), nil, ids)
		d.At(bucket).UpsertOf(ids, hashes, intColumn(xs...), nil, kids)
		s := b.Freeze(bucket == 0)
		if _, err := s.AppendTo(nil); err != nil {
			t.Fatal(err)
		}
		b.Complete(s)
		if bucket >= 2 {
			w.Drop(bucket - 2)
		}
		if bucket == 3 {
			after = b.Memory()
		}
	}
	if got := w.Buckets(); !slices.Equal(got, []int64{98, 99}) || d.Len() != 2 {
		t.Fatalf("buckets are %v, and %d of the child", got, d.Len())
	}
	if first, ok := w.First(); first != 98 || !ok {
		t.Fatalf("First = %d, %v", first, ok)
	}
	if m := b.Memory(); m > after*5/4 {
		t.Fatalf("memory grew from %d to %d bytes", after, m)
	}
	allocs := testing.AllocsPerRun(1, func() {
		for bucket := range int64(20) {
			w.At(1000+bucket).Upsert(hashes, intColumn(xs[:1]...), nil, ids[:1])
			w.Drop(1000 + bucket)
		}
	})
	if allocs > 20*20 {
		t.Fatalf("%v allocations for 20 buckets", allocs)
	}
}

// TestWantImage follows the policy: none yet; larger deltas than the image; 16 deltas.
func TestWantImage(t *testing.T) {
	b, err := New(Decl{Name: "t", Keys: []types.Type{types.TBigInt}, Words: 1})
	if err != nil {
		t.Fatal(err)
	}
	tab := b.Table("t")
	write := func(n int) {
		xs, hashes, ids := make([]int64, n), make([]uint64, n), make([]uint32, n)
		for i := range n {
			xs[i] = rand.Int64()
		}
		vec.HashColumns(intColumn(xs...), n, hashes)
		tab.Upsert(hashes, intColumn(xs...), nil, ids)
	}
	cut := func() {
		t.Helper()
		s := b.Freeze(b.WantImage())
		if _, err := s.AppendTo(nil); err != nil {
			t.Fatal(err)
		}
		b.Complete(s)
	}
	if !b.WantImage() || !b.Freeze(false).Image() {
		t.Fatal("an empty backend takes a delta of nothing")
	}
	write(10_000)
	s := b.Freeze(true)
	if _, err := s.AppendTo(nil); err != nil {
		t.Fatal(err)
	}
	b.Complete(s)
	for i := range 16 {
		if b.WantImage() {
			t.Fatalf("an image is wanted after %d small deltas", i)
		}
		write(10)
		cut()
	}
	if !b.WantImage() {
		t.Fatal("no image is wanted after 16 deltas")
	}
	cut()
	write(30_000)
	cut()
	if !b.WantImage() {
		t.Fatal("no image is wanted after a delta larger than the image")
	}
}

// TestChildrenFollowTheirParents merges two old subtasks, whose record ids overlap,
// and splits them again.
func TestChildrenFollowTheirParents(t *testing.T) {
	decls := []Decl{
		{Name: "g", Keys: []types.Type{types.TText}, Words: 1},
		{Name: "d", Kind: KindChild, Parent: "g", Keys: []types.Type{types.TBigInt}, Words: 1},
	}
	cut := func(subtask, parallelism int, parts []Part) Part {
		b, err := New(decls...)
		if err != nil {
			t.Fatal(err)
		}
		r := stream.RangeOf(subtask, parallelism, 256)
		if err := b.Restore(r, 256, parts); err != nil {
			t.Fatal(err)
		}
		g, d := b.Table("g"), b.Table("d")
		for i := range 500 {
			name := types.TextValue(fmt.Sprint("key ", i))
			v := vec.New(types.TText, 1)
			v.AppendValue(name)
			var h [1]uint64
			vec.HashColumns([]*vec.Vector{v}, 1, h[:])
			if !r.Contains(stream.KeyGroup(h[0], 256)) {
				continue
			}
			id := upsertOne(g, nil, name)
			for k := range i % 4 {
				kid := upsertOne(d, &id, types.IntValue(types.TBigInt, int64(k)))
				d.Cells().Record(kid)[d.ValueOffset()] += uint64(i)
			}
		}
		if d.Len() == 0 {
			t.Fatalf("subtask %d of %d has no distinct values", subtask, parallelism)
		}
		blob, err := b.Freeze(true).AppendTo(nil)
		if err != nil {
			t.Fatal(err)
		}
		return Part{Groups: r, Blobs: [][]byte{blob}}
	}
	var parts []Part
	for round, parallelism := range []int{2, 1, 3, 4, 1} {
		var next []Part
		for s := range parallelism {
			next = append(next, cut(s, parallelism, parts))
		}
		parts = next
		b, err := New(decls...)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Restore(everything, 256, parts); err != nil {
			t.Fatal(err)
		}
		g, d := b.Table("g"), b.Table("d")
		if g.Len() != 500 || d.Len() != 125*(0+1+2+3) {
			t.Fatalf("round %d: %d groups, %d distinct values", round, g.Len(), d.Len())
		}
		for i := range 500 {
			id := upsertOne(g, nil, types.TextValue(fmt.Sprint("key ", i)))
			for k := range i % 4 {
				kid := upsertOne(d, &id, types.IntValue(types.TBigInt, int64(k)))
				if got, want := d.Cells().Record(kid)[d.ValueOffset()], uint64(i*(round+1)); got != want {
					t.Fatalf("round %d: value %d of key %d counts %d, want %d", round, k, i, got, want)
				}
			}
		}
		if g.Len() != 500 || d.Len() != 125*(0+1+2+3) {
			t.Fatalf("round %d: looking up made records", round)
		}
	}
}

// A page that changes while a snapshot holds it counts twice until the snapshot is over.
func TestMemoryOfSnapshots(t *testing.T) {
	const n = 64 * 1024
	b, err := New(Decl{Name: "k", Kind: KindKeyed, Keys: []types.Type{types.TBigInt}, Words: 1})
	if err != nil {
		t.Fatal(err)
	}
	tab, ids, hashes := b.Table("k"), make([]uint32, n), make([]uint64, n)
	xs := make([]int64, n)
	for i := range xs {
		xs[i] = int64(i)
	}
	vec.HashColumns(intColumn(xs...), n, hashes)
	tab.Upsert(hashes, intColumn(xs...), nil, ids)
	before := b.Memory()
	s := b.Freeze(true)
	tab.Cells().Touch(ids)
	if m := b.Memory(); m < before+8*3*n {
		t.Errorf("%d bytes before, %d while a snapshot holds all pages", before, m)
	}
	b.Complete(s)
	if m := b.Memory(); m > before*5/4 {
		t.Errorf("%d bytes before the snapshot, %d after it", before, m)
	}
}
