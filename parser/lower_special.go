package parser

import (
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// specialForm writes the calls whose arguments are divided by words instead of
// commas; the cursor is on the name, a bracket follows. done is false when the name
// is an ordinary function.
func (f *fragment) specialForm() (done bool, err error) {
	p := f.p
	lo := p.i
	up := p.cur().up
	switch up {
	case "CAST", "TRY_CAST":
		return true, f.cast(up == "TRY_CAST")
	case "EXTRACT":
		return true, f.extract()
	case "ROW":
		f.emitCarrier(mark{kind: mRow, lo: lo, hi: p.peek(1).match + 1, expr: &tree.RowExpr{Keyword: true}})
		p.i += 2
		return true, f.arguments()
	case "EXISTS":
		p.i++
		if !p.isQueryBracket(p.i) {
			return true, p.unexpectedAt(p.i + 1).expecting("a query")
		}
		q, err := p.bracketedQuery()
		if err != nil {
			return true, err
		}
		f.leaf(lo, &tree.ExistsExpr{Span: p.span(lo, p.i), Query: q})
		return true, nil
	}
	read := specialCall(up)
	if read == nil {
		return false, nil
	}
	c := &tree.CallExpr{Name: []tree.Name{p.nameAt(lo)}}
	p.i += 2
	if err := read(p, c); err != nil {
		return true, err
	}
	if err := p.expectOp(")"); err != nil {
		return true, err
	}
	if err := p.callTail(c); err != nil {
		return true, err
	}
	c.Span = p.span(lo, p.i)
	f.leaf(lo, c)
	return true, nil
}

// specialCall returns the reader of a function's arguments, the cursor after the
// bracket, or nil for an ordinary function.
func specialCall(up string) func(p *parser, c *tree.CallExpr) error {
	switch up {
	case "SUBSTRING":
		return (*parser).substring
	case "POSITION":
		return (*parser).position
	case "OVERLAY":
		return (*parser).overlay
	case "TRIM":
		return (*parser).trim
	case "JSON_VALUE", "JSON_QUERY", "JSON_EXISTS", "JSON_ARRAY":
		return (*parser).jsonCall
	case "JSON_OBJECT":
		return (*parser).jsonObject
	}
	return nil
}

// cast writes CAST(x AS type) as a carrier call round x.
func (f *fragment) cast(try bool) error {
	p := f.p
	lo := p.i
	c := &tree.CastExpr{Try: try}
	f.emitCarrier(mark{kind: mCast, lo: lo, hi: p.peek(1).match + 1, expr: c})
	p.i += 2
	if err := f.expr(levelAll); err != nil {
		return err
	}
	if err := p.expectWord("AS"); err != nil {
		return err
	}
	t, err := p.typeName()
	if err != nil {
		return err
	}
	c.Type = t
	return f.closeCarrier()
}

func (f *fragment) closeCarrier() error {
	if !f.p.isOp(")") {
		return f.p.unexpected().Error
	}
	f.emit(f.p.i, ")")
	f.p.i++
	return nil
}

// extract writes EXTRACT(field FROM x).
func (f *fragment) extract() error {
	p := f.p
	lo := p.i
	t := p.peek(2)
	if t.kind != tWord && t.kind != tQuoted && t.kind != tString {
		return p.unexpectedAt(lo + 2).expecting("a field such as YEAR or EPOCH")
	}
	e := &tree.ExtractExpr{Field: strings.ToLower(t.val), FieldPos: p.at(t.off)}
	f.emitCarrier(mark{kind: mExtract, lo: lo, hi: p.peek(1).match + 1, expr: e})
	p.i += 3
	if err := p.expectWord("FROM"); err != nil {
		return err
	}
	if err := f.expr(levelAll); err != nil {
		return err
	}
	return f.closeCarrier()
}

// arg reads one expression into c.
func (p *parser) arg(c *tree.CallExpr, l level) error {
	e, err := p.exprUpTo(l)
	c.Args = append(c.Args, e)
	return err
}

// moreArgs reads , e … into c.
func (p *parser) moreArgs(c *tree.CallExpr) error {
	for p.op(",") {
		if err := p.arg(c, levelAll); err != nil {
			return err
		}
	}
	return nil
}

// substring reads x FROM a [FOR b], x FOR b, or x, a [, b].
func (p *parser) substring(c *tree.CallExpr) error {
	if err := p.arg(c, levelAll); err != nil {
		return err
	}
	switch {
	case p.word("FROM"):
		if err := p.arg(c, levelAll); err != nil {
			return err
		}
	case p.isWord("FOR"):
		c.Args = append(c.Args, &tree.NumberLit{Span: p.span(p.i, p.i), Text: "1"})
	case p.isWord("SIMILAR"):
		return sqlerr.NotSupported(p.pos(p.i), "SUBSTRING … SIMILAR")
	default:
		return p.moreArgs(c)
	}
	if p.word("FOR") {
		if err := p.arg(c, levelAll); err != nil {
			return err
		}
		if p.isWord("FROM") {
			return sqlerr.NotSupported(p.pos(p.i), "FROM after FOR").WithHint("Write SUBSTRING(x FROM a FOR b).")
		}
	}
	return nil
}

// position reads a IN b.
func (p *parser) position(c *tree.CallExpr) error {
	if err := p.arg(c, levelTight); err != nil {
		return err
	}
	if err := p.expectWord("IN"); err != nil {
		return err
	}
	return p.arg(c, levelTight)
}

// overlay reads x PLACING y FROM a [FOR b], or the plain form.
func (p *parser) overlay(c *tree.CallExpr) error {
	if err := p.arg(c, levelAll); err != nil {
		return err
	}
	if !p.word("PLACING") {
		return p.moreArgs(c)
	}
	if err := p.arg(c, levelAll); err != nil {
		return err
	}
	if err := p.expectWord("FROM"); err != nil {
		return err
	}
	if err := p.arg(c, levelAll); err != nil {
		return err
	}
	if p.word("FOR") {
		return p.arg(c, levelAll)
	}
	return nil
}

// trim reads the forms of TRIM and gives the call PostgreSQL's name for it.
func (p *parser) trim(c *tree.CallExpr) error {
	name := "btrim"
	switch {
	case p.word("LEADING"):
		name = "ltrim"
	case p.word("TRAILING"):
		name = "rtrim"
	case p.word("BOTH"):
	}
	c.Name[0].Text, c.Name[0].Quoted = name, false
	if p.word("FROM") {
		if err := p.arg(c, levelAll); err != nil {
			return err
		}
		return p.moreArgs(c)
	}
	if err := p.arg(c, levelAll); err != nil {
		return err
	}
	if p.word("FROM") {
		if err := p.arg(c, levelAll); err != nil {
			return err
		}
		c.Args[0], c.Args[1] = c.Args[1], c.Args[0]
	}
	return p.moreArgs(c)
}

// jsonCall reads arguments and the clauses of SQL/JSON.
func (p *parser) jsonCall(c *tree.CallExpr) error {
	for !p.isOp(")") && !p.isWord("NULL", "ON", "NULL") && !p.isWord("ABSENT", "ON", "NULL") {
		if err := p.arg(c, levelAll); err != nil {
			return err
		}
		if !p.op(",") {
			break
		}
	}
	return p.jsonClauses(c)
}

// jsonObject reads KEY k VALUE v, k VALUE v, k : v or k, v, separated by commas.
func (p *parser) jsonObject(c *tree.CallExpr) error {
	for !p.isOp(")") && !p.isWord("NULL", "ON", "NULL") && !p.isWord("ABSENT", "ON", "NULL") {
		if n := p.peek(1); p.isWord("KEY") && n.kind != tOp && !p.peekWord(1, "VALUE") {
			p.i++
		}
		if err := p.arg(c, levelAll); err != nil {
			return err
		}
		if !p.word("VALUE") && !p.op(":") && !p.op(",") {
			return p.unexpected().expecting("VALUE")
		}
		if err := p.arg(c, levelAll); err != nil {
			return err
		}
		if !p.op(",") {
			break
		}
	}
	return p.jsonClauses(c)
}

func (p *parser) jsonClauses(c *tree.CallExpr) error {
	if p.isOp(")") {
		return nil
	}
	j := &tree.JSONClauses{}
	c.JSON = j
	for !p.isOp(")") {
		switch {
		case p.isWord("RETURNING") && j.Returning == nil:
			p.i++
			t, err := p.typeName()
			if err != nil {
				return err
			}
			j.Returning = &t
		case p.word("NULL", "ON", "NULL"):
			j.Nulls = "null"
		case p.word("ABSENT", "ON", "NULL"):
			j.Nulls = "absent"
		case p.isWord("WITH"), p.isWord("WITHOUT"):
			if err := p.jsonWrapper(j); err != nil {
				return err
			}
		default:
			if err := p.jsonBehaviour(j); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *parser) jsonWrapper(j *tree.JSONClauses) error {
	j.Wrapper = "without"
	if p.cur().up == "WITH" {
		j.Wrapper = "unconditional"
	}
	p.i++
	if j.Wrapper != "without" {
		if p.word("CONDITIONAL") {
			j.Wrapper = "conditional"
		} else {
			p.word("UNCONDITIONAL")
		}
	}
	p.word("ARRAY")
	return p.expectWord("WRAPPER")
}

// jsonBehaviour reads what ON EMPTY or what ON ERROR.
func (p *parser) jsonBehaviour(j *tree.JSONClauses) error {
	b := tree.JSONUnset
	var def tree.Expr
	lo := p.i
	switch {
	case p.word("ERROR"):
		b = tree.JSONError
	case p.word("NULL"):
		b = tree.JSONNull
	case p.word("TRUE"):
		b = tree.JSONTrue
	case p.word("FALSE"):
		b = tree.JSONFalse
	case p.word("UNKNOWN"):
		b = tree.JSONUnknown
	case p.word("EMPTY", "OBJECT"):
		b = tree.JSONEmptyObject
	case p.word("EMPTY"):
		p.word("ARRAY")
		b = tree.JSONEmptyArray
	case p.word("DEFAULT"):
		b = tree.JSONDefault
		e, err := p.exprUpTo(levelTight)
		if err != nil {
			return err
		}
		def = e
	default:
		return p.unexpected().Error
	}
	switch {
	case p.word("ON", "EMPTY"):
		if j.OnEmpty != tree.JSONUnset {
			return p.unexpectedAt(lo).Error
		}
		j.OnEmpty, j.DefaultOnEmpty = b, def
	case p.word("ON", "ERROR"):
		if j.OnError != tree.JSONUnset {
			return p.unexpectedAt(lo).Error
		}
		j.OnError, j.DefaultOnError = b, def
	default:
		return p.unexpected().expecting("ON EMPTY or ON ERROR")
	}
	return nil
}
