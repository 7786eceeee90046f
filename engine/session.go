package engine

import (
	"context"
	"sync"

	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner"
)

// Session executes statements one after another with settings and a catalog of its
// own, as a prompt does. One goroutine uses it; Catalog may be called from others.
type Session struct {
	e        *Engine
	settings settings
	mu       sync.Mutex
	snap     *catalog.Snapshot
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
	switch st := script.Statements[i].(type) {
	case *tree.Insert:
		return s.insert(ctx, st, script, "INSERT")
	case *tree.CreateSink:
		return s.createSink(ctx, st, script)
	case *tree.QueryStmt:
		q, err := s.e.query(ctx, st, jobSpec{src: script.Text(), outputs: []tree.Statement{st}, snap: s.Catalog(),
			settings: s.settings.clone(), fix: script.Fix})
		if err != nil {
			return nil, err
		}
		return &Result{Tag: "SELECT", Query: q}, nil
	}
	r, err := s.exec(ctx, script.Statements[i], script.Text())
	return r, script.Fix(err)
}

// exec runs a statement that starts no rows flowing.
func (s *Session) exec(ctx context.Context, st tree.Statement, src string) (*Result, error) {
	switch st := st.(type) {
	case *tree.CreateTable, *tree.CreateView, *tree.Drop:
		if err := s.inUse(st); err != nil {
			return nil, err
		}
		snap, tag, err := s.e.define(st, src, s.Catalog(), s.settings)
		if err != nil {
			return nil, err
		}
		s.setCatalog(snap)
		return &Result{Tag: tag}, nil
	case *tree.Set:
		if err := s.settings.set(st.Key, st.Value, st.KeyPos, st.ValuePos); err != nil {
			return nil, err
		}
		return &Result{Tag: "SET"}, nil
	case *tree.Reset:
		return s.reset(st)
	case *tree.Explain:
		return s.explain(st, src)
	case *tree.Describe:
		return s.describe(st)
	case *tree.Show:
		return s.show(ctx, st)
	case *tree.JobCommand:
		return s.command(ctx, st)
	case *tree.SnapshotJob:
		return s.snapshot(ctx, st)
	case *tree.RestoreJob:
		return s.restore(ctx, st)
	case *tree.DropSavepoint:
		if err := DropSavepoint(ctx, s.e.SavepointPath(st.Path.Value)); err != nil {
			return nil, at(err, st.Path.Pos)
		}
		return &Result{Tag: "DROP SAVEPOINT"}, nil
	case *tree.BeginStatementSet, *tree.EndStatementSet:
		return nil, sqlerr.New(sqlerr.CodeNotSupported, st.Extent().Pos, "a statement set belongs in a file").
			WithHint("Run it with: streamsql run FILE.")
	case *tree.ExplainUpgrade:
		return s.explainUpgrade(ctx, st)
	}
	return nil, sqlerr.Internalf("no way to run a %T", st)
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
	q, ok := script.Statements[0].(*tree.QueryStmt)
	if !ok {
		return nil, sqlerr.New(sqlerr.CodeSyntax, script.Statements[0].Extent().Pos, "not a query")
	}
	schema, err := planner.OutputSchema(q.Query, script.Text(), s.Catalog(), s.e.planOptions(s.settings, nil))
	return schema, script.Fix(err)
}

// reset goes back to what the engine was opened with.
func (s *Session) reset(st *tree.Reset) (*Result, error) {
	if st.Key == "" {
		s.settings = s.e.base.clone()
		return &Result{Tag: "RESET"}, nil
	}
	if _, ok := findSetting(st.Key); !ok {
		return nil, settings{}.set(st.Key, "", st.KeyPos, st.KeyPos)
	}
	delete(s.settings, st.Key)
	if v, ok := s.e.base[st.Key]; ok {
		s.settings[st.Key] = v
	}
	return &Result{Tag: "RESET"}, nil
}

func (s *Session) explain(st *tree.Explain, src string) (*Result, error) {
	if st.Analyze {
		return nil, sqlerr.NotSupported(st.Pos, "EXPLAIN ANALYZE")
	}
	snap := s.Catalog()
	if sink, ok := st.Stmt.(*tree.CreateSink); ok {
		with, _, err := s.e.define(sink, src, snap, s.settings)
		if err != nil {
			return nil, err
		}
		if with == snap {
			return &Result{Tag: "EXPLAIN", Text: "nothing: the sink is there already\n"}, nil
		}
		snap = with
	}
	text, err := s.e.explain(jobSpec{src: src, outputs: []tree.Statement{st.Stmt}, snap: snap, settings: s.settings}, st.Format)
	if err != nil {
		return nil, err
	}
	return &Result{Tag: "EXPLAIN", Text: text}, nil
}
