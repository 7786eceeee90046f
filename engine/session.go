package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/parser"
	"github.com/streamsql/streamsql/planner"
)

// Session executes statements one after another with settings and a catalog of its
// own, as a prompt does. One goroutine uses it; Names may be called from others.
type Session struct {
	e        *Engine
	settings settings
	mu       sync.Mutex
	snap     *catalog.Snapshot
	unnamed  int
}

// NewSession returns a session with an empty catalog.
func (e *Engine) NewSession() *Session {
	return &Session{e: e, settings: e.base.clone(), snap: catalog.Empty}
}

// Result is what a statement gave.
type Result struct {
	// Tag names what was done, as psql prints it: "CREATE TABLE", "SET".
	Tag string
	// Columns and Rows are a table to show, for SHOW and DESCRIBE.
	Columns []string
	Rows    [][]string
	// Text is to be shown as it is, for EXPLAIN.
	Text string
	// Query is a running SELECT. The caller reads it to its end or stops it.
	Query *Query
	// Job was started and goes on in the background.
	Job *Job
}

// Catalog is the session's current snapshot.
func (s *Session) Catalog() *catalog.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snap
}

func (s *Session) setCatalog(c *catalog.Snapshot) {
	s.mu.Lock()
	s.snap = c
	s.mu.Unlock()
}

// Parse replaces ${NAME} and parses the statements of src.
func (s *Session) Parse(src string) (*Script, error) { return s.e.parse(src) }

// Exec runs statement i of a script. Positions of errors count in the script's text as
// it was typed.
func (s *Session) Exec(ctx context.Context, script *Script, i int) (*Result, error) {
	r, err := s.exec(ctx, script.Statements[i], script.Text())
	return r, script.Fix(err)
}

func (s *Session) exec(ctx context.Context, st parser.Statement, src string) (*Result, error) {
	switch st := st.(type) {
	case *parser.CreateTable, *parser.CreateView, *parser.Drop:
		snap, tag, err := s.e.define(st, src, s.Catalog(), s.settings)
		if err != nil {
			return nil, err
		}
		s.setCatalog(snap)
		return &Result{Tag: tag}, nil
	case *parser.Set:
		if err := s.settings.set(st.Key, st.Value, st.KeyPos, st.ValuePos); err != nil {
			return nil, err
		}
		return &Result{Tag: "SET"}, nil
	case *parser.Reset:
		return s.reset(st)
	case *parser.Insert, *parser.CreateSink:
		return s.insert(ctx, st, src)
	case *parser.QueryStmt:
		q, err := s.e.query(ctx, st, src, s.Catalog(), s.settings)
		if err != nil {
			return nil, err
		}
		return &Result{Tag: "SELECT", Query: q}, nil
	case *parser.Explain:
		return s.explain(st, src)
	case *parser.Describe:
		return s.describe(st)
	case *parser.Show:
		return s.show(ctx, st)
	case *parser.JobCommand:
		return s.command(ctx, st)
	case *parser.SnapshotJob:
		return s.snapshot(ctx, st)
	case *parser.RestoreJob:
		return s.restore(ctx, st)
	case *parser.DropSavepoint:
		if err := DropSavepoint(ctx, s.e.SavepointPath(st.Path.Value)); err != nil {
			return nil, at(err, st.Path.Pos)
		}
		return &Result{Tag: "DROP SAVEPOINT"}, nil
	case *parser.BeginStatementSet, *parser.EndStatementSet:
		return nil, sqlerr.New(sqlerr.CodeNotSupported, st.Extent().Pos, "a statement set belongs in a file").
			WithHint("Run it with: streamsql run FILE.")
	case *parser.ExplainUpgrade:
		return nil, sqlerr.NotSupported(st.Pos, "EXPLAIN UPGRADE")
	}
	return nil, sqlerr.Internalf("no way to run a %T", st)
}

// at gives err a position when it has none.
func at(err error, pos sqlerr.Pos) error {
	if e := sqlerr.As(err); e != nil && e.Pos == 0 {
		c := *e
		c.Pos = pos
		return &c
	}
	return err
}

// define runs a statement that changes the catalog.
func (e *Engine) define(st parser.Statement, src string, snap *catalog.Snapshot, set settings) (*catalog.Snapshot, string, error) {
	opts := e.planOptions(set, nil)
	switch st := st.(type) {
	case *parser.CreateTable:
		t, err := planner.CreateTable(st, src, snap, opts)
		if err != nil {
			return nil, "", err
		}
		return snap.WithTable(t), "CREATE TABLE", nil
	case *parser.CreateView:
		v, err := planner.CreateView(st, src, snap, opts)
		if err != nil {
			return nil, "", err
		}
		if v == nil {
			return snap, "CREATE VIEW", nil
		}
		return snap.WithView(v), "CREATE VIEW", nil
	case *parser.Drop:
		next, err := drop(st, snap, opts)
		return next, "DROP " + dropWord(st.Kind), err
	}
	return nil, "", sqlerr.Internalf("%T does not change the catalog", st)
}

func dropWord(k parser.ObjectKind) string {
	switch k {
	case parser.ObjectView:
		return "VIEW"
	case parser.ObjectMaterializedView:
		return "MATERIALIZED VIEW"
	case parser.ObjectSink:
		return "SINK"
	}
	return "TABLE"
}

// drop removes a table or view that nothing depends on.
func drop(st *parser.Drop, snap *catalog.Snapshot, opts planner.Options) (*catalog.Snapshot, error) {
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
	if (v != nil) != (st.Kind == parser.ObjectView) {
		is := "table"
		if v != nil {
			is = "view"
		}
		return nil, sqlerr.New(sqlerr.CodeDatatypeMismatch, n.Pos, "%q is a %s", n.Text, is).
			WithHint("Use DROP %s.", strings.ToUpper(is))
	}
	name := n.Text
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
	text := "SELECT * FROM " + parser.QuoteIdent(name)
	st, err := parser.ParseOne(text)
	if err != nil {
		return nil, err
	}
	return planner.OutputSchema(st.(*parser.QueryStmt).Query, text, snap, opts)
}

// Columns gives the columns that a query would have.
func (s *Session) Columns(query string) (types.Schema, error) {
	script, err := s.e.parse(query)
	if err != nil {
		return nil, err
	}
	if len(script.Statements) != 1 {
		return nil, sqlerr.New(sqlerr.CodeSyntax, 0, "%d statements where one query is wanted", len(script.Statements))
	}
	q, ok := script.Statements[0].(*parser.QueryStmt)
	if !ok {
		return nil, sqlerr.New(sqlerr.CodeSyntax, script.Statements[0].Extent().Pos, "not a query")
	}
	schema, err := planner.OutputSchema(q.Query, script.Text(), s.Catalog(), s.e.planOptions(s.settings, nil))
	return schema, script.Fix(err)
}

func (s *Session) reset(st *parser.Reset) (*Result, error) {
	if st.Key == "" {
		s.settings = s.e.base.clone()
		return &Result{Tag: "RESET"}, nil
	}
	if _, ok := findSetting(st.Key); !ok {
		return nil, settings{}.set(st.Key, "", st.KeyPos, st.KeyPos)
	}
	delete(s.settings, st.Key)
	return &Result{Tag: "RESET"}, nil
}

func (s *Session) insert(ctx context.Context, st parser.Statement, src string) (*Result, error) {
	spec := jobSpec{name: s.settings.get("job.name"), src: src, outputs: []parser.Statement{st}, snap: s.Catalog(), settings: s.settings.clone()}
	if spec.name == "" {
		// A statement without a name is a new job each time it is typed.
		s.unnamed++
		spec.name, spec.how.Fresh = fmt.Sprintf("job-%d", s.unnamed), true
	}
	j, err := s.e.start(ctx, spec)
	if err != nil {
		return nil, err
	}
	// A name given by SET is for one job.
	delete(s.settings, "job.name")
	return &Result{Tag: "INSERT", Job: j}, nil
}

func (s *Session) explain(st *parser.Explain, src string) (*Result, error) {
	if st.Format != parser.ExplainText {
		return nil, sqlerr.NotSupported(st.Pos, "EXPLAIN in another format than TEXT")
	}
	if st.Analyze {
		return nil, sqlerr.NotSupported(st.Pos, "EXPLAIN ANALYZE")
	}
	p, err := s.e.plan(jobSpec{src: src, outputs: []parser.Statement{st.Stmt}, snap: s.Catalog(), settings: s.settings}, nil)
	if err != nil {
		return nil, err
	}
	return &Result{Tag: "EXPLAIN", Text: planner.Explain(p)}, nil
}
