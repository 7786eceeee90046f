package planner_test

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/parser"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner"
	"github.com/streamsql/streamsql/planner/plan"
	"github.com/streamsql/streamsql/planner/upgrade"
)

// TestUpgrades compares plans: "was" has the job that made the state, "now" the one that
// is to go on with it, after what "ddl" declares for both. The report is printed.
func TestUpgrades(t *testing.T) {
	opts, shared := testOptions(), ""
	job := func(text string) (*plan.Plan, error) {
		text = shared + text
		snap := catalog.Empty
		stmts, err := parser.Parse(text)
		if err != nil {
			return nil, err
		}
		var outputs []planner.Output
		for _, st := range stmts {
			c, ok := st.(*tree.CreateTable)
			if !ok {
				outputs = append(outputs, planner.Output{Stmt: st, Source: text})
				continue
			}
			tab, err := planner.CreateTable(c, text, snap, opts)
			if err != nil {
				return nil, err
			}
			snap = snap.WithTable(tab)
		}
		return planner.Plan(outputs, snap, opts)
	}
	var old *plan.Plan
	datadriven.RunTest(t, "upgrade/testdata/upgrade.test", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "ddl" {
			shared = d.Input + "\n"
			return "ok\n"
		}
		for _, a := range d.CmdArgs {
			opts.TimeZone = a.Vals[0]
		}
		p, err := job(d.Input)
		if err != nil {
			return render(err, shared+d.Input)
		}
		opts.TimeZone = testOptions().TimeZone
		if d.Cmd == "was" {
			old = p
			return "ok\n"
		}
		r := upgrade.Compare(old, p)
		if r.Clean() {
			return r.String() + "needs no consent\n"
		}
		return r.String()
	})
}
