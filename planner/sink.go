package planner

import (
	"slices"
	"strings"

	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner/bind"
	"github.com/streamsql/streamsql/planner/logical"
)

// ShowTable is the name under which the rows of a bare query are shown.
const ShowTable = "select"

// insertSink binds an INSERT.
func insertSink(b *bind.Binder, ins *tree.Insert, source string, snap *catalog.Snapshot, opts Options) (*logical.Sink, error) {
	name := ins.Table.Last()
	if len(ins.Table.Parts) > 1 {
		return nil, sqlerr.New(sqlerr.CodeUndefinedTable, ins.Table.Pos, "relation %q does not exist", ins.Table.String()).
			WithHint("Tables are in no schema.")
	}
	def, view := snap.Find(name.Text, name.Quoted)
	switch {
	case view != nil:
		return nil, sqlerr.New("42809", ins.Table.Pos, "cannot insert into view %q", view.Name)
	case def == nil:
		e := sqlerr.New(sqlerr.CodeUndefinedTable, ins.Table.Pos, "relation %q does not exist", name.Text)
		if near := sqlerr.Nearest(name.Text, snap.Names()); near != "" {
			return nil, e.WithHint("did you mean %q?", near)
		}
		return nil, e
	case def.Access == catalog.ReadOnly:
		return nil, sqlerr.New("42809", ins.Table.Pos, "%q is a source and cannot be written", def.Name).
			WithHint("Declare it with CREATE TABLE or CREATE SINK.")
	}
	tab, err := resolveTable(def, opts)
	if err != nil {
		return nil, moveInto(err, def, source, ins.Table.Pos)
	}
	if !tab.caps.CanWrite {
		return nil, sqlerr.New("42809", ins.Table.Pos, "table %q cannot be written: connector %q with these options only reads", def.Name, tab.conn.Name)
	}
	node, target, err := b.Insert(ins, def, source)
	if err != nil {
		return nil, err
	}
	s := &logical.Sink{
		Input: node, Table: def.Name, Connector: tab.conn.Name, Caps: tab.caps, Options: tab.options, Format: tab.format,
		Target: target, OnError: tab.common["on.error"], DeadLetters: tab.common["dead-letter.table"], Parallelism: tab.parallelism(), Pos: ins.Table.Pos,
	}
	for _, k := range def.Key {
		s.Key = append(s.Key, target.Index(k))
	}
	for _, c := range def.Columns {
		if c.Computed == "" && !c.Virtual {
			s.Declared = append(s.Declared, c.Column)
		}
	}
	if slices.Equal(s.Declared.Names(), target.Names()) {
		s.Declared = nil
	}
	return s, nil
}

// showSink binds a query whose rows are shown.
func showSink(b *bind.Binder, stmt *tree.QueryStmt, out Output, opts Options) (*logical.Sink, error) {
	node, err := b.Query(stmt.Query, out.Source)
	if err != nil {
		return nil, err
	}
	def := &catalog.Table{Name: ShowTable, Access: catalog.WriteOnly, Pos: stmt.Pos}
	name := out.Show.Connector
	if name == "" {
		name = "console"
	}
	def.Options = append(def.Options, catalog.Option{Key: "connector", Value: name})
	for _, k := range sortedKeys(out.Show.Options) {
		def.Options = append(def.Options, catalog.Option{Key: k, Value: out.Show.Options[k]})
	}
	tab, err := resolveTable(def, opts)
	if err != nil {
		return nil, err
	}
	return &logical.Sink{
		Input: node, Table: ShowTable, Connector: tab.conn.Name, Caps: tab.caps, Options: tab.options, Format: tab.format,
		Target: logical.Schema(node), Pos: stmt.Pos,
	}, nil
}

// moveInto places an error that counts in def.Source in the text source, at pos when
// the texts differ.
func moveInto(err error, def *catalog.Table, source string, pos sqlerr.Pos) error {
	e := sqlerr.As(err)
	if e == nil || def.Source == source && e.Pos != 0 {
		return err
	}
	c := *e
	c.Pos = pos
	c.Detail = strings.TrimSpace("The error is in the definition of table " + tree.QuoteIdent(def.Name) + ". " + c.Detail)
	return &c
}
