package state

import (
	"slices"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// maxChain is the number of deltas after which a new image is wanted.
const maxChain = 16

// Backend is the keyed state of one subtask: the tables its operator declared. One
// goroutine owns it and everything it hands out; only a Snapshot's encoding may run
// on another.
type Backend struct {
	decls  []Decl
	tables []*Table // by declaration; nil for timed ones
	timed  []*Timed // by declaration; nil for others
	header []byte   // what snapshots say of the declarations

	based      bool // there is an image, finished or in flight, that a delta can follow
	imageBytes int64
	deltaBytes int64
	chain      int // deltas since the image
}

// New returns an empty backend. Declarations come from the operator's code; one that
// contradicts itself (a name twice, a child before its parent) is an Internal error.
func New(decls ...Decl) (*Backend, error) {
	b := &Backend{decls: slices.Clone(decls), tables: make([]*Table, len(decls)), timed: make([]*Timed, len(decls))}
	for i, d := range decls {
		if d.Name == "" {
			return nil, sqlerr.Internalf("state table %d has no name", i)
		}
		if slices.IndexFunc(decls, func(o Decl) bool { return o.Name == d.Name }) != i {
			return nil, sqlerr.Internalf("state table %q is declared twice", d.Name)
		}
		for _, w := range d.Heaps {
			if w < 0 || w >= d.Words {
				return nil, sqlerr.Internalf("state table %q has no value word %d", d.Name, w)
			}
		}
		lay := newLayout(d)
		timed := d.Kind == KindTimed
		if d.Kind == KindChild {
			p := b.index(d.Parent)
			if p < 0 || p >= i || decls[p].Kind == KindChild || decls[p].Kind == KindValue {
				return nil, sqlerr.Internalf("state table %q hangs on %q, which is no keyed or timed table before it", d.Name, d.Parent)
			}
			timed = decls[p].Kind == KindTimed
		}
		if !timed {
			b.tables[i] = newTable(lay, nil)
			continue
		}
		b.timed[i] = newTimed(lay)
		if d.Kind == KindChild {
			p := b.timed[b.index(d.Parent)]
			p.children = append(p.children, b.timed[i])
		}
	}
	var err error
	if b.header, err = header(decls); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *Backend) index(name string) int {
	return slices.IndexFunc(b.decls, func(d Decl) bool { return d.Name == name })
}

// Table returns the keyed, value or child table of that name; nil when none is
// declared, or a timed one. It stays the same through Restore.
func (b *Backend) Table(name string) *Table {
	if i := b.index(name); i >= 0 {
		return b.tables[i]
	}
	return nil
}

// Timed returns the timed table (or child of a timed table) of that name, or nil.
// It stays the same through Restore.
func (b *Backend) Timed(name string) *Timed {
	if i := b.index(name); i >= 0 {
		return b.timed[i]
	}
	return nil
}

// Dirty reports whether anything changed since the last freeze.
func (b *Backend) Dirty() bool {
	for i := range b.decls {
		if t := b.tables[i]; t != nil {
			if t.cells.Dirty() {
				return true
			}
			continue
		}
		t := b.timed[i]
		if len(t.dropped) > 0 {
			return true
		}
		for _, bucket := range t.order {
			if t.tables[bucket].cells.Dirty() {
				return true
			}
		}
	}
	return false
}

// WantImage says whether the next snapshot should be an image: there is none yet,
// the deltas since the last are larger than it, or there are 16 of them.
func (b *Backend) WantImage() bool {
	return !b.based || b.deltaBytes > b.imageBytes || b.chain >= maxChain
}

// Memory is the number of bytes that the tables, their indexes and the old versions
// of pages held by snapshots take.
func (b *Backend) Memory() int {
	n := 0
	for i := range b.decls {
		if t := b.tables[i]; t != nil {
			n += t.Memory()
		} else {
			n += b.timed[i].Memory()
		}
	}
	return n
}
