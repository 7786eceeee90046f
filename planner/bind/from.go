package bind

import (
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/parser"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner/logical"
)

// from binds the FROM clause.
func (b *Binder) from(list []tree.TableExpr, with *cte) (logical.Node, *scope, error) {
	switch len(list) {
	case 0:
		return oneRow(), &scope{}, nil
	case 1:
		return b.tableExpr(list[0], with)
	}
	return nil, nil, sqlerr.NotSupported(list[1].Extent().Pos, "a join (a comma in FROM)")
}

// oneRow is what a SELECT without FROM reads: a row whose one column, since rows without
// columns have no carrier, has no name.
func oneRow() logical.Node {
	return &logical.Values{
		Names: types.Schema{{Type: types.TBool, NotNull: true}},
		Rows:  [][]types.Value{{types.BoolValue(true)}},
	}
}

func (b *Binder) tableExpr(t tree.TableExpr, with *cte) (logical.Node, *scope, error) {
	switch t := t.(type) {
	case *tree.TableRef:
		node, name, err := b.tableRef(t, with)
		if err != nil {
			return nil, nil, err
		}
		return aliased(node, name, t.Alias)
	case *tree.DerivedTable:
		node, err := b.derived(t, with)
		if err != nil {
			return nil, nil, err
		}
		return aliased(node, "", t.Alias)
	case *tree.WindowTable:
		node, name, err := b.windowTable(t, with)
		if err != nil {
			return nil, nil, err
		}
		return aliased(node, name, t.Alias)
	case *tree.Join:
		return nil, nil, sqlerr.NotSupported(t.OpPos, joinName(t.Kind))
	case *tree.Unnest:
		return nil, nil, sqlerr.NotSupported(t.Pos, "UNNEST")
	}
	return nil, nil, sqlerr.NotSupported(t.Extent().Pos, "this entry of FROM")
}

func joinName(k tree.JoinKind) string {
	switch k {
	case tree.LeftJoin:
		return "LEFT JOIN"
	case tree.RightJoin:
		return "RIGHT JOIN"
	case tree.FullJoin:
		return "FULL JOIN"
	case tree.CrossJoin:
		return "CROSS JOIN"
	}
	return "JOIN"
}

func aliased(node logical.Node, name string, alias *tree.TableAlias) (logical.Node, *scope, error) {
	if alias != nil {
		name = alias.Name.Text
		var err error
		if node, err = rename(node, alias.Columns, name); err != nil {
			return nil, nil, err
		}
	}
	return node, newScope(name, node), nil
}

func (b *Binder) derived(t *tree.DerivedTable, with *cte) (logical.Node, error) {
	if t.Lateral {
		return nil, sqlerr.NotSupported(t.Pos, "LATERAL")
	}
	return b.query(t.Query, with)
}

// tableRef binds a name: a CTE, a table or a view.
func (b *Binder) tableRef(t *tree.TableRef, with *cte) (logical.Node, string, error) {
	if t.AsOf != nil {
		return nil, "", sqlerr.NotSupported(t.AsOf.Extent().Pos, "FOR SYSTEM_TIME AS OF")
	}
	name := t.Name.Last()
	if len(t.Name.Parts) > 1 {
		return nil, "", sqlerr.New(sqlerr.CodeUndefinedTable, t.Pos, "relation %q does not exist", t.Name.String()).
			WithHint("Tables are in no schema.")
	}
	if c := with.find(name); c != nil {
		return c.node, c.name, nil
	}
	table, view := b.snap.Find(name.Text, name.Quoted)
	switch {
	case table != nil:
		bound, err := b.readable(table.Name, t.Pos)
		if err != nil {
			return nil, "", err
		}
		return logical.NewScan(bound, t.Pos), table.Name, nil
	case view != nil:
		node, err := b.view(view.Name, t.Pos)
		return node, view.Name, err
	}
	return nil, "", b.missingTable(name, with)
}

func (b *Binder) missingTable(name tree.Name, with *cte) error {
	names := b.snap.Names()
	var same []string
	for _, n := range names {
		if strings.EqualFold(n, name.Text) {
			same = append(same, tree.QuoteIdent(n))
		}
	}
	for c := with; c != nil; c = c.outer {
		names = append(names, c.name)
	}
	if len(same) > 1 {
		return sqlerr.New(sqlerr.CodeUndefinedTable, name.Pos, "relation %q is ambiguous", name.Text).
			WithHint("Write it in double quotes: %s.", strings.Join(same, " or "))
	}
	e := sqlerr.New(sqlerr.CodeUndefinedTable, name.Pos, "relation %q does not exist", name.Text)
	if near := sqlerr.Nearest(name.Text, names); near != "" {
		return e.WithHint("did you mean %q?", near)
	}
	return e
}

// view binds the query of a view, once per job.
func (b *Binder) view(name string, pos sqlerr.Pos) (logical.Node, error) {
	if node, ok := b.views[name]; ok {
		return node, nil
	}
	for _, n := range b.expanding {
		if n == name {
			return nil, sqlerr.New("42P17", pos, "view %q refers to itself", name)
		}
	}
	_, v := b.snap.Find(name, true)
	b.expanding = append(b.expanding, name)
	defer func() { b.expanding = b.expanding[:len(b.expanding)-1] }()
	var node logical.Node
	err := b.within(v.Source, "view "+tree.QuoteIdent(name), pos, func() error {
		stmt, err := parser.ParseOne(textAt(v.Query, v.QueryPos))
		if err != nil {
			return err
		}
		q, ok := stmt.(*tree.QueryStmt)
		if !ok {
			return sqlerr.Internalf("view %q is not a query", name)
		}
		if node, err = b.query(q.Query, nil); err != nil {
			return err
		}
		if node, err = rename(node, viewColumns(v.Columns), name); err != nil {
			return moved(err, pos)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if v.Source != b.text {
		node = logical.Relocate(node, b.place(pos))
	}
	b.views[name] = node
	return node, nil
}

// viewColumns makes names of a view's column list.
func viewColumns(list []string) []tree.Name {
	out := make([]tree.Name, len(list))
	for i, n := range list {
		out[i] = tree.Name{Text: n, Quoted: true}
	}
	return out
}

// textAt puts text where it stood in its source, so that positions come out right.
func textAt(text string, pos sqlerr.Pos) string {
	if pos <= 1 {
		return text
	}
	return strings.Repeat(" ", int(pos)-1) + text
}
