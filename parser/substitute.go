package parser

import (
	"sort"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// Source is a text in which variables were replaced, with the way back to what the
// user wrote.
type Source struct {
	// Text is what is parsed.
	Text string
	// Original is what the user wrote; positions count in it.
	Original string
	segs     []segment
}

// segment says where text from offset off came from: orig, and with fixed set the
// whole segment is the one place orig (a replaced variable).
type segment struct {
	off, orig int
	fixed     bool
}

// Pos maps an offset in Text to a position in Original.
func (s *Source) Pos(off int) sqlerr.Pos {
	i := sort.Search(len(s.segs), func(i int) bool { return s.segs[i].off > off }) - 1
	if i < 0 {
		return identityPos(off)
	}
	g := s.segs[i]
	if g.fixed {
		return identityPos(g.orig)
	}
	return identityPos(g.orig + off - g.off)
}

// ParseSource reads all statements of s; positions count in s.Original.
func ParseSource(s *Source) ([]tree.Statement, error) { return parseText(s.Text, s.Pos) }

// Substitute replaces ${NAME} by lookup's answer. Inside a string or quoted name the
// value's quotes are doubled, so that it stays inside; in comments nothing is
// replaced. In the values of a WITH (…) clause ${NAME} is left for the connector to
// resolve when it opens, so that secrets enter no plan, but its name must be defined
// unless later is set; a bare key = ${NAME} becomes the string '${NAME}'. An undefined
// name is an error with CodeVariable.
func Substitute(src string, lookup func(name string) (string, bool), later bool) (*Source, error) {
	s := substituter{src: src, lookup: lookup, later: later}
	if err := s.run(); err != nil {
		return nil, err
	}
	return &Source{Text: s.out.String(), Original: src, segs: s.segs}, nil
}

type substituter struct {
	src    string
	lookup func(string) (string, bool)
	later  bool
	out    strings.Builder
	segs   []segment
	i      int
	// lastWord is the last token when it was a bare word, in upper case.
	lastWord string
	// depth counts brackets inside a WITH clause, 0 outside.
	depth int
	// value is set after = inside a WITH clause.
	value bool
}

func (s *substituter) run() error {
	s.segs = append(s.segs, segment{})
	for s.i < len(s.src) {
		c, start := s.src[s.i], s.i
		rest := s.src[s.i:]
		switch {
		case strings.HasPrefix(rest, "--"):
			n := strings.IndexAny(rest, "\r\n")
			if n < 0 {
				n = len(rest)
			}
			s.copy(n)
		case strings.HasPrefix(rest, "/*"):
			sc := scanner{text: s.src, at: identityPos, i: s.i}
			// An unterminated comment is the parser's to report.
			_ = sc.blockComment()
			s.copy(sc.i - s.i)
		case c == '\'', c == '"', c == '`':
			if err := s.quoted(c); err != nil {
				return err
			}
			s.lastWord, s.value = "", false
		case c == '$' && strings.HasPrefix(rest, "${"):
			if err := s.variable("", s.value); err != nil {
				return err
			}
			s.lastWord, s.value = "", false
		case isIdentStart(c):
			for s.i < len(s.src) && isIdentPart(s.src[s.i]) && !strings.HasPrefix(s.src[s.i:], "${") {
				s.copy(1)
			}
			s.lastWord, s.value = strings.ToUpper(s.src[start:s.i]), false
		case isSpace(c):
			s.copy(1)
		default:
			s.punctuation(c)
			s.copy(1)
			s.lastWord = ""
		}
	}
	return nil
}

func (s *substituter) punctuation(c byte) {
	switch {
	case c == '(' && (s.depth > 0 || s.lastWord == "WITH"):
		s.depth++
	case c == ')' && s.depth > 0:
		s.depth--
	}
	s.value = c == '=' && s.depth > 0
}

func (s *substituter) copy(n int) {
	s.out.WriteString(s.src[s.i : s.i+n])
	s.i += n
}

// quoted copies a string or quoted name, replacing variables inside.
func (s *substituter) quoted(q byte) error {
	keep := q == '\'' && s.value
	s.copy(1)
	for s.i < len(s.src) {
		switch {
		case s.src[s.i] == q:
			s.copy(1)
			if s.i >= len(s.src) || s.src[s.i] != q {
				return nil
			}
			s.copy(1)
		case strings.HasPrefix(s.src[s.i:], "${"):
			if err := s.variable(string(q), keep); err != nil {
				return err
			}
		default:
			s.copy(1)
		}
	}
	return nil
}

// variable replaces the ${NAME} at the cursor. quote is the quote it stands in;
// keep copies it unchanged.
func (s *substituter) variable(quote string, keep bool) error {
	n := 2
	for s.i+n < len(s.src) && isVarChar(s.src[s.i+n], n > 2) {
		n++
	}
	if n == 2 || s.i+n >= len(s.src) || s.src[s.i+n] != '}' {
		return sqlerr.New(sqlerr.CodeVariable, identityPos(s.i), "malformed variable").
			WithHint("Write ${NAME} with letters, digits and underscores.")
	}
	name := s.src[s.i+2 : s.i+n]
	val, ok := s.lookup(name)
	if !ok && !(keep && s.later) {
		return sqlerr.New(sqlerr.CodeVariable, identityPos(s.i), `variable "%s" is not defined`, name).
			WithHint("Give it with --var %s=value or in the environment.", name)
	}
	switch {
	case keep && quote != "":
		s.copy(n + 1)
		return nil
	case keep:
		val = tree.QuoteString(s.src[s.i : s.i+n+1])
	case quote != "":
		val = strings.ReplaceAll(val, quote, quote+quote)
	}
	s.segs = append(s.segs, segment{off: s.out.Len(), orig: s.i, fixed: true})
	s.out.WriteString(val)
	s.i += n + 1
	s.segs = append(s.segs, segment{off: s.out.Len(), orig: s.i})
	return nil
}

func isVarChar(c byte, digits bool) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || digits && isDigit(c)
}
