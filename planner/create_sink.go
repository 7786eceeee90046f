package planner

import (
	"strings"

	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/parser/tree"
)

// CreateSink checks the table that CREATE SINK … AS declares: where no columns are
// written, it has the query's. The query is planned as an INSERT into it. It gives nil
// with IF NOT EXISTS when the name is taken by a table: then there is nothing to run.
func CreateSink(stmt *tree.CreateSink, src string, snap *catalog.Snapshot, opts Options) (*catalog.Table, error) {
	if n := stmt.Name.Last(); stmt.IfNotExists {
		if t, _ := snap.Find(n.Text, n.Quoted); t != nil {
			return nil, nil
		}
	}
	decl := &tree.CreateTable{Span: stmt.Span, Kind: tree.KindSink, OrReplace: stmt.OrReplace, IfNotExists: stmt.IfNotExists,
		Name: stmt.Name, Columns: stmt.Columns, PrimaryKey: stmt.PrimaryKey, Options: stmt.Options}
	if len(decl.Columns) == 0 {
		cols, err := OutputSchema(stmt.Query, src, snap, opts)
		if err != nil {
			return nil, err
		}
		for _, c := range cols {
			decl.Columns = append(decl.Columns, tree.ColumnDef{Span: stmt.Query.Span, Name: tree.Name{Text: c.Name, Quoted: true, Span: stmt.Query.Span},
				Type: &tree.TypeName{Span: stmt.Query.Span, Type: c.Type}})
		}
	}
	t, err := CreateTable(decl, src, snap, opts)
	if err != nil {
		return nil, err
	}
	t.SQL = sinkText(t)
	return t, nil
}

// sinkText declares the sink without its query.
func sinkText(t *catalog.Table) string {
	var parts []string
	for _, c := range t.Columns {
		text := tree.QuoteIdent(c.Name) + " " + c.Type.String()
		if c.NotNull {
			text += " NOT NULL"
		}
		parts = append(parts, text)
	}
	if len(t.Key) > 0 {
		var key []string
		for _, k := range t.Key {
			key = append(key, tree.QuoteIdent(k))
		}
		parts = append(parts, "PRIMARY KEY ("+strings.Join(key, ", ")+")")
	}
	var options []string
	for _, o := range t.Options {
		options = append(options, tree.QuoteString(o.Key)+" = "+tree.QuoteString(o.Value))
	}
	return "CREATE SINK " + tree.QuoteIdent(t.Name) + " (" + strings.Join(parts, ", ") + ") WITH (" + strings.Join(options, ", ") + ")"
}
