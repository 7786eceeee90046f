package bind

import (
	"strings"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/parser"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner/logical"
	"github.com/streamsql/streamsql/planner/plan"
)

// readable binds a table that a query reads, once per job.
func (b *Binder) readable(name string, pos sqlerr.Pos) (*logical.Table, error) {
	if t, ok := b.tables[name]; ok {
		return t, nil
	}
	def, _ := b.snap.Find(name, true)
	if def.Access == catalog.WriteOnly {
		return nil, sqlerr.New("42809", pos, "%q is a sink and cannot be read", name).
			WithHint("Declare it with CREATE TABLE or CREATE SOURCE.")
	}
	var t *logical.Table
	err := b.within(def.Source, "table "+tree.QuoteIdent(name), pos, func() (err error) {
		t, err = b.Table(def)
		return err
	})
	if err != nil {
		return nil, err
	}
	if def.Source != b.text {
		at := b.place(pos)
		for i, v := range t.Virtual {
			t.Virtual[i] = logical.RelocateExpr(v, at)
		}
		for i, m := range t.Moment {
			if m != nil {
				t.Moment[i] = logical.RelocateExpr(m, at)
			}
		}
		if t.Watermark != nil {
			t.Watermark = logical.RelocateExpr(t.Watermark, at)
		}
	}
	b.tables[name] = t
	return t, nil
}

// Table binds the computed columns, metadata columns and watermark of def. Positions
// count in def.Source.
func (b *Binder) Table(def *catalog.Table) (*logical.Table, error) {
	opt, _ := def.Option("connector")
	conn, ok := b.connector(opt.Value)
	if !ok {
		return nil, sqlerr.New(sqlerr.CodeOption, opt.ValuePos, "connector %q does not exist", opt.Value)
	}
	tb := &tableBinder{
		b: b, def: def, conn: conn,
		out:   &logical.Table{Def: def, Declared: make([]int, len(def.Columns)), Moment: make([]*expr.Expr, len(def.Columns)), Time: -1},
		state: make([]bindState, len(def.Columns)),
	}
	for i := range def.Columns {
		if def.Columns[i].Computed == "" && tb.metadataKey(i) == "" {
			tb.physical(i)
		}
	}
	for i := range def.Columns {
		if tb.metadataKey(i) != "" {
			if err := tb.metadata(i); err != nil {
				return nil, err
			}
		}
	}
	for i := range def.Columns {
		if err := tb.column(i, def.Columns[i].Pos); err != nil {
			return nil, err
		}
	}
	if err := tb.watermark(); err != nil {
		return nil, err
	}
	for _, k := range def.Key {
		for i, c := range def.Columns {
			if c.Name == k {
				tb.out.Key = append(tb.out.Key, tb.out.Declared[i])
			}
		}
	}
	return tb.out, nil
}

type bindState uint8

const (
	notBound bindState = iota
	binding
	bound
)

type tableBinder struct {
	b     *Binder
	def   *catalog.Table
	conn  connectors.Connector
	out   *logical.Table
	state []bindState
	casts []castLater
}

// castLater is a metadata column declared with another type than the connector's.
type castLater struct {
	col, read int
}

func (t *tableBinder) physical(i int) {
	c := t.def.Columns[i]
	t.out.Declared[i] = len(t.out.Read)
	t.out.Read = append(t.out.Read, plan.ReadColumn{Column: c.Column, Field: c.Name})
	t.state[i] = bound
}

// metadataKey is what column i reads beside the payload, "" for nothing: what it says, or
// the token of the subject that is named in braces like it.
func (t *tableBinder) metadataKey(i int) string {
	c := t.def.Columns[i]
	if c.Metadata != "" || c.Computed != "" {
		return c.Metadata
	}
	for _, m := range t.conn.Metadata {
		if m.Name != tokenMetadata {
			continue
		}
		for _, key := range []string{"subject", "subjects"} {
			if o, ok := t.def.Option(key); ok && strings.Contains(o.Value, "{"+c.Name+"}") {
				return tokenMetadata + c.Name
			}
		}
	}
	return ""
}

// tokenMetadata starts the metadata keys of the tokens of a subject.
const tokenMetadata = "token."

func (t *tableBinder) metadata(i int) error {
	c := t.def.Columns[i]
	c.Metadata = t.metadataKey(i)
	var names []string
	for _, m := range t.conn.Metadata {
		names = append(names, m.Name)
		// A name that ends in a dot stands for every key below it.
		if m.Name != c.Metadata && !(strings.HasSuffix(m.Name, ".") && strings.HasPrefix(c.Metadata, m.Name)) {
			continue
		}
		rc := plan.ReadColumn{Column: types.Column{Name: c.Name, Type: m.Type}, Metadata: c.Metadata}
		place := len(t.out.Read)
		t.out.Read = append(t.out.Read, rc)
		if c.Type == m.Type {
			t.out.Declared[i] = place
			t.state[i] = bound
			return nil
		}
		t.casts = append(t.casts, castLater{col: i, read: place})
		return nil
	}
	e := sqlerr.New(sqlerr.CodeUndefinedColumn, c.Pos, "connector %q has no metadata %q", t.conn.Name, c.Metadata)
	if near := sqlerr.Nearest(c.Metadata, names); near != "" {
		return e.WithHint("did you mean %q?", near)
	}
	if len(names) == 0 {
		return e.WithHint("The connector has no metadata columns.")
	}
	return e.WithHint("It has: %s.", strings.Join(names, ", "))
}

// column binds column i and, first, the computed columns that it needs.
func (t *tableBinder) column(i int, pos sqlerr.Pos) error {
	c := t.def.Columns[i]
	switch t.state[i] {
	case bound:
		return nil
	case binding:
		return sqlerr.New("42P17", pos, "computed column %q refers to itself", c.Name)
	}
	t.state[i] = binding
	var e *expr.Expr
	for _, k := range t.casts {
		if k.col == i {
			cast, err := expr.ExplicitCast(at(expr.Col(k.read, t.out.Read[k.read].Type), c.Pos), c.Type, false)
			if err != nil {
				return sqlerr.New(sqlerr.CodeDatatypeMismatch, c.Pos, "metadata column %q is of type %s but metadata %q is of type %s",
					c.Name, c.Type, c.Metadata, t.out.Read[k.read].Type)
			}
			e = cast
		}
	}
	if e == nil {
		var err error
		if e, err = t.expression(c.Computed, c.ComputedPos); err != nil {
			return err
		}
		if e, err = settle(e); err != nil {
			return err
		}
	}
	if e.Clock() != nil {
		t.out.Declared[i], t.out.Moment[i] = -1, e
		t.state[i] = bound
		return nil
	}
	t.out.Declared[i] = len(t.out.Read) + len(t.out.Virtual)
	t.out.Virtual = append(t.out.Virtual, e)
	t.out.VirtualNames = append(t.out.VirtualNames, c.Name)
	t.state[i] = bound
	return nil
}

// expression binds text over the table's column space; the computed columns that it
// mentions are bound first.
func (t *tableBinder) expression(text string, pos sqlerr.Pos) (*expr.Expr, error) {
	ast, err := parser.ParseExpr(textAt(text, pos))
	if err != nil {
		return nil, err
	}
	names := make([]logical.Column, len(t.def.Columns))
	for i, c := range t.def.Columns {
		names[i].Name = c.Name
	}
	sc := &scope{rels: []relation{{name: t.def.Name, cols: names}}}
	x := &exprBinder{b: t.b, sc: sc, clause: "a computed column"}
	x.resolve = func(ref *tree.ColumnRef) (*expr.Expr, error) {
		e, err := sc.column(ref)
		if err != nil {
			return nil, err
		}
		if err := t.column(e.Col, ref.Pos); err != nil {
			return nil, err
		}
		if m := t.out.Moment[e.Col]; m != nil {
			return logical.RelocateExpr(m, ref.Pos), nil
		}
		place := t.out.Declared[e.Col]
		return at(expr.Col(place, t.out.Column(place).Type), ref.Pos), nil
	}
	return x.bind(ast)
}

// watermark binds the WATERMARK clause.
func (t *tableBinder) watermark() error {
	d := t.def
	if d.WatermarkColumn == "" {
		return nil
	}
	for i, c := range d.Columns {
		if c.Name != d.WatermarkColumn {
			continue
		}
		if t.out.Moment[i] != nil {
			return sqlerr.New(sqlerr.CodeWindowing, d.WatermarkPos, "the WATERMARK column %q depends on the clock", c.Name).
				WithHint("A column AS PROCTIME() needs no WATERMARK: windows over it fire by the clock.")
		}
		t.out.Time = t.out.Declared[i]
	}
	typ := t.out.Column(t.out.Time).Type
	if !typ.IsTimestamp() {
		return sqlerr.New(sqlerr.CodeDatatypeMismatch, d.WatermarkPos, "the WATERMARK column %q must be TIMESTAMP or TIMESTAMP WITH TIME ZONE, not %s",
			d.WatermarkColumn, typ)
	}
	e, err := t.expression(d.Watermark, d.WatermarkPos)
	if err != nil {
		return err
	}
	if call := e.Clock(); call != nil {
		return sqlerr.New(sqlerr.CodeWindowing, call.Pos, "the WATERMARK of %q depends on the clock", d.WatermarkColumn).
			WithHint("Take it from the row's own time, or use a column AS PROCTIME() for windows that fire by the clock.")
	}
	if e.Type.Kind != typ.Kind {
		return sqlerr.New(sqlerr.CodeDatatypeMismatch, d.WatermarkPos, "the WATERMARK of %q must be %s, not %s", d.WatermarkColumn, typ, e.Type)
	}
	t.out.Watermark = e
	return nil
}
