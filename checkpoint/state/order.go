package state

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/streamsql/streamsql/internal/cell"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// Order keeps records of a child table of one key column in the order of their keys,
// apart for each record of the parent. It is no part of the state: like the index it is
// made anew from the records.
//
// It is a treap (Seidel, Aragon: Randomized Search Trees, 1996) of 16 bytes a record,
// whose priorities are secret like the slots of the index: entering and leaving looks at
// some 2 ln n records whatever the order in which they come.
type Order struct {
	t     *Table
	nodes []orderNode // by record
	roots []uint32    // by record of the parent
	meter meter
}

type orderNode struct {
	left, right uint32 // ids plus one of the records below, 0 for none
	prefix      uint64 // of the key
}

// Order gives the order of the records whose value word w is positive, as an int64: the
// owner says by Enter and Leave which records become so and are so no more. The first
// call after a restore looks at every record.
func (t *Table) Order(w int) *Order {
	for len(t.orders) <= w {
		t.orders = append(t.orders, nil)
	}
	if t.orders[w] == nil {
		t.orders[w] = t.newOrder(w)
	}
	return t.orders[w]
}

func (t *Table) newOrder(w int) *Order {
	type entry struct {
		prefix     uint64
		parent, id uint32
	}
	o := &Order{t: t, meter: meter{pool: t.index.meter.pool}}
	var all []entry
	var ids []uint32
	for from, done := uint32(0), false; !done; {
		ids, from, done = t.Scan(ids[:0], from, 1024)
		for _, id := range ids {
			if int64(t.cells.Record(id)[t.lay.value+w]) > 0 {
				parent := o.prepare(id)
				all = append(all, entry{o.nodes[id].prefix, parent, id})
			}
		}
	}
	slices.SortFunc(all, func(a, b entry) int {
		switch {
		case a.parent != b.parent:
			return cmp.Compare(a.parent, b.parent)
		case a.prefix != b.prefix:
			return cmp.Compare(a.prefix, b.prefix)
		}
		return t.lay.compareKeys(t.cells, a.id, b.id)
	})
	var spine []uint32 // from the root of the parent of the last record to the right
	for i, e := range all {
		if i > 0 && all[i-1].parent != e.parent {
			spine = spine[:0]
		}
		n := len(spine)
		for n > 0 && priority(spine[n-1]) < priority(e.id) {
			n--
		}
		if n < len(spine) {
			o.nodes[e.id].left = spine[n] + 1
		}
		if spine = append(spine[:n], e.id); n > 0 {
			o.nodes[spine[n-1]].right = e.id + 1
		} else {
			o.roots[e.parent] = e.id + 1
		}
	}
	return o
}

// prepare makes room for a record.
func (o *Order) prepare(id uint32) (parent uint32) {
	parent = o.t.Parent(id)
	o.nodes, o.roots = reach(o.nodes, id), reach(o.roots, parent)
	o.meter.set(o.memory())
	o.nodes[id] = orderNode{prefix: o.t.lay.keyPrefix(o.t.cells, id)}
	return parent
}

// Enter adds a record that is not there. Its key is not NULL.
func (o *Order) Enter(id uint32) {
	p := &o.roots[o.prepare(id)]
	for mine := priority(id); *p != 0 && priority(*p-1) > mine; {
		p = o.towards(id, *p-1)
	}
	rest := *p
	*p = id + 1
	left, right := &o.nodes[id].left, &o.nodes[id].right
	for rest != 0 {
		if o.compare(rest-1, id) < 0 {
			*left = rest
			left = &o.nodes[rest-1].right
			rest = *left
		} else {
			*right = rest
			right = &o.nodes[rest-1].left
			rest = *right
		}
	}
	*left, *right = 0, 0
}

// Leave takes a record out, before its key goes.
func (o *Order) Leave(id uint32) {
	p := &o.roots[o.t.Parent(id)]
	for *p != id+1 {
		p = o.towards(id, *p-1)
	}
	a, b := o.nodes[id].left, o.nodes[id].right
	for a != 0 && b != 0 {
		if priority(a-1) > priority(b-1) {
			*p = a
			p = &o.nodes[a-1].right
			a = *p
		} else {
			*p = b
			p = &o.nodes[b-1].left
			b = *p
		}
	}
	*p = a | b
}

// Least is the record of the least key below parent, NoRecord when there is none.
func (o *Order) Least(parent uint32) uint32 {
	at := o.root(parent)
	for at != 0 && o.nodes[at-1].left != 0 {
		at = o.nodes[at-1].left
	}
	return at - 1
}

// Greatest is the record of the greatest key below parent, NoRecord when there is none.
func (o *Order) Greatest(parent uint32) uint32 {
	at := o.root(parent)
	for at != 0 && o.nodes[at-1].right != 0 {
		at = o.nodes[at-1].right
	}
	return at - 1
}

func (o *Order) root(parent uint32) uint32 {
	if int(parent) < len(o.roots) {
		return o.roots[parent]
	}
	return 0
}

// towards is the side of record at on which record id is or belongs.
func (o *Order) towards(id, at uint32) *uint32 {
	if o.compare(id, at) < 0 {
		return &o.nodes[at].left
	}
	return &o.nodes[at].right
}

func (o *Order) compare(a, b uint32) int {
	if x, y := o.nodes[a].prefix, o.nodes[b].prefix; x != y {
		return cmp.Compare(x, y)
	}
	return o.t.lay.compareKeys(o.t.cells, a, b)
}

func (o *Order) memory() int { return 16*cap(o.nodes) + 4*cap(o.roots) }

// priority is a number of a record that nobody outside can know.
func priority(id uint32) uint32 {
	x := (uint64(id) + 1) * slotSeed
	x ^= x >> 32
	x *= 0xbf58476d1ce4e5b9
	return uint32(x >> 32)
}

// reach makes list long enough for element i.
func reach[T any](list []T, i uint32) []T {
	if n := int(i) + 1 - len(list); n > 0 {
		list = append(list, make([]T, n)...)
	}
	return list
}

// compareKeys orders two records by their one key column, as vec.CompareValues does.
func (l *layout) compareKeys(s *cell.Store, a, b uint32) int {
	col := &l.cols[0]
	x, y := s.Record(a)[col.word:], s.Record(b)[col.word:]
	switch col.phys {
	case types.PBool:
		return cmp.Compare(x[0], y[0])
	case types.PInt64:
		return cmp.Compare(int64(x[0]), int64(y[0]))
	case types.PFloat64:
		return vec.CompareFloats(math.Float64frombits(x[0]), math.Float64frombits(y[0]))
	case types.PInt128:
		return types.Int128{Lo: x[0], Hi: int64(x[1])}.Cmp(types.Int128{Lo: y[0], Hi: int64(y[1])})
	case types.PInterval:
		return vec.CompareIntervals(interval(x[0], x[1]), interval(y[0], y[1]))
	}
	return bytes.Compare(s.Bytes(a, col.word), s.Bytes(b, col.word))
}

// keyPrefix is a number that orders a record by its key as compareKeys does, except that
// it is equal for some keys that are not.
func (l *layout) keyPrefix(s *cell.Store, id uint32) uint64 {
	const sign = 1 << 63
	col := &l.cols[0]
	x := s.Record(id)[col.word:]
	switch col.phys {
	case types.PInt64:
		return x[0] ^ sign
	case types.PFloat64:
		switch f := math.Float64frombits(x[0]); {
		case f != f:
			return math.MaxUint64
		case f == 0:
			return sign
		case f < 0:
			return ^x[0]
		}
		return x[0] ^ sign
	case types.PInt128:
		return x[1] ^ sign
	case types.PBytes:
		var head [8]byte
		copy(head[:], s.Bytes(id, col.word))
		return binary.BigEndian.Uint64(head[:])
	}
	return 0
}
