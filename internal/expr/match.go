package expr

import (
	"bytes"
	"regexp"
	"regexp/syntax"
)

// matcher finds the leftmost match of a regular expression: the bounds of a group, or
// of the whole match for group 0; ok is false when nothing matches, and lo is -1 when
// the group took no part in the match.
type matcher interface {
	find(s []byte, group int) (lo, hi int, ok bool)
	groups() int
}

// compileMatcher prefers a plain search to Go's automaton where the pattern has the
// shape that searchMatcher knows.
func compileMatcher(pattern string) (matcher, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	if m, ok := newSearch(pattern); ok {
		return m, nil
	}
	return automaton{re}, nil
}

// automaton is Go's regexp.
type automaton struct{ re *regexp.Regexp }

func (m automaton) groups() int { return m.re.NumSubexp() }

func (m automaton) find(s []byte, group int) (lo, hi int, ok bool) {
	if group == 0 {
		loc := m.re.FindIndex(s)
		if loc == nil {
			return 0, 0, false
		}
		return loc[0], loc[1], true
	}
	loc := m.re.FindSubmatchIndex(s)
	if loc == nil || 2*group+1 >= len(loc) {
		return 0, 0, loc != nil
	}
	return loc[2*group], loc[2*group+1], true
}

// searchMatcher matches [before] literal [run]: a literal text, before which there may
// be one of some single bytes or the start of the text, and after which a greedy run
// of a class of characters. The literal does not start with a byte of before, so the
// first place where the literal fits is the leftmost match.
type searchMatcher struct {
	literal []byte

	before      bool      // something has to stand before the literal
	beforeByte  [256]bool // one of these
	beforeStart bool      // or the start of the text
	beforeGroup int       // its capture group, 0 for none

	run      bool
	class    [256]bool
	stop     int // the only byte not in class, or -1
	runMin   int
	runGroup int

	ngroups int
}

func (m *searchMatcher) groups() int { return m.ngroups }

func (m *searchMatcher) find(s []byte, group int) (lo, hi int, ok bool) {
	for from := 0; ; {
		at := bytes.Index(s[from:], m.literal)
		if at < 0 {
			return 0, 0, false
		}
		at += from
		from = at + 1
		start := at
		if m.before {
			switch {
			case at == 0:
				if !m.beforeStart {
					continue
				}
			case m.beforeByte[s[at-1]]:
				start = at - 1
			default:
				continue
			}
		}
		runLo := at + len(m.literal)
		end := runLo
		if m.run {
			end += m.runLength(s[runLo:])
			if end-runLo < m.runMin {
				continue
			}
		}
		switch group {
		case 0:
			return start, end, true
		case m.beforeGroup:
			return start, at, true
		case m.runGroup:
			return runLo, end, true
		}
		return -1, -1, true
	}
}

func (m *searchMatcher) runLength(s []byte) int {
	if m.stop >= 0 {
		if i := bytes.IndexByte(s, byte(m.stop)); i >= 0 {
			return i
		}
		return len(s)
	}
	n := 0
	for n < len(s) && m.class[s[n]] {
		n++
	}
	return n
}

// newSearch reads pattern as a searchMatcher if it has that shape.
func newSearch(pattern string) (*searchMatcher, bool) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, false
	}
	m := &searchMatcher{stop: -1, ngroups: re.MaxCap()}
	parts := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		parts = re.Sub
	}
	if len(parts) > 0 && m.takeBefore(parts[0]) {
		parts = parts[1:]
	}
	if len(parts) == 0 || !m.takeLiteral(parts[0]) {
		return nil, false
	}
	parts = parts[1:]
	if len(parts) > 0 && m.takeRun(parts[0]) {
		parts = parts[1:]
	}
	return m, len(parts) == 0 && !m.beforeByte[m.literal[0]]
}

func (m *searchMatcher) takeLiteral(re *syntax.Regexp) bool {
	if re.Op != syntax.OpLiteral || re.Flags&syntax.FoldCase != 0 {
		return false
	}
	m.literal = []byte(string(re.Rune))
	return len(m.literal) > 0
}

func (m *searchMatcher) takeBefore(re *syntax.Regexp) bool {
	group := 0
	if re.Op == syntax.OpCapture {
		group, re = re.Cap, re.Sub[0]
	}
	alternatives := []*syntax.Regexp{re}
	if re.Op == syntax.OpAlternate {
		alternatives = re.Sub
	} else if re.Op != syntax.OpBeginText && re.Op != syntax.OpCharClass {
		return false
	}
	for _, a := range alternatives {
		switch {
		case a.Op == syntax.OpBeginText:
			m.beforeStart = true
		case a.Op == syntax.OpLiteral && len(a.Rune) == 1 && a.Rune[0] < 0x80 && a.Flags&syntax.FoldCase == 0:
			m.beforeByte[a.Rune[0]] = true
		case a.Op == syntax.OpCharClass && asciiClass(a.Rune):
			for i := 0; i < len(a.Rune); i += 2 {
				for r := a.Rune[i]; r <= a.Rune[i+1]; r++ {
					m.beforeByte[r] = true
				}
			}
		default:
			m.beforeByte, m.beforeStart = [256]bool{}, false
			return false
		}
	}
	m.before, m.beforeGroup = true, group
	return true
}

func asciiClass(ranges []rune) bool {
	return len(ranges) > 0 && ranges[len(ranges)-1] < 0x80
}

// takeRun reads a greedy star or plus of a class that is all ASCII, or has all that is
// not ASCII.
func (m *searchMatcher) takeRun(re *syntax.Regexp) bool {
	group := 0
	if re.Op == syntax.OpCapture {
		group, re = re.Cap, re.Sub[0]
	}
	if re.Op != syntax.OpStar && re.Op != syntax.OpPlus || re.Flags&syntax.NonGreedy != 0 {
		return false
	}
	atLeast := 0
	if re.Op == syntax.OpPlus {
		atLeast = 1
	}
	ranges := re.Sub[0].Rune
	switch re.Sub[0].Op {
	case syntax.OpCharClass:
	case syntax.OpAnyCharNotNL:
		ranges = []rune{0, '\n' - 1, '\n' + 1, 0x10FFFF}
	case syntax.OpAnyChar:
		ranges = []rune{0, 0x10FFFF}
	default:
		return false
	}
	if !m.setClass(ranges) {
		return false
	}
	m.run, m.runGroup, m.runMin = true, group, atLeast
	return true
}

func (m *searchMatcher) setClass(ranges []rune) bool {
	n := len(ranges)
	high := n > 0 && ranges[n-2] <= 0x80 && ranges[n-1] == 0x10FFFF
	if !high && !asciiClass(ranges) {
		return false
	}
	outside := -1
	for b := range 256 {
		in := high && b >= 0x80
		for i := 0; i < n && !in; i += 2 {
			in = b < 0x80 && rune(b) >= ranges[i] && rune(b) <= ranges[i+1]
		}
		m.class[b] = in
		if !in {
			if outside >= 0 {
				outside = 256
			} else {
				outside = b
			}
		}
	}
	if outside >= 0 && outside < 256 {
		m.stop = outside
	}
	return true
}
