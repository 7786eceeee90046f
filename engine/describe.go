package engine

import (
	"strings"

	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

func unknownTable(snap *catalog.Snapshot, n tree.Name) error {
	e := sqlerr.New(sqlerr.CodeUndefinedTable, n.Pos, "table %q does not exist", n.Text)
	if near := sqlerr.Nearest(n.Text, snap.Names()); near != "" {
		e.WithHint("did you mean %q?", near)
	}
	return e
}

// describe lists the columns of a table or view.
func (s *Session) describe(st *tree.Describe) (*Result, error) {
	n := st.Name.Last()
	t, v := s.Catalog().Find(n.Text, n.Quoted)
	r := &Result{Tag: "DESCRIBE", Columns: []string{"column", "type", "null", "details"}}
	switch {
	case v != nil:
		schema, err := schemaOf(v.Name, s.Catalog(), s.e.planOptions(s.settings, nil))
		if err != nil {
			return nil, err
		}
		for _, c := range schema {
			r.Rows = append(r.Rows, []string{c.Name, c.Type.String(), nullWord(c.NotNull), ""})
		}
		return r, nil
	case t == nil:
		return nil, unknownTable(s.Catalog(), n)
	}
	for _, c := range t.Columns {
		var details []string
		if c.Computed != "" {
			details = append(details, "AS "+c.Computed)
		}
		if c.Metadata != "" {
			details = append(details, "METADATA FROM '"+c.Metadata+"'")
		}
		for _, k := range t.Key {
			if k == c.Name {
				details = append(details, "PRIMARY KEY")
			}
		}
		if t.WatermarkColumn == c.Name {
			details = append(details, "WATERMARK AS "+t.Watermark)
		}
		r.Rows = append(r.Rows, []string{c.Name, c.Type.String(), nullWord(c.NotNull), strings.Join(details, ", ")})
	}
	return r, nil
}

func nullWord(notNull bool) string {
	if notNull {
		return "not null"
	}
	return ""
}
