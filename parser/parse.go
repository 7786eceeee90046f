// Package parser turns SQL text into a syntax tree of our own (package tree). It is the
// only importer of TiDB's parser, and no type of TiDB's leaves it.
//
// Statement heads, DDL, types and interval literals are read by recursive descent
// over our own tokens. Queries and expressions are rebuilt in a closed alphabet
// that TiDB's grammar reads with the right meaning (lower*.go), parsed once, and
// decoded into our tree (decode*.go); every marker put into the lowered text must
// come back exactly once. docs/design/0007-sql-on-tidb-grammar.md has the reasons.
package parser

import (
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

func identityPos(off int) sqlerr.Pos { return sqlerr.Pos(off + 1) }

// Parse reads all statements of src. Positions count in src. Text without a
// statement gives none and no error.
func Parse(src string) ([]tree.Statement, error) { return parseText(src, identityPos) }

// ParseOne reads exactly one statement, with or without a semicolon after it.
func ParseOne(src string) (tree.Statement, error) {
	stmts, err := Parse(src)
	if err != nil {
		return nil, err
	}
	switch len(stmts) {
	case 0:
		return nil, sqlerr.New(sqlerr.CodeSyntax, sqlerr.Pos(len(src)+1), "syntax error at end of input").
			WithHint("Expected a statement.")
	case 1:
		return stmts[0], nil
	}
	return nil, sqlerr.New(sqlerr.CodeSyntax, stmts[1].Extent().Pos, "more than one statement")
}

// ParseExpr reads one expression.
func ParseExpr(src string) (tree.Expr, error) {
	toks, _, err := lex(src, identityPos)
	if err != nil {
		return nil, err
	}
	p := &parser{toks: toks, at: identityPos, text: src}
	e, err := p.expr()
	if err != nil {
		return nil, err
	}
	if p.cur().kind != tEOF {
		return nil, p.unexpected().Error
	}
	return e, nil
}

func parseText(text string, at func(int) sqlerr.Pos) ([]tree.Statement, error) {
	toks, _, err := lex(text, at)
	if err != nil {
		return nil, err
	}
	p := &parser{toks: toks, at: at, text: text}
	var out []tree.Statement
	for {
		for p.op(";") {
		}
		if p.cur().kind == tEOF {
			return out, nil
		}
		s, err := p.statement()
		if err != nil {
			return nil, err
		}
		if !p.atEnd() {
			return nil, p.trailing()
		}
		out = append(out, s)
	}
}

var clauseWords = strings.Fields("FROM WHERE GROUP HAVING ORDER LIMIT OFFSET UNION JOIN LEFT USING EMIT WITH")

// trailing is the error for a token after a whole statement. What stands before it is
// often a misspelt clause that was taken for an alias.
func (p *parser) trailing() error {
	e := p.unexpected()
	if prev := &p.toks[p.i-1]; prev.kind == tWord {
		if near := sqlerr.Nearest(prev.val, clauseWords); near != "" && near != prev.up {
			e.Hint = `Did you mean "` + near + `" instead of "` + prev.val + `"?`
		}
	}
	return e.Error
}
