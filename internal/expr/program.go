package expr

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// opcode is the form of a compiled node.
type opcode uint8

const (
	opColumn opcode = iota
	opConst
	opCall
	opRetype // the argument's memory under another type
	opAnd
	opOr
	opCase
	opCoalesce
)

// node is a compiled expression. Equal expressions of a program are one node.
type node struct {
	op   opcode
	typ  types.Type
	col  int
	val  types.Value
	args []*node

	run    kernel
	strict bool
	quiet  bool // a fault gives NULL and no row error: TRY_CAST
	raises bool // this node or one below it may fail for a row
	cost   int  // of the whole tree, in rough nanoseconds a row
	id     int
	uses   int  // places that use it
	most   int  // of what calls have in common, the most that one wants
	output bool // handed out by Run
	pos    sqlerr.Pos

	states [2]nodeState // by frame
	vecs   []*vec.Vector
}

// Program evaluates a predicate and output expressions over batches. It owns scratch
// memory that it uses again for every batch: one goroutine owns a Program.
type Program struct {
	predicate *node
	outputs   []*node
	nodes     []*node
	in        []types.Type

	frames  [2]frame
	sels    []*selection
	nsels   int
	retired []*vec.Vector // partial results that a later evaluation replaced
	rows    []int32
	kctx    kctx
	out     []*vec.Vector
}

// Compile prepares expressions over input columns of the types in. predicate may be
// nil. Common sub-expressions, also between predicate and outputs, become one.
// Errors: *sqlerr.Error of class Internal when an expression does not fit in, or names
// a function that this version lacks.
func Compile(predicate *Expr, outputs []*Expr, in []types.Type) (*Program, error) {
	p := &Program{in: in}
	c := compiler{p: p, seen: make(map[nodeKey]*node)}
	if predicate != nil {
		n, err := c.compile(predicate)
		if err != nil {
			return nil, err
		}
		if n.typ.Kind != types.Bool {
			return nil, sqlerr.Internalf("predicate has type %s", n.typ)
		}
		p.predicate = n
	}
	for _, e := range outputs {
		n, err := c.compile(e)
		if err != nil {
			return nil, err
		}
		n.output = true
		p.outputs = append(p.outputs, n)
	}
	p.frames[0].id, p.frames[1].id = 0, 1
	p.out = make([]*vec.Vector, len(p.outputs))
	return p, nil
}

// Run evaluates the predicate for the rows of b and the outputs for those it selects:
// TRUE, not NULL. The outputs are dense: row k is row sel[k] of b; with all set every
// row of b is there in order and sel is nil. Rows that fail are added to errs by their
// number in b and left out of sel, as are rows that errs holds already.
//
// The outputs belong to the caller, who releases them; a column passed through whole
// is retained, not copied. out and sel themselves are the Program's memory until the
// next Run. b stays the caller's.
func (p *Program) Run(b *vec.Batch, errs *RowErrors) (out []*vec.Vector, sel []int32, all bool) {
	p.begin(b, errs)
	f := &p.frames[0]
	all = true
	if p.predicate != nil {
		v := p.eval(f, p.predicate, nil)
		sel, all = p.selected(v, b.N)
	}
	if len(errs.List) > 0 {
		sel, all = p.dropFailed(sel, all, b.N, errs)
	}
	if !all {
		f = p.narrow(sel)
	}
	failed := len(errs.List)
	for i, n := range p.outputs {
		p.out[i] = p.result(f, n)
	}
	if len(errs.List) > failed {
		sel, all = p.dropLate(sel, all, b.N, errs)
	}
	p.end()
	if all {
		sel = nil
	}
	return p.out, sel, all
}

// selected turns the predicate's column into row numbers.
func (p *Program) selected(v *vec.Vector, n int) (sel []int32, all bool) {
	if cap(p.rows) < n {
		p.rows = make([]int32, 0, n)
	}
	bits := v.Bits
	sel = p.rows[:0]
	if v.Valid == nil {
		sel = bits.AppendIndexes(sel, n)
	} else {
		t := p.kctxBits(n)
		for w := range t {
			t[w] = bits[w] & v.Valid[w]
		}
		sel = t.AppendIndexes(sel, n)
	}
	p.rows = sel
	return sel, len(sel) == n
}

// kctxBits returns scratch words for n bits.
func (p *Program) kctxBits(n int) vec.Bitmap {
	f := &p.frames[0]
	f.tmp = sized(f.tmp, vec.Words(n))
	return f.tmp
}

// dropFailed leaves out rows that failed before the outputs.
func (p *Program) dropFailed(sel []int32, all bool, n int, errs *RowErrors) ([]int32, bool) {
	if all {
		sel = p.rows[:0]
		for i := range n {
			if !errs.Failed(int32(i)) {
				sel = append(sel, int32(i))
			}
		}
	} else {
		k := 0
		for _, r := range sel {
			if !errs.Failed(r) {
				sel[k] = r
				k++
			}
		}
		sel = sel[:k]
	}
	p.rows = sel
	return sel, len(sel) == n
}

// dropLate takes rows that failed in an output out of all outputs.
func (p *Program) dropLate(sel []int32, all bool, n int, errs *RowErrors) ([]int32, bool) {
	var keep, rows []int32
	count := len(sel)
	if all {
		count = n
	}
	for k := range count {
		row := int32(k)
		if !all {
			row = sel[k]
		}
		if !errs.Failed(row) {
			keep = append(keep, int32(k))
			rows = append(rows, row)
		}
	}
	for i, v := range p.out {
		p.out[i] = v.Take(keep)
		v.Release()
	}
	return rows, false
}

// EvalConst evaluates an expression without columns. Its error is the row error of the
// expression, with its place.
func EvalConst(e *Expr) (types.Value, error) {
	if e.Kind == Literal {
		return *e.Val, nil
	}
	p, err := Compile(nil, []*Expr{e}, nil)
	if err != nil {
		return types.Value{}, err
	}
	return p.evalOne()
}

func (p *Program) evalOne() (types.Value, error) {
	var errs RowErrors
	out, _, _ := p.Run(&vec.Batch{N: 1}, &errs)
	if len(errs.List) > 0 {
		r := errs.List[0]
		return types.Value{}, sqlerr.New(r.Code, r.Pos, "%s", r.Msg)
	}
	return out[0].Value(0), nil
}
