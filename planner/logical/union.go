package logical

// Union passes the rows of all inputs on (UNION ALL). The inputs have the same
// column types; names are those of the first.
type Union struct {
	In []Node
}

func (u *Union) Columns() []Column {
	first := u.In[0].Columns()
	out := make([]Column, len(first))
	for i, c := range first {
		c.Window = ""
		out[i] = c
	}
	for _, n := range u.In[1:] {
		for i, c := range n.Columns() {
			out[i].Time, out[i].Proc = out[i].Time && c.Time, out[i].Proc && c.Proc
			out[i].NotNull = out[i].NotNull && c.NotNull
		}
	}
	return out
}

func (u *Union) Inputs() []Node            { return u.In }
func (u *Union) WithInputs(in []Node) Node { return &Union{In: in} }
