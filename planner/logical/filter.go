package logical

import "github.com/streamsql/streamsql/internal/expr"

// Filter keeps the rows for which Pred is true.
type Filter struct {
	Input Node
	Pred  *expr.Expr
}

func (f *Filter) Columns() []Column         { return f.Input.Columns() }
func (f *Filter) Inputs() []Node            { return []Node{f.Input} }
func (f *Filter) WithInputs(in []Node) Node { return &Filter{Input: in[0], Pred: f.Pred} }
