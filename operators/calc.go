package operators

import (
	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
)

// calc filters and projects.
type calc struct {
	program *expr.Program
	ctx     Context
	errs    expr.RowErrors
}

func newCalc(n *plan.Node, ctx Context) (Operator, error) {
	p, err := expr.Compile(n.Calc.Predicate, n.Calc.Exprs, ctx.Inputs[0].Types())
	if err != nil {
		return nil, err
	}
	return &calc{program: p, ctx: ctx}, nil
}

func (c *calc) Process(_ int, b *vec.Batch) (Output, error) {
	defer b.Release()
	c.errs.Reset()
	cols, sel, all := c.program.Run(b, &c.errs)
	for _, e := range c.errs.List {
		if err := c.ctx.Errors(b, e); err != nil {
			return Output{}, err
		}
	}
	out := &vec.Batch{Cols: append([]*vec.Vector(nil), cols...), N: b.N, Ops: b.Ops, WM: b.WM, RowWM: b.RowWM}
	if !all {
		out.N = len(sel)
		out.Ops = KeptOps(b.Ops, sel)
		out.RowWM = takeWatermarks(b.RowWM, sel)
	}
	if out.N == 0 {
		out.Release()
		return Output{}, nil
	}
	return Output{Batch: out}, nil
}

// KeptOps gives the ops of the rows sel. An update is kept while both halves are
// there; a half that lost the other is a Delete or an Insert.
func KeptOps(ops []vec.Op, sel []int32) []vec.Op {
	if ops == nil {
		return nil
	}
	out := make([]vec.Op, len(sel))
	for k, i := range sel {
		op := ops[i]
		switch {
		case op == vec.UpdateBefore && (k+1 == len(sel) || sel[k+1] != i+1):
			op = vec.Delete
		case op == vec.UpdateAfter && i > 0 && ops[i-1] == vec.UpdateBefore && (k == 0 || sel[k-1] != i-1):
			op = vec.Insert
		}
		out[k] = op
	}
	return out
}

func takeWatermarks(wms []int64, sel []int32) []int64 {
	if wms == nil {
		return nil
	}
	out := make([]int64, len(sel))
	for k, i := range sel {
		out[k] = wms[i]
	}
	return out
}

func (*calc) Advance(int64) (Output, error) { return Output{}, nil }
func (*calc) Resume() (Output, error)       { return Output{}, nil }
func (*calc) State() *state.Backend         { return nil }
