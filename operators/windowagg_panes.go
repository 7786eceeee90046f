package operators

import (
	"slices"

	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/vec"
)

// The firing of a window over panes has two halves. First its panes and its side
// bucket are merged in the scratch table; this leaves the state alone, so a restore
// merges again. Then the scratch records come out, and with each the newest record of
// its key, which the next windows will merge too, is marked with the window. At the
// end the panes that no later window needs are dropped. A window that is merged again
// after a restore passes over the keys marked with it or with a later one.
//
// The scratch table outlives the window. A pane is looked up in it by key for its first
// window; for the others its records are known to lie where they lay. Only where: each
// window merges all of its sources anew, and gives keys in the order in which it met
// them, so that nothing that comes out depends on the windows before.

// mark is a window's start as a word that grows with it; 0 is no window.
func mark(start int64) uint64 { return uint64(start) ^ 1<<63 }

// stepPanes takes the oldest closed window one step on; more is false when none is
// left.
func (w *windowAgg) stepPanes(out *vec.Batch) (more bool, err error) {
	f := &w.fire
	if !f.open && !w.openWindow() {
		return false, nil
	}
	if f.next < len(f.sources) {
		w.mergeSome()
		return true, nil
	}
	return true, w.giveSome(out)
}

// source is what a window is merged from: a pane or its side bucket.
type source struct {
	*state.Table
	start int64
	side  bool
	to    []uint32 // by record: the scratch record of its key
	known bool     // to is filled
}

// openWindow begins the oldest window that is closed, has not fired and has rows.
func (w *windowAgg) openWindow() bool {
	f := &w.fire
	start, ok := w.nextWindow()
	if !ok || !w.win.closed(start, w.wm) {
		return false
	}
	f.open, f.start, f.next, f.cursor = true, start, 0, 0
	f.sources, f.order = f.sources[:0], f.order[:0]
	if t := w.sides.Get(start); t != nil {
		f.sources = append(f.sources, source{Table: t, side: true})
	}
	for p := start; p < start+w.win.Size; p += w.pane {
		if t := w.buckets.Get(p); t != nil {
			to := f.places[p]
			known := len(to) == int(t.Cells().Cap())
			f.sources = append(f.sources, source{Table: t, start: p, to: to, known: known})
		}
	}
	w.scratch.At(0).Reserve(f.groups)
	return true
}

// nextWindow is the oldest window that has rows and, as far as memory goes, has not
// fired.
func (w *windowAgg) nextWindow() (start int64, ok bool) {
	f := &w.fire
	start, ok = w.sides.First()
	for _, p := range w.buckets.Buckets() {
		first := w.win.first(p)
		if f.fired {
			first = max(first, f.newest+w.win.Slide)
		}
		if first > w.win.last(p) {
			continue
		}
		if !ok || first < start {
			start = first
		}
		return start, true
	}
	return start, ok
}

// mergeSome folds some records of the next source into the scratch table.
func (w *windowAgg) mergeSome() {
	f := &w.fire
	src, dst := &f.sources[f.next], w.scratch.At(0)
	ids, next, done := src.Scan(f.ids[:0], f.cursor, scanRows)
	f.ids, f.cursor = ids, next
	w.ids = grow(w.ids, len(ids))
	if src.known {
		for k, id := range ids {
			w.ids[k] = src.to[id]
		}
	} else if len(ids) > 0 {
		w.lookUp(src, dst, ids)
	}
	w.mergeRecords(dst, w.ids, src.Table, ids)
	if !done {
		return
	}
	if !src.known && !src.side {
		f.places[src.start] = src.to
	}
	f.next, f.cursor = f.next+1, 0
}

// lookUp finds or makes the scratch records of some records of a source, in w.ids.
func (w *windowAgg) lookUp(src *source, dst *state.Table, ids []uint32) {
	w.keyCols = w.keyCols[:0]
	for i := range w.keys {
		w.keyCols = append(w.keyCols, vec.New(w.schema[i].Type, len(ids)))
	}
	src.AppendKeys(ids, w.keyCols)
	w.hashes = src.AppendHashes(ids, w.hashes[:0])
	dst.Upsert(w.hashes, w.keyCols, nil, w.ids)
	for _, v := range w.keyCols {
		v.Release()
	}
	src.to = grow(src.to, int(src.Cells().Cap()))
	for k, id := range ids {
		src.to[id] = w.ids[k]
	}
}

func (w *windowAgg) mergeRecords(dst *state.Table, to []uint32, src *state.Table, from []uint32) {
	f := &w.fire
	dc, db, sc, sb := dst.Cells(), dst.ValueOffset(), src.Cells(), src.ValueOffset()
	m := mark(f.start)
	for k, id := range from {
		r := dc.Record(to[k])[db:]
		if r[windowWord] != m {
			clear(r)
			r[windowWord] = m
			f.order = append(f.order, to[k])
		}
		r[outWord] = max(r[outWord], sc.Record(id)[sb+outWord])
		r[newestWord] = uint64(f.next)<<32 | uint64(id)
	}
	f.aggs.merge(dst, to, w.aggs, src, from)
}

// giveSome gives out some scratch records and ends the window after the last.
func (w *windowAgg) giveSome(out *vec.Batch) error {
	f := &w.fire
	t := w.scratch.At(0)
	rest := f.order[f.cursor:]
	rest = rest[:min(len(rest), scanRows, w.ctx.BatchRows-out.N)]
	f.ids, f.cursor = append(f.ids[:0], rest...), f.cursor+uint32(len(rest))
	cells, base, m := t.Cells(), t.ValueOffset(), mark(f.start)
	give := f.ids[:0]
	for _, id := range f.ids {
		r := cells.Record(id)[base:]
		if r[outWord] >= m {
			continue
		}
		// A key whose rows were all taken back is marked too: merged again it might lack
		// the side bucket that took them back.
		newest := r[newestWord]
		src := f.sources[newest>>32].Table
		at := [1]uint32{uint32(newest)}
		src.Cells().Touch(at[:])
		src.Cells().Record(at[0])[src.ValueOffset()+outWord] = m
		if int64(r[rowsWord]) > 0 {
			give = append(give, id)
		}
	}
	if err := w.give(out, f.aggs, t, f.start, give); err != nil {
		return err
	}
	if int(f.cursor) == len(f.order) {
		w.closeWindow()
	}
	return nil
}

// closeWindow drops what no later window needs.
func (w *windowAgg) closeWindow() {
	f := &w.fire
	f.open, f.fired, f.newest = false, true, f.start
	f.sources = slices.Delete(f.sources, 0, len(f.sources))
	f.groups = len(f.order)
	w.sides.Drop(f.start)
	for p, ok := w.buckets.First(); ok && w.win.last(p) <= f.start; p, ok = w.buckets.First() {
		w.buckets.Drop(p)
		delete(f.places, p)
	}
	if _, more := w.buckets.First(); !more || f.spelt || w.scratch.At(0).Len() > 2*f.groups {
		w.scratch.Drop(0)
		clear(f.places)
	}
}
