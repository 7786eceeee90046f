package parser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// TestData runs testdata/*.test. Commands:
//
//	expr    each line is an expression; its tree, or its error with the column
//	query   the whole input is a query; its tree, or its error with a caret
//	stmt    the whole input is a file of statements; one tree a line
//	lower   each line is an expression; what TiDB is given to read
//	names   each line is an expression; the name its column gets
//	subst   variables A=1, B=it's, EMPTY=; the text after substitution, or the error
func TestData(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "expr":
				return eachLine(d.Input, func(line string) string {
					e, err := ParseExpr(line)
					if err != nil {
						return shortError(err, line)
					}
					checkRoundTrip(t, e)
					return dump(e)
				})
			case "query":
				s, err := ParseOne(d.Input)
				if err != nil {
					return sqlerr.Render(err, d.Input)
				}
				q, ok := s.(*tree.QueryStmt)
				if !ok {
					return fmt.Sprintf("not a query: %T\n", s)
				}
				checkQueryRoundTrip(t, q.Query)
				return dump(q.Query) + "\n"
			case "stmt":
				list, err := Parse(d.Input)
				if err != nil {
					return sqlerr.Render(err, d.Input)
				}
				var b strings.Builder
				for _, s := range list {
					fmt.Fprintf(&b, "%s\n", dump(s))
				}
				return b.String()
			case "lower":
				return eachLine(d.Input, func(line string) string {
					text, err := lowerText(line)
					if err != nil {
						return shortError(err, line)
					}
					return text
				})
			case "names":
				return eachLine(d.Input, func(line string) string {
					s, err := ParseOne("SELECT " + line)
					if err != nil {
						return shortError(err, line)
					}
					return s.(*tree.QueryStmt).Query.Body.(*tree.Select).Items[0].OutputName()
				})
			case "subst":
				src, err := Substitute(d.Input, testVariables, false)
				if err != nil {
					return sqlerr.Render(err, d.Input)
				}
				out := src.Text + "\n"
				if _, err := ParseSource(src); err != nil {
					out += sqlerr.Render(err, src.Original)
				}
				return out
			}
			return "unknown command\n"
		})
	})
}

func testVariables(name string) (string, bool) {
	v, ok := map[string]string{"A": "1", "B": "it's", "EMPTY": "", "LONG": "some longer text", "SECRET": "hunter2"}[name]
	return v, ok
}

func eachLine(in string, f func(string) string) string {
	var b strings.Builder
	for _, line := range strings.Split(in, "\n") {
		b.WriteString(f(line) + "\n")
	}
	return b.String()
}

func shortError(err error, src string) string {
	e := sqlerr.As(err)
	if e == nil {
		return "not a sqlerr: " + err.Error()
	}
	_, col := sqlerr.LineCol(src, e.Pos)
	s := fmt.Sprintf("ERROR %s at %d: %s", e.Code, col, e.Msg)
	if e.Hint != "" {
		s += " | " + e.Hint
	}
	return s
}

// checkRoundTrip prints e fully bracketed and reads that back: the tree must be the
// same, whatever the precedences are.
func checkRoundTrip(t *testing.T, e tree.Expr) {
	t.Helper()
	text := tree.Format(e)
	again, err := ParseExpr(text)
	if err != nil {
		t.Errorf("printed %s does not parse: %v", text, err)
	} else if got := tree.Format(again); got != text {
		t.Errorf("printed %s, read back as %s", text, got)
	}
}

func checkQueryRoundTrip(t *testing.T, q *tree.Query) {
	t.Helper()
	text := tree.FormatQuery(q)
	s, err := ParseOne(text)
	if err != nil {
		t.Errorf("printed %s does not parse: %v", text, err)
	} else if got := tree.FormatQuery(s.(*tree.QueryStmt).Query); got != text {
		t.Errorf("printed %s, read back as %s", text, got)
	}
}
