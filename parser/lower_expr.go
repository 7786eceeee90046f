package parser

import (
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// level says which operators may stand outside brackets. PostgreSQL's precedence,
// loosest first: OR, AND, NOT, IS, comparison, BETWEEN IN LIKE, other operators.
type level uint8

const (
	// levelAll takes every operator.
	levelAll level = iota
	// levelAboveIs stops before AND, OR, IS, ISNULL and NOTNULL.
	levelAboveIs
	// levelTight stops before comparisons and predicates too.
	levelTight
)

// expr writes one expression from the cursor on and stops at the first token that
// cannot continue it, which the caller judges.
func (f *fragment) expr(l level) error {
	if err := f.p.enter(); err != nil {
		return err
	}
	defer f.p.leave()
	for {
		if err := f.operand(l); err != nil {
			return err
		}
		more, err := f.afterOperand(l)
		if err != nil || !more {
			return err
		}
	}
}

// operand writes prefix operators and one primary.
func (f *fragment) operand(l level) error {
	p := f.p
	for {
		switch {
		case p.isOp("-"), p.isOp("+"):
			if err := f.operator(p.i, p.cur().val); err != nil {
				return err
			}
			p.i++
		case p.isWord("NOT"):
			if l != levelAll {
				return p.unexpected().expecting("an operand; put brackets round NOT")
			}
			if err := f.operator(p.i, "NOT"); err != nil {
				return err
			}
			p.i++
		default:
			return f.primary()
		}
	}
}

func (f *fragment) primary() error {
	p := f.p
	lo, t := p.i, p.cur()
	switch t.kind {
	case tNumber:
		p.i++
		f.leaf(lo, &tree.NumberLit{Span: p.span(lo, p.i), Text: t.val})
		return nil
	case tString:
		p.i++
		f.leaf(lo, &tree.StringLit{Span: p.span(lo, p.i), Value: t.val})
		return nil
	case tQuoted:
		return f.nameOrCall()
	case tOp:
		if t.val == "(" {
			return f.bracket()
		}
	case tWord:
		return f.wordOperand()
	}
	return p.unexpected().expecting("an expression")
}

// wordOperand writes the operand that begins with a bare word.
func (f *fragment) wordOperand() error {
	p := f.p
	lo, t := p.i, p.cur()
	switch t.up {
	case "NULL":
		p.i++
		f.leaf(lo, &tree.NullLit{Span: p.span(lo, p.i)})
		return nil
	case "TRUE", "FALSE":
		p.i++
		f.leaf(lo, &tree.BoolLit{Span: p.span(lo, p.i), Value: t.up == "TRUE"})
		return nil
	case "CASE":
		return f.caseExpr()
	case "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP":
		return f.currentTime()
	case "CURRENT_USER", "SESSION_USER", "USER", "CURRENT_ROLE", "CURRENT_CATALOG", "CURRENT_SCHEMA":
		return sqlerr.NotSupported(p.pos(lo), t.up)
	case "ARRAY":
		return f.arrayOrMap(mArray)
	case "MAP":
		if p.peekOp(1, "[") {
			return f.arrayOrMap(mMap)
		}
	case "DEFAULT":
		return sqlerr.NotSupported(p.pos(lo), "DEFAULT in an expression")
	case "INTERVAL":
		v, ok, err := p.intervalLiteral()
		if err != nil {
			return err
		}
		if ok {
			f.leaf(lo, &tree.IntervalLit{Span: p.span(lo, p.i), Value: v})
			return nil
		}
		if p.peekOp(1, "(") {
			return p.unexpectedAt(lo + 1).expecting("a string after INTERVAL")
		}
	}
	if done, err := f.typedLiteral(); done || err != nil {
		return err
	}
	if p.peekOp(1, "(") {
		if done, err := f.specialForm(); done || err != nil {
			return err
		}
	}
	return f.nameOrCall()
}

// typedLiteral writes a type name followed by a string.
func (f *fragment) typedLiteral() (bool, error) {
	p := f.p
	lo := p.i
	if !p.startsType() || p.isWord("ARRAY") || p.isWord("ROW") || p.isWord("MAP") || p.isWord("INTERVAL") {
		return false, nil
	}
	// The name is a type's only if a string follows it, at once or after its
	// parameters and further words.
	n := 1
	switch {
	case p.peekOp(1, "("):
		c := p.peek(1).match
		n = c - p.i + 1
		if c < 0 || n > 6 {
			return false, nil
		}
	case p.peekWord(1, "PRECISION", "VARYING"):
		n = 2
	}
	if p.peekWord(n, "WITH", "WITHOUT") {
		n++
		if p.peekWord(n, "LOCAL") {
			n++
		}
		n += 2
	}
	if p.peek(n).kind != tString {
		return false, nil
	}
	t, err := p.typeName()
	if err != nil {
		return false, err
	}
	val, at, err := p.stringToken("a string")
	if err != nil {
		return false, err
	}
	f.leaf(lo, &tree.TypedLit{Span: p.span(lo, p.i), Type: t, Value: val, ValuePos: at})
	return true, nil
}

// nameOrCall writes a dotted name, or a call when a bracket follows it.
func (f *fragment) nameOrCall() error {
	p := f.p
	lo := p.i
	parts := []tree.Name{p.nameAt(lo)}
	p.i++
	for p.isOp(".") {
		if p.peekOp(1, "*") {
			return p.unexpectedAt(p.i + 1).expecting("a column name")
		}
		p.i++
		n, err := p.label()
		if err != nil {
			return err
		}
		parts = append(parts, n)
	}
	first := &p.toks[lo]
	if p.isOp("(") {
		if first.kind == tWord && len(parts) == 1 && !isFunctionName(first.up) {
			return p.unexpectedAt(lo).Error
		}
		return f.call(lo, parts)
	}
	if first.kind == tWord && !isColumnName(first.up) {
		return p.unexpectedAt(lo).expecting("an expression")
	}
	if len(parts) > 4 {
		return sqlerr.New(sqlerr.CodeSyntax, p.pos(lo), "improper qualified name (too many dotted names): %s", tree.JoinNames(parts)).
			WithHint("Put brackets round the column to reach a field of it.")
	}
	f.leaf(lo, &tree.ColumnRef{Span: p.span(lo, p.i), Parts: parts})
	return nil
}

// bracket writes (query), (a, b) or (expression).
func (f *fragment) bracket() error {
	p := f.p
	lo := p.i
	if p.isQueryBracket(lo) {
		q, err := p.bracketedQuery()
		if err != nil {
			return err
		}
		f.leaf(lo, &tree.SubqueryExpr{Span: p.span(lo, p.i), Query: q})
		return nil
	}
	if p.rowBracket(lo) {
		f.emitCarrier(mark{kind: mRow, lo: lo, hi: p.cur().match + 1, expr: &tree.RowExpr{}})
		p.i++
		return f.arguments()
	}
	f.emit(lo, "(")
	p.i++
	if err := f.expr(levelAll); err != nil {
		return err
	}
	if !p.isOp(")") {
		return p.unexpected().Error
	}
	f.emit(p.i, ")")
	p.i++
	return nil
}

// rowBracket reports a comma directly inside the bracket at token i.
func (p *parser) rowBracket(i int) bool {
	end := p.toks[i].match
	for j := i + 1; j < end; j++ {
		t := &p.toks[j]
		if t.match > j {
			j = t.match
			continue
		}
		if t.kind == tOp && t.val == "," {
			return true
		}
	}
	return false
}

// arguments writes the rest of a carrier call, up to and with the closing bracket.
func (f *fragment) arguments() error {
	p := f.p
	for !p.isOp(")") {
		if err := f.expr(levelAll); err != nil {
			return err
		}
		if p.isOp(",") {
			f.emit(p.i, ",")
			p.i++
			if p.isOp(")") {
				return p.unexpected().expecting("an expression")
			}
			continue
		}
		if !p.isOp(")") {
			return p.unexpected().Error
		}
	}
	f.emit(p.i, ")")
	p.i++
	return nil
}

// arrayOrMap writes ARRAY[…] or MAP[…].
func (f *fragment) arrayOrMap(kind markKind) error {
	p := f.p
	lo := p.i
	if !p.peekOp(1, "[") {
		if p.peekOp(1, "(") {
			return sqlerr.NotSupported(p.pos(lo), "ARRAY (query)")
		}
		return p.unexpected().Error
	}
	end := p.peek(1).match
	f.emitCarrier(mark{kind: kind, lo: lo, hi: end + 1})
	p.i += 2
	for p.i < end {
		if p.isOp("[") {
			// A nested array without the word ARRAY.
			return sqlerr.NotSupported(p.pos(p.i), "a nested array without the word ARRAY")
		}
		if err := f.expr(levelAll); err != nil {
			return err
		}
		if p.isOp(",") && p.i+1 < end {
			f.emit(p.i, ",")
			p.i++
			continue
		}
		if p.i != end {
			return p.unexpected().Error
		}
	}
	f.emit(end, ")")
	p.i = end + 1
	return nil
}

// caseExpr writes CASE as it is; every part is an expression that stops at the next
// reserved word.
func (f *fragment) caseExpr() error {
	p := f.p
	f.emit(p.i, "CASE")
	p.i++
	if !p.isWord("WHEN") {
		if err := f.expr(levelAll); err != nil {
			return err
		}
	}
	if !p.isWord("WHEN") {
		return p.unexpected().expecting("WHEN")
	}
	for p.isWord("WHEN") {
		f.emit(p.i, "WHEN")
		p.i++
		if err := f.expr(levelAll); err != nil {
			return err
		}
		if !p.isWord("THEN") {
			return p.unexpected().expecting("THEN")
		}
		f.emit(p.i, "THEN")
		p.i++
		if err := f.expr(levelAll); err != nil {
			return err
		}
	}
	if p.isWord("ELSE") {
		f.emit(p.i, "ELSE")
		p.i++
		if err := f.expr(levelAll); err != nil {
			return err
		}
	}
	if !p.isWord("END") {
		return p.unexpected().expecting("END")
	}
	f.emit(p.i, "END")
	p.i++
	return nil
}

// currentTime writes CURRENT_TIMESTAMP and its kin as a call.
func (f *fragment) currentTime() error {
	p := f.p
	lo := p.i
	n := p.nameAt(lo)
	p.i++
	c := &tree.CallExpr{Name: []tree.Name{n}, Implicit: true}
	if p.isOp("(") && n.Text != "" {
		if strings.EqualFold(n.Text, "current_date") || p.peekOp(1, ")") {
			return p.unexpected().Error
		}
		p.i++
		at := p.i
		if _, err := p.smallInt(6, 0); err != nil {
			return err
		}
		c.Args = []tree.Expr{&tree.NumberLit{Span: p.span(at, p.i), Text: p.toks[at].val}}
		if err := p.expectOp(")"); err != nil {
			return err
		}
	}
	c.Span = p.span(lo, p.i)
	f.leaf(lo, c)
	return nil
}
