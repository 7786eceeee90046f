package planner_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner"
	"github.com/streamsql/streamsql/planner/explain"
	"github.com/streamsql/streamsql/planner/plan"
)

// TestScripts runs testdata: "ddl" files declarations in the script's catalog; "plan"
// plans the statements of its text as one job and prints EXPLAIN, "json", "dot" and
// "mermaid" likewise in that format; "rules" prints the logical plan, and fails when a
// rule named in "expect" did not change it or one named in "expect-not" did; "schema"
// prints the columns of a query. An error is printed as the user sees it. A "plan" is
// also made again ("times" times), and sent through every format.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{snap: catalog.Empty, opts: testOptions()}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.times, s.expect, s.expectNot = 3, nil, nil
			for _, a := range d.CmdArgs {
				switch a.Key {
				case "times":
					s.times, _ = strconv.Atoi(a.Vals[0])
				case "expect":
					s.expect = a.Vals
				case "expect-not":
					s.expectNot = a.Vals
				default:
					s.opts.Settings[a.Key] = a.Vals[0]
					defer delete(s.opts.Settings, a.Key)
				}
			}
			out, err := s.run(t, d.Cmd, d.Input)
			if err != nil {
				return render(err, d.Input)
			}
			return out
		})
	})
}

type script struct {
	snap *catalog.Snapshot
	opts planner.Options
	// times is how often a plan is made again.
	times int
	// expect are rules that must change the plan, expectNot those that must not.
	expect, expectNot []string
}

func (s *script) run(t *testing.T, cmd, src string) (string, error) {
	stmts, err := parser.Parse(src)
	if err != nil {
		return "", err
	}
	var outputs []planner.Output
	for _, st := range stmts {
		switch st := st.(type) {
		case *tree.CreateTable:
			tab, err := planner.CreateTable(st, src, s.snap, s.opts)
			if err != nil {
				return "", err
			}
			s.snap = s.snap.WithTable(tab)
		case *tree.CreateView:
			v, err := planner.CreateView(st, src, s.snap, s.opts)
			if err != nil {
				return "", err
			}
			if v != nil {
				s.snap = s.snap.WithView(v)
			}
		default:
			outputs = append(outputs, planner.Output{Stmt: st, Source: src})
		}
	}
	switch cmd {
	case "ddl":
		return "ok\n", nil
	case "schema":
		sch, err := planner.OutputSchema(stmts[0].(*tree.QueryStmt).Query, src, s.snap, s.opts)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		for _, c := range sch {
			fmt.Fprintf(&b, "%s %s\n", tree.QuoteIdent(c.Name), c.Type)
		}
		return b.String(), nil
	case "rules":
		roots, fired, err := planner.Logical(outputs, s.snap, s.opts)
		if err != nil {
			return "", err
		}
		s.checkFired(t, src, fired)
		return explain.Logical(roots), nil
	case "json", "dot", "mermaid":
		return planner.Explain(outputs, s.snap, s.opts, formats[cmd])
	}
	p, err := planner.Plan(outputs, s.snap, s.opts)
	if err != nil {
		return "", err
	}
	checkStable(t, s.times, p, func() (*plan.Plan, error) { return planner.Plan(outputs, s.snap, s.opts) })
	checkShape(t, p)
	checkFormats(t, p, func(f tree.ExplainFormat) (string, error) { return planner.Explain(outputs, s.snap, s.opts, f) })
	return planner.Explain(outputs, s.snap, s.opts, tree.ExplainText)
}

var formats = map[string]tree.ExplainFormat{"json": tree.ExplainJSON, "dot": tree.ExplainDot, "mermaid": tree.ExplainMermaid}

func (s *script) checkFired(t *testing.T, src string, fired []string) {
	t.Helper()
	for _, name := range s.expect {
		if !slices.Contains(fired, name) {
			t.Errorf("%s did not change the plan, but %v did:\n%s", name, fired, src)
		}
	}
	for _, name := range s.expectNot {
		if slices.Contains(fired, name) {
			t.Errorf("%s changed the plan:\n%s", name, src)
		}
	}
}

// checkStable plans again, and sends the plan through JSON.
func checkStable(t *testing.T, times int, p *plan.Plan, again func() (*plan.Plan, error)) {
	t.Helper()
	want := toJSON(t, p)
	for range times {
		q, err := again()
		if err != nil {
			t.Fatal(err)
		}
		if got := toJSON(t, q); !bytes.Equal(got, want) {
			t.Fatalf("the same input gave another plan:\n%s\n%s", want, got)
		}
	}
	var back plan.Plan
	if err := json.Unmarshal(want, &back); err != nil {
		t.Fatal(err)
	}
	if got := toJSON(t, &back); !bytes.Equal(got, want) {
		t.Fatalf("the plan changed on its way through JSON:\n%s\n%s", want, got)
	}
}

func toJSON(t *testing.T, p *plan.Plan) []byte {
	t.Helper()
	out, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func render(err error, src string) string {
	e := sqlerr.As(err)
	if e == nil {
		return "not an sqlerr: " + err.Error() + "\n"
	}
	return sqlerr.Render(e, src) + "CODE: " + e.Code + "\n"
}
