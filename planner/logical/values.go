package logical

import "github.com/streamsql/streamsql/internal/types"

// Values is literal rows.
type Values struct {
	Names types.Schema
	Rows  [][]types.Value
}

func (v *Values) Columns() []Column {
	out := make([]Column, len(v.Names))
	for i, c := range v.Names {
		out[i].Column = c
	}
	return out
}

func (v *Values) Inputs() []Node            { return nil }
func (v *Values) WithInputs(in []Node) Node { return v }
