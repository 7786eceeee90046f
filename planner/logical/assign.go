package logical

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/plan"
)

// Assign appends window_start, window_end and window_time to each row, once for every
// window of the row. window_time is the event time of what comes out.
type Assign struct {
	Input  Node
	Window plan.Window
	Time   int // column of Input
	Pos    sqlerr.Pos
}

// WindowNames are the columns that a window adds, in the order of WindowProps.
var WindowNames = []string{"window_start", "window_end", "window_time"}

// WindowProps are the window columns in the order in which Assign appends them.
var WindowProps = []plan.WindowProp{plan.WindowStart, plan.WindowEnd, plan.WindowTime}

func (a *Assign) Columns() []Column {
	in := a.Input.Columns()
	out := make([]Column, 0, len(in)+len(WindowNames))
	for _, c := range in {
		c.Time, c.Window = false, ""
		out = append(out, c)
	}
	for i := range WindowNames {
		out = append(out, windowColumn(a.Window, i))
	}
	return out
}

func windowColumn(w plan.Window, i int) Column {
	return Column{
		Column: types.Column{Name: WindowNames[i], Type: w.TimeType, NotNull: true},
		Time:   WindowProps[i] == plan.WindowTime,
		Window: WindowProps[i],
	}
}

func (a *Assign) Inputs() []Node { return []Node{a.Input} }

func (a *Assign) WithInputs(in []Node) Node {
	return &Assign{Input: in[0], Window: a.Window, Time: a.Time, Pos: a.Pos}
}
