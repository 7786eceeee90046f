package parser

import (
	"regexp"
	"strings"
	"testing"

	tidb "github.com/pingcap/tidb/pkg/parser"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// lowerText gives what TiDB is given for an expression.
func lowerText(src string) (string, error) {
	toks, _, err := lex(src, identityPos)
	if err != nil {
		return "", err
	}
	p := &parser{toks: toks, at: identityPos, text: src}
	f := p.newFragment()
	if err := f.expr(levelAll); err != nil {
		return "", err
	}
	if p.cur().kind != tEOF {
		return "", p.unexpected().Error
	}
	return strings.TrimSpace(string(f.buf)), nil
}

// alphabet is all that an expression may be made of when TiDB gets it.
var alphabet = regexp.MustCompile("^(?:(?:`[1-9][0-9]*`\\(?|[-+*/%=<>|^(),]|<>|<=|>=|<=>|AND|OR|NOT|IS|NULL|TRUE|FALSE|UNKNOWN|" +
	"IN|LIKE|ILIKE|BETWEEN|CASE|WHEN|THEN|ELSE|END|COLLATE|" + strings.Join(digits[:], "|") + ") *)*$")

// TestAlphabet checks that no byte of the user's text reaches TiDB.
func TestAlphabet(t *testing.T) {
	n := 0
	for _, src := range corpus(t) {
		text, err := lowerText(strings.TrimPrefix(src, "SELECT "))
		if err != nil {
			continue
		}
		n++
		if !alphabet.MatchString(text) {
			t.Errorf("%s\nlowered to %s", src, text)
		}
	}
	if n < 100 {
		t.Errorf("only %d expressions were lowered", n)
	}
}

// TestMarks checks the guard against constructs that slip past: a mark that comes
// back twice, never, unknown or in the wrong place is a fault of ours.
func TestMarks(t *testing.T) {
	fragmentOf := func(text string, marks ...mark) *fragment {
		p := &parser{toks: []token{{kind: tEOF}}, at: identityPos}
		return &fragment{p: p, buf: []byte(text), marks: marks, pieces: []piece{{}}}
	}
	leaf := func() mark { return mark{kind: mLeaf, expr: &tree.NullLit{}} }
	cases := []struct {
		name string
		f    *fragment
	}{
		{"twice", fragmentOf("SELECT `1` + `1`", leaf())},
		{"never", fragmentOf("SELECT `1`", leaf(), leaf())},
		{"unknown", fragmentOf("SELECT `2`", leaf())},
		{"not a number", fragmentOf("SELECT a", leaf())},
		{"leading zero", fragmentOf("SELECT `01`", leaf())},
		{"wrong place", fragmentOf("SELECT `1`(`2`)", leaf(), leaf())},
		{"qualified", fragmentOf("SELECT t.`1`", leaf())},
		{"alias", fragmentOf("SELECT `1` AS x", leaf())},
		{"literal", fragmentOf("SELECT 1 + `1`", leaf())},
		{"string", fragmentOf("SELECT 'x' + `1`", leaf())},
		{"other operator", fragmentOf("SELECT `1` DIV `2`", leaf(), leaf())},
		{"lone carrier", fragmentOf("SELECT `1` | `2`", leaf(), leaf())},
		{"other collation", fragmentOf("SELECT `1`"+strings.Repeat(" COLLATE utf8mb4_bin", postfixDigits), leaf())},
		{"subquery", fragmentOf("SELECT (SELECT `1`)", leaf())},
		{"aggregate", fragmentOf("SELECT COUNT(`1`)", leaf())},
		{"wildcard", fragmentOf("SELECT *", leaf())},
		{"lock", fragmentOf("SELECT `1` FOR UPDATE", leaf())},
		{"option", fragmentOf("SELECT SQL_NO_CACHE `1`", leaf())},
		{"two statements", fragmentOf("SELECT `1`; SELECT `1`", leaf())},
		{"another statement", fragmentOf("DROP TABLE `1`", leaf())},
		{"hint", fragmentOf("SELECT /*+ hash_agg() */ `1`", leaf())},
	}
	for _, c := range cases {
		if _, err := c.f.parseList(); err == nil || sqlerr.ClassOf(err) != sqlerr.Internal {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestGrammarPanic checks that a panic of the library comes back as an error.
func TestGrammarPanic(t *testing.T) {
	_, err := safeParse(tidb.New(), "SELECT "+strings.Repeat("9", 100))
	if err == nil || sqlerr.ClassOf(err) != sqlerr.Internal {
		t.Errorf("got %v", err)
	}
}
