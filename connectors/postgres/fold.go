package postgres

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// folder reduces rows to their net change per key: what a batch leaves behind in a
// table. Its memory is reused from batch to batch.
type folder struct {
	key    []int
	hashes []uint64
	slots  []int32 // index+1 into entries
	fate   []entry
	stale  []int32 // deletes that are no news
	dels   []int32
	puts   []int32
	cols   []*vec.Vector
}

// entry is what became of one key: the row to write, or none.
type entry struct {
	first int32 // a row that has the key
	last  int32 // the row that decided
	row   int32 // the row that stands, -1 for none
}

// keyCols gives the key columns of b.
func (f *folder) keyCols(b *vec.Batch) []*vec.Vector {
	f.cols = f.cols[:0]
	for _, k := range f.key {
		f.cols = append(f.cols, b.Cols[k])
	}
	return f.cols
}

// fold gives the rows whose keys are to be deleted and the rows to be written, each
// key in at most one of them, sorted by key.
func (f *folder) fold(b *vec.Batch) (dels, puts []int32) {
	f.run(b)
	f.dels, f.puts = f.dels[:0], f.puts[:0]
	for _, e := range f.fate {
		if e.row < 0 {
			f.dels = append(f.dels, e.last)
		} else {
			f.puts = append(f.puts, e.row)
		}
	}
	cols := f.keyCols(b)
	byKey := func(x, y int32) int { return compareRows(cols, int(x), int(y)) }
	slices.SortFunc(f.dels, byKey)
	slices.SortFunc(f.puts, byKey)
	return f.dels, f.puts
}

// compact gives the net change as a batch, in the order in which it was decided: nil
// when that would leave more than half of the rows.
func (f *folder) compact(b *vec.Batch) *vec.Batch {
	f.run(b)
	if len(f.fate) > b.N/2 {
		return nil
	}
	slices.SortFunc(f.fate, func(x, y entry) int { return cmp.Compare(x.last, y.last) })
	rows := f.puts[:0]
	for _, e := range f.fate {
		rows = append(rows, e.last)
	}
	f.puts = rows
	out := vec.NewBatch(b.Types(), b.N)
	out.AppendSel(b, rows)
	return out
}

// run finds the fate of every key. A delete removes the row it names: one that names
// another row than the standing one belongs to a row that moved here later and is no
// news.
func (f *folder) run(b *vec.Batch) {
	cols := f.keyCols(b)
	f.hashes = slices.Grow(f.hashes[:0], b.N)[:b.N]
	vec.HashColumns(cols, b.N, f.hashes)
	size := 16
	for size < 2*b.N {
		size *= 2
	}
	if len(f.slots) < size {
		f.slots = make([]int32, size)
	} else {
		clear(f.slots[:size])
	}
	f.fate, f.stale = f.fate[:0], f.stale[:0]
	mask := uint64(size - 1)
	for i := range b.N {
		e := f.find(cols, i, mask)
		switch b.Op(i) {
		case vec.Insert, vec.UpdateAfter:
			e.row, e.last = int32(i), int32(i)
		default:
			if e.row < 0 || sameRow(b, int(e.row), i) {
				e.row, e.last = -1, int32(i)
			} else {
				f.stale = append(f.stale, int32(i))
			}
		}
	}
}

// news gives the rows of b, folded last, but for the deletes that are no news.
func (f *folder) news(b *vec.Batch) []int32 {
	rows := make([]int32, 0, b.N)
	stale := f.stale
	for i := range int32(b.N) {
		if len(stale) > 0 && stale[0] == i {
			stale = stale[1:]
			continue
		}
		rows = append(rows, i)
	}
	return rows
}

func (f *folder) find(cols []*vec.Vector, i int, mask uint64) *entry {
	for s := f.hashes[i] & mask; ; s = (s + 1) & mask {
		at := f.slots[s]
		if at == 0 {
			f.fate = append(f.fate, entry{first: int32(i), row: -1})
			f.slots[s] = int32(len(f.fate))
			return &f.fate[len(f.fate)-1]
		}
		e := &f.fate[at-1]
		if f.hashes[e.first] == f.hashes[i] && sameKey(cols, int(e.first), i) {
			return e
		}
	}
}

func sameKey(cols []*vec.Vector, i, j int) bool {
	for _, c := range cols {
		if !vec.EqualValues(c, i, c, j) {
			return false
		}
	}
	return true
}

func sameRow(b *vec.Batch, i, j int) bool { return sameKey(b.Cols, i, j) }

// compareRows orders rows by key so that statements touch the index in order and two
// writers take locks in the same order. NULLs last; any total order will do.
func compareRows(cols []*vec.Vector, i, j int) int {
	for _, c := range cols {
		if d := compareValues(c, i, j); d != 0 {
			return d
		}
	}
	return cmp.Compare(i, j)
}

func compareValues(c *vec.Vector, i, j int) int {
	in, jn := c.IsNull(i), c.IsNull(j)
	if in || jn {
		switch {
		case in && jn:
			return 0
		case in:
			return 1
		}
		return -1
	}
	switch c.Type.Phys() {
	case types.PInt64:
		return cmp.Compare(c.I64[i], c.I64[j])
	case types.PFloat64:
		return cmp.Compare(c.F64[i], c.F64[j])
	case types.PInt128:
		return c.I128[i].Cmp(c.I128[j])
	case types.PBytes:
		return bytes.Compare(c.Bytes(i), c.Bytes(j))
	case types.PBool:
		a, b := 0, 0
		if c.Bits.Get(i) {
			a = 1
		}
		if c.Bits.Get(j) {
			b = 1
		}
		return a - b
	}
	return cmp.Or(cmp.Compare(c.Iv[i].Months, c.Iv[j].Months), cmp.Compare(c.Iv[i].Days, c.Iv[j].Days), cmp.Compare(c.Iv[i].Micros, c.Iv[j].Micros))
}
