package state

import (
	"bytes"
	"slices"

	"github.com/streamsql/streamsql/internal/types"
)

// Copy says where the records of a table come from when a backend takes over the state
// of another one, whose operator computed something else.
type Copy struct {
	Table, From string
	// Words gives for every value word of Table the one of From that it goes on with, or
	// -1: such a word begins at zero. Words that refer to bytes go on with such words.
	Words []int
}

// Canonical names a key type by what its stored form and equality depend on. Tables
// whose keys have equal names can take over each other's records.
func Canonical(t types.Type) string { return canonical(t) }

// Alike reports that the two backends declare the same tables.
func (b *Backend) Alike(o *Backend) bool { return bytes.Equal(b.header, o.header) }

// Import fills a new backend with records of old, which was restored to the same key
// groups. Copies of parents come before those of their children; tables without one
// begin empty. A record of a child whose words would all be zero is left out. The next
// snapshot is an image. Tables of another kind, key or parent are CodeStateMismatch;
// after an error the backend is not usable.
func (b *Backend) Import(old *Backend, copies []Copy) error {
	ids := map[place][]uint32{} // by table of old: its record ids to ours
	for _, c := range copies {
		to, from := b.index(c.Table), old.index(c.From)
		if to < 0 || from < 0 {
			return mismatch("no state table %q to go on as %q", c.From, c.Table)
		}
		if err := b.importable(old, to, from, c); err != nil {
			return err
		}
		for _, bucket := range old.buckets(from) {
			src, dst := old.target(from, bucket), b.target(to, bucket)
			of, parent := ids[place{old.index(old.decls[from].Parent), bucket}]
			if dst.lay.parent != 0 && !parent && src.Len() > 0 {
				return mismatch("state table %q goes on without its parent %q", c.From, old.decls[from].Parent)
			}
			ids[place{from, bucket}] = dst.importRecords(src, of, c.Words)
		}
	}
	return nil
}

func (b *Backend) importable(old *Backend, to, from int, c Copy) error {
	t, f := b.decls[to].signature(), old.decls[from].signature()
	if t.Kind != f.Kind || !slices.Equal(t.Keys, f.Keys) || (t.Parent == "") != (f.Parent == "") || len(c.Words) != t.Words {
		return mismatch("state table %q is %v and cannot go on as %q, which is %v", f.Name, f, t.Name, t)
	}
	for w, from := range c.Words {
		if from >= f.Words || from >= 0 && slices.Contains(t.Heaps, w) != slices.Contains(f.Heaps, from) {
			return mismatch("word %d of state table %q cannot go on as word %d of %q", from, f.Name, w, t.Name)
		}
	}
	return nil
}

// buckets lists the buckets of a table; one that is not timed has bucket 0 alone.
func (b *Backend) buckets(i int) []int64 {
	if b.timed[i] != nil {
		return b.timed[i].Buckets()
	}
	return []int64{0}
}

// importRecords copies the records of src and gives their new ids by the old ones; of
// are those of the parent.
func (t *Table) importRecords(src *Table, of []uint32, words []int) []uint32 {
	ids := make([]uint32, src.cells.Cap())
	for k := range ids {
		ids[k] = NoRecord
	}
	var batch []uint32
	for from, done := uint32(0), false; !done; {
		batch, from, done = src.Scan(batch[:0], from, 1024)
		for _, id := range batch {
			if t.lay.parent == 0 {
				ids[id] = t.importRecord(src, id, NoRecord, words)
				continue
			}
			if p := of[src.Parent(id)]; p != NoRecord && src.anyWord(id, words) {
				ids[id] = t.importRecord(src, id, p, words)
			}
		}
	}
	return ids
}

func (t *Table) anyWord(id uint32, words []int) bool {
	rec := t.cells.Record(id)[t.lay.value:]
	return slices.ContainsFunc(words, func(w int) bool { return w >= 0 && rec[w] != 0 })
}

func (t *Table) importRecord(src *Table, id, parent uint32, words []int) uint32 {
	n := t.cells.Alloc()
	was, rec := src.cells.Record(id), t.cells.Record(n)
	copy(rec, was[:src.lay.value])
	if t.lay.parent != 0 {
		rec[0] ^= parentMix(uint32(was[t.lay.parent])) ^ parentMix(parent)
		rec[t.lay.parent] = uint64(parent)
	}
	for w, from := range words {
		if from >= 0 {
			rec[t.lay.value+w] = was[src.lay.value+from]
		}
	}
	for _, h := range t.lay.heaps {
		rec[h] = 0
	}
	for _, h := range t.lay.heaps {
		from := h // of the key, which lies alike in both
		if h >= t.lay.value {
			if from = words[h-t.lay.value]; from < 0 {
				continue
			}
			from += src.lay.value
		}
		t.cells.SetBytes(n, h, src.cells.Bytes(id, from))
	}
	t.index.insert(t.cells, rec[0], n)
	return n
}
