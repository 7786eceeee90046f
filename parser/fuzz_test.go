package parser

import (
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// checkText parses text and checks what must hold for any: no panic, an error of the
// user's with a place inside the text, and a printed form that reads back the same.
func checkText(t *testing.T, text string) {
	t.Helper()
	start := time.Now()
	stmts, err := Parse(text)
	if d := time.Since(start); d > time.Minute {
		t.Fatalf("%q took %s", text, d)
	}
	if err != nil {
		e := sqlerr.As(err)
		if e == nil || e.Class != sqlerr.User || e.Pos < 1 || int(e.Pos) > len(text)+1 {
			t.Fatalf("%q: %#v", text, err)
		}
		sqlerr.Render(err, text)
		Incomplete(text)
		_, _ = Split(text)
		return
	}
	for _, s := range stmts {
		if s.Extent().Text(text) == "" {
			t.Fatalf("%q: a statement without extent", text)
		}
		if q, ok := s.(*tree.QueryStmt); ok {
			checkQueryRoundTrip(t, q.Query)
		}
	}
}

// corpus is the inputs of all golden cases.
func corpus(t testing.TB) []string {
	files, err := filepath.Glob("testdata/*.test")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	var out []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range strings.Split(string(b), "\n\n") {
			in, _, _ := strings.Cut(block, "\n----\n")
			for strings.HasPrefix(in, "#") {
				_, in, _ = strings.Cut(in, "\n")
			}
			cmd, body, ok := strings.Cut(in, "\n")
			switch {
			case !ok:
			case cmd == "expr" || cmd == "names":
				for _, line := range strings.Split(body, "\n") {
					out = append(out, "SELECT "+line)
				}
			default:
				out = append(out, body)
			}
		}
	}
	return out
}

func FuzzParse(f *testing.F) {
	for _, s := range corpus(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { checkText(t, text) })
}

// TestMutations runs a seeded walk over mixed-up golden inputs: tokens dropped,
// doubled, swapped, taken from elsewhere.
func TestMutations(t *testing.T) {
	const seed, rounds = 1, 5000
	r := rand.New(rand.NewSource(seed))
	texts := corpus(t)
	words := Keywords()
	ops := strings.Fields("( ) [ ] , . ; :: = < || -> + - * 1 1.5 'x' \"q\" a INTERVAL '1' DAY ROW( ARRAY[ $ ~ ` { é")
	for i := 0; i < rounds; i++ {
		src := texts[r.Intn(len(texts))]
		var parts []string
		for _, tok := range Tokens(src) {
			parts = append(parts, tok.Extent().Text(src))
		}
		for n := 1 + r.Intn(4); n > 0 && len(parts) > 0; n-- {
			at := r.Intn(len(parts))
			switch r.Intn(6) {
			case 0:
				parts = append(parts[:at], parts[at+1:]...)
			case 1:
				parts[at] += " " + parts[at]
			case 2:
				other := r.Intn(len(parts))
				parts[at], parts[other] = parts[other], parts[at]
			case 3:
				parts[at] = words[r.Intn(len(words))]
			case 4:
				parts[at] += " " + ops[r.Intn(len(ops))]
			case 5:
				other := Tokens(texts[r.Intn(len(texts))])
				for _, tok := range other[:min(len(other), r.Intn(8))] {
					if tok.Kind == TokenString {
						parts[at] += " " + tree.QuoteString(tok.Text)
					} else {
						parts[at] += " " + tok.Text
					}
				}
			}
		}
		text := strings.Join(parts, " ")
		checkText(t, text)
		if t.Failed() {
			t.Fatalf("seed %d, round %d: %s", seed, i, text)
		}
	}
}
