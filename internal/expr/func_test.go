package expr_test

import (
	"testing"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

func errText(err error) string { return sqlerr.CodeOf(err) + " " + err.Error() }

// TestExamples runs the example of every row of the function table.
func TestExamples(t *testing.T) {
	for _, f := range expr.Functions() {
		if f.Doc == "" || f.Example == "" {
			t.Errorf("%s: no doc or example", f.Name)
			continue
		}
		if len(f.Signatures()) == 0 {
			t.Errorf("%s: no signature", f.Name)
		}
		if got := evalText(f.Example); got != f.ExampleResult {
			t.Errorf("%s: %s gives %q, want %q", f.Name, f.Example, got, f.ExampleResult)
		}
	}
}

func TestSignatures(t *testing.T) {
	for name, want := range map[string]string{
		"left": "left(varchar, int) → varchar", "substr": "substring(varchar, int [, int]) → varchar", "round": "round(decimal [, int])",
		"is null": "is null(any) → boolean",
	} {
		f, ok := expr.LookupFunc(name)
		if !ok || f.Signatures()[0] != want {
			t.Errorf("%s: %v", name, f.Signatures())
		}
	}
	names := map[string]bool{}
	for _, f := range expr.Functions() {
		for _, n := range append([]string{f.Name}, f.Aliases...) {
			if names[n] {
				t.Errorf("%q stands twice in the table", n)
			}
			names[n] = true
		}
	}
}
