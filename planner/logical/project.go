package logical

import (
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
)

// Project computes Exprs over Input.
type Project struct {
	Input Node
	Exprs []*expr.Expr
	Names []string
}

func (p *Project) Columns() []Column {
	in := p.Input.Columns()
	out := make([]Column, len(p.Exprs))
	for i, e := range p.Exprs {
		out[i].Column = types.Column{Name: p.Names[i], Type: e.Type, NotNull: NotNull(e, in)}
		if e.Kind == expr.Column {
			out[i].Time, out[i].Proc, out[i].Window = in[e.Col].Time, in[e.Col].Proc, in[e.Col].Window
		}
		out[i].Proc = out[i].Proc || e.IsProctime()
	}
	return out
}

func (p *Project) Inputs() []Node { return []Node{p.Input} }

func (p *Project) WithInputs(in []Node) Node {
	return &Project{Input: in[0], Exprs: p.Exprs, Names: p.Names}
}

// NotNull reports that e over columns in is certain not to be NULL.
func NotNull(e *expr.Expr, in []Column) bool {
	switch e.Kind {
	case expr.Call:
		return e.IsClock()
	case expr.Column:
		return in[e.Col].NotNull
	case expr.Literal:
		return !e.Val.Null
	case expr.Cast:
		return NotNull(e.Args[0], in)
	case expr.Coalesce:
		for _, a := range e.Args {
			if NotNull(a, in) {
				return true
			}
		}
	case expr.And, expr.Or:
		for _, a := range e.Args {
			if !NotNull(a, in) {
				return false
			}
		}
		return true
	case expr.Case:
		if len(e.Args)%2 == 0 {
			return false
		}
		for i := 1; i < len(e.Args); i += 2 {
			if !NotNull(e.Args[i], in) {
				return false
			}
		}
		return NotNull(e.Args[len(e.Args)-1], in)
	}
	return false
}
