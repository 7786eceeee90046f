package parser

import (
	"strings"

	tidb "github.com/pingcap/tidb/pkg/parser"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// parser reads the tokens of one text. It is used by one goroutine.
type parser struct {
	toks []token
	at   func(off int) sqlerr.Pos
	text string
	i    int
	// depth counts expressions, queries and types inside one another; brackets are
	// capped by the lexer, this stops CASE and the like.
	depth int
	// grammar is TiDB's parser, made when first needed; fragments use it in turn.
	grammar *tidb.Parser
}

func (p *parser) cur() *token { return &p.toks[p.i] }

// peek returns the token n places on; beyond the end it is the last (tEOF).
func (p *parser) peek(n int) *token {
	if p.i+n < len(p.toks) {
		return &p.toks[p.i+n]
	}
	return &p.toks[len(p.toks)-1]
}

func (p *parser) pos(i int) sqlerr.Pos { return p.at(p.toks[i].off) }

// span is the extent of tokens lo up to but not including hi.
func (p *parser) span(lo, hi int) tree.Span {
	if hi <= lo {
		return tree.Span{Pos: p.pos(lo), End: p.pos(lo)}
	}
	return tree.Span{Pos: p.pos(lo), End: p.at(p.toks[hi-1].end-1) + 1}
}

func (p *parser) isOp(op string) bool { t := p.cur(); return t.kind == tOp && t.val == op }

func (p *parser) peekOp(n int, op string) bool {
	t := p.peek(n)
	return t.kind == tOp && t.val == op
}

// isWord reports that the next tokens are these bare words.
func (p *parser) isWord(words ...string) bool {
	for n, w := range words {
		if t := p.peek(n); t.kind != tWord || t.up != w {
			return false
		}
	}
	return true
}

func (p *parser) peekWord(n int, words ...string) bool {
	t := p.peek(n)
	if t.kind != tWord {
		return false
	}
	for _, w := range words {
		if t.up == w {
			return true
		}
	}
	return false
}

// word passes the words if they come next.
func (p *parser) word(words ...string) bool {
	if !p.isWord(words...) {
		return false
	}
	p.i += len(words)
	return true
}

func (p *parser) op(op string) bool {
	if !p.isOp(op) {
		return false
	}
	p.i++
	return true
}

func (p *parser) expectWord(words ...string) error {
	for _, w := range words {
		if !p.word(w) {
			return p.unexpected().expecting(w)
		}
	}
	return nil
}

func (p *parser) expectOp(op string) error {
	if !p.op(op) {
		return p.unexpected().expecting(`"` + op + `"`)
	}
	return nil
}

// syntaxError lets a hint be added while the error is on its way.
type syntaxError struct {
	*sqlerr.Error
	// reserved is the offending word if it is a reserved one.
	reserved string
}

func (e syntaxError) Unwrap() error { return e.Error }

// nameSpots are the expectations that a reserved word fails only for want of quotes.
var nameSpots = map[string]bool{
	"a column name": true, "a column": true, "a table": true, "a view": true, "a name": true, "an alias": true,
	"an expression": true, "a window name": true, "a field name": true,
}

func (e syntaxError) expecting(what string) error {
	switch {
	case e.Hint != "":
	case e.reserved != "" && nameSpots[what]:
		e.Hint = `Expected ` + what + `; to use the reserved word "` + e.reserved + `" as a name, put it in double quotes.`
	default:
		e.Hint = "Expected " + what + "."
	}
	return e.Error
}

// unexpected is PostgreSQL's syntax error at the current token.
func (p *parser) unexpected() syntaxError { return p.unexpectedAt(p.i) }

func (p *parser) unexpectedAt(i int) syntaxError {
	t := &p.toks[i]
	if t.kind == tEOF || t.kind == tOp && t.val == ";" {
		return syntaxError{Error: sqlerr.New(sqlerr.CodeSyntax, p.at(t.off), "syntax error at end of input")}
	}
	raw := p.text[t.off:t.end]
	if n := strings.IndexAny(raw, "\r\n"); n >= 0 {
		raw = raw[:n]
	}
	e := syntaxError{Error: sqlerr.New(sqlerr.CodeSyntax, p.at(t.off), `syntax error at or near "%s"`, raw)}
	if t.kind == tWord && !isColumnName(t.up) {
		e.reserved = t.val
	}
	return e
}

// enter counts one level of nesting; leave takes it back.
func (p *parser) enter() error {
	p.depth++
	if p.depth > 4*MaxDepth {
		return sqlerr.New(sqlerr.CodeTooComplex, p.pos(p.i), "the statement nests too deeply")
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

// atEnd reports the end of the statement.
func (p *parser) atEnd() bool {
	t := p.cur()
	return t.kind == tEOF || t.kind == tOp && t.val == ";"
}

// isName reports that the current token can stand as a column, table or alias name.
func (p *parser) isName() bool { return isNameToken(p.cur()) }

func isNameToken(t *token) bool {
	return t.kind == tQuoted || t.kind == tWord && isColumnName(t.up)
}

func (p *parser) nameAt(i int) tree.Name {
	t := &p.toks[i]
	return tree.Name{Span: p.span(i, i+1), Text: t.val, Quoted: t.kind == tQuoted}
}

// name reads one identifier.
func (p *parser) name(what string) (tree.Name, error) {
	if !p.isName() {
		return tree.Name{}, p.unexpected().expecting(what)
	}
	p.i++
	return p.nameAt(p.i - 1), nil
}

// label reads the name after AS, where every word is allowed.
func (p *parser) label() (tree.Name, error) {
	if t := p.cur(); t.kind != tWord && t.kind != tQuoted {
		return tree.Name{}, p.unexpected().expecting("a name")
	}
	p.i++
	return p.nameAt(p.i - 1), nil
}

// qualifiedName reads name{.name}; after a dot any word is a name.
func (p *parser) qualifiedName(what string) (tree.QualifiedName, error) {
	lo := p.i
	n, err := p.name(what)
	if err != nil {
		return tree.QualifiedName{}, err
	}
	q := tree.QualifiedName{Parts: []tree.Name{n}}
	for p.isOp(".") {
		p.i++
		if n, err = p.label(); err != nil {
			return tree.QualifiedName{}, err
		}
		q.Parts = append(q.Parts, n)
	}
	q.Span = p.span(lo, p.i)
	if len(q.Parts) > 3 {
		return q, sqlerr.New(sqlerr.CodeSyntax, q.Pos, "improper qualified name (too many dotted names): %s", q)
	}
	return q, nil
}

// nameList reads ( name, … ).
func (p *parser) nameList() ([]tree.Name, error) {
	if err := p.expectOp("("); err != nil {
		return nil, err
	}
	var out []tree.Name
	for {
		n, err := p.name("a column name")
		if err != nil {
			return nil, err
		}
		out = append(out, n)
		if p.op(",") {
			continue
		}
		return out, p.expectOp(")")
	}
}

// stringToken reads a string literal.
func (p *parser) stringToken(what string) (string, sqlerr.Pos, error) {
	if p.cur().kind != tString {
		return "", 0, p.unexpected().expecting(what)
	}
	p.i++
	return p.toks[p.i-1].val, p.pos(p.i - 1), nil
}
