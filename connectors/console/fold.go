package console

import (
	"io"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// Folder keeps the rows that a changelog leaves: a multiset, in the order in which they
// arrived; the new half of an update takes the place of the old. One goroutine uses
// it.
type Folder struct {
	schema types.Schema
	rows   *vec.Batch
	slots  []int32            // row of each place, -1: taken back
	places map[uint64][]int32 // row hash to places, the newest last
	live   int
	hashes []uint64
}

// maxFolded bounds the memory of the rows, which lie in columns of 31-bit offsets.
const maxFolded = 1<<31 - 1

// NewFolder returns an empty Folder for rows of schema.
func NewFolder(schema types.Schema) *Folder {
	return &Folder{schema: schema, rows: vec.NewBatch(schema.Types(), 0), places: map[uint64][]int32{}}
}

// Len is the number of rows left.
func (f *Folder) Len() int { return f.live }

// Add folds the rows of b, which stays the caller's. A row taken back that is not there
// is an Internal error.
func (f *Folder) Add(b *vec.Batch) error {
	if cap(f.hashes) < b.N {
		f.hashes = make([]uint64, b.N)
	}
	if f.rows.Size()+b.Size() > maxFolded {
		return sqlerr.New(sqlerr.CodeTooComplex, 0, "the result is larger than 2 GiB").
			WithHint("Write it into a table, or print the changes as they come with format changelog.")
	}
	hashes := f.hashes[:b.N]
	vec.HashColumns(b.Cols, b.N, hashes)
	for i := 0; i < b.N; i++ {
		op := b.Op(i)
		if op.Sign() > 0 {
			f.slots = append(f.slots, 0)
			f.put(b, i, hashes[i], int32(len(f.slots)-1))
			continue
		}
		place, ok := f.remove(b, i, hashes[i])
		if !ok {
			return sqlerr.Internalf("row %s of the result is taken back and was never there", describe(b, i))
		}
		if op == vec.UpdateBefore && i+1 < b.N && b.Op(i+1) == vec.UpdateAfter {
			i++
			f.put(b, i, hashes[i], place)
		}
	}
	f.compact()
	return nil
}

func (f *Folder) put(b *vec.Batch, i int, hash uint64, place int32) {
	for k, c := range f.rows.Cols {
		c.AppendFrom(b.Cols[k], i)
	}
	f.slots[place] = int32(f.rows.N)
	f.rows.N++
	f.places[hash] = append(f.places[hash], place)
	f.live++
}

func (f *Folder) remove(b *vec.Batch, i int, hash uint64) (place int32, ok bool) {
	list := f.places[hash]
	for k := len(list) - 1; k >= 0; k-- {
		place = list[k]
		if !f.equal(int(f.slots[place]), b, i) {
			continue
		}
		if len(list) == 1 {
			delete(f.places, hash)
		} else {
			f.places[hash] = append(list[:k], list[k+1:]...)
		}
		f.slots[place] = -1
		f.live--
		return place, true
	}
	return 0, false
}

func (f *Folder) equal(row int, b *vec.Batch, i int) bool {
	for k, c := range f.rows.Cols {
		if !vec.EqualValues(c, row, b.Cols[k], i) {
			return false
		}
	}
	return true
}

func describe(b *vec.Batch, i int) string {
	out := []byte{'('}
	for k, c := range b.Cols {
		if k > 0 {
			out = append(out, ", "...)
		}
		out = vec.AppendText(out, c, i)
	}
	return string(append(out, ')'))
}

// compact drops the rows that were taken back once they are the greater part.
func (f *Folder) compact() {
	if f.rows.N < 1024 || f.rows.N < 2*f.live {
		return
	}
	sel := f.order()
	moved := make([]int32, len(f.slots)) // place to new place
	n := int32(0)
	for p, row := range f.slots {
		if row >= 0 {
			moved[p] = n
			n++
		}
	}
	for _, list := range f.places {
		for k := range list {
			list[k] = moved[list[k]]
		}
	}
	f.rows = f.rows.Take(sel)
	f.slots = f.slots[:n]
	for p := range f.slots {
		f.slots[p] = int32(p)
	}
}

// order lists the rows left by place.
func (f *Folder) order() []int32 {
	sel := make([]int32, 0, f.live)
	for _, row := range f.slots {
		if row >= 0 {
			sel = append(sel, row)
		}
	}
	return sel
}

// Rows gives the rows left as one batch of inserts.
func (f *Folder) Rows() *vec.Batch { return f.rows.Take(f.order()) }

// Print prints the rows left to w in one of Formats; changelog prints each as an
// insert.
func (f *Folder) Print(w io.Writer, name string) error { return PrintAll(w, f.schema, f.Rows(), name) }

// PrintAll prints b as a whole result.
func PrintAll(w io.Writer, schema types.Schema, b *vec.Batch, name string) error {
	p, err := NewPrinter(w, schema, name, false)
	if err != nil {
		return err
	}
	if err := p.print(b); err != nil {
		return err
	}
	return p.Finish(b.N)
}
