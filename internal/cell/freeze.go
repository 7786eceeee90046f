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
	for len(s.holds) > 0 && s.holds[0].done.Load() {
		s.floor = s.holds[0].gen
		s.holds = s.holds[1:]
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
	f := s.hold()
	n := len(s.dirty)
	f.Index, f.Pages, f.Changed = s.dirty, make([]*Page, n), make([]uint64, n)
	for k, i := range s.dirty {
		m := &s.marks[i]
		f.Pages[k], f.Changed[k] = s.Pages[i], m.dirty
		m.dirty, m.hold = 0, f.gen
	}
	s.dirty = make([]uint32, 0, min(n, 1024))
	return f
}

// FreezeAll holds every page and starts a new round: the image from which later
// deltas count. Changed is what Freeze would have given, so that Unfreeze gives back
// no more than that.
func (s *Store) FreezeAll() *Frozen {
	f := s.hold()
	n := len(s.Pages)
	f.Pages, f.Changed = append(make([]*Page, 0, n), s.Pages...), make([]uint64, n)
	for i := range s.marks {
		m := &s.marks[i]
		f.Changed[i] = m.dirty
		m.dirty, m.hold = 0, f.gen
	}
	s.dirty = s.dirty[:0]
	return f
}

func (s *Store) hold() *Frozen {
	s.settle()
	s.gen++
	f := &Frozen{gen: s.gen}
	s.holds = append(s.holds, f)
	return f
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
}
