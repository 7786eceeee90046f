package parser

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// fromClause writes FROM, or a stand-in when there is none, so that TiDB sees one
// shape of SELECT only.
func (f *fragment) fromClause(core int) error {
	p := f.p
	f.emit(p.i, "FROM")
	if !p.isWord("FROM") {
		f.cores[core].noFrom = true
		f.emitMark(mark{kind: mTable, lo: p.i, hi: p.i})
		return nil
	}
	p.i++
	for {
		if err := f.joins(); err != nil {
			return err
		}
		if !p.isOp(",") {
			return nil
		}
		if err := f.operator(p.i, ","); err != nil {
			return err
		}
		p.i++
	}
}

// joins writes one table with the joins after it. Every join goes out as LEFT JOIN …
// ON; its real kind is in the mark of its right table. A stack knows which JOIN an ON
// belongs to, so that one without is refused here.
func (f *fragment) joins() error {
	p := f.p
	if err := f.table(nil); err != nil {
		return err
	}
	var open []*joinMark
	for {
		lo := p.i
		j, err := p.joinWords()
		if err != nil {
			return err
		}
		switch {
		case j != nil:
			if err := f.operator(lo, "LEFT JOIN"); err != nil {
				return err
			}
			if err := f.table(j); err != nil {
				return err
			}
			j.hi = p.i
			if j.kind == tree.CrossJoin || j.natural {
				f.emit(lo, "ON")
				f.emitMark(mark{kind: mOn, lo: lo, hi: p.i, join: j})
			} else {
				open = append(open, j)
			}
		case p.isWord("ON"), p.isWord("USING"):
			n := len(open) - 1
			if n < 0 {
				return p.unexpected().Error
			}
			j := open[n]
			open = open[:n]
			f.emit(lo, "ON")
			p.i++
			if p.toks[lo].up == "ON" {
				err = f.expr(levelAll)
			} else {
				err = f.using(lo, j)
			}
			if err != nil {
				return err
			}
			j.hi = p.i
		default:
			if len(open) > 0 {
				return p.withoutOn(open[len(open)-1])
			}
			return p.afterTable()
		}
	}
}

// outerJoins are the first words of the outer joins, in the order of tree.JoinKind.
var outerJoins = [...]string{"LEFT", "RIGHT", "FULL"}

func (p *parser) withoutOn(j *joinMark) error {
	what, hint := "JOIN", "Use CROSS JOIN for a join without a condition."
	if j.kind != tree.InnerJoin {
		what, hint = outerJoins[j.kind-tree.LeftJoin]+" JOIN", "Write ON true for a join without a condition."
	}
	return sqlerr.New(sqlerr.CodeSyntax, p.pos(j.tok), "%s has no ON or USING", what).WithHint("%s", hint)
}

func (f *fragment) using(lo int, j *joinMark) error {
	p := f.p
	cols, err := p.nameList()
	if err != nil {
		return err
	}
	if p.isWord("AS") {
		return sqlerr.NotSupported(p.pos(p.i), "an alias after USING")
	}
	j.using = cols
	f.emitMark(mark{kind: mOn, lo: lo, hi: p.i, join: j})
	return nil
}

// afterTable refuses by name what other dialects write after a table.
func (p *parser) afterTable() error {
	switch {
	case p.isWord("TABLESAMPLE"):
		return sqlerr.NotSupported(p.pos(p.i), "TABLESAMPLE")
	case p.isWord("INNER"), p.isWord("NATURAL"), p.isWord("CROSS"):
		return p.unexpectedAt(p.i + 1).expecting("JOIN")
	}
	for _, w := range outerJoins {
		if p.isWord(w, "OUTER") {
			return p.unexpectedAt(p.i + 2).expecting(w + " OUTER JOIN")
		}
		if p.isWord(w) {
			return p.unexpectedAt(p.i + 1).expecting(w + " JOIN")
		}
	}
	return nil
}

// joinWords reads the words of a join; nil when none comes next.
func (p *parser) joinWords() (*joinMark, error) {
	lo := p.i
	j := &joinMark{}
	if p.word("NATURAL") {
		j.natural = true
	}
	switch {
	case p.word("CROSS", "JOIN"):
		j.kind = tree.CrossJoin
		if j.natural {
			return nil, p.unexpectedAt(lo + 1).Error
		}
		j.tok = p.i - 1
		return j, nil
	case p.word("INNER", "JOIN"), p.word("JOIN"):
		j.tok = p.i - 1
		return j, nil
	}
	for i, w := range outerJoins {
		if p.word(w, "OUTER", "JOIN") || p.word(w, "JOIN") {
			j.kind, j.tok = tree.LeftJoin+tree.JoinKind(i), p.i-1
			return j, nil
		}
	}
	if j.natural {
		return nil, p.unexpected().expecting("JOIN")
	}
	return nil, nil
}

// table writes one table expression as a mark.
func (f *fragment) table(j *joinMark) error {
	lo := f.p.i
	t, err := f.p.tableFactor()
	if err != nil {
		return err
	}
	f.emitMark(mark{kind: mTable, lo: lo, hi: f.p.i, table: t, join: j})
	return nil
}

// tableFactor reads one table expression, joins in brackets included.
func (p *parser) tableFactor() (tree.TableExpr, error) {
	lo := p.i
	switch {
	case p.isQueryBracket(lo):
		return p.derivedTable(lo, false)
	case p.isOp("("):
		return p.bracketedJoin()
	case p.word("LATERAL"):
		if p.isOp("(") && p.isQueryBracket(p.i) {
			return p.derivedTable(lo, true)
		}
		if p.isWord("UNNEST") && p.peekOp(1, "(") {
			return p.unnest(lo)
		}
		return nil, sqlerr.NotSupported(p.pos(p.i), "LATERAL before anything but a query or UNNEST")
	case p.isWord("UNNEST") && p.peekOp(1, "("):
		return p.unnest(lo)
	case p.isWord("TABLE") && p.peekOp(1, "("):
		if p.peek(2).kind == tWord && windowKinds[p.peek(2).up] != 0 && p.peekOp(3, "(") {
			return p.aliasedWindow(lo)
		}
		return nil, sqlerr.NotSupported(p.pos(p.i+2), "a table function other than TUMBLE, HOP, CUMULATE and SESSION")
	case windowKinds[p.cur().up] != 0 && p.cur().kind == tWord && p.peekOp(1, "("):
		return p.aliasedWindow(lo)
	}
	return p.tableRef()
}

func (p *parser) derivedTable(lo int, lateral bool) (tree.TableExpr, error) {
	q, err := p.bracketedQuery()
	if err != nil {
		return nil, err
	}
	d := &tree.DerivedTable{Query: q, Lateral: lateral}
	if d.Alias, err = p.tableAlias(); err != nil {
		return nil, err
	}
	d.Span = p.span(lo, p.i)
	return d, nil
}

// bracketedJoin reads ( a JOIN b … ) with a fragment of its own.
func (p *parser) bracketedJoin() (tree.TableExpr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	p.i++
	f := p.newFragment()
	f.cores = append(f.cores, core{lo: p.i})
	f.emit(p.i, "SELECT")
	f.emitMark(mark{kind: mStar, lo: p.i, hi: p.i, expr: &tree.Star{}})
	f.emit(p.i, "FROM")
	if err := f.joins(); err != nil {
		return nil, err
	}
	if !p.isOp(")") {
		return nil, p.unexpected().Error
	}
	f.cores[0].hi = p.i
	t, err := f.parseTable()
	if err != nil {
		return nil, err
	}
	p.i++
	if j, ok := t.(*tree.Join); !ok || p.isWord("AS") || p.isName() && p.aliasError() == nil && !p.isEmit() {
		if !ok {
			return nil, p.unexpectedAt(p.i - 1).expecting("JOIN: a single table needs no brackets")
		}
		return nil, sqlerr.NotSupported(j.OpPos, "an alias for a join in brackets")
	}
	return t, nil
}

// tableRef reads a name with FOR SYSTEM_TIME AS OF and its alias.
func (p *parser) tableRef() (tree.TableExpr, error) {
	lo := p.i
	q, err := p.qualifiedName("a table")
	if err != nil {
		return nil, err
	}
	if p.isOp("(") {
		return nil, sqlerr.NotSupported(p.pos(lo), "a table function other than TUMBLE, HOP, CUMULATE and SESSION")
	}
	t := &tree.TableRef{Name: q}
	if err := p.asOf(t); err != nil {
		return nil, err
	}
	if t.Alias, err = p.tableAlias(); err != nil {
		return nil, err
	}
	if err := p.asOf(t); err != nil {
		return nil, err
	}
	t.Span = p.span(lo, p.i)
	return t, nil
}

func (p *parser) asOf(t *tree.TableRef) error {
	if !p.isWord("FOR", "SYSTEM_TIME") {
		return nil
	}
	if t.AsOf != nil {
		return p.unexpected().Error
	}
	p.i += 2
	if err := p.expectWord("AS", "OF"); err != nil {
		return err
	}
	e, err := p.expr()
	t.AsOf = e
	return err
}

// tableAlias reads [AS] name [(columns)]; nil when there is none.
func (p *parser) tableAlias() (*tree.TableAlias, error) {
	lo := p.i
	if !p.word("AS") {
		if !p.isName() || p.isEmit() {
			return nil, nil
		}
		if err := p.aliasError(); err != nil {
			return nil, err
		}
	}
	n, err := p.name("an alias")
	if err != nil {
		return nil, err
	}
	a := &tree.TableAlias{Name: n}
	if p.isOp("(") {
		if a.Columns, err = p.nameList(); err != nil {
			return nil, err
		}
	}
	a.Span = p.span(lo, p.i)
	return a, nil
}

// joinLike are words that read like kinds of join but would be aliases.
var joinLike = wordSet(`semi anti asof global local final any all lookup temporal window straight`)

// aliasError refuses words as aliases that the user surely meant otherwise.
func (p *parser) aliasError() error {
	t := p.cur()
	if t.kind != tWord {
		return nil
	}
	switch {
	case joinLike[t.up] && p.peekWord(1, "JOIN", "LEFT", "RIGHT", "INNER"):
		return sqlerr.New(sqlerr.CodeSyntax, p.pos(p.i), `"%s" is not a kind of join`, t.val).
			WithHint(`If it is an alias, write AS %s.`, t.val)
	case t.up == "MATCH_RECOGNIZE" && p.peekOp(1, "("):
		return sqlerr.NotSupported(p.pos(p.i), "MATCH_RECOGNIZE")
	case t.up == "QUALIFY":
		return sqlerr.NotSupported(p.pos(p.i), "QUALIFY")
	case t.up == "STRAIGHT_JOIN":
		return p.unexpected().expecting("JOIN")
	}
	return nil
}

// unnest reads UNNEST (…) [WITH ORDINALITY] [alias].
func (p *parser) unnest(lo int) (tree.TableExpr, error) {
	p.i += 2
	args, err := p.exprs()
	if err != nil {
		return nil, err
	}
	if err := p.expectOp(")"); err != nil {
		return nil, err
	}
	u := &tree.Unnest{Args: args}
	if p.word("WITH", "ORDINALITY") {
		u.Ordinality = true
	}
	if u.Alias, err = p.tableAlias(); err != nil {
		return nil, err
	}
	u.Span = p.span(lo, p.i)
	return u, nil
}
