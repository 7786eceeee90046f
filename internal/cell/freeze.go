package cell

import "sync/atomic"

// Frozen is what a snapshot holds of a store: pages as they were, and which of their
// records changed since the snapshot before. Its fields are immutable; any goroutine
// may read the pages until Release.
type Frozen struct {
	// Index lists the pages' places; nil says that page k is at place k.
	Index []uint32
	Pages []*Page
	// Changed has one word a page: bit s says that record s changed.
	Changed []uint64

	gen  uint32
	done atomic.Bool
}

// Place is the index in the store of the k-th page.
func (f *Frozen) Place(k int) uint32 {
	if f.Index == nil {
		return uint32(k)
	}
	return f.Index[k]
}

// Release ends the hold on the pages, which nobody may read through f any more; from
// then on the owner writes them in place. Any goroutine may call it, any number of
// times.
func (f *Frozen) Release() { f.done.Store(true) }

// settle lets go of pages whose snapshots were released.
func (s *Store) settle() {
	if len(s.holds) > 0 {
		s.letGo()
	}
}

func (s *Store) letGo() {
	for len(s.holds) > 0 && s.holds[0].done.Load() {
		s.floor = s.holds[0].gen
		if s.holds = s.holds[1:]; len(s.holds) == 0 {
			s.doubles = 0
			s.count()
		}
	}
}

// Dirty reports whether a record changed since the last freeze.
func (s *Store) Dirty() bool { return len(s.dirty) > 0 }

// Freeze holds the pages that changed since the last freeze and starts a new round,
// or returns nil when there are none. It costs a few nanoseconds a page; nothing is
// copied until a page that is still held is written again.
func (s *Store) Freeze() *Frozen {
	if len(s.dirty) == 0 {
		return nil
	}
	n := len(s.dirty)
	f := s.hold(n)
	f.Index, s.spare.Index = room(s.spare.Index, n), nil
	if n < len(s.marks)/16 {
		for k, i := range s.dirty {
			s.freeze(f, k, i)
		}
	} else {
		k := 0
		for i := range s.marks {
			if s.marks[i].dirty != 0 {
				s.freeze(f, k, uint32(i))
				k++
			}
		}
	}
	s.dirty = s.dirty[:0]
	s.count()
	return f
}

func (s *Store) freeze(f *Frozen, k int, i uint32) {
	m := &s.marks[i]
	f.Index[k], f.Pages[k], f.Changed[k] = i, s.Pages[i], m.dirty
	m.dirty, m.hold = 0, f.gen
}

// FreezeAll holds every page and starts a new round: the image from which later
// deltas count. Changed is what Freeze would have given, so that Unfreeze gives back
// no more than that.
func (s *Store) FreezeAll() *Frozen {
	f := s.hold(len(s.Pages))
	copy(f.Pages, s.Pages)
	for i := range s.marks {
		m := &s.marks[i]
		f.Changed[i] = m.dirty
		m.dirty, m.hold = 0, f.gen
	}
	s.dirty = s.dirty[:0]
	s.count()
	return f
}

// hold makes the next Frozen, of n pages.
func (s *Store) hold(n int) *Frozen {
	s.settle()
	s.gen++
	f := &Frozen{gen: s.gen, Pages: room(s.spare.Pages, n), Changed: room(s.spare.Changed, n)}
	s.spare.Pages, s.spare.Changed = nil, nil
	s.holds = append(s.holds, f)
	return f
}

func room[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// Recycle gives the memory of f, which nobody reads any more, to the next freeze.
func (s *Store) Recycle(f *Frozen) {
	clear(f.Pages)
	s.spare.Index, s.spare.Pages, s.spare.Changed = f.Index, f.Pages, f.Changed
	f.Index, f.Pages, f.Changed = nil, nil, nil
	f.Release()
	s.count()
}

// Unfreeze gives a snapshot's changes back to the current round: the epoch they were
// frozen for was aborted. It does not release the pages.
func (s *Store) Unfreeze(f *Frozen) {
	for k, c := range f.Changed {
		if c == 0 {
			continue
		}
		i := f.Place(k)
		m := &s.marks[i]
		if m.dirty == 0 {
			s.dirty = append(s.dirty, i)
		}
		m.dirty |= c
	}
	s.count()
}
