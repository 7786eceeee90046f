package state

import (
	"github.com/streamsql/streamsql/internal/cell"
	"github.com/streamsql/streamsql/internal/vec"
)

// NoRecord is the id that Find gives for a key that is not there.
const NoRecord = ^uint32(0)

// chunk is the number of rows whose first index entries are fetched together, so that
// their cache misses overlap.
const chunk = 256

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

	created []int32 // what the last Upsert returned

	seen bool // part of some snapshot
	dead bool // dropped
}

func newTable(l *layout, pool *cell.Pool) *Table {
	t := &Table{lay: l, cells: cell.NewStoreIn(pool, l.width, l.heaps...)}
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
func (t *Table) Memory() int { return t.cells.Memory() + t.index.memory() }

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
// by the caller.
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

// Scan appends up to limit ids of records to dst, in record order from id from, and
// returns where to go on. The scan is over when done is true. Records created or
// deleted in between are met or not, by where they lie.
func (t *Table) Scan(dst []uint32, from uint32, limit int) (ids []uint32, next uint32, done bool) {
	ids, next = t.cells.AppendLive(dst, from, limit)
	return ids, next, next >= t.cells.Cap()
}

// locate is Upsert and Find, with and without parents.
func (t *Table) locate(parents []uint32, hashes []uint64, keys []*vec.Vector, sel []int32, ids []uint32, create bool) {
	oneInt := t.lay.oneInt && keys[0].Valid == nil
	for from := 0; from < len(ids); {
		to := min(from+chunk, len(ids))
		t.prepare(parents, hashes, keys, sel, from, to)
		if oneInt {
			from = t.locateInt(parents, keys, sel, ids, from, to, create)
		} else {
			from = t.locateAny(parents, keys, sel, ids, from, to, create)
		}
	}
}

// prepare computes the hash words of rows [from, to) and fetches the index entries at
// which their searches start.
func (t *Table) prepare(parents []uint32, hashes []uint64, keys []*vec.Vector, sel []int32, from, to int) {
	ws := t.lay.words[:to-from]
	if sel == nil {
		for k, h := range hashes[from:to] {
			ws[k] = h & hashBits
		}
	} else {
		for k, i := range sel[from:to] {
			ws[k] = hashes[i] & hashBits
		}
	}
	for c, v := range keys[:min(len(keys), 8)] {
		if v.Valid == nil {
			continue
		}
		for k := range ws {
			if v.IsNull(rowOf(sel, from+k)) {
				ws[k] |= 1 << c
			}
		}
	}
	if parents != nil {
		for k, p := range parents[from:to] {
			ws[k] ^= parentMix(p)
		}
	}
	es := t.lay.firsts[:len(ws)]
	slots, seed, shift := t.index.slots, t.index.seed, t.index.shift
	for k, w := range ws {
		es[k] = slots[w*seed>>shift]
	}
}

func rowOf(sel []int32, k int) int {
	if sel == nil {
		return k
	}
	return int(sel[k])
}

// locateInt is locate for one non-null integer key. It returns the position to go on
// from, which is before to when the index moved.
func (t *Table) locateInt(parents []uint32, keys []*vec.Vector, sel []int32, ids []uint32, from, to int, create bool) int {
	var (
		vals  = keys[0].I64
		word  = t.lay.cols[0].word
		width = t.lay.width
		pages = t.cells.Pages
		slots = t.index.slots
		mask  = len(slots) - 1
		seed  = t.index.seed
		shift = t.index.shift
		child = t.lay.parent
	)
	for k := from; k < to; k++ {
		w, e := t.lay.words[k-from], t.lay.firsts[k-from]
		x := uint64(vals[rowOf(sel, k)])
		id := NoRecord
		for slot := int(w * seed >> shift); e != 0; e = slots[slot] {
			if uint32(e>>32) == uint32(w>>8) {
				i := uint32(e) - 1
				rec := pages[i>>6].W[int(i&63)*width:]
				if rec[0] == w && rec[word] == x && (child == 0 || rec[child] == uint64(parents[k])) {
					id = i
					break
				}
			}
			slot = (slot + 1) & mask
		}
		if id == NoRecord && create {
			var grown bool
			id, grown = t.create(w, makeKey(parents, keys, sel, k), k)
			if grown {
				ids[k] = id
				return k + 1
			}
			pages = t.cells.Pages
		}
		ids[k] = id
	}
	return to
}

// locateAny is locate for keys of any shape.
func (t *Table) locateAny(parents []uint32, keys []*vec.Vector, sel []int32, ids []uint32, from, to int, create bool) int {
	lay, slots := t.lay, t.index.slots
	mask := len(slots) - 1
	for k := from; k < to; k++ {
		w, e := t.lay.words[k-from], t.lay.firsts[k-from]
		key := makeKey(parents, keys, sel, k)
		id := NoRecord
		for slot := t.index.home(w); e != 0; e = slots[slot] {
			if uint32(e>>32) == uint32(w>>8) {
				i := uint32(e) - 1
				p := t.cells.Pages[i>>6]
				rec := p.Record(int(i&63), lay.width)
				if rec[0] == w && lay.equal(p, rec, key) {
					id = i
					break
				}
			}
			slot = (slot + 1) & mask
		}
		if id == NoRecord && create {
			var grown bool
			id, grown = t.create(w, key, k)
			if grown {
				ids[k] = id
				return k + 1
			}
		}
		ids[k] = id
	}
	return to
}

func makeKey(parents []uint32, keys []*vec.Vector, sel []int32, k int) key {
	x := key{cols: keys, row: rowOf(sel, k)}
	if parents != nil {
		x.parent = parents[k]
	}
	return x
}

// create looks once more, since an earlier row of the chunk may have made the
// record, and makes it if it is not there. grown says that the index moved.
func (t *Table) create(w uint64, k key, pos int) (id uint32, grown bool) {
	for slot, mask := t.index.home(w), len(t.index.slots)-1; ; slot = (slot + 1) & mask {
		e := t.index.slots[slot]
		if e == 0 {
			break
		}
		i := uint32(e) - 1
		p := t.cells.Pages[i>>6]
		if rec := p.Record(int(i&63), t.lay.width); rec[0] == w && t.lay.equal(p, rec, k) {
			return i, false
		}
	}
	id = t.cells.Alloc()
	t.lay.write(t.cells, id, w, k)
	t.created = append(t.created, int32(pos))
	return id, t.index.insert(t.cells, w, id)
}

// rebuild makes the index anew from the hash words of the records.
func (t *Table) rebuild() { t.index.rebuild(t.cells, t.cells.Len()) }
