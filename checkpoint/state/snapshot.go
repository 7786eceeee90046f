package state

import (
	"sync/atomic"

	"github.com/streamsql/streamsql/internal/cell"
)

// Snapshot is the state as it was at a Freeze. The owner of the backend ends it by
// exactly one Complete or Abort; until then any one goroutine may encode it, once. The
// methods may be called on any goroutine.
type Snapshot struct {
	image  bool
	empty  bool
	first  bool // an image where there was none to go back to
	header []byte
	parts  []frozen
	drops  []drop

	phase atomic.Int32 // of encoding: phaseWaiting, phaseRunning, phaseOver
	size  atomic.Int64
}

const (
	phaseWaiting = iota
	phaseRunning
	phaseOver
)

// frozen is one table's part of a snapshot. table is the owner's business.
type frozen struct {
	decl   int
	width  int
	heaps  []int
	bucket int64
	table  *Table
	cells  *cell.Frozen
}

// drop lists the buckets of a timed table that ended before the snapshot. A restore
// drops them before it looks at the snapshot's pages.
type drop struct {
	decl    int
	buckets []int64
}

// Image reports whether the snapshot stands by itself; a delta needs the chain
// before it.
func (s *Snapshot) Image() bool { return s.image }

// Empty reports that nothing changed since the snapshot before: a delta that need
// not be written.
func (s *Snapshot) Empty() bool { return s.empty }

// Size is the number of bytes that Encode wrote; 0 before it is done.
func (s *Snapshot) Size() int64 { return s.size.Load() }

// release lets go of the pages.
func (s *Snapshot) release() {
	for i := range s.parts {
		s.parts[i].cells.Release()
	}
}

// Freeze takes a snapshot: everything when image is set (or there is no image yet),
// otherwise what changed since the last snapshot that was not aborted. It copies no
// records: it notes a few words for each page.
func (b *Backend) Freeze(image bool) *Snapshot {
	s := &Snapshot{image: image || !b.based, header: b.header}
	s.first = s.image && !b.based
	b.based = true
	for i := range b.decls {
		if t := b.tables[i]; t != nil {
			s.freeze(i, 0, t)
			continue
		}
		t := b.timed[i]
		if len(t.dropped) > 0 {
			s.drops = append(s.drops, drop{decl: i, buckets: t.dropped})
			t.dropped = nil
		}
		for _, bucket := range t.order {
			s.freeze(i, bucket, t.tables[bucket])
		}
	}
	s.empty = !s.image && len(s.parts) == 0 && len(s.drops) == 0
	return s
}

func (s *Snapshot) freeze(decl int, bucket int64, t *Table) {
	var f *cell.Frozen
	if s.image {
		f = t.cells.FreezeAll()
	} else if f = t.cells.Freeze(); f == nil {
		return
	}
	t.seen = true
	s.parts = append(s.parts, frozen{decl: decl, width: t.lay.width, heaps: t.lay.heaps, bucket: bucket, table: t, cells: f})
}

// Complete ends a snapshot whose epoch is committed. The next delta counts from it
// or from a later one.
func (b *Backend) Complete(s *Snapshot) {
	s.end()
	if s.image {
		b.imageBytes, b.deltaBytes, b.chain = s.Size(), 0, 0
		return
	}
	b.deltaBytes += s.Size()
	b.chain++
}

// Abort ends a snapshot whose epoch will never be: what changed joins the next
// snapshot. A snapshot that was frozen after it counts from it, is worthless too,
// and must be aborted as well.
func (b *Backend) Abort(s *Snapshot) {
	if s.first {
		b.based = false
	}
	for _, p := range s.parts {
		if !p.table.dead {
			p.table.cells.Unfreeze(p.cells)
		}
	}
	for _, d := range s.drops {
		b.timed[d.decl].dropped = append(b.timed[d.decl].dropped, d.buckets...)
	}
	s.end()
}

// end lets go of the pages and of the memory of the lists, unless an encoding is
// running, at whose end the pages are let go and the lists are garbage.
func (s *Snapshot) end() {
	if s.phase.CompareAndSwap(phaseWaiting, phaseOver) || s.phase.Load() == phaseOver {
		for _, p := range s.parts {
			if p.table.dead {
				p.cells.Release()
				continue
			}
			p.table.cells.Recycle(p.cells)
		}
		s.parts = nil
	}
}
