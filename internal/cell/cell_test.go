package cell

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// model is what a store of two number words and two byte words should hold.
type model map[uint32]modelRecord

type modelRecord struct {
	a, b uint64
	x, y string
}

const (
	modelWidth = 4
	wordX      = 1
	wordY      = 3
)

func (m model) check(t *testing.T, s *Store) {
	t.Helper()
	if s.Len() != len(m) {
		t.Fatalf("Len = %d, want %d", s.Len(), len(m))
	}
	n := 0
	for from := uint32(0); from < s.Cap(); {
		var ids []uint32
		ids, from = s.AppendLive(nil, from, 7)
		for _, id := range ids {
			want, ok := m[id]
			rec := s.Record(id)
			got := modelRecord{rec[0], rec[2], string(s.Bytes(id, wordX)), string(s.Bytes(id, wordY))}
			if !ok || got != want || !s.Live(id) {
				t.Fatalf("record %d is %+v, want %+v (%v)", id, got, want, ok)
			}
			n++
		}
	}
	if n != len(m) {
		t.Fatalf("scan met %d records, want %d", n, len(m))
	}
	heaps := 0
	for _, p := range s.Pages {
		heaps += cap(p.Heap)
	}
	if heaps != *s.total {
		t.Fatalf("heaps of %d bytes are counted as %d", heaps, *s.total)
	}
}

// TestMemoryLooksAtNoPage: the memory is known without a look at the pages, be they many.
func TestMemoryLooksAtNoPage(t *testing.T) {
	s := NewStore(2, 1)
	before := s.Memory()
	const rows, text = 10_000, "twenty bytes of text"
	for range rows {
		s.SetBytes(s.Alloc(), 1, []byte(text))
	}
	clear(s.Pages)
	if n := s.Memory() - before; n < rows*(16+len(text)) || n > 3*rows*(16+len(text)) {
		t.Errorf("%d records take %d bytes", rows, n)
	}
}

func (m model) clone() model {
	c := model{}
	for k, v := range m {
		c[k] = v
	}
	return c
}

// write makes one random change to store and model.
func (m model) write(rng *rand.Rand, s *Store) {
	pick := func() (uint32, bool) {
		for range 20 {
			if id := rng.Uint32N(s.Cap() + 1); s.Live(id) {
				return id, true
			}
		}
		return 0, false
	}
	switch id, ok := pick(); {
	case !ok || rng.IntN(4) == 0:
		id = s.Alloc()
		for w, x := range s.Record(id) {
			if x != 0 {
				panic(fmt.Sprintf("word %d of new record %d is %#x", w, id, x))
			}
		}
		m[id] = modelRecord{}
	case rng.IntN(6) == 0:
		s.Free(id)
		delete(m, id)
	default:
		s.Touch([]uint32{id})
		r := modelRecord{rng.Uint64(), rng.Uint64(), strings.Repeat("x", rng.IntN(40)), strings.Repeat("y", rng.IntN(200))}
		rec := s.Record(id)
		rec[0], rec[2] = r.a, r.b
		s.SetBytes(id, wordX, []byte(r.x))
		s.SetBytes(id, wordY, []byte(r.y))
		m[id] = r
	}
}

// apply folds what a freeze gave into the pages of a replica.
func apply(t *testing.T, pages []*Page, f *Frozen, image bool) []*Page {
	t.Helper()
	for k, p := range f.Pages {
		i, changed := int(f.Place(k)), f.Changed[k]
		if image {
			changed = ^uint64(0)
		}
		for len(pages) <= i {
			pages = append(pages, NewPage(modelWidth))
		}
		var words []uint64
		for slot := range PageRows {
			if changed&p.Live>>slot&1 != 0 {
				words = append(words, p.Record(slot, modelWidth)...)
			}
		}
		if !pages[i].Merge(changed, p.Live, words, p.Heap, modelWidth, []int{wordX, wordY}) {
			t.Fatal("merge refused a good page")
		}
	}
	return pages
}

func TestStoreAgainstModel(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var pool Pool
		s, m := NewStoreIn(&pool, modelWidth, wordX, wordY), model{}
		var replica []*Page
		var held []*Frozen // encoded late
		for range 60 {
			for range rng.IntN(200) {
				m.write(rng, s)
			}
			m.check(t, s)
			var f *Frozen
			image := rng.IntN(5) == 0
			if image {
				f = s.FreezeAll()
			} else if f = s.Freeze(); f == nil {
				continue
			}
			want := m.clone()
			for range rng.IntN(300) {
				m.write(rng, s)
			}
			switch rng.IntN(4) {
			case 0:
				s.Unfreeze(f)
				held = append(held, f)
				continue
			case 1:
				held = append(held, f)
			default:
				defer f.Release()
			}
			replica = apply(t, replica, f, image)
			if rng.IntN(2) == 0 {
				f.Release()
			}
			if len(held) > 2 {
				s.Recycle(held[0])
				held = held[1:]
			}
			r := NewStore(modelWidth, wordX, wordY)
			copies := make([]*Page, len(replica))
			for i, p := range replica {
				copies[i] = p.clone()
			}
			r.Load(copies)
			want.check(t, r)
		}
		s.Drop()
		model{}.check(t, s)
		m = model{}
		for range 500 {
			m.write(rng, s)
		}
		m.check(t, s)
	}
}

// TestReadersOfFrozenPages runs under the race detector: the owner writes, frees and
// allocates while other goroutines read what was frozen.
func TestReadersOfFrozenPages(t *testing.T) {
	s := NewStore(2, 1)
	var ids []uint32
	for i := range 1000 {
		id := s.Alloc()
		s.SetBytes(id, 1, []byte{byte(i)})
		ids = append(ids, id)
	}
	var wg sync.WaitGroup
	for round := range uint64(30) {
		s.Touch(ids)
		for _, id := range ids {
			s.Record(id)[0] = round
			s.SetBytes(id, 1, bytes.Repeat([]byte{byte(round)}, int(round)))
		}
		f := s.Freeze()
		if round%3 == 0 {
			f.Release()
			f = s.FreezeAll()
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer f.Release()
			for _, p := range f.Pages {
				for slot := range PageRows {
					if p.Live>>slot&1 == 0 {
						continue
					}
					rec := p.Record(slot, 2)
					if b := p.Bytes(rec[1]); rec[0] != round || len(b) != int(round) || len(b) > 0 && b[0] != byte(round) {
						t.Errorf("round %d reads %d and %d bytes", round, rec[0], len(b))
						return
					}
				}
			}
		}()
		s.Free(ids[round])
		ids[round] = s.Alloc()
	}
	wg.Wait()
}

func TestFreedBytesAreGone(t *testing.T) {
	s := NewStore(1, 0)
	a, b := s.Alloc(), s.Alloc()
	s.SetBytes(a, 0, []byte("password"))
	s.SetBytes(b, 0, []byte("kept"))
	s.Free(a)
	if bytes.Contains(s.Pages[0].Heap, []byte("password")) {
		t.Fatal("the bytes of a freed record are still in the heap")
	}
	if c := s.Alloc(); c != a || len(s.Bytes(c, 0)) != 0 {
		t.Fatalf("record %d has bytes %q", c, s.Bytes(c, 0))
	}
	if got := string(s.Bytes(b, 0)); got != "kept" {
		t.Fatalf("neighbour is %q", got)
	}
}

func TestHeapIsCompacted(t *testing.T) {
	s := NewStore(2, 0, 1)
	var ids []uint32
	for range PageRows {
		ids = append(ids, s.Alloc())
	}
	for n := range 2000 {
		for k, id := range ids {
			s.SetBytes(id, n%2, bytes.Repeat([]byte{byte(k)}, 1+n%50))
		}
	}
	if n := len(s.Pages[0].Heap); n > 3*2*50*PageRows {
		t.Fatalf("heap has %d bytes for at most %d in use", n, 2*50*PageRows)
	}
	for k, id := range ids {
		for w := range 2 {
			for _, x := range s.Bytes(id, w) {
				if x != byte(k) {
					t.Fatalf("record %d word %d has byte %d", id, w, x)
				}
			}
		}
	}
}

// TestHoldEnds checks that a page is copied while a snapshot holds it and written in
// place after, whatever the order in which snapshots end.
func TestHoldEnds(t *testing.T) {
	s := NewStore(1)
	id := s.Alloc()
	touch := func() (copied bool) {
		p := s.Pages[0]
		s.Touch([]uint32{id})
		return s.Pages[0] != p
	}
	f1 := s.Freeze()
	f2 := s.FreezeAll()
	f2.Release()
	if !touch() {
		t.Fatal("a page that the first snapshot holds was not copied")
	}
	if touch() {
		t.Fatal("a page was copied twice in one round")
	}
	f3 := s.Freeze()
	f1.Release()
	f3.Release()
	if touch() {
		t.Fatal("a released page was copied")
	}
	f4 := s.Freeze()
	s.Unfreeze(f4)
	if !touch() {
		t.Fatal("a page that an aborted snapshot still holds was not copied")
	}
	if s.Memory() > 4096 {
		t.Fatalf("one page takes %d bytes", s.Memory())
	}
}

func TestMergeRefusesBadReferences(t *testing.T) {
	for _, ref := range []uint64{1, 1 << 32, 5<<32 | 1, 4<<32 | 0xffffffff, 0xffffffff << 32} {
		p := NewPage(1)
		ok := p.Merge(1, 1, []uint64{ref}, []byte("")[:0], 1, []int{0})
		if ok {
			t.Errorf("reference %#x into an empty heap was taken", ref)
		}
	}
	if NewPage(2).Merge(3, 3, make([]uint64, 3), nil, 2, nil) {
		t.Error("too few words were taken")
	}
}

// TestLoadIsMergeIntoAnEmptyPage: a page that is read back whole is the one that Merge
// would make, and bad references are refused.
func TestLoadIsMergeIntoAnEmptyPage(t *testing.T) {
	const width = 3
	heaps := []int{1}
	rng := rand.New(rand.NewPCG(3, 4))
	lives := []uint64{0, 1, 1 << 63, ^uint64(0), ^uint64(1), 1<<63 - 1}
	for range 50 {
		lives = append(lives, rng.Uint64()&rng.Uint64())
	}
	for _, live := range lives {
		var heap []byte
		packed := make([]uint64, 0, PageRows*width)
		for slot := range PageRows {
			if live>>slot&1 == 0 {
				continue
			}
			b := bytes.Repeat([]byte{byte(slot)}, rng.IntN(9))
			packed = append(packed, rng.Uint64(), uint64(len(heap))<<32|uint64(len(b)), uint64(slot))
			heap = append(heap, b...)
		}
		want := NewPage(width)
		if !want.Merge(^uint64(0), live, packed, heap, width, heaps) {
			t.Fatal("merge refused a good page")
		}
		w := make([]uint64, PageRows*width)
		copy(w, packed)
		var got Page
		if !got.Load(live, w, bytes.Clone(heap), width, heaps) {
			t.Fatalf("live %#x: refused", live)
		}
		for slot := range PageRows {
			x, y := got.Record(slot, width), want.Record(slot, width)
			if x[0] != y[0] || x[2] != y[2] || !bytes.Equal(got.Bytes(x[1]), want.Bytes(y[1])) {
				t.Fatalf("live %#x, record %d: %v, want %v", live, slot, x, y)
			}
		}
		if got.Live != live || got.waste != 0 {
			t.Fatalf("live %#x, waste %d", got.Live, got.waste)
		}
	}
	for _, ref := range []uint64{4, 3<<32 | 1, 2<<32 | 2, 0xffffffff<<32 | 1} {
		w := make([]uint64, PageRows)
		w[0] = ref
		if ok := new(Page).Load(1, w, []byte("abc"), 1, []int{0}); ok {
			t.Errorf("reference %#x was taken", ref)
		}
	}
}
