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
		if got := evalText(f.Example); got != f.ExampleResult {
			t.Errorf("%s: %s gives %q, want %q", f.Name, f.Example, got, f.ExampleResult)
		}
	}
}
