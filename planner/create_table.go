package planner

import (
	"strings"

	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner/bind"
)

// CreateTable checks a declaration against snap and gives the table to file under its
// name. With IF NOT EXISTS and a table of that name, it gives that table. src is the
// text in which the statement's positions count.
func CreateTable(stmt *tree.CreateTable, src string, snap *catalog.Snapshot, opts Options) (*catalog.Table, error) {
	opts = opts.withDefaults()
	if stmt.Temporary {
		return nil, sqlerr.NotSupported(stmt.Pos, "CREATE TEMPORARY TABLE")
	}
	have, err := freeName(stmt.Name, stmt.OrReplace, stmt.IfNotExists, snap, true)
	if err != nil {
		return nil, err
	}
	if have != nil {
		return have, nil
	}
	t := &catalog.Table{Name: stmt.Name.Last().Text, Access: access(stmt.Kind), Pos: stmt.Name.Pos, SQL: stmt.Text(src), Source: src}
	for _, o := range stmt.Options {
		t.Options = append(t.Options, catalog.Option{Key: o.Key, Value: o.Value, KeyPos: o.KeyPos, ValuePos: o.ValuePos})
	}
	if len(stmt.Columns) == 0 {
		return nil, sqlerr.New(sqlerr.CodeSyntax, stmt.Name.Pos, "table %q has no columns", t.Name)
	}
	for i := range stmt.Columns {
		c, err := tableColumn(&stmt.Columns[i], src)
		if err != nil {
			return nil, err
		}
		if err := distinctName(stmt.Columns[:i], stmt.Columns[i].Name); err != nil {
			return nil, err
		}
		t.Columns = append(t.Columns, c)
	}
	if err := watermark(stmt, t, src); err != nil {
		return nil, err
	}
	if err := primaryKey(stmt, t); err != nil {
		return nil, err
	}
	return t, checkTable(t, snap, opts)
}

// freeName checks that an object may take the name. It returns the table that IF NOT
// EXISTS leaves in place.
func freeName(name tree.QualifiedName, replace, ifNotExists bool, snap *catalog.Snapshot, table bool) (*catalog.Table, error) {
	if len(name.Parts) > 1 {
		return nil, sqlerr.NotSupported(name.Pos, "a qualified name")
	}
	n := name.Last()
	t, v := snap.Find(n.Text, n.Quoted)
	switch {
	case t == nil && v == nil:
		return nil, nil
	case t != nil && t.Name != n.Text, v != nil && v.Name != n.Text:
		if ifNotExists && t != nil && table {
			return t, nil
		}
		old := ""
		if t != nil {
			old = t.Name
		} else {
			old = v.Name
		}
		return nil, sqlerr.New(sqlerr.CodeDuplicateTable, name.Pos, "relation %q already exists", old).
			WithHint("Unquoted names are the same in upper and lower case.")
	case (t != nil) != table:
		kind := "view"
		if t != nil {
			kind = "table"
		}
		return nil, sqlerr.New(sqlerr.CodeDuplicateTable, name.Pos, "relation %q already exists", name.Last().Text).
			WithDetail("It is a %s.", kind)
	case replace:
		return nil, nil
	case ifNotExists:
		return t, nil
	}
	return nil, sqlerr.New(sqlerr.CodeDuplicateTable, name.Pos, "relation %q already exists", name.Last().Text).
		WithHint("Use CREATE OR REPLACE, or IF NOT EXISTS.")
}

func access(k tree.TableKind) catalog.Access {
	switch k {
	case tree.KindSource, tree.KindStream:
		return catalog.ReadOnly
	case tree.KindSink:
		return catalog.WriteOnly
	}
	return catalog.ReadWrite
}

func tableColumn(c *tree.ColumnDef, src string) (catalog.TableColumn, error) {
	out := catalog.TableColumn{Pos: c.Name.Pos}
	out.Name = c.Name.Text
	if c.Computed != nil {
		out.Computed, out.ComputedPos = c.Computed.Extent().Text(src), c.Computed.Extent().Pos
		return out, nil
	}
	t, err := bind.ScalarType(*c.Type)
	if err != nil {
		return out, err
	}
	out.Type, out.NotNull = t, c.NotNull
	if c.Metadata != nil {
		out.Metadata, out.Virtual = c.Metadata.Key, c.Metadata.Virtual
	}
	return out, nil
}

// distinctName refuses a column that no reference could tell from an earlier one.
func distinctName(earlier []tree.ColumnDef, name tree.Name) error {
	for _, e := range earlier {
		if e.Name.Text == name.Text {
			return sqlerr.New(sqlerr.CodeDuplicateColumn, name.Pos, "column %q specified more than once", name.Text)
		}
		if !e.Name.Quoted && !name.Quoted && strings.EqualFold(e.Name.Text, name.Text) {
			return sqlerr.New(sqlerr.CodeDuplicateColumn, name.Pos, "columns %q and %q differ only in case", e.Name.Text, name.Text).
				WithHint("Quote them if they are two columns.")
		}
	}
	return nil
}

// column finds a declared column by the case rules.
func column(t *catalog.Table, name tree.Name, where string) (int, error) {
	hit := -1
	var names []string
	for i, c := range t.Columns {
		if c.Name == name.Text {
			return i, nil
		}
		names = append(names, c.Name)
		if name.Matches(c.Name) {
			if hit >= 0 {
				return 0, sqlerr.New(sqlerr.CodeAmbiguousColumn, name.Pos, "column reference %q is ambiguous", name.Text)
			}
			hit = i
		}
	}
	if hit >= 0 {
		return hit, nil
	}
	e := sqlerr.New(sqlerr.CodeUndefinedColumn, name.Pos, "column %q named in %s does not exist", name.Text, where)
	if near := sqlerr.Nearest(name.Text, names); near != "" {
		return 0, e.WithHint("did you mean %q?", near)
	}
	return 0, e
}

func watermark(stmt *tree.CreateTable, t *catalog.Table, src string) error {
	w := stmt.Watermark
	if w == nil {
		return nil
	}
	if t.Access == catalog.WriteOnly {
		return sqlerr.New(sqlerr.CodeSyntax, w.Pos, "a sink has no WATERMARK")
	}
	i, err := column(t, w.Column, "WATERMARK")
	if err != nil {
		return err
	}
	c := t.Columns[i]
	if c.Computed == "" && !c.Type.IsTimestamp() {
		e := sqlerr.New(sqlerr.CodeDatatypeMismatch, w.Column.Pos, "the WATERMARK column %q must be TIMESTAMP or TIMESTAMP WITH TIME ZONE, not %s", c.Name, c.Type)
		if c.Type.IsNumeric() || c.Type.Kind == types.Text {
			return e.WithHint("Declare the column as TIMESTAMP(3), with option 'timestamp.format' where the payload holds a number.")
		}
		return e
	}
	t.WatermarkColumn = c.Name
	t.Watermark, t.WatermarkPos = w.Expr.Extent().Text(src), w.Expr.Extent().Pos
	return nil
}

func primaryKey(stmt *tree.CreateTable, t *catalog.Table) error {
	if stmt.PrimaryKey == nil {
		return nil
	}
	for _, name := range stmt.PrimaryKey.Columns {
		i, err := column(t, name, "PRIMARY KEY")
		if err != nil {
			return err
		}
		c := t.Columns[i]
		if c.Computed != "" {
			return sqlerr.New(sqlerr.CodeInvalidColumnRef, name.Pos, "computed column %q cannot be part of the PRIMARY KEY", c.Name)
		}
		if contains(t.Key, c.Name) {
			return sqlerr.New(sqlerr.CodeDuplicateColumn, name.Pos, "column %q appears twice in PRIMARY KEY", c.Name)
		}
		t.Key = append(t.Key, c.Name)
	}
	return nil
}

// checkTable checks options, access, and that what the table computes can be bound.
func checkTable(t *catalog.Table, snap *catalog.Snapshot, opts Options) error {
	tab, err := resolveTable(t, opts)
	if err != nil {
		return err
	}
	conn, _ := t.Option("connector")
	switch {
	case t.Access == catalog.ReadOnly && !tab.caps.CanRead:
		return sqlerr.New(sqlerr.CodeOption, conn.ValuePos, "connector %q with these options cannot be read", conn.Value).
			WithHint("Declare the table with CREATE SINK or CREATE TABLE.")
	case t.Access == catalog.WriteOnly && !tab.caps.CanWrite:
		return sqlerr.New(sqlerr.CodeOption, conn.ValuePos, "connector %q with these options cannot be written", conn.Value).
			WithHint("Declare the table with CREATE SOURCE or CREATE TABLE.")
	case t.Access == catalog.WriteOnly && tab.caps.NeedsKey && len(t.Key) == 0:
		return sqlerr.New(sqlerr.CodeOption, conn.ValuePos, "connector %q with these options needs a PRIMARY KEY", conn.Value)
	}
	if err := deadLetters(tab); err != nil {
		return err
	}
	if t.Access == catalog.WriteOnly {
		for _, c := range t.Columns {
			if c.Computed != "" {
				return sqlerr.New(sqlerr.CodeSyntax, c.Pos, "a sink has no computed columns")
			}
		}
		return nil
	}
	bound, err := bind.New(snap, opts.Connectors).Table(t)
	if err != nil {
		return err
	}
	for i := range t.Columns {
		if t.Columns[i].Computed != "" {
			t.Columns[i].Type = bound.ColumnType(i)
		}
	}
	return nil
}
