package operators

import (
	"cmp"
	"slices"

	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
)

// assign appends window_start, window_end and window_time to each row, once for each
// window that holds it and is not closed to it. The halves of an update may end up in
// different windows, so an update leaves as a delete and an insert.
//
// A batch that makes more rows than one call may emit is taken over into the state
// first, row by row, and leaves it as its copies come out: a checkpoint between two
// calls finds there what has not come out. Rows have no key here; they are filed
// under a key group that the subtask owns.
type assign struct {
	win  windows
	time int
	in   []types.Type
	out  []types.Type
	ctx  Context
	wm   int64

	backend *state.Backend
	rest    *state.Table // the rows of batch from row on, once it did not go out at once
	records []uint32     // by row of batch, NoRecord when not in rest

	batch *vec.Batch // being given out, or nil
	row   int
	next  int64 // window of row to go on with; a row's first is found anew
	begun bool  // next is set

	seq    int64
	sel    []int32
	starts []int64
	late   []int32
	encode []byte
}

const (
	restTable = "rest"
	restBytes = 0 // word: the row
	restWM    = 1 // the watermark that it carries
	restOp    = 2
	restNext  = 3 // mark of the window to go on with, 0 for its first
	restWords = 4
)

func newAssign(n *plan.Node, ctx Context) (Operator, error) {
	w, err := newWindows(n.Assign.Window)
	if err != nil {
		return nil, err
	}
	b, err := state.New(state.Decl{Name: restTable, Kind: state.KindKeyed, Keys: []types.Type{types.TBigInt}, Words: restWords,
		Heaps: []int{restBytes}, Values: []string{"row", "watermark", "op", "window"}})
	if err != nil {
		return nil, err
	}
	return &assign{win: w, time: n.Assign.Time, in: ctx.Inputs[0].Types(), out: n.Schema.Types(), ctx: ctx,
		wm: types.MinTime, backend: b, rest: b.Table(restTable)}, nil
}

func (a *assign) State() *state.Backend { return a.backend }

// Pending is true while rows of a batch have not come out.
func (a *assign) Pending() bool { return a.batch != nil || a.rest.Len() > 0 }

func (a *assign) Advance(wm int64) (Output, error) {
	a.wm = wm
	return Output{}, nil
}

func (a *assign) Process(_ int, b *vec.Batch) (Output, error) {
	if b.Cols[a.time].Valid != nil {
		for i := range b.N {
			if b.Cols[a.time].IsNull(i) {
				e := expr.RowError{Row: int32(i), Code: sqlerr.CodeNullTime, Msg: "event time is null"}
				if err := a.ctx.Errors(b, e); err != nil {
					return Output{}, err
				}
			}
		}
	}
	if err := a.countLate(b); err != nil {
		return Output{}, err
	}
	a.batch, a.row, a.begun = b, 0, false
	a.records = a.records[:0]
	return a.some()
}

// countLate reports the rows that are late for all of their windows, and counts those
// that are so for some.
func (a *assign) countLate(b *vec.Batch) error {
	if b.RowWM == nil && a.wm == types.MinTime {
		return nil
	}
	a.late = a.late[:0]
	partly := 0
	for i, t := range b.Cols[a.time].I64[:b.N] {
		wm := a.judge(b, i)
		first, last := a.win.first(t), a.win.last(t)
		switch {
		case first > last || !a.win.closed(first, wm) || b.Cols[a.time].IsNull(i):
		case a.win.closed(last, wm):
			a.late = append(a.late, int32(i))
		default:
			partly++
		}
	}
	if partly > 0 {
		a.ctx.PartlyLate(partly)
	}
	if len(a.late) > 0 {
		return a.ctx.Late(b, a.late)
	}
	return nil
}

// judge is the watermark by which row i is judged.
func (a *assign) judge(b *vec.Batch, i int) int64 {
	if b.RowWM == nil {
		return a.wm
	}
	return max(a.wm, b.RowWM[i])
}

func (a *assign) Resume() (Output, error) {
	if a.batch == nil {
		if a.rest.Len() == 0 {
			return Output{}, nil
		}
		a.load()
	}
	return a.some()
}

// some gives out the next copies.
func (a *assign) some() (Output, error) {
	b := a.batch
	a.sel, a.starts = a.sel[:0], a.starts[:0]
	from := a.row
	for a.row < b.N && len(a.sel) < a.ctx.BatchRows {
		a.copies(b)
	}
	out := a.emit(b)
	if a.row == b.N {
		a.forget(from, a.row)
		a.batch = nil
		b.Release()
		return Output{Batch: out}, nil
	}
	if len(a.records) == 0 {
		a.save()
	} else {
		a.forget(from, a.row)
	}
	a.note()
	return Output{Batch: out, Again: true}, nil
}

// copies lists copies of the current row until there is no room for more.
func (a *assign) copies(b *vec.Batch) {
	col := b.Cols[a.time]
	t, wm := col.I64[a.row], a.judge(b, a.row)
	if !a.begun {
		a.next = max(a.win.first(t), a.noted())
	}
	last := a.win.last(t)
	if col.IsNull(a.row) {
		last = a.next - 1
	}
	for ; a.next <= last; a.next += a.win.Slide {
		if a.win.closed(a.next, wm) {
			continue
		}
		if len(a.sel) == a.ctx.BatchRows {
			a.begun = true
			return
		}
		a.sel, a.starts = append(a.sel, int32(a.row)), append(a.starts, a.next)
	}
	a.row++
	a.begun = false
}

// emit makes the batch of the listed copies.
func (a *assign) emit(b *vec.Batch) *vec.Batch {
	if len(a.sel) == 0 {
		return nil
	}
	out := b.Take(a.sel)
	for i, op := range out.Ops {
		if op.Sign() < 0 {
			out.Ops[i] = vec.Delete
		} else {
			out.Ops[i] = vec.Insert
		}
	}
	for i, p := range []plan.WindowProp{plan.WindowStart, plan.WindowEnd, plan.WindowTime} {
		col := vec.New(a.out[len(a.in)+i], len(a.starts))
		for _, s := range a.starts {
			col.AppendInt64(a.win.prop(p, s))
		}
		out.Cols = append(out.Cols, col)
	}
	return out
}

// save takes the rows of the batch from the current one on into the state.
func (a *assign) save() {
	b := a.batch
	n := b.N - a.row
	seq := vec.New(types.TBigInt, n)
	for range n {
		seq.AppendInt64(a.seq)
		a.seq++
	}
	keys, hashes, ids := []*vec.Vector{seq}, make([]uint64, n), make([]uint32, n)
	vec.HashColumns(keys, n, hashes)
	if groups := uint64(a.ctx.KeyGroups); groups > 1 {
		span := 1 << 63 / groups * 2
		for k := range hashes {
			hashes[k] = uint64(a.ctx.Owned.From)*span + hashes[k]%span
		}
	}
	a.rest.Upsert(hashes, keys, nil, ids)
	cells, base := a.rest.Cells(), a.rest.ValueOffset()
	a.records = a.records[:0]
	for range a.row {
		a.records = append(a.records, state.NoRecord)
	}
	for k, id := range ids {
		i := a.row + k
		a.encode = appendRow(a.encode[:0], b.Cols, i)
		cells.SetBytes(id, base+restBytes, a.encode)
		r := cells.Record(id)[base:]
		r[restWM], r[restOp] = uint64(a.carried(b, i)), uint64(b.Op(i))
		a.records = append(a.records, id)
	}
	seq.Release()
}

// carried is the watermark by which row i is judged, or less when it is not late.
func (a *assign) carried(b *vec.Batch, i int) int64 {
	if b.RowWM == nil {
		return b.WM
	}
	return b.RowWM[i]
}

// forget ends the records of rows that have come out.
func (a *assign) forget(from, to int) {
	for i := from; i < to && i < len(a.records); i++ {
		if a.records[i] != state.NoRecord {
			a.rest.Delete(a.records[i])
		}
	}
}

// note writes down the window with which the current row goes on.
func (a *assign) note() {
	if !a.begun {
		return
	}
	at := [1]uint32{a.records[a.row]}
	a.rest.Cells().Touch(at[:])
	a.rest.Cells().Record(at[0])[a.rest.ValueOffset()+restNext] = mark(a.next)
}

// load makes a batch of the rows that a restore found, in the order in which they
// came.
func (a *assign) load() {
	ids, _, _ := a.rest.Scan(nil, 0, a.rest.Len())
	seq := vec.New(types.TBigInt, len(ids))
	a.rest.AppendKeys(ids, []*vec.Vector{seq})
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	cells, base := a.rest.Cells(), a.rest.ValueOffset()
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(seq.I64[x], seq.I64[y]) })
	b := vec.NewBatch(a.in, len(ids))
	b.RowWM = make([]int64, 0, len(ids))
	a.records = a.records[:0]
	for _, i := range order {
		r := cells.Record(ids[i])[base:]
		readRow(cells.Bytes(ids[i], base+restBytes), b.Cols)
		b.RowWM = append(b.RowWM, int64(r[restWM]))
		b.AppendOp(vec.Op(r[restOp]))
		a.records = append(a.records, ids[i])
		a.seq = max(a.seq, seq.I64[i]+1)
	}
	a.batch, a.row, a.begun = b, 0, false
}

// noted is the window that the record of the current row, if any, goes on with.
func (a *assign) noted() int64 {
	if a.row >= len(a.records) || a.records[a.row] == state.NoRecord {
		return types.MinTime
	}
	return int64(a.rest.Cells().Record(a.records[a.row])[a.rest.ValueOffset()+restNext] ^ 1<<63)
}
