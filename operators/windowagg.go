package operators

import (
	"slices"

	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
)

// windowAgg groups by window and keys and gives each window once, when the
// watermark closes it, oldest first.
//
// Rows are kept in buckets. Where each row belongs to one window, or accumulators do
// not merge, a bucket is a window. Otherwise it is a pane, a stretch of time that no
// window's border divides, which the windows over it share and merge when they fire;
// a row that is late for some of the windows over its pane goes to side buckets, one
// for each window still open to it, and is merged with those.
//
// A firing may stretch over many calls with a checkpoint between any two of them.
// What has come out is noted in the records as soon as a call ends inside a window,
// so that a restore, at whatever parallelism, goes on behind it.
type windowAgg struct {
	router
	aggs   *aggregates
	keys   []int
	props  []plan.WindowProp
	schema types.Schema
	ctx    Context

	backend *state.Backend
	buckets *state.Timed   // windows or panes, by start
	childs  []*state.Timed // of buckets, by distinct argument
	sides   *state.Timed   // by start of the window; nil without panes
	scratch *state.Timed   // no part of the state: the window being merged

	wm     int64
	before int64 // the watermark before wm, which rows that fire now carry
	fire   firing

	hashes  []uint64
	keyCols []*vec.Vector
	ids     []uint32
	signs   []int8
}

// Value words of a record, before the accumulators.
const (
	// outWord notes what of the record has come out: not 0 in a window's bucket, in a
	// pane the mark of the newest window.
	outWord = rowsWord + 1
	// windowWord, in scratch records, is the mark of the window they hold, and newestWord
	// the number of the last source and its record that were merged in.
	windowWord = outWord + 1
	newestWord = windowWord + 1
)

const (
	bucketsTable = "windows"
	sidesTable   = "sides"
	scratchTable = "scratch"
)

func newWindowAgg(n *plan.Node, ctx Context) (Operator, error) {
	spec, in := n.WindowAgg, ctx.Inputs[0]
	win, err := newWindows(spec.Window)
	if err != nil {
		return nil, err
	}
	aggs, err := newAggregates(spec.Aggs, in, false, "rows", "out")
	if err != nil {
		return nil, err
	}
	w := &windowAgg{router: router{win: win, time: spec.Time}, aggs: aggs, keys: spec.Keys, props: spec.Props,
		schema: n.Schema, ctx: ctx, wm: types.MinTime, before: types.MinTime}
	keys := typesOf(in, spec.Keys)
	decls := aggs.decls(bucketsTable, state.KindTimed, keys, in)
	if w.router.choose(aggs.mergeable()) {
		side := decls[0]
		side.Name = sidesTable
		decls = append(decls, side)
		if err := w.newScratch(spec, in, keys); err != nil {
			return nil, err
		}
	}
	if w.backend, err = state.New(decls...); err != nil {
		return nil, err
	}
	w.buckets = w.backend.Timed(bucketsTable)
	w.sides = w.backend.Timed(sidesTable)
	for _, d := range aggs.distincts {
		w.childs = append(w.childs, w.backend.Timed(d.table(bucketsTable)))
	}
	return w, nil
}

// newScratch makes the table that windows are merged in: the layout of the buckets
// with two more words.
func (w *windowAgg) newScratch(spec *plan.WindowAgg, in types.Schema, keys []types.Type) error {
	m, err := newAggregates(spec.Aggs, in, false, "rows", "out", "window", "newest")
	if err != nil {
		return err
	}
	b, err := state.New(m.decls(scratchTable, state.KindTimed, keys, in)...)
	if err != nil {
		return err
	}
	w.fire.aggs, w.scratch = m, b.Timed(scratchTable)
	w.fire.places, w.fire.spelt = make(map[int64][]uint32), slices.ContainsFunc(keys, manySpellings)
	return nil
}

// manySpellings: equal keys of the type may differ, so that which one comes out is to
// be seen.
func manySpellings(t types.Type) bool {
	switch t.Kind {
	case types.Real, types.Double, types.Interval, types.JSON:
		return true
	}
	return false
}

func (w *windowAgg) State() *state.Backend { return w.backend }

// Held implements Holder: what windows over panes are merged in.
func (w *windowAgg) Held() int {
	if w.scratch == nil {
		return 0
	}
	n := w.scratch.Memory() + 4*cap(w.fire.order)
	for _, to := range w.fire.places {
		n += 4 * cap(to)
	}
	return n
}

// Process puts the rows into their buckets.
func (w *windowAgg) Process(_ int, b *vec.Batch) (Output, error) {
	defer b.Release()
	if b.N == 0 {
		return Output{}, nil
	}
	if err := w.aggs.begin(b); err != nil {
		return Output{}, err
	}
	routes, err := w.route(b, w.wm, &w.ctx)
	if err != nil {
		return Output{}, err
	}
	w.keyCols = columns(b, w.keys, w.keyCols)
	w.hashes = grow(w.hashes, b.N)
	vec.HashColumns(w.keyCols, b.N, w.hashes)
	w.signs = signsOf(b, w.signs)
	for i := range routes {
		r := &routes[i]
		n := len(r.sel)
		if r.all {
			n = b.N
		}
		if n == 0 {
			continue
		}
		s := subset{sel: r.sel, ids: grow(w.ids, n), signs: w.signs}
		w.ids = s.ids
		if r.all {
			s.sel = nil
		} else if b.Ops != nil {
			s.signs = make([]int8, n)
			for k, row := range r.sel {
				s.signs[k] = w.signs[row]
			}
		}
		w.add(b, r, s)
	}
	return Output{}, nil
}

// add folds the rows of one route into its bucket.
func (w *windowAgg) add(b *vec.Batch, r *route, s subset) {
	timed := w.buckets
	if r.side {
		timed = w.sides
	}
	t := timed.At(r.start)
	if len(w.keys) == 0 {
		t.Upsert(w.hashes, nil, s.sel, s.ids[:1])
		for k := range s.ids {
			s.ids[k] = s.ids[0]
		}
		t.Cells().Touch(s.ids[:1])
	} else {
		t.Upsert(w.hashes, w.keyCols, s.sel, s.ids)
		t.Cells().Touch(s.ids)
	}
	w.aggs.update(b, s, t, func(i int) *state.Table { return w.childs[i].At(r.start) })
}

// Advance fires what wm closes.
func (w *windowAgg) Advance(wm int64) (Output, error) {
	if wm <= w.wm {
		return Output{}, nil
	}
	w.before, w.wm = w.wm, wm
	return w.Resume()
}

// Pending is true inside a firing.
func (w *windowAgg) Pending() bool { return w.fire.more }
