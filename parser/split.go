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
// Behind a lexical error nothing can be told for certain: from the semicolon before it
// all is one piece, the last, and to parse it gives that error, as Split does.
func Split(src string) ([]Piece, error) {
	toks, failed, err := readable(src)
	var out []Piece
	lo := 0
	for i, t := range toks {
		if t.kind == tOp && t.val == ";" {
			if i > lo {
				out = append(out, newPiece(src, toks[lo].off, toks[i-1].end, true))
			}
			lo = i + 1
		}
	}
	switch {
	case err != nil:
		at := 0
		if lo > 0 {
			at = toks[lo-1].end
		}
		if lo < len(toks) {
			failed = min(failed, toks[lo].off)
		}
		behind := strings.TrimLeft(src[at:failed], " \t\n\v\f\r")
		out = append(out, newPiece(src, failed-len(behind), len(src), false))
	case lo < len(toks):
		out = append(out, newPiece(src, toks[lo].off, toks[len(toks)-1].end, false))
	}
	return out, err
}

func newPiece(src string, off, end int, terminated bool) Piece {
	return Piece{Text: strings.TrimRight(src[off:end], " \t\n\v\f\r"), Pos: identityPos(off), Terminated: terminated}
}

// readable gives the tokens of src that stand before its first lexical error, and where
// that is.
func readable(src string) (toks []token, failed int, err error) {
	toks, _, err = lex(src, identityPos)
	if err == nil {
		return toks[:len(toks)-1], len(src), nil // without tEOF
	}
	toks, failed = nil, int(sqlerr.As(err).Pos)-1
	if len(src) > MaxText {
		return nil, 0, err
	}
	s := scanner{text: src[:failed], at: identityPos}
	// The text is cut before what is wrong with it.
	_ = s.run()
	for _, t := range s.toks {
		if t.kind != tEOF {
			toks = append(toks, t)
		}
	}
	return toks, failed, err
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
