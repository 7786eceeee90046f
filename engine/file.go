package engine

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// File is a job's text: declarations, then SETs, then its outputs.
type File struct {
	Name string // of the job: SET 'job.name', else the path's base name
	SQL  string // with ${NAME} replaced, save in the values of WITH (…)

	script   *Script
	outputs  []tree.Statement
	snap     *catalog.Snapshot
	settings settings
}

// JobName is the name that a job file has by itself.
func JobName(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// Load reads a job's text. name is the job's name when the text does not set one.
func (e *Engine) Load(name, text string) (*File, error) {
	script, err := e.parse(text)
	if err != nil {
		return nil, err
	}
	f := &File{Name: name, SQL: script.Text(), script: script, snap: catalog.Empty, settings: e.base.clone()}
	if f.Name == "" {
		f.Name = "job"
	}
	for _, st := range script.Statements {
		if err := f.add(e, st); err != nil {
			return nil, script.Fix(err)
		}
	}
	if len(f.outputs) == 0 {
		return nil, sqlerr.New(sqlerr.CodeSyntax, 0, "the file has no INSERT, CREATE SINK … AS or SELECT: there is nothing to run")
	}
	if n := f.settings.get("job.name"); n != "" {
		f.Name = n
	}
	return f, nil
}

// add takes one statement in.
func (f *File) add(e *Engine, st tree.Statement) (err error) {
	switch st := st.(type) {
	case *tree.CreateTable, *tree.CreateView, *tree.Drop:
		f.snap, _, err = e.define(st, f.SQL, f.snap, f.settings)
		return err
	case *tree.Set:
		if len(f.outputs) > 0 {
			return sqlerr.New(sqlerr.CodeSyntax, st.Pos, "SET after the first output of a job").
				WithHint("Settings hold for the whole job: put them before the first INSERT or SELECT.")
		}
		return f.settings.set(st.Key, st.Value, st.KeyPos, st.ValuePos)
	case *tree.CreateSink:
		before := f.snap
		if f.snap, _, err = e.define(st, f.SQL, f.snap, f.settings); err == nil && f.snap != before {
			f.outputs = append(f.outputs, st)
		}
		return err
	case *tree.Insert, *tree.QueryStmt:
		f.outputs = append(f.outputs, st)
		return nil
	case *tree.BeginStatementSet, *tree.EndStatementSet:
		return nil
	}
	return sqlerr.New(sqlerr.CodeNotSupported, st.Extent().Pos, "this statement does not belong in a job's file").
		WithHint("A job's file holds declarations, SETs, INSERTs and SELECTs; type the rest at the prompt.")
}

// Queries gives the SELECTs of a file that has no other output, nil when it has:
// they run one after another, and only the last may be unbounded.
func (f *File) Queries() []*tree.QueryStmt {
	var out []*tree.QueryStmt
	for _, st := range f.outputs {
		q, ok := st.(*tree.QueryStmt)
		if !ok {
			return nil
		}
		out = append(out, q)
	}
	return out
}

// Transient reports that all that the job writes is gone with the process: it prints
// or counts rows.
func (e *Engine) Transient(f *File) (bool, error) {
	p, err := e.plan(f.spec(Start{}), nil)
	if err != nil {
		return false, f.script.Fix(err)
	}
	find := e.connector(nil)
	for _, n := range p.Nodes {
		if n.Sink == nil {
			continue
		}
		c, ok := find(n.Sink.Connector)
		if !ok || c.Capabilities == nil {
			return false, nil
		}
		caps, err := c.Capabilities(n.Sink.Options, true)
		if err != nil || !caps.Transient {
			return false, f.script.Fix(err)
		}
	}
	return true, nil
}

func (f *File) spec(how Start) jobSpec {
	return jobSpec{name: f.Name, src: f.SQL, outputs: f.outputs, snap: f.snap, settings: f.settings, how: how, fix: f.script.Fix}
}

// Run starts the file as one job: all its outputs share one DAG and one checkpoint. A
// SELECT beside INSERTs prints through the console connector. The job goes on when ctx
// ends; only its start is given up then.
func (e *Engine) Run(ctx context.Context, f *File, how Start) (*Job, error) {
	n := 0
	for _, st := range f.outputs {
		if q, ok := st.(*tree.QueryStmt); ok {
			if n++; n > 1 {
				return nil, f.script.Fix(sqlerr.NotSupported(q.Pos, "a second SELECT beside other outputs"))
			}
		}
	}
	return e.start(ctx, f.spec(how))
}

// Query starts one SELECT of the file.
func (e *Engine) Query(ctx context.Context, f *File, q *tree.QueryStmt) (*Query, error) {
	spec := f.spec(Start{})
	spec.outputs = []tree.Statement{q}
	return e.query(ctx, q, spec)
}
