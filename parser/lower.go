package parser

import (
	"strconv"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// A fragment is one text for TiDB: the select core and set operations of one query,
// or a list of expressions. What TiDB reads is written in a closed alphabet: some
// twenty keywords, the operators below, brackets, commas, and numbered marks. No byte
// of the user's text reaches it. Each mark stands for something that was read
// already (a name, a literal, a table, a bracketed query) or says what a carrier
// construct means (a function call that is a cast, a COLLATE that is a subscript).
type fragment struct {
	p   *parser
	buf []byte
	// pieces map offsets of buf to tokens, for errors.
	pieces []piece
	marks  []mark
	// cores has one entry per SELECT written into buf, in order.
	cores []core
	// fieldEnd is the token after the last .field, which another dot may follow.
	fieldEnd int
	// chain counts operators, against MaxChain.
	chain int
}

type piece struct{ off, tok int }

// markKind says where in TiDB's tree a mark must turn up.
type markKind uint8

const (
	// mLeaf is an operand that is complete: expr.
	mLeaf markKind = iota
	// mStar is * or t.*, a leaf allowed in a select list only.
	mStar
	// mIn is the query of IN (query), mQuantified what follows op ANY or ALL.
	mIn
	mQuantified
	// mWrap is a call that only delimits its one operand.
	mWrap
	// mCall is a function call, mRow a row, mCast a CAST: calls with a shell in expr.
	mCall
	mRow
	mArray
	mMap
	mCast
	mExtract
	// mSort delimits a sort expression and carries DESC and NULLS.
	mSort
	// mPostfix is ::type, [index] or .field on its operand.
	mPostfix
	// mOp is the marker operand of an operator that TiDB lacks.
	mOp
	// mAlias is a column alias.
	mAlias
	// mGroup is a grouping element other than an expression.
	mGroup
	// mTable is a table expression with the join that brought it in.
	mTable
	// mOn is a join condition that is not an expression: USING, NATURAL, CROSS.
	mOn
	// mCount is the number of LIMIT or OFFSET.
	mCount
	// mBody is a query body that was read already.
	mBody
)

// opKind is the operator behind an mOp mark.
type opKind uint8

const (
	opConcat opKind = iota
	opJSONGet
	opJSONGetText
	opDistinct
	opNotDistinct
	opAtTimeZone
)

// mark is one entry of the side table. lo and hi are the tokens it covers.
type mark struct {
	kind   markKind
	used   bool
	lo, hi int
	expr   tree.Expr
	op     opKind
	sort   tree.SortItem
	name   tree.Name
	group  tree.GroupItem
	table  tree.TableExpr
	join   *joinMark
	count  *tree.Count
	body   tree.QueryBody
	like   likeMark
	all    bool
	query  *tree.Query
}

// joinMark is the join that stands in front of a table.
type joinMark struct {
	kind    tree.JoinKind
	natural bool
	using   []tree.Name
	tok     int
	// hi is the token after ON, USING or, without either, after the table.
	hi int
}

// likeMark is what a LIKE carries beside its pattern.
type likeMark struct {
	escape string
}

// core is what a SELECT has beside what TiDB reads.
type core struct {
	lo, hi  int
	windows []tree.NamedWindow
	noFrom  bool
}

func (p *parser) newFragment() *fragment { return &fragment{p: p, buf: make([]byte, 0, 256)} }

// emit writes a piece of the alphabet; tok is the token an error here points at.
func (f *fragment) emit(tok int, text string) {
	f.pieces = append(f.pieces, piece{off: len(f.buf), tok: tok})
	f.buf = append(f.buf, text...)
	f.buf = append(f.buf, ' ')
}

// add puts m into the side table and returns its number, from 1.
func (f *fragment) add(m mark) int {
	f.marks = append(f.marks, m)
	return len(f.marks)
}

// emitMark writes a mark as a back-quoted identifier.
func (f *fragment) emitMark(m mark) { f.emit(m.lo, "`"+strconv.Itoa(f.add(m))+"`") }

// emitCarrier writes a mark that opens a call; the caller writes the arguments and ")".
func (f *fragment) emitCarrier(m mark) int {
	n := f.add(m)
	f.emit(m.lo, "`"+strconv.Itoa(n)+"`(")
	return n
}

// leaf writes a complete operand over the tokens lo up to the cursor.
func (f *fragment) leaf(lo int, e tree.Expr) {
	f.emitMark(mark{kind: mLeaf, lo: lo, hi: f.p.i, expr: e})
}

// digits are sixteen collations of TiDB's that stand for hexadecimal digits: COLLATE
// is its one postfix operator that binds tighter than everything else.
var digits = [16]string{
	"ascii_bin", "ascii_general_ci", "big5_bin", "big5_chinese_ci", "cp1250_bin", "cp1250_general_ci",
	"cp1251_bin", "cp1251_general_ci", "cp1256_bin", "cp1256_general_ci", "cp1257_bin", "cp1257_general_ci",
	"cp850_bin", "cp850_general_ci", "cp852_bin", "cp852_general_ci",
}

var digitValue = func() map[string]int {
	m := map[string]int{}
	for i, d := range digits {
		m[d] = i
	}
	return m
}()

// postfixDigits is how many COLLATEs spell one number.
const postfixDigits = 4

// postfix writes a postfix operator that covers the tokens lo up to the cursor. A nil
// e is one without effect.
func (f *fragment) postfix(lo int, e tree.Expr) error {
	if f.chain++; f.chain > MaxChain {
		return sqlerr.New(sqlerr.CodeTooComplex, f.p.pos(lo), "the expression has more than %d operators", MaxChain)
	}
	n := f.add(mark{kind: mPostfix, lo: lo, hi: f.p.i, expr: e})
	if n >= 1<<(4*postfixDigits) {
		return sqlerr.New(sqlerr.CodeTooComplex, f.p.pos(lo), "the query has more than %d parts", 1<<(4*postfixDigits))
	}
	for shift := 4 * (postfixDigits - 1); shift >= 0; shift -= 4 {
		f.emit(lo, "COLLATE "+digits[n>>shift&15])
	}
	return nil
}

// operator writes an infix operator of TiDB's and counts it.
func (f *fragment) operator(tok int, text string) error {
	if f.chain++; f.chain > MaxChain {
		return sqlerr.New(sqlerr.CodeTooComplex, f.p.pos(tok), "the expression has more than %d operators", MaxChain)
	}
	f.emit(tok, text)
	return nil
}

// carried writes an operator that TiDB lacks: its marker operand between two of an
// operator of the right precedence.
func (f *fragment) carried(lo int, carrier string, op opKind) error {
	if err := f.operator(lo, carrier); err != nil {
		return err
	}
	f.emitMark(mark{kind: mOp, lo: lo, hi: f.p.i, op: op})
	f.emit(lo, carrier)
	return nil
}

// expr reads one expression with a fragment of its own.
func (p *parser) expr() (tree.Expr, error) { return p.exprUpTo(levelAll) }

func (p *parser) exprUpTo(l level) (tree.Expr, error) {
	if e := p.single(); e != nil {
		return e, nil
	}
	f := p.newFragment()
	f.emit(p.i, "SELECT")
	if err := f.expr(l); err != nil {
		return nil, err
	}
	items, err := f.parseList()
	if err != nil {
		return nil, err
	}
	return items[0].expr, nil
}

// exprs reads one or more expressions separated by commas.
func (p *parser) exprs() ([]tree.Expr, error) {
	f := p.newFragment()
	f.emit(p.i, "SELECT")
	for {
		if err := f.expr(levelAll); err != nil {
			return nil, err
		}
		if !p.isOp(",") {
			break
		}
		f.emit(p.i, ",")
		p.i++
	}
	items, err := f.parseList()
	if err != nil {
		return nil, err
	}
	out := make([]tree.Expr, len(items))
	for i, it := range items {
		out[i] = it.expr
	}
	return out, nil
}

// single is a short cut: a plain literal or column right before a comma or closing
// bracket needs no grammar. It returns nil when there is more to read.
func (p *parser) single() tree.Expr {
	if t := p.peek(1); t.kind != tOp || t.val != "," && t.val != ")" {
		return nil
	}
	t := p.cur()
	switch {
	case t.kind == tNumber:
		p.i++
		return &tree.NumberLit{Span: p.span(p.i-1, p.i), Text: t.val}
	case t.kind == tString:
		p.i++
		return &tree.StringLit{Span: p.span(p.i-1, p.i), Value: t.val}
	case t.kind == tQuoted, t.kind == tWord && isColumnName(t.up):
		p.i++
		n := p.nameAt(p.i - 1)
		return &tree.ColumnRef{Span: n.Span, Parts: []tree.Name{n}}
	}
	return nil
}

// sorts reads the list of an ORDER BY with a fragment of its own.
func (p *parser) sorts() ([]tree.SortItem, error) {
	f := p.newFragment()
	f.emit(p.i, "SELECT")
	if err := f.sortList(); err != nil {
		return nil, err
	}
	vals, err := f.parseSorts()
	if err != nil {
		return nil, err
	}
	return vals, nil
}

// sortList writes sort items, each in a carrier that keeps DESC and NULLS.
func (f *fragment) sortList() error {
	p := f.p
	for {
		lo := p.i
		n := f.emitCarrier(mark{kind: mSort, lo: lo})
		if err := f.expr(levelAll); err != nil {
			return err
		}
		f.emit(p.i, ")")
		var s tree.SortItem
		switch {
		case p.word("DESC"):
			s.Desc = true
		case p.word("ASC"):
		case p.isWord("USING"):
			return sqlerr.NotSupported(p.pos(p.i), "ORDER BY USING")
		}
		if p.word("NULLS") {
			switch {
			case p.word("FIRST"):
				s.Nulls = tree.NullsFirst
			case p.word("LAST"):
				s.Nulls = tree.NullsLast
			default:
				return p.unexpected().expecting("FIRST or LAST")
			}
		}
		s.Span = p.span(lo, p.i)
		f.marks[n-1].sort, f.marks[n-1].hi = s, p.i
		if !p.isOp(",") {
			return nil
		}
		f.emit(p.i, ",")
		p.i++
	}
}
