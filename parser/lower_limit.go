package parser

import (
	"strconv"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// tail writes ORDER BY, LIMIT, OFFSET and FETCH in the order that TiDB knows.
func (f *fragment) tail() error {
	p := f.p
	if p.isWord("ORDER") {
		f.emit(p.i, "ORDER BY")
		p.i++
		if err := p.expectWord("BY"); err != nil {
			return err
		}
		if err := f.sortList(); err != nil {
			return err
		}
	}
	lo := p.i
	limit, offset, err := p.limits()
	if err != nil {
		return err
	}
	if limit != nil || offset != nil {
		f.emit(lo, "LIMIT "+strconv.Itoa(f.add(mark{kind: mCount, lo: lo, hi: p.i, count: limit})))
	}
	if offset != nil {
		f.emit(lo, "OFFSET "+strconv.Itoa(f.add(mark{kind: mCount, lo: lo, hi: p.i, count: offset})))
	}
	if p.isWord("FOR") {
		return sqlerr.NotSupported(p.pos(p.i), "FOR "+p.peek(1).up)
	}
	return nil
}

// limits reads LIMIT, OFFSET and FETCH in any order.
func (p *parser) limits() (limit, offset *tree.Count, err error) {
	seenLimit := false
	for {
		lo := p.i
		switch {
		case p.isWord("LIMIT"), p.isWord("FETCH"):
			if seenLimit {
				return nil, nil, sqlerr.New(sqlerr.CodeSyntax, p.pos(lo), "multiple LIMIT clauses not allowed")
			}
			seenLimit = true
			if p.word("FETCH") {
				limit, err = p.fetch()
			} else if p.i++; !p.word("ALL") && !p.word("NULL") {
				if limit, err = p.count(); err == nil && p.isOp(",") {
					e := p.unexpected()
					e.Hint = "LIMIT #,# syntax is not supported. Use separate LIMIT and OFFSET clauses."
					err = e.Error
				}
			}
		case p.isWord("OFFSET"):
			if offset != nil {
				return nil, nil, sqlerr.New(sqlerr.CodeSyntax, p.pos(lo), "multiple OFFSET clauses not allowed")
			}
			p.i++
			if offset, err = p.count(); err == nil && !p.word("ROW") {
				p.word("ROWS")
			}
		default:
			return limit, offset, nil
		}
		if err != nil {
			return nil, nil, err
		}
	}
}

// fetch reads FIRST|NEXT [n] ROW|ROWS ONLY.
func (p *parser) fetch() (*tree.Count, error) {
	if !p.word("FIRST") && !p.word("NEXT") {
		return nil, p.unexpected().expecting("FIRST or NEXT")
	}
	c := &tree.Count{Span: p.span(p.i, p.i), N: 1}
	if !p.isWord("ROW") && !p.isWord("ROWS") {
		var err error
		if c, err = p.count(); err != nil {
			return nil, err
		}
	}
	if !p.word("ROW") && !p.word("ROWS") {
		return nil, p.unexpected().expecting("ROWS")
	}
	if p.isWord("WITH", "TIES") {
		return nil, sqlerr.NotSupported(p.pos(p.i), "WITH TIES")
	}
	return c, p.expectWord("ONLY")
}

// count reads an unsigned integer.
func (p *parser) count() (*tree.Count, error) {
	t := p.cur()
	if t.kind != tNumber {
		if p.atEnd() {
			return nil, p.unexpected().expecting("a number")
		}
		return nil, sqlerr.NotSupported(p.pos(p.i), "a LIMIT or OFFSET that is not a number")
	}
	n, err := strconv.ParseUint(t.val, 10, 63)
	if err != nil {
		return nil, sqlerr.New(sqlerr.CodeInvalidParameter, p.pos(p.i), "%s is not a row count", t.val).
			WithHint("Give a whole number of at most 19 digits.")
	}
	p.i++
	if next := p.cur(); next.kind == tOp && next.val != ")" && next.val != "," && next.val != ";" {
		return nil, sqlerr.NotSupported(p.pos(p.i-1), "a LIMIT or OFFSET that is not a number")
	}
	return &tree.Count{Span: p.span(p.i-1, p.i), N: n}, nil
}
