package repl

import (
	"reflect"
	"testing"
)

// TestTyped feeds lines as a prompt does: whether the statement goes on, and what the
// history keeps.
func TestTyped(t *testing.T) {
	for _, c := range []struct {
		lines []string
		runs  []bool // after each line
		keeps []string
	}{
		{[]string{"SELECT 1;"}, []bool{true}, []string{"SELECT 1;"}},
		{[]string{"SELECT 1", ";"}, []bool{false, true}, []string{"SELECT 1 ;"}},
		{[]string{"SELECT ${N} AS a,", "  2;"}, []bool{false, true}, []string{"SELECT ${N} AS a, 2;"}},
		{[]string{"SELECT -- one", "  1 /* two */ AS a  ;"}, []bool{false, true}, []string{"SELECT 1 AS a ;"}},
		{[]string{"SELECT 'a  b", "c;", "', 1;"}, []bool{false, false, true}, []string{"SELECT 'a  b", "c;", "', 1;"}},
		{[]string{"SELECT 'two  blanks';"}, []bool{true}, []string{"SELECT 'two  blanks';"}},
		{[]string{"", "  "}, []bool{false, false}, nil},
		{[]string{"-- nothing"}, []bool{true}, nil},
		{[]string{`\d`}, []bool{true}, []string{`\d`}},
		{[]string{`  \x  `}, []bool{true}, []string{`\x`}},
		{[]string{"SELECT 1", `\d`, ";"}, []bool{false, true, true}, nil},
		{[]string{"SELECT (", ");"}, []bool{false, true}, []string{"SELECT ( );"}},
	} {
		sh := newShell(Options{Engine: open(t)}, true)
		var keeps []string
		var runs []bool
		for _, l := range c.lines {
			do := sh.typed(l, func(e string) { keeps = append(keeps, e) })
			runs = append(runs, do != nil)
		}
		if !reflect.DeepEqual(runs, c.runs) || c.keeps != nil && !reflect.DeepEqual(keeps, c.keeps) {
			t.Errorf("%q runs at %v, want %v; the history keeps %q, want %q", c.lines, runs, c.runs, keeps, c.keeps)
		}
	}
}
