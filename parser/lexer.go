package parser

import (
	"strings"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Limits on what is parsed, each refused with a position (DECISIONS §10).
const (
	// MaxText is the largest text in bytes.
	MaxText = 1 << 20
	// MaxDepth is how deep brackets and CASE may nest.
	MaxDepth = 200
	// MaxChain is how many operators, joins or set operations one chain may have.
	MaxChain = 10000
)

type tokKind uint8

const (
	tEOF tokKind = iota
	// tWord is a bare word; up is its upper case.
	tWord
	// tQuoted is a quoted identifier; val is its text.
	tQuoted
	// tString is a string literal; val is its value.
	tString
	// tNumber is a number; val is its digits as typed.
	tNumber
	// tOp is an operator or punctuation; val is its spelling, != made <>.
	tOp
)

// token is one token; off and end are byte offsets in the text that was lexed.
type token struct {
	kind     tokKind
	off, end int
	val      string
	up       string
	// match is the index of the bracket that closes or opens this one, else -1.
	match int
}

// scanner reads tokens by PostgreSQL's lexical rules.
type scanner struct {
	text string
	at   func(off int) sqlerr.Pos
	i    int
	toks []token
	// open is set when the text ended inside a string, quoted name or comment.
	open bool
}

// lex reads all of text, ending with a tEOF token, and matches its brackets. at maps
// an offset to the user's position. open reports that the text ended inside a
// string, comment, quoted name or bracket, so that more text may complete it.
func lex(text string, at func(int) sqlerr.Pos) (toks []token, open bool, err error) {
	if len(text) > MaxText {
		return nil, false, sqlerr.New(sqlerr.CodeTooComplex, at(MaxText), "the text has more than %d bytes", MaxText)
	}
	if !utf8.ValidString(text) {
		return nil, false, sqlerr.New(sqlerr.CodeInvalidEncoding, at(invalidUTF8(text)), "the text is not valid UTF-8")
	}
	s := scanner{text: text, at: at}
	if err := s.run(); err != nil {
		return nil, s.open, err
	}
	open, err = s.matchBrackets()
	return s.toks, open, err
}

func invalidUTF8(s string) int {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(s)
}

func (s *scanner) errorf(off int, format string, args ...any) *sqlerr.Error {
	return sqlerr.New(sqlerr.CodeSyntax, s.at(off), format, args...)
}

func (s *scanner) add(kind tokKind, off int, val string) {
	s.toks = append(s.toks, token{kind: kind, off: off, end: s.i, val: val, match: -1})
}

func (s *scanner) peek(n int) byte {
	if s.i+n < len(s.text) {
		return s.text[s.i+n]
	}
	return 0
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isIdentStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}
func isIdentPart(c byte) bool { return isIdentStart(c) || isDigit(c) || c == '$' }

const opChars = "+-*/<>=~!@#%^&|`?"

func (s *scanner) run() error {
	for {
		if _, err := s.skipBlank(); err != nil {
			return err
		}
		if s.i >= len(s.text) {
			s.add(tEOF, s.i, "")
			return nil
		}
		off, c := s.i, s.text[s.i]
		var err error
		switch {
		case c == '\'':
			err = s.stringToken()
		case c == '"', c == '`':
			err = s.quotedIdent(c)
		case isDigit(c), c == '.' && isDigit(s.peek(1)):
			err = s.number()
		case isIdentStart(c):
			err = s.word()
		case strings.IndexByte(",()[].;", c) >= 0:
			s.i++
			s.add(tOp, off, s.text[off:s.i])
		case c == ':':
			s.i++
			if s.peek(0) == ':' || s.peek(0) == '=' {
				s.i++
			}
			s.add(tOp, off, s.text[off:s.i])
			if s.text[off:s.i] == ":=" {
				err = s.errorf(off, `operator ":=" is not supported`)
			}
		case strings.IndexByte(opChars, c) >= 0:
			err = s.operator()
		case c == '$':
			err = s.dollar()
		case c == 0:
			err = sqlerr.New(sqlerr.CodeInvalidEncoding, s.at(off), "the text contains a zero byte")
		default:
			r, _ := utf8.DecodeRuneInString(s.text[off:])
			err = s.errorf(off, `syntax error at or near "%c"`, r)
		}
		if err != nil {
			return err
		}
	}
}

// skipBlank passes white space and comments; newline reports a line end among them.
func (s *scanner) skipBlank() (newline bool, err error) {
	for s.i < len(s.text) {
		c := s.text[s.i]
		switch {
		case isSpace(c):
			newline = newline || c == '\n' || c == '\r'
			s.i++
		case c == '-' && s.peek(1) == '-':
			n := strings.IndexAny(s.text[s.i:], "\r\n")
			if n < 0 {
				n = len(s.text) - s.i
			}
			s.i += n
		case c == '/' && s.peek(1) == '*':
			if err := s.blockComment(); err != nil {
				return newline, err
			}
		default:
			return newline, nil
		}
	}
	return newline, nil
}

// blockComment passes a comment; they nest, as in PostgreSQL.
func (s *scanner) blockComment() error {
	start, depth := s.i, 0
	for s.i < len(s.text) {
		switch {
		case s.text[s.i] == '/' && s.peek(1) == '*':
			depth++
			s.i += 2
		case s.text[s.i] == '*' && s.peek(1) == '/':
			depth--
			s.i += 2
			if depth == 0 {
				return nil
			}
		default:
			s.i++
		}
	}
	s.open = true
	return s.errorf(start, "unterminated /* comment")
}

// stringToken reads a string. One that follows it after a line end continues it, as
// the standard says; on the same line the parser refuses it.
func (s *scanner) stringToken() error {
	off := s.i
	val, err := s.quoted('\'', "unterminated quoted string")
	if err != nil {
		return err
	}
	s.add(tString, off, val)
	last := len(s.toks) - 1
	var joined strings.Builder
	for {
		newline, err := s.skipBlank()
		if err != nil {
			return err
		}
		if !newline || s.peek(0) != '\'' {
			break
		}
		if joined.Len() == 0 {
			joined.WriteString(val)
		}
		if val, err = s.quoted('\'', "unterminated quoted string"); err != nil {
			return err
		}
		joined.WriteString(val)
		s.toks[last].end = s.i
		s.toks[last].val = ""
	}
	if joined.Len() > 0 {
		s.toks[last].val = joined.String()
	}
	return nil
}

func (s *scanner) quotedIdent(q byte) error {
	off := s.i
	val, err := s.quoted(q, "unterminated quoted identifier")
	if err != nil {
		return err
	}
	if val == "" {
		return s.errorf(off, "zero-length delimited identifier")
	}
	s.add(tQuoted, off, val)
	return nil
}

func (s *scanner) quoted(q byte, unterminated string) (string, error) {
	off := s.i
	s.i++
	start, doubled := s.i, false
	for {
		n := strings.IndexByte(s.text[s.i:], q)
		if n < 0 {
			s.open = true
			s.i = len(s.text)
			return "", s.errorf(off, "%s", unterminated)
		}
		s.i += n + 1
		if s.peek(0) != q {
			break
		}
		doubled = true
		s.i++
	}
	val := s.text[start : s.i-1]
	if doubled {
		val = strings.ReplaceAll(val, string([]byte{q, q}), string(q))
	}
	if z := strings.IndexByte(val, 0); z >= 0 {
		return "", sqlerr.New(sqlerr.CodeInvalidEncoding, s.at(start+z), "the text contains a zero byte")
	}
	return val, nil
}

func (s *scanner) digits() {
	for isDigit(s.peek(0)) {
		s.i++
	}
}

func (s *scanner) number() error {
	off := s.i
	s.digits()
	if s.peek(0) == '.' {
		s.i++
		s.digits()
	}
	if c := s.peek(0); c == 'e' || c == 'E' {
		n := 1
		if c := s.peek(1); c == '+' || c == '-' {
			n = 2
		}
		if isDigit(s.peek(n)) {
			s.i += n
			s.digits()
		}
	}
	if isIdentPart(s.peek(0)) {
		for isIdentPart(s.peek(0)) {
			s.i++
		}
		return s.errorf(off, `trailing junk after numeric literal at or near "%s"`, s.text[off:s.i])
	}
	s.add(tNumber, off, s.text[off:s.i])
	return nil
}

func (s *scanner) word() error {
	off := s.i
	for isIdentPart(s.peek(0)) {
		s.i++
	}
	w := s.text[off:s.i]
	s.add(tWord, off, w)
	s.toks[len(s.toks)-1].up = strings.ToUpper(w)
	next := s.peek(0)
	if next == '&' && len(w) == 1 && (w[0]|0x20) == 'u' && (s.peek(1) == '\'' || s.peek(1) == '"') {
		return sqlerr.NotSupported(s.at(off), "a string with the prefix U&")
	}
	if next != '\'' {
		return nil
	}
	switch len(w) {
	case 1:
		switch w[0] | 0x20 {
		case 'e':
			return sqlerr.NotSupported(s.at(off), "an escape string E'…'").WithHint("Backslashes in '…' are ordinary characters; use CHR(10) for a line end.")
		case 'b', 'x':
			return sqlerr.NotSupported(s.at(off), "a bit string")
		case 'n':
			return sqlerr.NotSupported(s.at(off), "a national string N'…'").WithHint("Write the string without the N.")
		}
	}
	return nil
}

func (s *scanner) dollar() error {
	off := s.i
	s.i++
	for isIdentPart(s.peek(0)) {
		s.i++
	}
	if s.peek(0) == '{' {
		return s.errorf(off, `syntax error at or near "${"`).WithHint("Variables are replaced in files run with --var or the environment.")
	}
	if s.i > off+1 && isDigit(s.text[off+1]) {
		return s.errorf(off, `there is no parameter %s`, s.text[off:s.i])
	}
	return s.errorf(off, `syntax error at or near "%s"`, s.text[off:s.i])
}

// matchBrackets fills token.match. A bracket that is never closed is not an error
// of the lexer's user when more text may come, hence open.
func (s *scanner) matchBrackets() (open bool, err error) {
	var stack []int
	for i := range s.toks {
		t := &s.toks[i]
		if t.kind != tOp {
			continue
		}
		switch t.val {
		case "(", "[":
			if len(stack) >= MaxDepth {
				return false, sqlerr.New(sqlerr.CodeTooComplex, s.at(t.off), "brackets nest deeper than %d levels", MaxDepth)
			}
			stack = append(stack, i)
		case ")", "]":
			n := len(stack) - 1
			if n < 0 || (s.toks[stack[n]].val == "(") != (t.val == ")") {
				return false, s.errorf(t.off, `syntax error at or near "%s"`, t.val)
			}
			s.toks[stack[n]].match, t.match = i, stack[n]
			stack = stack[:n]
		case ";":
			if len(stack) > 0 {
				b := s.toks[stack[len(stack)-1]]
				return false, s.errorf(b.off, `"%s" is never closed`, b.val)
			}
		}
	}
	if len(stack) > 0 {
		b := s.toks[stack[len(stack)-1]]
		return true, s.errorf(b.off, `"%s" is never closed`, b.val)
	}
	return false, nil
}
