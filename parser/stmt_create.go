package parser

import (
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// createHead is what CREATE statements begin with.
type createHead struct {
	lo                     int
	orReplace, temporary   bool
	ifNotExists            bool
	name                   tree.QualifiedName
	temporaryAt, replaceAt int
}

// create reads CREATE ….
func (p *parser) create() (tree.Statement, error) {
	h := createHead{lo: p.i}
	p.i++
	h.replaceAt = p.i
	if p.word("OR") {
		if err := p.expectWord("REPLACE"); err != nil {
			return nil, err
		}
		h.orReplace = true
	}
	h.temporaryAt = p.i
	if p.word("TEMPORARY") || p.word("TEMP") {
		h.temporary = true
	}
	switch {
	case p.word("MATERIALIZED", "VIEW"):
		return p.createView(h, true)
	case p.word("VIEW"):
		return p.createView(h, false)
	case p.word("TABLE"):
		return p.createTable(h, tree.KindTable)
	case p.word("SOURCE"):
		p.word("TABLE")
		return p.createTable(h, tree.KindSource)
	case p.word("STREAM"):
		return p.createTable(h, tree.KindStream)
	case p.word("SINK"):
		p.word("TABLE")
		return p.createTable(h, tree.KindSink)
	case p.isWord("SAVEPOINT"):
		return p.createSavepoint(h)
	case p.isWord("FUNCTION"), p.isWord("CATALOG"), p.isWord("DATABASE"), p.isWord("SCHEMA"), p.isWord("INDEX"),
		p.isWord("CONNECTION"), p.isWord("SECRET"), p.isWord("TYPE"), p.isWord("RECURSIVE"), p.isWord("UNIQUE"), p.isWord("UNLOGGED"):
		return nil, sqlerr.NotSupported(p.pos(h.lo), "CREATE "+p.cur().up)
	}
	return nil, p.unexpected().expecting("TABLE, SOURCE, STREAM, SINK, VIEW or MATERIALIZED VIEW")
}

// named reads [IF NOT EXISTS] name.
func (p *parser) named(h *createHead, what string) (err error) {
	if p.word("IF") {
		if err := p.expectWord("NOT", "EXISTS"); err != nil {
			return err
		}
		h.ifNotExists = true
		if h.orReplace {
			return sqlerr.New(sqlerr.CodeSyntax, p.pos(h.replaceAt), "OR REPLACE and IF NOT EXISTS exclude each other")
		}
	}
	h.name, err = p.qualifiedName(what)
	return err
}

func (p *parser) createView(h createHead, materialized bool) (tree.Statement, error) {
	if err := p.named(&h, "a view"); err != nil {
		return nil, err
	}
	v := &tree.CreateView{OrReplace: h.orReplace, Temporary: h.temporary, Materialized: materialized, IfNotExists: h.ifNotExists, Name: h.name}
	if h.temporary && materialized {
		return nil, sqlerr.NotSupported(p.pos(h.temporaryAt), "a temporary materialized view")
	}
	var err error
	if p.isOp("(") {
		if v.Columns, err = p.nameList(); err != nil {
			return nil, err
		}
	}
	if p.isWord("WITH") || p.isWord("COMMENT") {
		return nil, sqlerr.NotSupported(p.pos(p.i), p.cur().up+" of a view")
	}
	if err := p.expectWord("AS"); err != nil {
		return nil, err
	}
	if !p.startsQuery() {
		return nil, p.unexpected().expecting("a query")
	}
	if v.Query, err = p.statementQuery(); err != nil {
		return nil, err
	}
	v.Span = p.span(h.lo, p.i)
	return v, nil
}

// createTable reads the table forms and CREATE SINK … AS query.
func (p *parser) createTable(h createHead, kind tree.TableKind) (tree.Statement, error) {
	if err := p.named(&h, "a table"); err != nil {
		return nil, err
	}
	t := &tree.CreateTable{Kind: kind, OrReplace: h.orReplace, Temporary: h.temporary, IfNotExists: h.ifNotExists, Name: h.name}
	if p.isOp("(") {
		if err := p.tableElements(t); err != nil {
			return nil, err
		}
	}
	if p.isWord("COMMENT") || p.isWord("PARTITIONED") || p.isWord("DISTRIBUTED") || p.isWord("LIKE") {
		return nil, sqlerr.NotSupported(p.pos(p.i), p.cur().up+" in CREATE TABLE")
	}
	var err error
	if p.isWith() {
		if t.Options, err = p.options(); err != nil {
			return nil, err
		}
	}
	if p.isWord("AS") || p.isWord("FROM") {
		if kind != tree.KindSink || !p.word("AS") {
			return nil, sqlerr.NotSupported(p.pos(p.i), "CREATE … "+p.cur().up).
				WithHint("Declare the table, then INSERT INTO it; or use CREATE SINK … AS query.")
		}
		return p.createSink(h, t)
	}
	if len(t.Columns) == 0 {
		return nil, p.unexpected().expecting("columns in brackets")
	}
	t.Span = p.span(h.lo, p.i)
	return t, nil
}

func (p *parser) createSink(h createHead, t *tree.CreateTable) (tree.Statement, error) {
	if t.Watermark != nil {
		return nil, sqlerr.New(sqlerr.CodeSyntax, t.Watermark.Pos, "a sink has no watermark")
	}
	if t.Temporary {
		return nil, sqlerr.NotSupported(p.pos(h.temporaryAt), "a temporary sink with a query")
	}
	s := &tree.CreateSink{
		OrReplace: t.OrReplace, IfNotExists: t.IfNotExists, Name: t.Name,
		Columns: t.Columns, PrimaryKey: t.PrimaryKey, Options: t.Options,
	}
	if !p.startsQuery() {
		return nil, p.unexpected().expecting("a query")
	}
	var err error
	if s.Query, err = p.statementQuery(); err != nil {
		return nil, err
	}
	if p.isWith() {
		if s.Options != nil {
			return nil, p.unexpected().Error
		}
		if s.Options, err = p.options(); err != nil {
			return nil, err
		}
	}
	s.Span = p.span(h.lo, p.i)
	return s, nil
}

func (p *parser) isWith() bool { return p.isWord("WITH") && p.peekOp(1, "(") }

// options reads WITH ( 'key' = 'value', … ).
func (p *parser) options() ([]tree.Option, error) {
	p.i += 2
	out := []tree.Option{}
	seen := map[string]bool{}
	for !p.isOp(")") {
		var o tree.Option
		var err error
		if o.Key, o.KeyPos, err = p.optionKey(); err != nil {
			return nil, err
		}
		if err := p.expectOp("="); err != nil {
			return nil, err
		}
		if o.Value, o.ValuePos, err = p.optionValue(); err != nil {
			return nil, err
		}
		if seen[o.Key] {
			return nil, sqlerr.New(sqlerr.CodeOption, o.KeyPos, `option "%s" is given twice`, o.Key)
		}
		seen[o.Key] = true
		out = append(out, o)
		if !p.op(",") {
			break
		}
		if p.isOp(")") {
			return nil, p.unexpected().expecting("an option")
		}
	}
	return out, p.expectOp(")")
}

// tableElements reads ( columns, WATERMARK, PRIMARY KEY ).
func (p *parser) tableElements(t *tree.CreateTable) error {
	p.i++
	for {
		var err error
		switch {
		case p.isWord("WATERMARK", "FOR"):
			err = p.watermark(t)
		case p.isWord("PRIMARY"):
			err = p.primaryKey(t)
		case p.isWord("CONSTRAINT"), p.isWord("UNIQUE"), p.isWord("CHECK"), p.isWord("FOREIGN"), p.isWord("LIKE"):
			err = sqlerr.NotSupported(p.pos(p.i), p.cur().up+" in CREATE TABLE")
		default:
			err = p.columnDef(t)
		}
		if err != nil {
			return err
		}
		if !p.op(",") {
			return p.expectOp(")")
		}
	}
}

func (p *parser) watermark(t *tree.CreateTable) error {
	lo := p.i
	if t.Watermark != nil {
		return sqlerr.New(sqlerr.CodeSyntax, p.pos(lo), "a table has one watermark")
	}
	p.i += 2
	n, err := p.name("a column")
	if err != nil {
		return err
	}
	if p.isOp(".") {
		return sqlerr.NotSupported(p.pos(p.i), "a watermark for a field of a row")
	}
	w := &tree.WatermarkDef{Column: n}
	if err := p.expectWord("AS"); err != nil {
		return err
	}
	if w.Expr, err = p.expr(); err != nil {
		return err
	}
	w.Span = p.span(lo, p.i)
	t.Watermark = w
	return nil
}

func (p *parser) primaryKey(t *tree.CreateTable) error {
	lo := p.i
	p.i++
	if err := p.expectWord("KEY"); err != nil {
		return err
	}
	cols, err := p.nameList()
	if err != nil {
		return err
	}
	return p.setPrimaryKey(t, lo, cols)
}

func (p *parser) setPrimaryKey(t *tree.CreateTable, lo int, cols []tree.Name) error {
	if t.PrimaryKey != nil {
		return sqlerr.New(sqlerr.CodeSyntax, p.pos(lo), `multiple primary keys for table "%s" are not allowed`, t.Name)
	}
	pk := &tree.PrimaryKeyDef{Columns: cols}
	if p.word("NOT", "ENFORCED") {
		pk.NotEnforced = true
	} else if p.isWord("ENFORCED") {
		return sqlerr.NotSupported(p.pos(p.i), "an enforced PRIMARY KEY").WithHint("Write NOT ENFORCED or leave it out.")
	}
	pk.Span = p.span(lo, p.i)
	t.PrimaryKey = pk
	return nil
}

// columnDef reads name type … or name AS expression.
func (p *parser) columnDef(t *tree.CreateTable) error {
	lo := p.i
	n, err := p.name("a column")
	if err != nil {
		return err
	}
	for i := range t.Columns {
		if t.Columns[i].Name.Text == n.Text {
			return sqlerr.New(sqlerr.CodeDuplicateColumn, n.Pos, `column "%s" specified more than once`, n.Text)
		}
	}
	c := tree.ColumnDef{Name: n}
	if p.word("AS") {
		if c.Computed, err = p.expr(); err != nil {
			return err
		}
	} else {
		typ, err := p.typeName()
		if err != nil {
			return err
		}
		c.Type = &typ
	}
	if err := p.columnConstraints(t, &c); err != nil {
		return err
	}
	c.Span = p.span(lo, p.i)
	t.Columns = append(t.Columns, c)
	return nil
}

func (p *parser) columnConstraints(t *tree.CreateTable, c *tree.ColumnDef) error {
	for {
		lo := p.i
		switch {
		case p.isOp(","), p.isOp(")"):
			return nil
		case p.isWord("GENERATED") || p.isWord("DEFAULT") || p.isWord("CHECK") || p.isWord("UNIQUE") ||
			p.isWord("REFERENCES") || p.isWord("COMMENT") || p.isWord("COLLATE") || p.isWord("CONSTRAINT"):
			return sqlerr.NotSupported(p.pos(lo), p.cur().up+" of a column")
		case c.Computed != nil:
			return p.unexpected().expecting(`"," or ")" after a computed column`)
		case p.word("NOT", "NULL"):
			c.NotNull = true
		case p.word("NULL"):
			if c.NotNull {
				return p.unexpectedAt(lo).Error
			}
		case p.isWord("PRIMARY"):
			p.i++
			if err := p.expectWord("KEY"); err != nil {
				return err
			}
			if err := p.setPrimaryKey(t, lo, []tree.Name{c.Name}); err != nil {
				return err
			}
		case p.isWord("METADATA"):
			if c.Metadata != nil {
				return p.unexpected().Error
			}
			if err := p.metadata(c); err != nil {
				return err
			}
		default:
			return p.unexpected().expecting("NOT NULL, PRIMARY KEY or METADATA")
		}
	}
}

func (p *parser) metadata(c *tree.ColumnDef) error {
	lo := p.i
	p.i++
	m := &tree.MetadataDef{Key: c.Name.Text, KeyPos: c.Name.Pos}
	if p.word("FROM") {
		var err error
		if m.Key, m.KeyPos, err = p.stringToken("the metadata key as a string"); err != nil {
			return err
		}
	}
	m.Virtual = p.word("VIRTUAL")
	m.Span = p.span(lo, p.i)
	c.Metadata = m
	return nil
}

// drop reads DROP ….
func (p *parser) drop() (tree.Statement, error) {
	lo := p.i
	p.i++
	if p.word("SAVEPOINT") {
		a, err := p.stringArg("a savepoint")
		return &tree.DropSavepoint{Span: p.span(lo, p.i), Path: a}, err
	}
	d := &tree.Drop{}
	p.word("TEMPORARY")
	switch {
	case p.word("TABLE"):
		d.Kind = tree.ObjectTable
	case p.word("SOURCE"):
		d.Kind = tree.ObjectSource
	case p.word("STREAM"):
		d.Kind = tree.ObjectStream
	case p.word("VIEW"):
		d.Kind = tree.ObjectView
	case p.word("MATERIALIZED", "VIEW"):
		d.Kind = tree.ObjectMaterializedView
	case p.word("SINK"):
		d.Kind = tree.ObjectSink
	default:
		return nil, p.unexpected().expecting("TABLE, SOURCE, STREAM, VIEW, MATERIALIZED VIEW, SINK or SAVEPOINT")
	}
	if p.word("IF") {
		if err := p.expectWord("EXISTS"); err != nil {
			return nil, err
		}
		d.IfExists = true
	}
	var err error
	if d.Name, err = p.qualifiedName("a name"); err != nil {
		return nil, err
	}
	if p.isOp(",") {
		return nil, sqlerr.NotSupported(p.pos(p.i), "DROP of several names at once")
	}
	if p.isWord("CASCADE") || p.isWord("RESTRICT") {
		return nil, sqlerr.NotSupported(p.pos(p.i), "DROP … "+strings.ToUpper(p.cur().val))
	}
	d.Span = p.span(lo, p.i)
	return d, nil
}
