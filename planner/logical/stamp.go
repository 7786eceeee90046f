package logical

import (
	"github.com/streamsql/streamsql/internal/types"
)

// Stamp appends the moment at which a row passed, once for every type: columns that the
// runtime fills in from its clock.
type Stamp struct {
	Input Node
	Types []types.Type
	// Timed: the first of Types is the event time of what comes out, and the clock its
	// watermark. Event time from below ends here.
	Timed bool
}

// ProctimeName is the name of the column that stands for PROCTIME(), and NowName of
// that for NOW().
const (
	ProctimeName = "proctime"
	NowName      = "now"
)

// NewStamp appends PROCTIME() and NOW(), in this order.
func NewStamp(in Node, timed bool) *Stamp {
	return &Stamp{Input: in, Types: []types.Type{types.TTimestampTZ(3), types.TTimestampTZ(6)}, Timed: timed}
}

func (s *Stamp) Columns() []Column {
	in := s.Input.Columns()
	out := make([]Column, 0, len(in)+len(s.Types))
	for _, c := range in {
		c.Time = c.Time && !s.Timed
		out = append(out, c)
	}
	for i, t := range s.Types {
		name := NowName
		if t.Precision == 3 {
			name = ProctimeName
		}
		out = append(out, Column{Column: types.Column{Name: name, Type: t, NotNull: true}, Time: s.Timed && i == 0})
	}
	return out
}

func (s *Stamp) Inputs() []Node { return []Node{s.Input} }

func (s *Stamp) WithInputs(in []Node) Node {
	return &Stamp{Input: in[0], Types: s.Types, Timed: s.Timed}
}
