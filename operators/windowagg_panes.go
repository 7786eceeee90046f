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

// openWindow begins the oldest window that is closed, has not fired and has rows.
func (w *windowAgg) openWindow() bool {
	f := &w.fire
	start, ok := w.nextWindow()
	if !ok || !w.win.closed(start, w.wm) {
		return false
	}
	f.open, f.start, f.next, f.cursor = true, start, 0, 0
	f.sources = f.sources[:0]
	if t := w.sides.Get(start); t != nil {
		f.sources = append(f.sources, t)
	}
	for p := start; p < start+w.win.Size; p += w.pane {
		if t := w.buckets.Get(p); t != nil {
			f.sources = append(f.sources, t)
		}
	}
	w.scratch.At(start).Reserve(f.groups)
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
	src, dst := f.sources[f.next], w.scratch.At(f.start)
	ids, next, done := src.Scan(f.ids[:0], f.cursor, scanRows)
	f.ids, f.cursor = ids, next
	if len(ids) > 0 {
		w.keyCols = w.keyCols[:0]
		for i := range w.keys {
			w.keyCols = append(w.keyCols, vec.New(w.schema[i].Type, len(ids)))
		}
		src.AppendKeys(ids, w.keyCols)
		w.hashes, w.ids = src.AppendHashes(ids, w.hashes[:0]), grow(w.ids, len(ids))
		dst.Upsert(w.hashes, w.keyCols, nil, w.ids)
		dst.Cells().Touch(w.ids)
		w.mergeRecords(dst, w.ids, src, ids)
		for _, v := range w.keyCols {
			v.Release()
		}
	}
	if done {
		f.next, f.cursor = f.next+1, 0
	}
}

func (w *windowAgg) mergeRecords(dst *state.Table, to []uint32, src *state.Table, from []uint32) {
	f := &w.fire
	dc, db, sc, sb := dst.Cells(), dst.ValueOffset(), src.Cells(), src.ValueOffset()
	for k, id := range from {
		r := dc.Record(to[k])[db:]
		r[outWord] = max(r[outWord], sc.Record(id)[sb+outWord])
		r[lastWord], r[idWord] = uint64(f.next), uint64(id)
	}
	f.aggs.merge(dst, to, w.aggs, src, from)
}

// giveSome gives out some scratch records and ends the window after the last.
func (w *windowAgg) giveSome(out *vec.Batch) error {
	f := &w.fire
	t := w.scratch.At(f.start)
	ids, next, done := t.Scan(f.ids[:0], f.cursor, min(scanRows, w.ctx.BatchRows-out.N))
	f.ids, f.cursor = ids, next
	cells, base, m := t.Cells(), t.ValueOffset(), mark(f.start)
	give := ids[:0]
	for _, id := range ids {
		if r := cells.Record(id)[base:]; r[outWord] < m && int64(r[rowsWord]) > 0 {
			give = append(give, id)
		}
	}
	if err := w.give(out, f.aggs, t, f.start, give); err != nil {
		return err
	}
	for _, id := range give {
		r := cells.Record(id)[base:]
		src := f.sources[r[lastWord]]
		at := [1]uint32{uint32(r[idWord])}
		src.Cells().Touch(at[:])
		src.Cells().Record(at[0])[src.ValueOffset()+outWord] = m
	}
	if done {
		w.closeWindow()
	}
	return nil
}

// closeWindow drops what no later window needs.
func (w *windowAgg) closeWindow() {
	f := &w.fire
	f.open, f.fired, f.newest = false, true, f.start
	f.sources = slices.Delete(f.sources, 0, len(f.sources))
	f.groups = w.scratch.At(f.start).Len()
	w.scratch.Drop(f.start)
	w.sides.Drop(f.start)
	for p, ok := w.buckets.First(); ok && w.win.last(p) <= f.start; p, ok = w.buckets.First() {
		w.buckets.Drop(p)
	}
}
