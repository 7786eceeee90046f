package parser

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// isQueryBracket reports that the bracket at token i holds a query, however many
// brackets stand round it.
func (p *parser) isQueryBracket(i int) bool {
	if t := &p.toks[i]; t.kind != tOp || t.val != "(" || i+2 >= len(p.toks) {
		return false
	}
	first, second := &p.toks[i+1], &p.toks[i+2]
	switch {
	case first.kind == tWord:
		switch first.up {
		case "SELECT", "WITH":
			return true
		case "VALUES":
			return second.kind == tOp && second.val == "("
		case "TABLE":
			return second.kind == tWord || second.kind == tQuoted
		}
	case first.kind == tOp && first.val == "(":
		if !p.isQueryBracket(i + 1) {
			return false
		}
		next := &p.toks[first.match+1]
		if next.kind == tOp && next.val == ")" {
			return true
		}
		switch next.up {
		case "UNION", "INTERSECT", "EXCEPT", "ORDER", "LIMIT", "OFFSET", "FETCH":
			return next.kind == tWord
		}
	}
	return false
}

// bracketedQuery reads ( query ) with the cursor on the bracket.
func (p *parser) bracketedQuery() (*tree.Query, error) {
	if err := p.expectOp("("); err != nil {
		return nil, err
	}
	q, err := p.query()
	if err != nil {
		return nil, err
	}
	if p.isEmit() {
		return nil, sqlerr.New(sqlerr.CodeSyntax, p.pos(p.i), "EMIT and WITH LATENESS belong at the end of the statement")
	}
	return q, p.expectOp(")")
}

// startsQuery reports that a query begins at the cursor.
func (p *parser) startsQuery() bool {
	return p.isWord("SELECT") || p.isWord("WITH") || p.isWord("VALUES") || p.isWord("TABLE") || p.isQueryBracket(p.i)
}

// statementQuery reads a query with the clauses that only a statement's own query
// may have.
func (p *parser) statementQuery() (*tree.Query, error) {
	lo := p.i
	q, err := p.query()
	if err != nil || !p.isEmit() {
		return q, err
	}
	if err := p.emitClauses(q); err != nil {
		return nil, err
	}
	q.Span = p.span(lo, p.i)
	return q, nil
}

// isEmit reports EMIT … or WITH LATENESS at the cursor.
func (p *parser) isEmit() bool {
	return p.isWord("WITH", "LATENESS") || p.isWord("EMIT") && p.peekWord(1, "CHANGES", "ON", "EVERY")
}

func (p *parser) emitClauses(q *tree.Query) error {
	for p.isEmit() {
		lo := p.i
		if p.word("WITH") {
			if q.Lateness != nil {
				return p.unexpectedAt(lo).Error
			}
			p.i++
			v, err := p.interval()
			if err != nil {
				return err
			}
			q.Lateness = &tree.Lateness{Span: p.span(lo, p.i), Value: v.Value}
			continue
		}
		if q.Emit != nil {
			return p.unexpectedAt(lo).Error
		}
		p.i++
		e := &tree.Emit{}
		switch {
		case p.word("CHANGES"):
		case p.word("ON"):
			if err := p.expectWord("WINDOW", "CLOSE"); err != nil {
				return err
			}
			e.Mode = tree.EmitOnWindowClose
		case p.word("EVERY"):
			v, err := p.interval()
			if err != nil {
				return err
			}
			e.Mode, e.Every = tree.EmitEvery, v.Value
		}
		e.Span = p.span(lo, p.i)
		q.Emit = e
	}
	return nil
}

// interval reads an interval literal where nothing else may stand.
func (p *parser) interval() (*tree.IntervalLit, error) {
	lo := p.i
	if !p.isWord("INTERVAL") {
		return nil, p.unexpected().expecting("INTERVAL '…'")
	}
	v, ok, err := p.intervalLiteral()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, p.unexpectedAt(lo + 1).expecting("a string after INTERVAL")
	}
	return &tree.IntervalLit{Span: p.span(lo, p.i), Value: v}, nil
}

// query reads [WITH …] body [ORDER BY …] [LIMIT …].
func (p *parser) query() (*tree.Query, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	lo := p.i
	var ctes []tree.CTE
	if p.isWord("WITH") {
		var err error
		if ctes, err = p.with(); err != nil {
			return nil, err
		}
	}
	f := p.newFragment()
	var only tree.QueryBody
	for n := 0; ; n++ {
		body, err := f.term()
		if err != nil {
			return nil, err
		}
		if n == 0 {
			only = body
		} else {
			only = nil
		}
		more, err := f.setOp()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	tail := p.i
	if err := f.tail(); err != nil {
		return nil, err
	}
	inner, bracketed := only.(*tree.Query)
	if bracketed && p.i == tail && ctes == nil {
		return inner, nil
	}
	q, err := f.parseQuery()
	if err != nil {
		return nil, err
	}
	q.With = ctes
	q.Span = p.span(lo, p.i)
	if bracketed {
		return mergeQuery(q, inner)
	}
	return q, nil
}

// mergeQuery gives a query in brackets the clauses that stand round it, as PostgreSQL
// does: (SELECT … LIMIT 2) ORDER BY 1 sorts first. A clause given twice is an error.
func mergeQuery(q, inner *tree.Query) (*tree.Query, error) {
	twice := func(at sqlerr.Pos, what string) error {
		return sqlerr.New(sqlerr.CodeSyntax, at, "multiple %s clauses not allowed", what)
	}
	q.Body = inner.Body
	if len(inner.With) > 0 {
		if len(q.With) > 0 {
			return nil, twice(inner.Pos, "WITH")
		}
		q.With = inner.With
	}
	if len(inner.OrderBy) > 0 {
		if len(q.OrderBy) > 0 {
			return nil, twice(q.OrderBy[0].Pos, "ORDER BY")
		}
		q.OrderBy = inner.OrderBy
	}
	if inner.Offset != nil {
		if q.Offset != nil {
			return nil, twice(q.Offset.Pos, "OFFSET")
		}
		q.Offset = inner.Offset
	}
	if inner.Limit != nil {
		if q.Limit != nil {
			return nil, twice(q.Limit.Pos, "LIMIT")
		}
		q.Limit = inner.Limit
	}
	return q, nil
}

// with reads the WITH list.
func (p *parser) with() ([]tree.CTE, error) {
	p.i++
	if p.isWord("RECURSIVE") && !p.peekWord(1, "AS") && !p.peekOp(1, "(") {
		return nil, sqlerr.NotSupported(p.pos(p.i), "WITH RECURSIVE")
	}
	var out []tree.CTE
	for {
		lo := p.i
		n, err := p.name("a name")
		if err != nil {
			return nil, err
		}
		c := tree.CTE{Name: n}
		if p.isOp("(") {
			if c.Columns, err = p.nameList(); err != nil {
				return nil, err
			}
		}
		if err := p.expectWord("AS"); err != nil {
			return nil, err
		}
		if !p.word("NOT", "MATERIALIZED") {
			p.word("MATERIALIZED")
		}
		if c.Query, err = p.bracketedQuery(); err != nil {
			return nil, err
		}
		c.Span = p.span(lo, p.i)
		for _, o := range out {
			if tree.FoldName(o.Name) == tree.FoldName(n) {
				return nil, sqlerr.New(sqlerr.CodeDuplicateTable, n.Pos, `WITH query name "%s" specified more than once`, n.Text)
			}
		}
		out = append(out, c)
		if !p.op(",") {
			return out, nil
		}
	}
}

// term writes one branch of set operations. A branch that is not a SELECT was read
// in full and goes out as a mark, which is returned.
func (f *fragment) term() (tree.QueryBody, error) {
	p := f.p
	lo := p.i
	var body tree.QueryBody
	var err error
	switch {
	case p.isWord("SELECT"):
		return nil, f.selectCore()
	case p.isWord("VALUES"):
		body, err = p.values()
	case p.isWord("TABLE"):
		body, err = p.tableQuery()
	case p.isQueryBracket(lo):
		body, err = p.bracketedQuery()
	default:
		return nil, p.unexpected().expecting("a query")
	}
	if err != nil {
		return nil, err
	}
	f.cores = append(f.cores, core{lo: lo, hi: p.i, noFrom: true})
	f.emit(lo, "SELECT")
	f.emitMark(mark{kind: mBody, lo: lo, hi: p.i, body: body})
	return body, nil
}

// setOp writes UNION, INTERSECT or EXCEPT if one comes next.
func (f *fragment) setOp() (bool, error) {
	p := f.p
	lo := p.i
	up := p.cur().up
	if !p.word("UNION") && !p.word("INTERSECT") && !p.word("EXCEPT") {
		return false, nil
	}
	if p.word("ALL") {
		up += " ALL"
	} else {
		p.word("DISTINCT")
	}
	return true, f.operator(lo, up)
}

// values reads VALUES (…), (…).
func (p *parser) values() (*tree.Values, error) {
	lo := p.i
	p.i++
	v := &tree.Values{}
	for {
		at := p.i
		if err := p.expectOp("("); err != nil {
			return nil, err
		}
		if p.isWord("DEFAULT") {
			return nil, sqlerr.NotSupported(p.pos(p.i), "DEFAULT in VALUES")
		}
		row, err := p.exprs()
		if err != nil {
			return nil, err
		}
		if err := p.expectOp(")"); err != nil {
			return nil, err
		}
		v.Rows = append(v.Rows, &tree.RowExpr{Span: p.span(at, p.i), Elems: row})
		if !p.op(",") {
			break
		}
	}
	v.Span = p.span(lo, p.i)
	return v, nil
}

// tableQuery reads TABLE name.
func (p *parser) tableQuery() (*tree.Select, error) {
	lo := p.i
	p.i++
	q, err := p.qualifiedName("a table")
	if err != nil {
		return nil, err
	}
	s := p.span(lo, p.i)
	return &tree.Select{
		Span:  s,
		Items: []tree.SelectItem{{Span: s, Expr: &tree.Star{Span: s}}},
		From:  []tree.TableExpr{&tree.TableRef{Span: q.Span, Name: q}},
	}, nil
}
