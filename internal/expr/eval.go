package expr

import (
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// selection is a set of rows of a frame. Two selections are the same set only when
// they are the same pointer of the same Run.
type selection struct{ rows []int32 }

// frame is a set of rows over which nodes are evaluated: the batch (0), or the rows
// that the predicate selected, gathered (1).
type frame struct {
	id    int
	n     int
	batch *vec.Batch
	rows  []int32 // of frame 1: the row of the batch for each row
	tmp   vec.Bitmap
}

// nodeState is what a node knows in one frame.
type nodeState struct {
	res  *vec.Vector
	full bool       // res holds a value for every row of the frame
	sel  *selection // else for these

	own     bool // res is from the pool and the Program holds it
	scratch *vec.Vector
	valid   vec.Bitmap // scratch for res.Valid
	t, f    vec.Bitmap // scratch of AND and OR
	choice  []int32    // scratch of CASE and COALESCE
	fresh   bool       // res is a pooled vector, which needs a bitmap of its own
}

func (n *node) state(f *frame) *nodeState { return &n.states[f.id] }

// validity returns a bitmap of n bits, set when ones is.
func (st *nodeState) validity(n int, ones bool) vec.Bitmap {
	var b vec.Bitmap
	if st.fresh {
		b = vec.NewBitmap(n)
	} else {
		st.valid = sized(st.valid, vec.Words(n))
		b = st.valid
	}
	if ones {
		b.SetFirst(n)
	}
	return b
}

// sized returns s with n zeroed words.
func sized(s vec.Bitmap, n int) vec.Bitmap {
	if cap(s) < n {
		return make(vec.Bitmap, n)
	}
	s = s[:n]
	clear(s)
	return s
}

func (p *Program) begin(b *vec.Batch, errs *RowErrors) {
	p.nsels = 0
	p.kctx.errs = errs
	f := &p.frames[0]
	f.batch, f.n, f.rows = b, b.N, nil
	for _, n := range p.nodes {
		for i := range n.states {
			n.states[i].res, n.states[i].full, n.states[i].sel = nil, false, nil
		}
	}
}

// narrow sets up frame 1 for the selected rows.
func (p *Program) narrow(sel []int32) *frame {
	f := &p.frames[1]
	f.n, f.rows, f.batch = len(sel), sel, p.frames[0].batch
	return f
}

// end gives up the Program's hold on pooled vectors and on the batch.
func (p *Program) end() {
	for _, n := range p.nodes {
		for i := range n.states {
			if st := &n.states[i]; st.own {
				st.res.Release()
				st.res, st.own = nil, false
			}
		}
	}
	for _, v := range p.retired {
		v.Release()
	}
	p.retired = p.retired[:0]
	p.frames[0].batch, p.frames[1].batch = nil, nil
}

// newSelection returns an empty selection.
func (p *Program) newSelection() *selection {
	if p.nsels == len(p.sels) {
		p.sels = append(p.sels, &selection{})
	}
	s := p.sels[p.nsels]
	p.nsels++
	s.rows = s.rows[:0]
	return s
}

// result evaluates an output for all rows of f and returns a vector that the caller
// holds.
func (p *Program) result(f *frame, n *node) *vec.Vector {
	v := p.eval(f, n, nil)
	st := n.state(f)
	if st.own && n.typ.Kind == types.Bool {
		maskTail(v.Bits, f.n)
	}
	switch {
	case n.op == opColumn || st.own:
		return v.Retain()
	case n.op == opRetype:
		inner := n
		for inner.op == opRetype && !inner.state(f).own {
			inner = inner.args[0]
		}
		if ist := inner.state(f); inner.op == opColumn || ist.own {
			return ist.res.AsType(n.typ)
		}
	}
	out := vec.New(n.typ, f.n)
	appendAll(out, v, f.n)
	return out
}

// appendAll copies the first n values of src to the empty dst.
func appendAll(dst, src *vec.Vector, n int) {
	dst.Resize(n)
	switch dst.Type.Phys() {
	case types.PBool:
		copy(dst.Bits, src.Bits[:vec.Words(n)])
	case types.PInt64:
		copy(dst.I64, src.I64[:n])
	case types.PFloat64:
		copy(dst.F64, src.F64[:n])
	case types.PInt128:
		copy(dst.I128, src.I128[:n])
	case types.PBytes:
		dst.Off = append(dst.Off[:0], src.Off[:n+1]...)
		dst.Data = append(dst.Data[:0], src.Data[:src.Off[n]]...)
		dst.Len = n
	case types.PInterval:
		copy(dst.Iv, src.Iv[:n])
	}
	maskTail(dst.Bits, n)
	if src.Valid != nil {
		dst.Valid = vec.NewBitmap(n)
		copy(dst.Valid, src.Valid)
		maskTail(dst.Valid, n)
	}
}

// maskTail clears the bits from n on.
func maskTail(b vec.Bitmap, n int) {
	for w := n >> 6; w < len(b); w++ {
		if r := n - w<<6; r > 0 {
			b[w] &= 1<<uint(r) - 1
		} else {
			b[w] = 0
		}
	}
}

// worthWhole is the cost up to which a shared expression that cannot fail is evaluated
// for all rows at its first use: the next use will want others.
const worthWhole = 16

// eval returns n's values for the rows sel of f (nil: all of them), each at its row's
// position. Values of other rows are unspecified.
func (p *Program) eval(f *frame, n *node, sel *selection) *vec.Vector {
	st := n.state(f)
	if st.res != nil && (st.full || sel != nil && st.sel == sel) {
		return st.res
	}
	if n.op == opColumn {
		return p.column(f, n, st)
	}
	if f.id == 1 && n.states[0].full && n.op != opConst {
		p.gather(n, st, n.states[0].res, f)
		return st.res
	}
	if sel != nil && n.uses > 1 && !n.raises && (n.cost <= worthWhole || 2*len(sel.rows) >= f.n) {
		sel = nil
	}
	if st.res != nil {
		p.retire(n, st)
	}
	switch n.op {
	case opConst:
		p.constant(f, n, st)
		sel = nil
	case opCall:
		p.call(f, n, st, sel)
	case opRetype:
		a := p.eval(f, n.args[0], sel)
		if st.scratch == nil {
			st.scratch = &vec.Vector{}
		}
		s := st.scratch
		s.Type, s.Len, s.Valid = n.typ, a.Len, a.Valid
		s.Bits, s.I64, s.F64, s.I128, s.Off, s.Data, s.Iv = a.Bits, a.I64, a.F64, a.I128, a.Off, a.Data, a.Iv
		st.res = s
	case opAnd, opOr:
		p.logic(f, n, st, sel)
	case opCase, opCoalesce:
		p.choose(f, n, st, sel)
	}
	st.full, st.sel = sel == nil, sel
	return st.res
}

// retire keeps a result that holds only some rows, and that somebody may still read,
// until the end of the Run, so that n can be evaluated for other rows.
func (p *Program) retire(n *node, st *nodeState) {
	if n.op != opRetype {
		p.retired = append(p.retired, st.res)
	}
	*st = nodeState{}
}

func (p *Program) column(f *frame, n *node, st *nodeState) *vec.Vector {
	src := f.batch.Cols[n.col]
	st.full = true
	if f.id == 0 {
		st.res = src
		return src
	}
	p.gather(n, st, src, f)
	return st.res
}

// gather fills frame 1's result from frame 0's.
func (p *Program) gather(n *node, st *nodeState, src *vec.Vector, f *frame) {
	st.res, st.own, st.full = gatherRows(src, f.rows), true, true
}

// target returns an empty vector for n's result in f.
func (p *Program) target(f *frame, n *node, st *nodeState) *vec.Vector {
	if n.output {
		st.fresh, st.own = true, true
		st.res = vec.New(n.typ, f.n)
	} else {
		if st.scratch == nil {
			st.scratch = vec.New(n.typ, f.n)
		}
		st.res = st.scratch
	}
	st.res.Resize(f.n)
	return st.res
}

// constant fills a vector with one value, keeping it from batch to batch.
func (p *Program) constant(f *frame, n *node, st *nodeState) {
	if st.scratch != nil && st.scratch.Len >= f.n {
		st.res = st.scratch
		return
	}
	st.scratch = vec.New(n.typ, f.n)
	for range f.n {
		st.scratch.AppendValue(n.val)
	}
	st.res = st.scratch
}

func (p *Program) call(f *frame, n *node, st *nodeState, sel *selection) {
	if cap(n.vecs) < len(n.args) {
		n.vecs = make([]*vec.Vector, len(n.args))
	}
	args := n.vecs[:len(n.args)]
	for i, a := range n.args {
		args[i] = p.eval(f, a, sel)
	}
	out := p.target(f, n, st)
	if n.strict {
		for i, a := range args {
			if a.Valid == nil || n.args[i].op == opConst && !n.args[i].val.Null {
				continue
			}
			if out.Valid == nil {
				out.Valid = st.validity(f.n, false)
				copy(out.Valid, a.Valid)
				continue
			}
			for w := range out.Valid {
				out.Valid[w] &= a.Valid[w]
			}
		}
	}
	k := &p.kctx
	k.n, k.node, k.frame, k.sel = f.n, n, f, nil
	if sel != nil {
		k.sel = sel.rows
	}
	n.run(k, args, out)
}
