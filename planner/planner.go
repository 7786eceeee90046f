// Package planner turns statements and a catalog snapshot into plans. It is pure: no
// I/O, no clock, and the same input gives the same bytes of plan.
//
// A statement goes through the binder (package bind), which makes a logical plan
// (package logical); the ordered list of rules (package rules) rewrites it; the
// physical planner decides exchanges, parallelism, changelog modes, keys, sink modes
// and the guarantee. docs/design/0010-planner.md has the reasons.
package planner

import (
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner/bind"
	"github.com/streamsql/streamsql/planner/logical"
	"github.com/streamsql/streamsql/planner/plan"
	"github.com/streamsql/streamsql/planner/rules"
)

// KeyGroups is the number of key groups of a new job.
const KeyGroups = 256

// Options is what planning depends on beside statement and catalog.
type Options struct {
	// Connectors finds a connector by name; ConnectorNames lists them for hints.
	Connectors     func(name string) (connectors.Connector, bool)
	ConnectorNames []string
	// Formats lists the formats of payloads.
	Formats []format.Format
	// TimeZone is the session's zone, "UTC" when empty.
	TimeZone string
	// Settings are the SETs of the session, by key.
	Settings map[string]string
	// Vars resolves ${NAME} in option values while a connector judges them; plans keep
	// them unresolved. nil leaves them as they are.
	Vars func(name string) (string, bool)
}

func (o Options) withDefaults() Options {
	if o.TimeZone == "" {
		o.TimeZone = "UTC"
	}
	if o.Connectors == nil {
		o.Connectors = func(string) (connectors.Connector, bool) { return connectors.Connector{}, false }
	}
	return o
}

// Output is one statement of a job that sends rows somewhere.
type Output struct {
	// Stmt is a *parser.Insert or a *parser.QueryStmt.
	Stmt tree.Statement
	// Source is the text in which the statement's positions count.
	Source string
	// Show is where the rows of a query go; it is not used for INSERT.
	Show ShowSink
}

// ShowSink is the connector that shows the rows of a query.
type ShowSink struct {
	Connector string // "console" when empty
	Options   map[string]string
}

// Plan plans all outputs of a job as one DAG in which scans and equal sub-plans are
// shared. Errors are *sqlerr.Error with a position in the output's Source.
func Plan(outputs []Output, snap *catalog.Snapshot, opts Options) (*plan.Plan, error) {
	roots, _, err := Logical(outputs, snap, opts)
	if err != nil {
		return nil, err
	}
	return physical(roots, snap, opts.withDefaults())
}

// Logical gives the logical plan of all outputs of a job, and the names of the rules
// that changed it.
func Logical(outputs []Output, snap *catalog.Snapshot, opts Options) (roots []logical.Node, fired []string, err error) {
	opts = opts.withDefaults()
	b := bind.New(snap, opts.Connectors)
	roots = make([]logical.Node, 0, len(outputs))
	shown := false
	for _, out := range outputs {
		var sink *logical.Sink
		switch stmt := out.Stmt.(type) {
		case *tree.Insert:
			sink, err = insertSink(b, stmt, out.Source, snap, opts)
		case *tree.QueryStmt:
			if shown {
				return nil, nil, sqlerr.NotSupported(stmt.Pos, "a second SELECT in one job")
			}
			shown = true
			sink, err = showSink(b, stmt, out, opts)
		case *tree.CreateSink:
			sink, err = insertSink(b, &tree.Insert{Span: stmt.Span, Table: stmt.Name, Query: stmt.Query}, out.Source, snap, opts)
		default:
			err = sqlerr.Internalf("a statement without output was given to the planner")
		}
		if err != nil {
			return nil, nil, err
		}
		roots = append(roots, sink)
	}
	return rules.Apply(roots)
}

// OutputSchema gives the columns of a query, named as PostgreSQL names them.
func OutputSchema(q *tree.Query, source string, snap *catalog.Snapshot, opts Options) (types.Schema, error) {
	opts = opts.withDefaults()
	node, err := bind.New(snap, opts.Connectors).Query(q, source)
	if err != nil {
		return nil, err
	}
	return logical.Schema(node), nil
}
