package logical

import (
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/planner/plan"
)

// WindowAgg groups by Keys and window: Keys, then Aggs, then Props come out, once,
// when the window closes.
type WindowAgg struct {
	Input    Node
	Window   plan.Window
	Time     int   // column of Input
	Keys     []int // columns of Input
	Aggs     []expr.AggCall
	AggNames []string
	Props    []plan.WindowProp
	Pos      sqlerr.Pos
}

func (w *WindowAgg) Columns() []Column {
	in := w.Input.Columns()
	var out []Column
	for _, k := range w.Keys {
		c := in[k]
		c.Time, c.Window = false, ""
		out = append(out, c)
	}
	out = append(out, aggColumns(w.Aggs, w.AggNames)...)
	for _, p := range w.Props {
		for i, q := range WindowProps {
			if p == q {
				c := windowColumn(w.Window, i)
				c.Window = ""
				out = append(out, c)
			}
		}
	}
	return out
}

func (w *WindowAgg) Inputs() []Node { return []Node{w.Input} }

func (w *WindowAgg) WithInputs(in []Node) Node {
	c := *w
	c.Input = in[0]
	return &c
}
