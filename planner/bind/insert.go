package bind

import (
	"slices"

	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner/logical"
)

// Insert binds INSERT: the query cast to the columns of the table def that it fills,
// and those columns in the query's order.
func (b *Binder) Insert(ins *tree.Insert, def *catalog.Table, source string) (logical.Node, types.Schema, error) {
	b.begin(source)
	targets, err := insertTargets(ins, def)
	if err != nil {
		return nil, nil, err
	}
	node, exprs, err := b.insertQuery(ins, targets)
	if err != nil {
		return nil, nil, err
	}
	places := outputPlaces(ins.Query, len(exprs))
	if len(exprs) > len(targets) {
		return nil, nil, sqlerr.New(sqlerr.CodeSyntax, places[len(targets)], "INSERT has more expressions than target columns").
			WithDetail("%q takes %d columns, the query gives %d.", def.Name, len(targets), len(exprs))
	}
	if len(exprs) < len(targets) && len(ins.Columns) > 0 {
		return nil, nil, sqlerr.New(sqlerr.CodeSyntax, ins.Columns[len(exprs)].Pos, "INSERT has more target columns than expressions")
	}
	targets = targets[:len(exprs)]
	p := &logical.Project{Input: node}
	for i, e := range exprs {
		cast, err := expr.AssignTo(e, targets[i].Type, targets[i].Name)
		if err != nil {
			return nil, nil, moved(err, places[i])
		}
		p.Exprs = append(p.Exprs, cast)
		p.Names = append(p.Names, targets[i].Name)
	}
	if err := missingNotNull(ins, def, targets); err != nil {
		return nil, nil, err
	}
	return p, targets, nil
}

// insertQuery binds the query and gives its columns as expressions over the node. Open
// literals of VALUES and of a plain SELECT list take the target's type.
func (b *Binder) insertQuery(ins *tree.Insert, targets types.Schema) (logical.Node, []*expr.Expr, error) {
	if v, ok := ins.Query.Body.(*tree.Values); ok && len(ins.Query.With) == 0 {
		if err := refuseTail(ins.Query); err != nil {
			return nil, nil, err
		}
		return b.insertValues(v, targets)
	}
	node, err := b.query(ins.Query, nil)
	if err != nil {
		return nil, nil, err
	}
	p, ok := node.(*logical.Project)
	if !ok {
		return node, logical.Identity(node), nil
	}
	list := slices.Clone(p.Exprs)
	for i := range list {
		if e := openLiteral(p, i); e != nil {
			list[i] = e
		}
	}
	return p.Input, list, nil
}

// outputPlaces gives the places of the query's n columns: those of the select list, or
// of the query where a star or another kind of body hides them.
func outputPlaces(q *tree.Query, n int) []sqlerr.Pos {
	out := make([]sqlerr.Pos, n)
	for i := range out {
		out[i] = q.Pos
	}
	switch body := q.Body.(type) {
	case *tree.Values:
		for i, el := range body.Rows[0].Elems {
			out[i] = el.Extent().Pos
		}
	case *tree.Select:
		for _, it := range body.Items {
			if _, star := it.Expr.(*tree.Star); star {
				return out
			}
		}
		for i, it := range body.Items {
			out[i] = it.Expr.Extent().Pos
		}
	}
	return out
}

// moved puts the error at pos.
func moved(err error, pos sqlerr.Pos) error {
	if se := sqlerr.As(err); se != nil {
		c := *se
		c.Pos = pos
		return &c
	}
	return err
}

// insertValues evaluates VALUES rows in the types of the target columns.
func (b *Binder) insertValues(v *tree.Values, targets types.Schema) (logical.Node, []*expr.Expr, error) {
	x := &exprBinder{b: b, sc: &scope{}, clause: "VALUES"}
	out := &logical.Values{}
	n := len(v.Rows[0].Elems)
	for _, r := range v.Rows {
		if len(r.Elems) != n {
			return nil, nil, sqlerr.New(sqlerr.CodeSyntax, r.Pos, "VALUES lists must all be the same length")
		}
		if n > len(targets) {
			return nil, nil, sqlerr.New(sqlerr.CodeSyntax, r.Elems[len(targets)].Extent().Pos, "INSERT has more expressions than target columns")
		}
		var row []types.Value
		for i, el := range r.Elems {
			e, err := x.bind(el)
			if err != nil {
				return nil, nil, err
			}
			if e, err = expr.AssignTo(e, targets[i].Type, targets[i].Name); err != nil {
				return nil, nil, moved(err, el.Extent().Pos)
			}
			val, err := constant(e, e.Type, el.Extent().Pos)
			if err != nil {
				return nil, nil, err
			}
			if val.Null && targets[i].NotNull {
				return nil, nil, sqlerr.New(sqlerr.CodeNotNull, el.Extent().Pos, "null value in column %q violates not-null constraint", targets[i].Name)
			}
			row = append(row, val)
		}
		out.Rows = append(out.Rows, row)
	}
	for c := range n {
		notNull := true
		for _, row := range out.Rows {
			notNull = notNull && !row[c].Null
		}
		out.Names = append(out.Names, types.Column{Name: targets[c].Name, Type: out.Rows[0][c].Type, NotNull: notNull})
	}
	return out, logical.Identity(out), nil
}

// insertTargets gives the columns that the statement fills, in its order.
func insertTargets(ins *tree.Insert, def *catalog.Table) (types.Schema, error) {
	if len(ins.Columns) == 0 {
		var out types.Schema
		for _, c := range def.Columns {
			if writable(c) {
				out = append(out, c.Column)
			}
		}
		return out, nil
	}
	out := make(types.Schema, 0, len(ins.Columns))
	cols := &scope{rels: []relation{{name: def.Name}}}
	for _, c := range def.Columns {
		cols.rels[0].cols = append(cols.rels[0].cols, logical.Column{Column: c.Column})
	}
	for _, name := range ins.Columns {
		ref := &tree.ColumnRef{Span: name.Span, Parts: []tree.Name{name}}
		e, err := cols.column(ref)
		if err != nil {
			if se := sqlerr.As(err); se.Code == sqlerr.CodeUndefinedColumn {
				se.Msg = "column " + quoted(name.Text) + " of relation " + quoted(def.Name) + " does not exist"
			}
			return nil, err
		}
		c := def.Columns[e.Col]
		switch {
		case c.Computed != "":
			return nil, sqlerr.New("428C9", name.Pos, "column %q is computed and cannot be written", c.Name)
		case !writable(c):
			return nil, sqlerr.New("428C9", name.Pos, "metadata column %q is VIRTUAL and cannot be written", c.Name)
		}
		if out.Index(c.Name) >= 0 {
			return nil, sqlerr.New(sqlerr.CodeDuplicateColumn, name.Pos, "column %q specified more than once", c.Name)
		}
		out = append(out, c.Column)
	}
	return out, nil
}

func writable(c catalog.TableColumn) bool {
	return c.Computed == "" && (c.Metadata == "" || !c.Virtual)
}

// missingNotNull refuses an INSERT that leaves out a column which must have a value.
func missingNotNull(ins *tree.Insert, def *catalog.Table, given types.Schema) error {
	for _, c := range def.Columns {
		inKey := false
		for _, k := range def.Key {
			inKey = inKey || k == c.Name
		}
		if writable(c) && given.Index(c.Name) < 0 && (c.NotNull || inKey) {
			why := "NOT NULL"
			if !c.NotNull {
				why = "part of the PRIMARY KEY"
			}
			return sqlerr.New(sqlerr.CodeNotNull, ins.Table.Pos, "column %q of relation %q is %s but gets no value", c.Name, def.Name, why)
		}
	}
	return nil
}

func quoted(s string) string { return `"` + s + `"` }
