package engine

import (
	"strings"

	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/parser"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner"
)

// define runs a statement that changes the catalog.
func (e *Engine) define(st tree.Statement, src string, snap *catalog.Snapshot, set settings) (*catalog.Snapshot, string, error) {
	opts := e.planOptions(set, nil)
	switch st := st.(type) {
	case *tree.CreateTable:
		t, err := planner.CreateTable(st, src, snap, opts)
		if err != nil {
			return nil, "", err
		}
		return snap.WithTable(t), "CREATE TABLE", nil
	case *tree.CreateSink:
		t, err := planner.CreateSink(st, src, snap, opts)
		if err != nil {
			return nil, "", err
		}
		if t == nil {
			return snap, "CREATE SINK", nil
		}
		return snap.WithTable(t), "CREATE SINK", nil
	case *tree.CreateView:
		v, err := planner.CreateView(st, src, snap, opts)
		if err != nil {
			return nil, "", err
		}
		if v == nil {
			return snap, "CREATE VIEW", nil
		}
		return snap.WithView(v), "CREATE VIEW", nil
	case *tree.Drop:
		next, err := drop(st, snap, opts)
		return next, "DROP " + dropWord(st.Kind), err
	}
	return nil, "", sqlerr.Internalf("%T does not change the catalog", st)
}

// inUse refuses to drop or replace what a running job of a prompt is made of.
func (s *Session) inUse(st tree.Statement) error {
	var n tree.Name
	switch st := st.(type) {
	case *tree.Drop:
		n = st.Name.Last()
	case *tree.CreateTable:
		if !st.OrReplace {
			return nil
		}
		n = st.Name.Last()
	case *tree.CreateView:
		if !st.OrReplace {
			return nil
		}
		n = st.Name.Last()
	case *tree.CreateSink:
		if !st.OrReplace {
			return nil
		}
		n = st.Name.Last()
	}
	for _, j := range s.e.Jobs() {
		if j.uses == nil || !j.Running() {
			continue
		}
		if t, v := j.uses.Find(n.Text, n.Quoted); t != nil || v != nil {
			return sqlerr.New(sqlerr.CodeDependent, n.Pos, "job %q uses %q", j.Name, n.Text).WithHint("Stop the job first.")
		}
	}
	return nil
}

func dropWord(k tree.ObjectKind) string {
	switch k {
	case tree.ObjectView:
		return "VIEW"
	case tree.ObjectMaterializedView:
		return "MATERIALIZED VIEW"
	case tree.ObjectSink:
		return "SINK"
	}
	return "TABLE"
}

// drop removes a table or view that nothing depends on.
func drop(st *tree.Drop, snap *catalog.Snapshot, opts planner.Options) (*catalog.Snapshot, error) {
	n := st.Name.Last()
	t, v := snap.Find(n.Text, n.Quoted)
	word := dropWord(st.Kind)
	if t == nil && v == nil {
		if st.IfExists {
			return snap, nil
		}
		e := sqlerr.New(sqlerr.CodeUndefinedTable, n.Pos, "there is no %s %q", strings.ToLower(word), n.Text)
		if near := sqlerr.Nearest(n.Text, snap.Names()); near != "" {
			e.WithHint("did you mean %q?", near)
		}
		return nil, e
	}
	if (v != nil) != (st.Kind == tree.ObjectView) {
		is := "table"
		if v != nil {
			is = "view"
		}
		return nil, sqlerr.New(sqlerr.CodeDatatypeMismatch, n.Pos, "%q is a %s", n.Text, is).
			WithHint("Use DROP %s.", strings.ToUpper(is))
	}
	var name string
	if t != nil {
		name = t.Name
	} else {
		name = v.Name
	}
	rest := snap.Without(name)
	for _, other := range rest.Views() {
		if _, err := schemaOf(other.Name, rest, opts); err != nil {
			return nil, sqlerr.New(sqlerr.CodeDependent, n.Pos, "view %q depends on %q", other.Name, name).
				WithHint("Drop view %q first.", other.Name)
		}
	}
	return rest, nil
}

// schemaOf gives the columns of a table or view.
func schemaOf(name string, snap *catalog.Snapshot, opts planner.Options) (types.Schema, error) {
	text := "SELECT * FROM " + tree.QuoteIdent(name)
	st, err := parser.ParseOne(text)
	if err != nil {
		return nil, err
	}
	return planner.OutputSchema(st.(*tree.QueryStmt).Query, text, snap, opts)
}
