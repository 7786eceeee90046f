// Package bind turns the syntax tree into logical plans: it resolves names as
// PostgreSQL does (with the case rules of the dialect), settles types, makes implicit
// casts explicit and refuses what the dialect does not allow, each time at the place
// in the text.
package bind

import (
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner/logical"
)

// Binder binds the queries of one job. It remembers bound tables and views, so that
// two mentions of one give one node.
type Binder struct {
	snap      *catalog.Snapshot
	connector func(name string) (connectors.Connector, bool)
	// text is the one that is planned; source is the one in which positions count at the
	// moment, and mention the place in text that led into another source.
	text, source string
	mention      sqlerr.Pos

	tables map[string]*logical.Table
	views  map[string]logical.Node
	// expanding are the views being bound, outermost first.
	expanding []string
}

// New returns a binder over snap. connector finds the connectors that tables name.
func New(snap *catalog.Snapshot, connector func(name string) (connectors.Connector, bool)) *Binder {
	return &Binder{
		snap:      snap,
		connector: connector,
		tables:    map[string]*logical.Table{},
		views:     map[string]logical.Node{},
	}
}

// Query binds a query of the text source. Columns of unknown type come out as TEXT.
func (b *Binder) Query(q *tree.Query, source string) (logical.Node, error) {
	b.begin(source)
	return b.query(q, nil)
}

// View binds the view of that name; positions count in source.
func (b *Binder) View(name, source string, pos sqlerr.Pos) (logical.Node, error) {
	b.begin(source)
	return b.view(name, pos)
}

func (b *Binder) begin(source string) { b.text, b.source, b.mention = source, source, 0 }

// place is pos when it counts in the text that is planned, else the mention that led
// away from it.
func (b *Binder) place(pos sqlerr.Pos) sqlerr.Pos {
	if b.source == b.text {
		return pos
	}
	return b.mention
}

// within runs f while positions count in another text. An error in a text other than
// the submitted one is moved to pos, the mention that led there.
func (b *Binder) within(source, what string, pos sqlerr.Pos, f func() error) error {
	if source == b.source {
		return f()
	}
	outer, mention := b.source, b.mention
	b.mention, b.source = b.place(pos), source
	err := f()
	b.source, b.mention = outer, mention
	if e := sqlerr.As(err); e != nil {
		moved := *e
		moved.Pos = pos
		moved.Detail = "The error is in the definition of " + what + "."
		return &moved
	}
	return err
}

// cte is one visible name of a WITH list; a list is searched from its newest entry.
type cte struct {
	name  string
	node  logical.Node
	outer *cte
}

func (c *cte) find(n tree.Name) *cte {
	for x := c; x != nil; x = x.outer {
		if x.name == n.Text {
			return x
		}
	}
	for x := c; x != nil; x = x.outer {
		if n.Matches(x.name) {
			return x
		}
	}
	return nil
}

func (b *Binder) query(q *tree.Query, with *cte) (logical.Node, error) {
	if err := refuseTail(q); err != nil {
		return nil, err
	}
	for i := range q.With {
		c := &q.With[i]
		node, err := b.query(c.Query, with)
		if err != nil {
			return nil, err
		}
		if node, err = rename(node, c.Columns, c.Name.Text); err != nil {
			return nil, err
		}
		with = &cte{name: c.Name.Text, node: node, outer: with}
	}
	return b.body(q.Body, with)
}

func (b *Binder) body(body tree.QueryBody, with *cte) (logical.Node, error) {
	switch body := body.(type) {
	case *tree.Select:
		return b.selectCore(body, with)
	case *tree.SetOp:
		return b.setOp(body, with)
	case *tree.Values:
		return b.valuesRows(body, with)
	case *tree.Query:
		return b.query(body, with)
	}
	return nil, sqlerr.NotSupported(body.Extent().Pos, "this form of query")
}

// refuseTail refuses the clauses after a query's body.
func refuseTail(q *tree.Query) error {
	switch {
	case len(q.OrderBy) > 0:
		return sqlerr.NotSupported(q.OrderBy[0].Pos, "ORDER BY")
	case q.Limit != nil:
		return sqlerr.NotSupported(q.Limit.Pos, "LIMIT")
	case q.Offset != nil:
		return sqlerr.NotSupported(q.Offset.Pos, "OFFSET")
	case q.Emit != nil:
		return sqlerr.NotSupported(q.Emit.Pos, "EMIT")
	case q.Lateness != nil:
		return sqlerr.NotSupported(q.Lateness.Pos, "WITH LATENESS")
	}
	return nil
}

// rename gives the columns of node the names of a column list, which may be shorter.
func rename(node logical.Node, names []tree.Name, what string) (logical.Node, error) {
	if len(names) == 0 {
		return node, nil
	}
	cols := node.Columns()
	if len(names) > len(cols) {
		return nil, sqlerr.New(sqlerr.CodeInvalidColumnRef, names[len(cols)].Pos,
			"table %q has %d columns available but %d columns specified", what, len(cols), len(names))
	}
	p := &logical.Project{Input: node, Exprs: logical.Identity(node)}
	for i, c := range cols {
		name := c.Name
		if i < len(names) {
			name = names[i].Text
		}
		p.Names = append(p.Names, name)
	}
	return p, nil
}
