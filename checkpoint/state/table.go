package state

import (
	"github.com/streamsql/streamsql/internal/cell"
	"github.com/streamsql/streamsql/internal/vec"
)

// NoRecord is the id that Find gives for a key that is not there.
const NoRecord = ^uint32(0)

// Table finds records by key. A record is the key and the value words of its
// declaration; its id does not change while it lives, and is handed out again after
// Delete. The goroutine that owns the backend owns the table.
//
// Keys are equal as vec.EqualValues says: -0 = 0, NaN = NaN, NULL = NULL; decimals
// of a column have the one scale of its type. The key that AppendKeys gives is the
// one that created the record.
type Table struct {
	lay   *layout
	cells *cell.Store
	index index
	// orders are those that were asked for, by value word.
	orders []*Order

	created []int32 // what the last Upsert returned

	seen bool // part of some snapshot
	dead bool // dropped
}

func newTable(l *layout, pool *cell.Pool) *Table {
	t := &Table{lay: l, cells: cell.NewStoreIn(pool, l.width, l.heaps...), index: index{meter: meter{pool: pool}}}
	t.index.reset(0)
	return t
}

// Cells is the memory of the records. A record's words are written after Touch (of
// the ids that Upsert found; those that it created count as touched).
func (t *Table) Cells() *cell.Store { return t.cells }

// ValueOffset is the word of a record at which its values start.
func (t *Table) ValueOffset() int { return t.lay.value }

// Len is the number of records.
func (t *Table) Len() int { return t.cells.Len() }

// Memory is the number of bytes the table takes.
func (t *Table) Memory() int {
	n := t.cells.Memory() + t.index.memory()
	for _, o := range t.orders {
		if o != nil {
			n += o.memory()
		}
	}
	return n
}

// Upsert finds or creates the records of rows: ids[k] becomes the record of row
// sel[k] (of row k when sel is nil, for k < len(ids)). hashes has the hash of every row
// (vec.HashColumns over keys), keys the key columns, of the declared layouts. It
// returns the positions k at which a record was created, in order, valid until the
// next call; the values of a created record are zero.
func (t *Table) Upsert(hashes []uint64, keys []*vec.Vector, sel []int32, ids []uint32) (created []int32) {
	t.created = t.created[:0]
	t.locate(nil, hashes, keys, sel, ids, true)
	return t.created
}

// Find is Upsert without creating: ids[k] is NoRecord where there is none.
func (t *Table) Find(hashes []uint64, keys []*vec.Vector, sel []int32, ids []uint32) {
	t.locate(nil, hashes, keys, sel, ids, false)
}

// UpsertOf is Upsert for a child table: parents[k] is the record of the parent that
// the k-th wanted row hangs on, as the parent's Upsert gave it for the same sel.
func (t *Table) UpsertOf(parents []uint32, hashes []uint64, keys []*vec.Vector, sel []int32, ids []uint32) (created []int32) {
	t.created = t.created[:0]
	t.locate(parents, hashes, keys, sel, ids, true)
	return t.created
}

// FindOf is Find for a child table.
func (t *Table) FindOf(parents []uint32, hashes []uint64, keys []*vec.Vector, sel []int32, ids []uint32) {
	t.locate(parents, hashes, keys, sel, ids, false)
}

// Row gives the record of a KindValue table, made on the first call.
func (t *Table) Row() uint32 {
	if t.cells.Len() == 0 {
		t.index.insert(t.cells, 0, t.cells.Alloc())
		return 0
	}
	return 0
}

// Parent is the parent's record of a child's record.
func (t *Table) Parent(id uint32) uint32 { return uint32(t.cells.Record(id)[t.lay.parent]) }

// Delete ends a record. The records that hang on it in child tables are deleted before,
// by the caller; it has left every Order.
func (t *Table) Delete(id uint32) {
	t.index.remove(t.cells, id)
	t.cells.Free(id)
	t.index.shrink(t.cells)
}

// AppendKeys appends the key columns of the records to out, one vector for each key
// column.
func (t *Table) AppendKeys(ids []uint32, out []*vec.Vector) {
	for c := range t.lay.cols {
		t.lay.appendKey(t.cells, c, ids, out[c])
	}
}

// AppendHashes appends what Upsert and Find need of the hashes of the records' keys. The
// table is no child table.
func (t *Table) AppendHashes(ids []uint32, dst []uint64) []uint64 {
	for _, id := range ids {
		dst = append(dst, t.cells.Record(id)[0]&hashBits)
	}
	return dst
}

// Reserve makes room for n records in all: the index does not grow on the way to them.
func (t *Table) Reserve(n int) {
	if n > t.index.limit {
		t.index.rebuild(t.cells, n)
	}
}

// Scan appends up to limit ids of records to dst, in record order from id from, and
// returns where to go on. The scan is over when done is true. Records created or
// deleted in between are met or not, by where they lie.
func (t *Table) Scan(dst []uint32, from uint32, limit int) (ids []uint32, next uint32, done bool) {
	ids, next = t.cells.AppendLive(dst, from, limit)
	return ids, next, next >= t.cells.Cap()
}

// locate is Upsert and Find, with and without parents. It goes over each chunk of rows
// several times, first without branches that depend on the data: most rows find their
// record at the first slot they look at, and the rest search one by one.
func (t *Table) locate(parents []uint32, hashes []uint64, keys []*vec.Vector, sel []int32, ids []uint32, create bool) {
	c := t.lay.chunk
	for from := 0; from < len(ids); from += chunk {
		n := min(chunk, len(ids)-from)
		if t.index.old != nil {
			t.index.move(t.cells, movePages)
		}
		c.load(&t.index, parents, hashes, keys, sel, from, n)
		out := ids[from : from+n]
		var of []uint32
		if parents != nil {
			of = parents[from : from+n]
		}
		var misses []uint16
		switch {
		case t.cells.Cap() == 0:
			misses = c.all(n)
		case t.lay.ints && len(keys) == 1:
			misses = t.firstInt(c, of, c.ints(keys, 0, sel, from, n), out)
		case t.lay.ints:
			misses = t.firstInts(c, of, keys, sel, from, out)
		default:
			misses = t.firstAny(c, of, keys, sel, from, out)
		}
		for _, k := range misses {
			x := key{cols: keys, row: rowOf(sel, from+int(k))}
			if of != nil {
				x.parent = of[k]
			}
			out[k] = t.search(c.words[k], x)
			if out[k] == NoRecord && create {
				out[k] = t.create(c.words[k], x)
				t.created = append(t.created, int32(from)+int32(k))
			}
		}
	}
}

func rowOf(sel []int32, k int) int {
	if sel == nil {
		return k
	}
	return int(sel[k])
}

// firstInt compares rows of one integer key with the records at their first slots, and
// returns the rows that were not there.
func (t *Table) firstInt(c *scratch, parents []uint32, vals []int64, ids []uint32) []uint16 {
	var (
		n     = len(ids)
		ws    = c.words[:n]
		es    = c.firsts[:n]
		word  = t.lay.cols[0].word
		width = t.lay.width
		pages = t.cells.Pages
		miss  = 0
	)
	vals = vals[:n]
	if parents == nil {
		for k := range ids {
			e := es[k]
			id := uint32(e) - uint32(nonZero(e))
			rec := pages[id>>6].W[int(id&63)*width:]
			d := (rec[0] ^ ws[k]) | (rec[word] ^ uint64(vals[k])) | (1 - nonZero(e))
			ids[k] = id
			c.misses[miss&(chunk-1)] = uint16(k)
			miss += int(nonZero(d))
		}
		return c.misses[:miss]
	}
	up := t.lay.parent
	parents = parents[:n]
	for k := range ids {
		e := es[k]
		id := uint32(e) - uint32(nonZero(e))
		rec := pages[id>>6].W[int(id&63)*width:]
		d := (rec[0] ^ ws[k]) | (rec[word] ^ uint64(vals[k])) | (rec[up] ^ uint64(parents[k])) | (1 - nonZero(e))
		ids[k] = id
		c.misses[miss&(chunk-1)] = uint16(k)
		miss += int(nonZero(d))
	}
	return c.misses[:miss]
}

// firstInts is firstInt for several integers.
func (t *Table) firstInts(c *scratch, parents []uint32, keys []*vec.Vector, sel []int32, from int, ids []uint32) []uint16 {
	pages, width := t.cells.Pages, t.lay.width
	diff := c.firsts[:len(ids)]
	for k := range ids {
		e := diff[k]
		id := uint32(e) - uint32(nonZero(e))
		ids[k] = id
		diff[k] = (pages[id>>6].W[int(id&63)*width] ^ c.words[k]) | (1 - nonZero(e))
	}
	for col := range keys {
		vals, word := c.ints(keys, col, sel, from, len(ids)), t.lay.cols[col].word
		for k, id := range ids {
			diff[k] |= pages[id>>6].W[int(id&63)*width+word] ^ uint64(vals[k])
		}
	}
	if parents != nil {
		up := t.lay.parent
		for k, id := range ids {
			diff[k] |= pages[id>>6].W[int(id&63)*width+up] ^ uint64(parents[k])
		}
	}
	miss := 0
	for k, d := range diff {
		c.misses[miss&(chunk-1)] = uint16(k)
		miss += int(nonZero(d))
	}
	return c.misses[:miss]
}

// nonZero is 1 when x is not 0, without a branch.
func nonZero(x uint64) uint64 { return (x | -x) >> 63 }

// firstAny is firstInt for keys of any shape: the hash words first, then the keys of
// the rows where those agree.
func (t *Table) firstAny(c *scratch, parents []uint32, keys []*vec.Vector, sel []int32, from int, ids []uint32) []uint16 {
	pages, width := t.cells.Pages, t.lay.width
	for k := range ids {
		e := c.firsts[k]
		id := uint32(e) - uint32(nonZero(e))
		ids[k] = id
		c.firsts[k] = (pages[id>>6].W[int(id&63)*width] ^ c.words[k]) | (1 - nonZero(e))
	}
	miss := 0
	for k, id := range ids {
		if c.firsts[k] == 0 {
			x := key{cols: keys, row: rowOf(sel, from+k)}
			if parents != nil {
				x.parent = parents[k]
			}
			p := pages[id>>6]
			if t.lay.equal(p, p.Record(int(id&63), width), x) {
				continue
			}
		}
		c.misses[miss] = uint16(k)
		miss++
	}
	return c.misses[:miss]
}

// search looks for the record of one key.
func (t *Table) search(w uint64, k key) uint32 {
	x := &t.index
	id := t.searchIn(x.slots, x.home(w), w, k)
	if id == NoRecord && x.old != nil {
		id = t.searchIn(x.old, int(w*x.seed>>x.oldShift), w, k)
	}
	return id
}

func (t *Table) searchIn(slots []uint64, slot int, w uint64, k key) uint32 {
	for mask := len(slots) - 1; slots[slot] != 0; slot = (slot + 1) & mask {
		e := slots[slot]
		if uint32(e>>32) != uint32(w>>8) {
			continue
		}
		id := uint32(e) - 1
		p := t.cells.Pages[id>>6]
		if rec := p.Record(int(id&63), t.lay.width); rec[0] == w && p.Live>>(id&63)&1 != 0 && t.lay.equal(p, rec, k) {
			return id
		}
	}
	return NoRecord
}

// create makes the record of a key that search did not find.
func (t *Table) create(w uint64, k key) uint32 {
	id := t.cells.Alloc()
	t.lay.write(t.cells, id, w, k)
	t.index.insert(t.cells, w, id)
	return id
}
