package planner

import (
	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner/bind"
)

// CreateView checks a view's query against snap and gives the view to file under its
// name; nil with IF NOT EXISTS when the name is taken by a view. src is the text in
// which the statement's positions count.
func CreateView(stmt *tree.CreateView, src string, snap *catalog.Snapshot, opts Options) (*catalog.View, error) {
	opts = opts.withDefaults()
	if stmt.Materialized {
		return nil, sqlerr.NotSupported(stmt.Pos, "CREATE MATERIALIZED VIEW")
	}
	if _, err := freeName(stmt.Name, stmt.OrReplace, stmt.IfNotExists, snap, false); err != nil {
		return nil, err
	}
	name := stmt.Name.Last().Text
	if _, v := snap.Find(name, true); v != nil && !stmt.OrReplace {
		return nil, nil
	}
	v := &catalog.View{
		Name: name, Query: stmt.Query.Text(src), QueryPos: stmt.Query.Pos,
		Pos: stmt.Name.Pos, SQL: stmt.Text(src), Source: src,
	}
	for _, c := range stmt.Columns {
		v.Columns = append(v.Columns, c.Text)
	}
	node, err := bind.New(snap.WithView(v), opts.Connectors).View(name, src, stmt.Name.Pos)
	if err != nil {
		return nil, err
	}
	cols := node.Columns()
	for i, c := range cols {
		for _, e := range cols[:i] {
			if e.Name != c.Name {
				continue
			}
			pos := stmt.Query.Pos
			if i < len(stmt.Columns) {
				pos = stmt.Columns[i].Pos
			}
			return nil, sqlerr.New(sqlerr.CodeDuplicateColumn, pos, "column %q specified more than once", c.Name).
				WithHint("Give the columns of the view names of their own with AS.")
		}
	}
	return v, nil
}
