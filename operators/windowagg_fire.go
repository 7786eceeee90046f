package operators

import (
	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
)

// firing is how far the windows that the watermark closed have come out. None of it
// is state: a restore begins anew and passes over what the records say is out.
type firing struct {
	more   bool // Again was said
	cursor uint32
	ids    []uint32

	// With panes: the window being merged or given out, and what it is merged from.
	aggs    *aggregates
	open    bool
	start   int64
	sources []source
	next    int      // of sources, to be merged
	order   []uint32 // the scratch records of the window, as they were met
	fired   bool
	newest  int64              // the newest window that has fired, when fired
	groups  int                // of the last window: the next one has about as many
	places  map[int64][]uint32 // by pane and record: the scratch record
	spelt   bool               // equal keys may differ: places are good for one window
}

// scanRows is the number of records that one step of a firing looks at, and stepCost
// what a step costs beside, in records.
const (
	scanRows = 1024
	stepCost = 16
)

// Resume gives the next batch of the firing.
func (w *windowAgg) Resume() (Output, error) {
	var out *vec.Batch
	more := true
	for budget := 4 * w.ctx.BatchRows; budget > 0 && more && (out == nil || out.N < w.ctx.BatchRows); {
		if out == nil {
			out = vec.NewBatch(w.schema.Types(), 0)
			out.WM = w.before
		}
		var err error
		if w.panes {
			more, err = w.stepPanes(out)
		} else {
			more, err = w.stepWindow(out)
		}
		if err != nil {
			return Output{}, err
		}
		budget -= stepCost + len(w.fire.ids)
	}
	w.fire.more = more
	if out != nil && out.N == 0 {
		out.Release()
		out = nil
	}
	return Output{Batch: out, Again: more}, nil
}

// stepWindow gives some records of the oldest window; more is false when no closed
// window is left.
func (w *windowAgg) stepWindow(out *vec.Batch) (more bool, err error) {
	start, ok := w.buckets.First()
	if !ok || !w.win.closed(start, w.wm) {
		return false, nil
	}
	f, t := &w.fire, w.buckets.Get(start)
	ids, next, done := t.Scan(f.ids[:0], f.cursor, min(scanRows, w.ctx.BatchRows-out.N))
	f.ids = ids
	cells, base := t.Cells(), t.ValueOffset()
	give := ids[:0]
	for _, id := range ids {
		if cells.Record(id)[base+outWord] == 0 && rows(t, id) > 0 {
			give = append(give, id)
		}
	}
	if err := w.give(out, w.aggs, t, start, give); err != nil {
		return false, err
	}
	if done {
		f.cursor = 0
		w.buckets.Drop(start)
		return true, nil
	}
	f.cursor = next
	cells.Touch(give)
	for _, id := range give {
		cells.Record(id)[base+outWord] = 1
	}
	return true, nil
}

// give appends the rows of a window to out.
func (w *windowAgg) give(out *vec.Batch, aggs *aggregates, t *state.Table, start int64, ids []uint32) error {
	if len(ids) == 0 {
		return nil
	}
	k, a := len(w.keys), len(aggs.calls)
	t.AppendKeys(ids, out.Cols[:k])
	if err := aggs.emit(t, ids, out.Cols[k:k+a], nil); err != nil {
		return err
	}
	for i, p := range w.props {
		w.giveProp(out.Cols[k+a+i], p, start, len(ids))
	}
	out.N += len(ids)
	return nil
}

func (w *windowAgg) giveProp(col *vec.Vector, p plan.WindowProp, start int64, n int) {
	x := w.win.prop(p, start)
	vals := col.AppendInt64s(n)
	for i := range vals {
		vals[i] = x
	}
}
