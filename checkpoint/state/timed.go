package state

import (
	"slices"

	"github.com/streamsql/streamsql/internal/cell"
)

// Timed is one Table for each time bucket, an int64 of the operator's choosing (the
// end of a window, a pane). Buckets come and go as a whole.
type Timed struct {
	lay      *layout
	tables   map[int64]*Table
	order    []int64 // sorted
	pool     cell.Pool
	children []*Timed
	last     *Table // of the last At
	lastAt   int64

	// dropped are the buckets that some snapshot may know and that ended since the
	// last freeze.
	dropped []int64
}

func newTimed(l *layout) *Timed { return &Timed{lay: l, tables: map[int64]*Table{}} }

// At returns the table of a bucket, made if it is not there.
func (t *Timed) At(bucket int64) *Table {
	if t.last != nil && t.lastAt == bucket {
		return t.last
	}
	x := t.tables[bucket]
	if x == nil {
		x = newTable(t.lay, &t.pool)
		if n := len(t.order); n > 0 && bucket > t.order[n-1] {
			// The next window will soon have as many records as the one before.
			x.Reserve(min(t.tables[t.order[n-1]].Len(), sparseSlots/4))
		}
		t.tables[bucket] = x
		i, _ := slices.BinarySearch(t.order, bucket)
		t.order = slices.Insert(t.order, i, bucket)
	}
	t.last, t.lastAt = x, bucket
	return x
}

// Get returns the table of a bucket, or nil when there is none.
func (t *Timed) Get(bucket int64) *Table { return t.tables[bucket] }

// Len is the number of buckets.
func (t *Timed) Len() int { return len(t.order) }

// First is the lowest bucket; ok is false when there is none.
func (t *Timed) First() (bucket int64, ok bool) {
	if len(t.order) == 0 {
		return 0, false
	}
	return t.order[0], true
}

// Buckets lists the buckets, ascending. The list is the caller's.
func (t *Timed) Buckets() []int64 { return slices.Clone(t.order) }

// Drop ends a bucket, here and in the child tables; its memory is used for the next
// ones. Dropping a bucket that is not there does nothing.
func (t *Timed) Drop(bucket int64) {
	for _, c := range t.children {
		c.Drop(bucket)
	}
	x := t.tables[bucket]
	if x == nil {
		return
	}
	delete(t.tables, bucket)
	i, _ := slices.BinarySearch(t.order, bucket)
	t.order = slices.Delete(t.order, i, i+1)
	t.last = nil
	if x.seen {
		t.dropped = append(t.dropped, bucket)
	}
	x.dead = true
	x.cells.Drop()
	x.index.reset(0)
	x.forget()
}

// Memory is the number of bytes the tables take. It looks at none of them.
func (t *Timed) Memory() int {
	return t.pool.Memory()
}

// forget counts a dropped table no more.
func (t *Table) forget() {
	t.index.meter.set(0)
	for _, o := range t.orders {
		if o != nil {
			o.meter.set(0)
		}
	}
}
