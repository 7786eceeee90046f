package repl

import (
	"bytes"
	"reflect"
	"strings"
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
		{[]string{"help"}, []bool{true}, []string{"help"}},
		{[]string{" QUIT ; "}, []bool{true}, []string{"QUIT ;"}},
		{[]string{"help me"}, []bool{false}, nil},
		{[]string{"SELECT 1 AS", "exit", ";"}, []bool{false, false, true}, []string{"SELECT 1 AS exit ;"}},
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

// TestWords: help, quit and exit alone are commands.
func TestWords(t *testing.T) {
	var out, errs bytes.Buffer
	sh := newShell(Options{Engine: open(t), Out: &out, Err: &errs}, true)
	nothing := func(string) {}
	for _, line := range []string{"help", "Help;", `\?`} {
		out.Reset()
		if err := sh.typed(line, nothing)(t.Context()); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if s := out.String(); !strings.Contains(s, "list tables and views") || !strings.Contains(s, "quit and exit are \\q") || errs.Len() > 0 {
			t.Errorf("%s gives %s%s", line, s, &errs)
		}
	}
	for _, line := range []string{"quit", "exit", "EXIT ;", "quit;", `\q`} {
		if err := sh.typed(line, nothing)(t.Context()); err != errQuit {
			t.Errorf("%s: %v", line, err)
		}
	}
}
