package operators

import (
	"slices"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/vec"
)

// router finds the buckets of rows and judges their lateness.
type router struct {
	win   windows
	time  int   // input column
	panes bool  // buckets are panes
	pane  int64 // length of a pane

	routes []route
	recent int           // the route used last
	index  map[place]int // of routes, once there are many
	late   []int32
}

// place names a bucket.
type place struct {
	side  bool
	start int64
}

// route is the rows of a batch that go to one bucket.
type route struct {
	place
	// from and to are the times whose rows go the same way, and until is the watermark
	// from which on they do not: some window over them is closed.
	from, to, until int64
	all             bool // every row of the batch
	sel             []int32
}

// maxPanes bounds how many panes a window is cut into, as a multiple of the number of
// windows over a row, before one bucket a window is cheaper.
const maxPanes = 2

// choose decides between panes and whole windows.
func (r *router) choose(mergeable bool) (panes bool) {
	w := r.win
	r.pane = gcd(w.Size, w.Slide)
	over := (w.Size + w.Slide - 1) / w.Slide
	r.panes = mergeable && over > 1 && w.Size/r.pane <= maxPanes*over
	return r.panes
}

// route sorts the rows of b into buckets and reports those that are late for all of
// their windows or have no time. wm is the operator's own watermark: it exceeds what
// a row carries only when the row's split was left out as idle.
func (r *router) route(b *vec.Batch, wm int64, ctx *Context) ([]route, error) {
	r.routes, r.late, r.recent = r.routes[:0], r.late[:0], 0
	clear(r.index)
	times := b.Cols[r.time]
	if b.RowWM == nil && times.Valid == nil && r.whole(times.I64[:b.N], wm) {
		return r.routes, nil
	}
	partly := 0
	for i, t := range times.I64[:b.N] {
		if times.IsNull(i) {
			e := expr.RowError{Row: int32(i), Code: sqlerr.CodeNullTime, Msg: "event time is null"}
			if err := ctx.Errors(b, e); err != nil {
				return nil, err
			}
			continue
		}
		eff := wm
		if b.RowWM != nil {
			eff = max(wm, b.RowWM[i])
		}
		if !r.again(t, eff, int32(i)) && r.place(t, eff, int32(i)) {
			partly++
		}
	}
	if partly > 0 {
		ctx.PartlyLate(partly)
	}
	if len(r.late) > 0 {
		return r.routes, ctx.Late(b, r.late)
	}
	return r.routes, nil
}

// whole handles the batch whose rows all go the same way, which ordered input mostly
// gives.
func (r *router) whole(times []int64, wm int64) bool {
	lo, hi := times[0], times[0]
	for _, t := range times {
		lo, hi = min(lo, t), max(hi, t)
	}
	first, last := r.win.first(lo), r.win.last(lo)
	if first > last || r.win.closed(first, wm) {
		return false
	}
	if r.panes {
		start := floor(lo, r.win.Offset, r.pane)
		if hi >= start+r.pane {
			return false
		}
		r.routes = append(r.routes, route{place: place{start: start}, all: true})
		return true
	}
	if r.win.first(hi) != first || r.win.last(hi) != last {
		return false
	}
	for s := first; s <= last; s += r.win.Slide {
		r.routes = append(r.routes, route{place: place{start: s}, all: true})
	}
	return true
}

// again puts a row where the row before it went, if it goes to that one bucket too.
func (r *router) again(t, wm int64, row int32) bool {
	if len(r.routes) == 0 {
		return false
	}
	x := &r.routes[r.recent]
	if t < x.from || t >= x.to || wm >= x.until {
		return false
	}
	x.sel = append(x.sel, row)
	return true
}

// place puts a row into its buckets; partly says that some of its windows are closed
// to it and some are not.
func (r *router) place(t, wm int64, row int32) (partly bool) {
	w := r.win
	first, last := w.first(t), w.last(t)
	if first > last {
		return false
	}
	if !w.closed(first, wm) && (r.panes || first == last) {
		x := route{place: place{start: first}, until: first + w.Size - w.Tick}
		switch {
		case r.panes:
			x.start = floor(t, w.Offset, r.pane)
			x.from, x.to = x.start, x.start+r.pane
		case w.Size <= w.Slide:
			x.from, x.to = first, first+w.Size
		}
		r.put(x, row)
		return false
	}
	closed := 0
	for s := first; s <= last; s += w.Slide {
		if w.closed(s, wm) {
			closed++
			continue
		}
		r.put(route{place: place{r.panes, s}}, row)
	}
	if s := (last-first)/w.Slide + 1; int64(closed) == s {
		r.late = append(r.late, row)
		return false
	}
	return closed > 0
}

// fewRoutes is how many routes are searched one by one.
const fewRoutes = 16

// put adds a row to the route of a bucket.
func (r *router) put(x route, row int32) {
	i := r.find(x.place)
	if n := len(r.routes); i == n {
		if n < cap(r.routes) {
			x.sel = r.routes[: n+1 : n+1][n].sel[:0]
		}
		r.routes = append(r.routes, x)
	}
	r.routes[i].sel = append(r.routes[i].sel, row)
	r.recent = i
}

// find is the route to a place, or the number of the next one.
func (r *router) find(p place) int {
	n := len(r.routes)
	if n < fewRoutes {
		if i := slices.IndexFunc(r.routes, func(x route) bool { return x.place == p }); i >= 0 {
			return i
		}
		return n
	}
	if len(r.index) == 0 {
		r.index = make(map[place]int)
		for i := range r.routes {
			r.index[r.routes[i].place] = i
		}
	}
	i, ok := r.index[p]
	if !ok {
		r.index[p] = n
		return n
	}
	return i
}
