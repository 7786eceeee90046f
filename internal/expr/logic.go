package expr

import (
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// cheap is the cost up to which an operand that cannot fail is evaluated for every
// row: choosing rows would cost more.
const cheap = 4

// logic evaluates AND and OR. Each operand after the first is evaluated only for rows
// that those before it leave open; t and f are the rows known true and known false.
func (p *Program) logic(f *frame, n *node, st *nodeState, sel *selection) {
	words := vec.Words(f.n)
	st.t, st.f = sized(st.t, words), sized(st.f, words)
	tt, ff := st.t, st.f
	nulls := false
	for i, arg := range n.args {
		rows := sel
		if i > 0 && (arg.raises || arg.cost > cheap) {
			open := ff
			if n.op == opOr {
				open = tt
			}
			if rows = p.openRows(f, open, sel); rows != nil && len(rows.rows) == 0 {
				break
			}
		}
		v := p.eval(f, arg, rows)
		nulls = nulls || v.Valid != nil
		combine(n.op, i == 0, tt, ff, v)
	}
	out := p.target(f, n, st)
	copy(out.Bits, tt)
	if nulls {
		out.Valid = st.validity(f.n, false)
		for w := range out.Valid {
			out.Valid[w] = tt[w] | ff[w]
		}
		maskTail(out.Valid, f.n)
	}
}

// combine adds an operand to the rows known true and known false. What an operand
// says of a row that is closed already does not count.
func combine(op opcode, first bool, tt, ff vec.Bitmap, v *vec.Vector) {
	for w := range tt {
		valid := ^uint64(0)
		if v.Valid != nil {
			valid = v.Valid[w]
		}
		t, f := v.Bits[w]&valid, ^v.Bits[w]&valid
		switch {
		case first:
			tt[w], ff[w] = t, f
		case op == opAnd:
			ff[w], tt[w] = ff[w]|f, tt[w]&t
		default:
			tt[w], ff[w] = tt[w]|t, ff[w]&f
		}
	}
}

// openRows lists the rows of sel whose bit in closed is clear. It returns sel itself
// when that is all of them.
func (p *Program) openRows(f *frame, closed vec.Bitmap, sel *selection) *selection {
	out := p.newSelection()
	if sel == nil {
		f.tmp = sized(f.tmp, len(closed))
		for w := range closed {
			f.tmp[w] = ^closed[w]
		}
		out.rows = f.tmp.AppendIndexes(out.rows, f.n)
		if len(out.rows) == f.n {
			return nil
		}
		return out
	}
	for _, i := range sel.rows {
		if !closed.Get(int(i)) {
			out.rows = append(out.rows, i)
		}
	}
	if len(out.rows) == len(sel.rows) {
		return sel
	}
	return out
}

// choose evaluates CASE and COALESCE: it finds for each row the argument that gives
// its value, evaluating each only for rows that need it, and then merges them.
func (p *Program) choose(f *frame, n *node, st *nodeState, sel *selection) {
	if cap(st.choice) < f.n {
		st.choice = make([]int32, f.n)
	}
	choice := st.choice[:f.n]
	for i := range choice {
		choice[i] = -1
	}
	if cap(n.vecs) < len(n.args) {
		n.vecs = make([]*vec.Vector, len(n.args))
	}
	branches := n.vecs[:len(n.args)]
	clear(branches)
	st.t = sized(st.t, vec.Words(f.n))
	if n.op == opCase {
		p.chooseCase(f, n, st.t, choice, branches, sel)
	} else {
		p.chooseCoalesce(f, n, st.t, choice, branches, sel)
	}
	out := p.target(f, n, st)
	mergeBranches(out, branches, choice, st, f.n)
	clear(branches)
}

func (p *Program) chooseCase(f *frame, n *node, closed vec.Bitmap, choice []int32, branches []*vec.Vector, sel *selection) {
	open := sel
	for i := 0; i < len(n.args); i += 2 {
		if open != nil && len(open.rows) == 0 {
			return
		}
		if i+1 == len(n.args) {
			p.branch(f, n.args[i], i, choice, branches, open)
			return
		}
		cond := p.eval(f, n.args[i], open)
		took := p.newSelection()
		if open == nil {
			f.tmp = sized(f.tmp, len(closed))
			for w := range f.tmp {
				f.tmp[w] = cond.Bits[w]
				if cond.Valid != nil {
					f.tmp[w] &= cond.Valid[w]
				}
				closed[w] |= f.tmp[w]
			}
			took.rows = f.tmp.AppendIndexes(took.rows, f.n)
		} else {
			for _, r := range open.rows {
				if cond.Bits.Get(int(r)) && !cond.IsNull(int(r)) {
					took.rows = append(took.rows, r)
					closed.Set(int(r))
				}
			}
		}
		if len(took.rows) == 0 {
			continue
		}
		if open == nil && len(took.rows) == f.n || open != nil && len(took.rows) == len(open.rows) {
			p.branch(f, n.args[i+1], i+1, choice, branches, open)
			return
		}
		p.branch(f, n.args[i+1], i+1, choice, branches, took)
		open = p.openRows(f, closed, open)
	}
}

// branch evaluates argument i for rows and notes that they take their value from it.
func (p *Program) branch(f *frame, arg *node, i int, choice []int32, branches []*vec.Vector, rows *selection) {
	branches[i] = p.eval(f, arg, rows)
	if rows == nil {
		for r := range choice {
			choice[r] = int32(i)
		}
		return
	}
	for _, r := range rows.rows {
		choice[r] = int32(i)
	}
}

func (p *Program) chooseCoalesce(f *frame, n *node, closed vec.Bitmap, choice []int32, branches []*vec.Vector, sel *selection) {
	open := sel
	for i, arg := range n.args {
		if open != nil && len(open.rows) == 0 {
			return
		}
		v := p.eval(f, arg, open)
		branches[i] = v
		if open == nil {
			for r := range choice {
				if !v.IsNull(r) {
					choice[r] = int32(i)
					closed.Set(r)
				}
			}
		} else {
			for _, r := range open.rows {
				if !v.IsNull(int(r)) {
					choice[r] = int32(i)
					closed.Set(int(r))
				}
			}
		}
		if open = p.openRows(f, closed, open); open == nil && v.Valid == nil {
			return
		}
	}
}

// mergeBranches fills out with each row's value from the vector it chose; -1 is NULL.
func mergeBranches(out *vec.Vector, branches []*vec.Vector, choice []int32, st *nodeState, n int) {
	var valid vec.Bitmap
	null := func(r int) {
		if valid == nil {
			valid = st.validity(n, true)
		}
		valid.Clear(r)
	}
	for _, b := range branches {
		if b != nil && b.Valid != nil && valid == nil {
			valid = st.validity(n, true)
		}
	}
	phys := out.Type.Phys()
	data, off := out.Data, out.Off
	for r, c := range choice {
		var src *vec.Vector
		if c >= 0 {
			src = branches[c]
			if src.Valid != nil && !src.Valid.Get(r) {
				src = nil
			}
		}
		if src == nil {
			null(r)
			if phys == types.PBytes {
				off = append(off, int32(len(data)))
			}
			continue
		}
		switch phys {
		case types.PBool:
			if src.Bits.Get(r) {
				out.Bits.Set(r)
			}
		case types.PInt64:
			out.I64[r] = src.I64[r]
		case types.PFloat64:
			out.F64[r] = src.F64[r]
		case types.PInt128:
			out.I128[r] = src.I128[r]
		case types.PBytes:
			data = append(data, src.Data[src.Off[r]:src.Off[r+1]]...)
			off = append(off, int32(len(data)))
		case types.PInterval:
			out.Iv[r] = src.Iv[r]
		}
	}
	if phys == types.PBytes {
		out.Data, out.Off, out.Len = data, off, n
	}
	out.Valid = valid
}
