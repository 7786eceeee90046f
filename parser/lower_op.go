package parser

import (
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// afterOperand writes postfix operators and, if one follows, an infix operator;
// more says that an operand must come next.
func (f *fragment) afterOperand(l level) (more bool, err error) {
	p := f.p
	for {
		t := p.cur()
		switch t.kind {
		case tOp:
			again, more, err := f.symbol(t, l)
			if err != nil || more || !again {
				return more, err
			}
		case tWord:
			again, more, err := f.wordOperator(t.up, l)
			if err != nil || more || !again {
				return more, err
			}
		case tString:
			return false, p.stringAfterOperand()
		default:
			return false, nil
		}
	}
}

// stringAfterOperand refuses 'a' 'b', a 'b' and their kin, which PostgreSQL refuses
// and MySQL takes for something else.
func (p *parser) stringAfterOperand() error {
	e := p.unexpected()
	if prev := &p.toks[p.i-1]; prev.kind == tString {
		e.Hint = "Join strings with ||."
	} else if prev.kind == tWord {
		e.Hint = `"` + prev.val + `" is not a type that a literal may have.`
	}
	return e.Error
}

// symbol handles an operator token. again: a postfix was written, look further.
func (f *fragment) symbol(t *token, l level) (again, more bool, err error) {
	p := f.p
	lo := p.i
	switch t.val {
	case "::":
		p.i++
		typ, err := p.typeName()
		if err != nil {
			return false, false, err
		}
		return true, false, f.postfix(lo, &tree.CastExpr{Type: typ})
	case "[":
		return true, false, f.subscript()
	case ".":
		return true, false, f.field()
	case "+", "-", "*", "/", "%":
		p.i++
		return false, true, f.operator(lo, t.val)
	case "||":
		p.i++
		return false, true, f.carried(lo, "|", opConcat)
	case "->":
		p.i++
		return false, true, f.carried(lo, "|", opJSONGet)
	case "->>":
		p.i++
		return false, true, f.carried(lo, "|", opJSONGetText)
	case "=", "<>", "<", "<=", ">", ">=":
		if l == levelTight {
			return false, false, nil
		}
		p.i++
		if err := f.operator(lo, t.val); err != nil {
			return false, false, err
		}
		if p.peekOp(1, "(") && (p.isWord("ANY") || p.isWord("SOME") || p.isWord("ALL")) {
			return true, false, f.quantified()
		}
		return false, true, nil
	case "=>":
		return false, false, sqlerr.NotSupported(p.pos(lo), "a named argument")
	}
	return false, false, nil
}

// subscript writes [index] as a postfix.
func (f *fragment) subscript() error {
	p := f.p
	lo := p.i
	if prev := &p.toks[lo-1]; prev.kind == tString || prev.kind == tNumber || prev.kind == tWord && reservedWords[prev.up] {
		return p.unexpected().Error
	}
	p.i++
	if p.isOp(":") {
		return sqlerr.NotSupported(p.pos(p.i), "an array slice")
	}
	index, err := p.expr()
	if err != nil {
		return err
	}
	if p.isOp(":") {
		return sqlerr.NotSupported(p.pos(p.i), "an array slice")
	}
	if err := p.expectOp("]"); err != nil {
		return err
	}
	return f.postfix(lo, &tree.SubscriptExpr{Index: index})
}

// field writes .name after a bracket as a postfix.
func (f *fragment) field() error {
	p := f.p
	lo := p.i
	if prev := &p.toks[lo-1]; f.fieldEnd != lo && (prev.kind != tOp || prev.val != ")" && prev.val != "]") {
		return p.unexpected().Error
	}
	p.i++
	if p.isOp("*") {
		return sqlerr.NotSupported(p.pos(p.i), "the expansion of a row with .*")
	}
	n, err := p.label()
	if err != nil {
		return err
	}
	if p.isOp("(") {
		return p.unexpected().Error
	}
	f.fieldEnd = p.i
	return f.postfix(lo, &tree.FieldExpr{Field: n})
}

// wordOperator handles a word after an operand.
func (f *fragment) wordOperator(up string, l level) (again, more bool, err error) {
	p := f.p
	lo := p.i
	switch up {
	case "AND", "OR":
		if l != levelAll {
			return false, false, nil
		}
		p.i++
		return false, true, f.operator(lo, up)
	case "IS":
		if l != levelAll {
			return false, false, nil
		}
		again, err := f.is()
		return again, false, err
	case "ISNULL", "NOTNULL":
		if l != levelAll {
			return false, false, nil
		}
		p.i++
		if up == "ISNULL" {
			return true, false, f.operator(lo, "IS NULL")
		}
		return true, false, f.operator(lo, "IS NOT NULL")
	case "NOT":
		if l == levelTight || !p.peekWord(1, "IN", "LIKE", "ILIKE", "BETWEEN", "SIMILAR") {
			return false, false, nil
		}
		return f.predicate(p.peek(1).up)
	case "IN", "LIKE", "ILIKE", "BETWEEN", "SIMILAR":
		if l == levelTight {
			return false, false, nil
		}
		return f.predicate(up)
	case "AT":
		if !p.isWord("AT", "TIME", "ZONE") {
			return false, false, nil
		}
		p.i += 3
		return false, true, f.carried(lo, "^", opAtTimeZone)
	case "COLLATE":
		return true, false, f.collate()
	case "OVERLAPS":
		return false, false, sqlerr.NotSupported(p.pos(lo), "OVERLAPS")
	case "OPERATOR":
		if p.peekOp(1, "(") {
			return false, false, sqlerr.NotSupported(p.pos(lo), "OPERATOR(…)")
		}
	case "REGEXP", "RLIKE", "DIV", "XOR", "MOD":
		if next := p.peek(1); next.kind != tOp && next.kind != tEOF && !(next.kind == tWord && reservedWords[next.up]) || p.peekOp(1, "(") {
			e := p.unexpected()
			e.Hint = mysqlHints[up]
			return false, false, e.Error
		}
	}
	return false, false, nil
}

var mysqlHints = map[string]string{
	"REGEXP": "Use REGEXP_LIKE(x, pattern).",
	"RLIKE":  "Use REGEXP_LIKE(x, pattern).",
	"DIV":    "Division of integers with / truncates.",
	"XOR":    "Use <>.",
	"MOD":    "Use % or MOD(a, b).",
}

// is writes IS [NOT] NULL | TRUE | FALSE | UNKNOWN | DISTINCT FROM.
func (f *fragment) is() (again bool, err error) {
	p := f.p
	lo := p.i
	p.i++
	not := ""
	if p.word("NOT") {
		not = "NOT "
	}
	for _, w := range []string{"NULL", "TRUE", "FALSE", "UNKNOWN"} {
		if p.word(w) {
			return true, f.operator(lo, "IS "+not+w)
		}
	}
	if p.isWord("NORMALIZED") || p.isWord("NFC") || p.isWord("OF") || p.isWord("JSON") || p.isWord("DOCUMENT") {
		return false, sqlerr.NotSupported(p.pos(p.i), "IS "+not+p.cur().up)
	}
	if !p.word("DISTINCT", "FROM") {
		return false, p.unexpected().expecting("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM")
	}
	op := opDistinct
	if not != "" {
		op = opNotDistinct
	}
	if err := f.carried(lo, "<=>", op); err != nil {
		return false, err
	}
	if _, err := f.wrapped(levelAboveIs); err != nil {
		return false, err
	}
	if p.isWord("IS") || p.isWord("ISNULL") || p.isWord("NOTNULL") {
		return false, p.unexpected().expecting("an operator; put brackets round IS DISTINCT FROM")
	}
	return true, nil
}

// wrapped writes an operand that reaches as far as l allows, in a carrier that keeps
// TiDB from cutting it elsewhere. It returns the index of the carrier's mark.
func (f *fragment) wrapped(l level) (int, error) {
	n := f.emitCarrier(mark{kind: mWrap, lo: f.p.i}) - 1
	if err := f.expr(l); err != nil {
		return n, err
	}
	f.marks[n].hi = f.p.i
	f.emit(f.p.i, ")")
	return n, nil
}

// predicate writes [NOT] IN, LIKE, ILIKE or BETWEEN with its right side.
func (f *fragment) predicate(kind string) (again, more bool, err error) {
	p := f.p
	lo := p.i
	op := kind
	if p.word("NOT") {
		op = "NOT " + kind
	}
	p.i++
	if kind == "SIMILAR" {
		return false, false, sqlerr.NotSupported(p.pos(lo), "SIMILAR TO").WithHint("Use LIKE or REGEXP_LIKE.")
	}
	if err := f.operator(lo, op); err != nil {
		return false, false, err
	}
	switch kind {
	case "IN":
		return true, false, f.inList()
	case "BETWEEN":
		err = f.between()
	default:
		err = f.pattern()
	}
	if err != nil {
		return false, false, err
	}
	// These do not associate in PostgreSQL.
	if p.isWord("LIKE") || p.isWord("ILIKE") || p.isWord("BETWEEN") || p.isWord("IN") || p.isWord("SIMILAR") || p.isWord("NOT") {
		return false, false, p.unexpected().expecting("brackets round the first predicate")
	}
	return true, false, nil
}

func (f *fragment) between() error {
	p := f.p
	if p.isWord("SYMMETRIC") {
		return sqlerr.NotSupported(p.pos(p.i), "BETWEEN SYMMETRIC")
	}
	p.word("ASYMMETRIC")
	if _, err := f.wrapped(levelTight); err != nil {
		return err
	}
	if !p.isWord("AND") {
		return p.unexpected().expecting("AND")
	}
	f.emit(p.i, "AND")
	p.i++
	_, err := f.wrapped(levelTight)
	return err
}

// pattern writes the right side of LIKE; its ESCAPE travels in the side table.
func (f *fragment) pattern() error {
	p := f.p
	if p.peekOp(1, "(") && (p.isWord("ANY") || p.isWord("SOME") || p.isWord("ALL")) {
		return sqlerr.NotSupported(p.pos(p.i), "LIKE "+p.cur().up)
	}
	n, err := f.wrapped(levelTight)
	if err != nil {
		return err
	}
	f.marks[n].like.escape = `\`
	if !p.word("ESCAPE") {
		return nil
	}
	t := p.cur()
	if t.kind != tString {
		return sqlerr.NotSupported(p.pos(p.i), "an ESCAPE that is not a string").WithHint("Write ESCAPE 'c' with one character.")
	}
	if utf8.RuneCountInString(t.val) > 1 {
		return sqlerr.New(sqlerr.CodeInvalidParameter, p.pos(p.i), "invalid escape string").
			WithHint("Escape string must be empty or one character.")
	}
	p.i++
	f.marks[n].like.escape = t.val
	f.marks[n].hi = p.i
	return nil
}

// inList writes what follows IN.
func (f *fragment) inList() error {
	p := f.p
	lo := p.i
	if !p.isOp("(") {
		return p.unexpected().expecting(`"("`)
	}
	if p.isQueryBracket(lo) {
		q, err := p.bracketedQuery()
		if err != nil {
			return err
		}
		f.emit(lo, "(")
		f.emitMark(mark{kind: mIn, lo: lo, hi: p.i, query: q})
		f.emit(lo, ")")
		return nil
	}
	if p.peekOp(1, ")") {
		return p.unexpectedAt(lo + 1).expecting("an expression")
	}
	f.emit(lo, "(")
	p.i++
	return f.arguments()
}

// quantified writes ANY (…), SOME (…) or ALL (…) after a comparison.
func (f *fragment) quantified() error {
	p := f.p
	lo := p.i
	m := mark{kind: mQuantified, lo: lo, all: p.isWord("ALL")}
	p.i++
	if p.isQueryBracket(p.i) {
		q, err := p.bracketedQuery()
		if err != nil {
			return err
		}
		m.query = q
	} else {
		p.i++
		e, err := p.expr()
		if err != nil {
			return err
		}
		if err := p.expectOp(")"); err != nil {
			return err
		}
		m.expr = e
	}
	m.hi = p.i
	f.emitMark(m)
	return nil
}

// collate takes COLLATE "C" as the no-op that it is and refuses other collations.
func (f *fragment) collate() error {
	p := f.p
	lo := p.i
	p.i++
	q, err := p.qualifiedName("a collation")
	if err != nil {
		return err
	}
	switch q.Last().Text {
	case "C", "POSIX", "ucs_basic":
		if p.isOp("[") {
			return p.unexpected().Error
		}
		return f.postfix(lo, nil)
	}
	return sqlerr.NotSupported(q.Pos, `the collation "`+q.String()+`"`).WithHint(`Strings compare by code point: COLLATE "C".`)
}
