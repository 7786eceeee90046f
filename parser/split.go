package parser

import (
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// Piece is one statement of a longer text, not parsed yet.
type Piece struct {
	// Text is the statement without its semicolon and without white space or
	// comments around it.
	Text string
	// Pos is where Text begins.
	Pos sqlerr.Pos
	// Terminated is set when a semicolon followed.
	Terminated bool
}

// Split cuts src at its semicolons by the lexical rules, so that one in a string,
// a comment or a quoted name does not count. A prompt takes from it what is ready to run.
func Split(src string) ([]Piece, error) {
	toks, _, err := lex(src, identityPos)
	if err != nil {
		return nil, err
	}
	var out []Piece
	lo := 0
	for i, t := range toks {
		end := t.kind == tOp && t.val == ";"
		if !end && t.kind != tEOF {
			continue
		}
		if i > lo {
			out = append(out, Piece{
				Text:       src[toks[lo].off:toks[i-1].end],
				Pos:        identityPos(toks[lo].off),
				Terminated: end,
			})
		}
		lo = i + 1
	}
	return out, nil
}

// Incomplete reports that more input must follow before src can run: it ends inside
// a string, comment, quoted name or bracket, or its last statement lacks a
// semicolon. Blank text and text with an error that no continuation mends are not
// incomplete.
func Incomplete(src string) bool {
	toks, open, err := lex(src, identityPos)
	if err != nil {
		return open
	}
	if len(toks) < 2 {
		return false
	}
	last := toks[len(toks)-2]
	return last.kind != tOp || last.val != ";"
}

// TokenKind is the class of a Token.
type TokenKind uint8

const (
	TokenWord TokenKind = iota
	TokenQuoted
	TokenString
	TokenNumber
	TokenOperator
)

// Token is one lexical token, for completion and highlighting.
type Token struct {
	Kind TokenKind
	// Text is the value: quotes removed from names and strings.
	Text string
	tree.Span
}

// Tokens lists the tokens of src as far as they can be read; it never fails.
func Tokens(src string) []Token {
	s := scanner{text: strings.ToValidUTF8(src, "?"), at: identityPos}
	// What stopped the scanner does not matter here: the tokens before it do.
	_ = s.run()
	var out []Token
	for _, t := range s.toks {
		if t.kind == tEOF {
			break
		}
		out = append(out, Token{
			Kind: TokenKind(t.kind - tWord), Text: t.val,
			Span: tree.Span{Pos: identityPos(t.off), End: identityPos(t.end)},
		})
	}
	return out
}
