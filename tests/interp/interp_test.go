package interp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestCases checks the interpreter itself against answers worked out by hand; the
// operators run the same files.
func TestCases(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			c, err := ParseCase(d)
			if err != nil {
				t.Fatal(err)
			}
			if d.Cmd == "window" {
				return runWindow(c)
			}
			return runGroup(t, c)
		})
	})
}

func runWindow(c *Case) string {
	var b strings.Builder
	print := func(at string, out []Result) {
		for _, r := range out {
			fmt.Fprintf(&b, "%s -> %s\n", at, c.Format(r))
		}
	}
	j := New(c.Query, c.Splits)
	for _, s := range c.Steps {
		if s.Idle {
			print(s.Text, j.Idle(s.Split))
		} else {
			print(s.Text, j.Add(s.Row))
		}
	}
	print("end", j.End())
	return b.String() + j.Counts.Format() + "\n"
}

func runGroup(t *testing.T, c *Case) string {
	var b strings.Builder
	var log []Change
	for _, s := range c.Steps {
		log = append(log, s.Change)
		rows, err := Fold(log)
		if err != nil {
			t.Fatal(err)
		}
		var groups []string
		for _, g := range Group(rows, c.Query.Keys, c.Query.Aggs) {
			groups = append(groups, c.Format(g))
		}
		fmt.Fprintf(&b, "%s -> %s\n", s.Text, strings.Join(groups, "; "))
	}
	return b.String()
}
