package vec

import "github.com/streamsql/streamsql/internal/types"

// Op says what a row of a changelog does.
type Op uint8

const (
	// Insert adds a row.
	Insert Op = iota
	// Delete removes a row equal to this one.
	Delete
	// UpdateBefore is the old half of an update: a delete whose insert follows in
	// the next row.
	UpdateBefore
	// UpdateAfter is the new half of an update.
	UpdateAfter
)

// Sign is +1 for rows that add and -1 for rows that take away.
func (o Op) Sign() int64 {
	if o == Delete || o == UpdateBefore {
		return -1
	}
	return 1
}

// String gives the changelog spelling: +I, -D, -U, +U.
func (o Op) String() string { return [...]string{"+I", "-D", "-U", "+U"}[o&3] }

// Batch is N rows in columns. It is immutable once emitted and has one owner;
// sending passes ownership on, and a second holder calls Retain.
//
// Ops is nil when every row is an Insert. UpdateBefore and UpdateAfter stand next to
// each other, in this order, have the same exchange key and are never split over
// two batches.
//
// Every row carries the watermark of its split before it, by which its lateness is
// judged. RowWM has one entry per row; when it is nil no row of the batch is late
// for any window it belongs to, and WM is a lower bound of what the rows carry.
type Batch struct {
	Cols  []*Vector
	N     int
	Ops   []Op
	WM    int64
	RowWM []int64
}

// NewBatch returns an empty batch with room for n rows of these column types.
func NewBatch(ts []types.Type, n int) *Batch {
	b := &Batch{Cols: make([]*Vector, len(ts)), WM: types.MinTime}
	for i, t := range ts {
		b.Cols[i] = New(t, n)
	}
	return b
}

// Op returns the op of row i.
func (b *Batch) Op(i int) Op {
	if b.Ops == nil {
		return Insert
	}
	return b.Ops[i]
}

// RowWatermark returns the watermark that row i carries.
func (b *Batch) RowWatermark(i int) int64 {
	if b.RowWM == nil {
		return b.WM
	}
	return b.RowWM[i]
}

// Retain adds a holder to every column and returns a batch header of its own.
func (b *Batch) Retain() *Batch {
	nb := &Batch{Cols: make([]*Vector, len(b.Cols)), N: b.N, Ops: b.Ops, WM: b.WM, RowWM: b.RowWM}
	for i, c := range b.Cols {
		nb.Cols[i] = c.Retain()
	}
	return nb
}

// Release gives up the columns.
func (b *Batch) Release() {
	for _, c := range b.Cols {
		c.Release()
	}
	b.Cols = nil
}

// Take returns a new batch with the rows at the positions sel, in that order. The
// caller sees to it that an update pair is taken whole or its ops rewritten.
func (b *Batch) Take(sel []int32) *Batch {
	nb := &Batch{Cols: make([]*Vector, len(b.Cols)), N: len(sel), WM: b.WM}
	for i, c := range b.Cols {
		nb.Cols[i] = c.Take(sel)
	}
	if b.Ops != nil {
		nb.Ops = make([]Op, len(sel))
		for k, i := range sel {
			nb.Ops[k] = b.Ops[i]
		}
	}
	if b.RowWM != nil {
		nb.RowWM = make([]int64, len(sel))
		for k, i := range sel {
			nb.RowWM[k] = b.RowWM[i]
		}
	}
	return nb
}

// AppendSel appends rows of src to b, merging ops and carried watermarks.
func (b *Batch) AppendSel(src *Batch, sel []int32) {
	if len(sel) == 0 {
		return
	}
	for i, c := range b.Cols {
		c.AppendSel(src.Cols[i], sel)
	}
	if src.Ops != nil || b.Ops != nil {
		if b.Ops == nil {
			b.Ops = make([]Op, b.N, b.N+len(sel))
		}
		for _, i := range sel {
			b.Ops = append(b.Ops, src.Op(int(i)))
		}
	}
	if src.RowWM != nil || b.RowWM != nil {
		if b.RowWM == nil {
			b.RowWM = make([]int64, b.N, b.N+len(sel))
			for i := range b.RowWM {
				b.RowWM[i] = b.WM
			}
		}
		for _, i := range sel {
			b.RowWM = append(b.RowWM, src.RowWatermark(int(i)))
		}
	}
	if b.N == 0 || src.WM < b.WM {
		b.WM = src.WM
	}
	b.N += len(sel)
}

// AppendOp records the op of the row just appended to the columns as row N and
// counts it.
func (b *Batch) AppendOp(op Op) {
	if b.Ops != nil || op != Insert {
		if b.Ops == nil {
			b.Ops = make([]Op, b.N, b.N+16)
		}
		b.Ops = append(b.Ops, op)
	}
	b.N++
}

// Size is the memory the rows take, in bytes.
func (b *Batch) Size() int {
	n := len(b.Ops) + 8*len(b.RowWM)
	for _, c := range b.Cols {
		n += c.Size()
	}
	return n
}

// Types lists the column types.
func (b *Batch) Types() []types.Type {
	ts := make([]types.Type, len(b.Cols))
	for i, c := range b.Cols {
		ts[i] = c.Type
	}
	return ts
}
