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
		c.Time, c.Proc, c.Window = false, false, ""
		out = append(out, c)
	}
	for i := range WindowNames {
		c := windowColumn(a.Window, i)
		if a.Proc() {
			c.Time, c.Proc = false, c.Time
		}
		out = append(out, c)
	}
	return out
}

// Proc reports that the windows are of processing time.
func (a *Assign) Proc() bool { return a.Input.Columns()[a.Time].Proc }

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
