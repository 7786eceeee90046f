package parser

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

func repeat(before, unit, after string, n int) string {
	return before + strings.Repeat(unit, n) + after
}

// TestLimits checks that every way to make a text large or deep ends in an error
// with a place, or in an answer, and that none takes time or memory out of all
// proportion.
func TestLimits(t *testing.T) {
	const ok = ""
	cases := []struct {
		name, src, code string
	}{
		{"brackets below the cap", repeat("SELECT ", "(", "1"+strings.Repeat(")", MaxDepth), MaxDepth), ok},
		{"brackets", repeat("SELECT ", "(", "1"+strings.Repeat(")", MaxDepth+1), MaxDepth+1), sqlerr.CodeTooComplex},
		{"calls below the cap", repeat("SELECT ", "f(", "1"+strings.Repeat(")", MaxDepth), MaxDepth), ok},
		{"special forms", repeat("SELECT ", "TRIM(a||", "1"+strings.Repeat(")", 199), 199), ok},
		{"queries below the cap", repeat("", "SELECT (", "1"+strings.Repeat(")", MaxDepth), MaxDepth), ok},
		{"derived tables", repeat("SELECT 1", " FROM (SELECT 1", strings.Repeat(") x", MaxDepth), MaxDepth), ok},
		{"joins in brackets", "SELECT 1 FROM " + strings.Repeat("(", 190) + "t" + strings.Repeat(" CROSS JOIN u)", 190), ok},
		{"window tables", "SELECT 1 FROM " + strings.Repeat("TUMBLE(", 190) + "t" + strings.Repeat(", ts, g)", 190), ok},
		{"subscripts in one another", repeat("SELECT ", "a[", "1"+strings.Repeat("]", MaxDepth), MaxDepth), ok},
		{"CASE", repeat("SELECT ", "CASE WHEN ", "1", 100000), sqlerr.CodeTooComplex},
		{"CASE in ELSE", repeat("SELECT ", "CASE WHEN a THEN b ELSE ", "1", 10000), sqlerr.CodeTooComplex},
		{"nested types", repeat("SELECT a::", "ARRAY<", "INT", 100000), sqlerr.CodeTooComplex},
		{"array suffixes", "SELECT a::int" + strings.Repeat("[]", 100000), sqlerr.CodeTooComplex},
		{"chain below the cap", repeat("SELECT 1", " + 1", "", MaxChain), ok},
		{"chain", repeat("SELECT 1", " + 1", "", MaxChain+1), sqlerr.CodeTooComplex},
		{"long chain", repeat("SELECT 1", " AND 1", "", 150000), sqlerr.CodeTooComplex},
		{"NOT", repeat("SELECT ", "NOT ", "1", 200000), sqlerr.CodeTooComplex},
		{"signs", repeat("SELECT ", "- ", "1", 400000), sqlerr.CodeTooComplex},
		{"casts", repeat("SELECT 1", "::int", "", 200000), sqlerr.CodeTooComplex},
		{"casts below the cap", repeat("SELECT 1", "::int", "", MaxChain), ok},
		{"subscripts", repeat("SELECT a", "[1]", "", 300000), sqlerr.CodeTooComplex},
		{"concatenation", repeat("SELECT a", "||b", "", 200000), sqlerr.CodeTooComplex},
		{"joins without ON", repeat("SELECT 1 FROM a", " JOIN b", "", 100000), sqlerr.CodeTooComplex},
		{"nested ON", "SELECT 1 FROM a" + strings.Repeat(" JOIN b", 5000) + strings.Repeat(" ON c", 5000), ok},
		{"cross joins", repeat("SELECT 1 FROM a", " CROSS JOIN b", "", MaxChain), ok},
		{"commas", repeat("SELECT 1 FROM a", ", b", "", MaxChain), ok},
		{"set operations", repeat("SELECT 1", " UNION SELECT 1", "", MaxChain), ok},
		{"intersections", repeat("SELECT 1", " INTERSECT SELECT 1", "", MaxChain+1), sqlerr.CodeTooComplex},
		{"select list", repeat("SELECT 1", ",1", "", 60000), ok},
		{"IN list", repeat("SELECT a IN (1", ",1", ")", 60000), ok},
		{"VALUES", repeat("VALUES (1)", ",(1)", "", 30000), ok},
		{"statements", strings.Repeat("SELECT 1;", 10000), ok},
		{"strings on one line", repeat("SELECT 'a'", " 'a'", "", 200000), sqlerr.CodeSyntax},
		{"strings on many lines", repeat("SELECT 'a'", "\n'a'", "", 200000), ok},
		{"digits", "SELECT " + strings.Repeat("9", 500000), ok},
		{"text", "SELECT '" + strings.Repeat("x", MaxText) + "'", sqlerr.CodeTooComplex},
		{"comments", "SELECT " + strings.Repeat("/*", 400000) + " 1", sqlerr.CodeSyntax},
		{"UTF-8", "SELECT '\xff'", sqlerr.CodeInvalidEncoding},
		{"zero byte", "SELECT 'a\x00b'", sqlerr.CodeInvalidEncoding},
		{"zero byte outside", "SELECT \x00", sqlerr.CodeInvalidEncoding},
	}
	for _, c := range cases {
		start := time.Now()
		_, err := Parse(c.src)
		d := time.Since(start)
		t.Logf("%s: %s", c.name, d.Round(time.Millisecond))
		if d > time.Minute {
			t.Errorf("%s: took %s", c.name, d)
		}
		switch {
		case c.code == ok:
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		case err == nil:
			t.Errorf("%s: accepted", c.name)
		case sqlerr.CodeOf(err) != c.code || sqlerr.As(err).Pos == 0:
			t.Errorf("%s: %v (code %s)", c.name, err, sqlerr.CodeOf(err))
		}
	}
}

// TestReservedWords compares what may stand as a name with PostgreSQL's classes: a
// word is accepted bare exactly when it is neither reserved nor a function-only word.
func TestReservedWords(t *testing.T) {
	for _, w := range Keywords() {
		for _, src := range []string{"SELECT 1 FROM " + w, "SELECT 1 FROM t AS " + w} {
			_, err := Parse(src)
			if ok := err == nil; ok != isColumnName(w) {
				t.Errorf("%s: accepted %v: %v", src, ok, err)
			}
		}
		for _, src := range []string{`SELECT "` + w + `" FROM "` + w + `" AS "` + w + `"`, "SELECT t." + w + " AS " + w + " FROM s." + w} {
			if _, err := Parse(src); err != nil {
				t.Errorf("%s: %v", src, err)
			}
		}
	}
}

func TestSplit(t *testing.T) {
	pieces, err := Split(" SELECT ';' ; -- x;\n\nSELECT \";\" /* ; */ , 1;; SELECT 3 ")
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(pieces)
	want := `[{SELECT ';' 2 true} {SELECT ";" /* ; */ , 1 22 true} {SELECT 3 47 false}]`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestSplitError: what stands before a lexical error is cut, the rest gives the error.
func TestSplitError(t *testing.T) {
	for src, want := range map[string]string{
		"SELECT 1; SELECT 2x; SELECT 3;":   "SELECT 1|SELECT 2x; SELECT 3;",
		" SELECT 1;\n\n 2x ":               "SELECT 1|2x",
		"2x; SELECT 1":                     "2x; SELECT 1",
		"SELECT 1; /* a */ 2x":             "SELECT 1|/* a */ 2x",
		"SELECT 1; SELECT 2; SELECT 'a; b": "SELECT 1|SELECT 2|SELECT 'a; b",
		"SELECT 1; SELECT (2; SELECT 3;":   "SELECT 1|SELECT (2; SELECT 3;",
		"SELECT 1; SELECT 2); SELECT 3;":   "SELECT 1|SELECT 2); SELECT 3;",
		"SELECT 'a'; SELECT\n'b' \n'c":     "SELECT 'a'|SELECT\n'b' \n'c",
		"SELECT 1;; /* open":               "SELECT 1|/* open",
		"SELECT 1; SELECT \xff;":           "SELECT 1|SELECT \xff;",
		"SELECT 1; SELECT E'a'; SELECT 2":  "SELECT 1|SELECT E'a'; SELECT 2",
	} {
		pieces, err := Split(src)
		var got []string
		for i, p := range pieces {
			got = append(got, p.Text)
			if !strings.HasPrefix(src[p.Pos-1:], p.Text) {
				t.Errorf("%q: %q is not at %d", src, p.Text, p.Pos)
			}
			_, perr := Parse(p.Text)
			if last := i == len(pieces)-1; last != (perr != nil) {
				t.Errorf("%q: %q gives %v", src, p.Text, perr)
			} else if last && (perr.Error() != err.Error() || sqlerr.As(perr).Pos+p.Pos-1 != sqlerr.As(err).Pos) {
				t.Errorf("%q: %q gives %v, want %v", src, p.Text, perr, err)
			}
		}
		if err == nil || strings.Join(got, "|") != want {
			t.Errorf("%q: %q and %v, want %s", src, got, err, want)
		}
	}
}

func TestIncomplete(t *testing.T) {
	for src, want := range map[string]bool{
		"":                       false,
		" -- comment\n":          false,
		"SELECT 1":               true,
		"SELECT 1;":              false,
		"SELECT 1; -- done":      false,
		"SELECT 1; SELECT":       true,
		"SELECT 'a;":             true,
		`SELECT "a;`:             true,
		"SELECT /* ;":            true,
		"SELECT (1":              true,
		"SELECT (1;":             false,
		"SELECT 1);":             false,
		"SELECT a ~ b;":          false,
		"SELECT ';' || \";\" --": true,
	} {
		if got := Incomplete(src); got != want {
			t.Errorf("%q: %v", src, got)
		}
	}
}

func TestTokens(t *testing.T) {
	var b strings.Builder
	for _, tok := range Tokens(`select "A", 'x''y', 1.5 >= t.a 'open`) {
		fmt.Fprintf(&b, "%d:%s@%d ", tok.Kind, tok.Text, tok.Pos)
	}
	want := `0:select@1 1:A@8 4:,@11 2:x'y@13 4:,@19 3:1.5@21 4:>=@25 0:t@28 4:.@29 0:a@30 `
	if b.String() != want {
		t.Errorf("got  %s\nwant %s", b.String(), want)
	}
}

func TestCheckEnvironment(t *testing.T) {
	if err := CheckEnvironment(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GO_FAILPOINTS_HTTP", "127.0.0.1:0")
	if err := CheckEnvironment(); err == nil || sqlerr.CodeOf(err) != sqlerr.CodeInvalidParameter {
		t.Errorf("got %v", err)
	}
	if os.Getenv("GO_FAILPOINTS_HTTP") == "" {
		t.Error("the check changed the environment")
	}
}

// TestSpans checks that every node's extent cuts the user's own text out.
func TestSpans(t *testing.T) {
	src := "SELECT é + (b * 2) AS x, CASE WHEN (a) IS NOT NULL THEN f(a, 1) END, -a::int,\n" +
		" a NOT IN (1, (2)), a BETWEEN 1 AND (2), x[1], CAST(a AS INT) FROM t AS u (p), (SELECT 1) q LEFT JOIN r USING (k) WHERE NOT a LIKE 'x' ESCAPE '!'"
	s, err := ParseOne(src)
	if err != nil {
		t.Fatal(err)
	}
	sel := s.(*tree.QueryStmt).Query.Body.(*tree.Select)
	var got []string
	for _, it := range sel.Items {
		got = append(got, it.Text(src), it.Expr.Extent().Text(src))
	}
	for _, f := range sel.From {
		got = append(got, f.Extent().Text(src))
	}
	got = append(got, sel.Where.Extent().Text(src), sel.Text(src))
	want := []string{
		"é + (b * 2) AS x", "é + (b * 2)",
		"CASE WHEN (a) IS NOT NULL THEN f(a, 1) END", "CASE WHEN (a) IS NOT NULL THEN f(a, 1) END",
		"-a::int", "-a::int",
		"a NOT IN (1, (2))", "a NOT IN (1, (2))",
		"a BETWEEN 1 AND (2)", "a BETWEEN 1 AND (2)",
		"x[1]", "x[1]",
		"CAST(a AS INT)", "CAST(a AS INT)",
		"t AS u (p)", "(SELECT 1) q LEFT JOIN r USING (k)",
		"NOT a LIKE 'x' ESCAPE '!'", src,
	}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Errorf("%d: got %q, want %q", i, got[i], want[i])
		}
	}
	b := sel.Items[0].Expr.(*tree.BinaryExpr)
	if at := src[b.OpPos-1]; at != '+' {
		t.Errorf("operator at %q", at)
	}
}
