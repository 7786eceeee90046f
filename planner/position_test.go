package planner_test

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner"
	"github.com/streamsql/streamsql/planner/explain"
)

const declarations = `
-- A long text before the declarations, so that their places lie behind the end of the query's text.
-- ............................................................................................
CREATE TABLE e (k VARCHAR, v BIGINT, w AS v / 2, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
WITH (connector = 'nats', stream = 'e');
CREATE VIEW q AS (SELECT k, v / w AS r, ts FROM e WHERE v / w > 1) UNION ALL SELECT k, v, ts FROM e;
CREATE VIEW c AS SELECT k, count(*) AS n FROM q GROUP BY k;
CREATE TABLE out (k VARCHAR, n BIGINT) WITH (connector = 'file', path = 'x');
`

// declared files the declarations of a text.
func declared(t *testing.T, src string) *catalog.Snapshot {
	t.Helper()
	s := &script{snap: catalog.Empty, opts: testOptions()}
	if _, err := s.run(t, "ddl", src); err != nil {
		t.Fatal(err)
	}
	return s.snap
}

func planText(t *testing.T, src string, snap *catalog.Snapshot) ([]byte, error) {
	t.Helper()
	stmts, err := parser.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	var outs []planner.Output
	for _, st := range stmts {
		outs = append(outs, planner.Output{Stmt: st, Source: src})
	}
	p, err := planner.Plan(outs, snap, testOptions())
	if err != nil {
		return nil, err
	}
	checkShape(t, p)
	return toJSON(t, p), nil
}

// TestPlacesOfAnotherText: what a table or view of another text computes is placed at
// its mention in the text that is planned.
func TestPlacesOfAnotherText(t *testing.T) {
	snap := declared(t, declarations)
	src := "INSERT INTO out SELECT k, max(r) FROM q GROUP BY TUMBLE(ts, INTERVAL '1' DAY), k; INSERT INTO out SELECT k, v + w FROM e"
	out, err := planText(t, src, snap)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`"pos":(\d+)`).FindAllStringSubmatch(string(out), -1) {
		if n, _ := strconv.Atoi(m[1]); n > len(src) {
			t.Errorf("place %d lies outside the text of %d bytes", n, len(src))
		}
	}
	_, err = planText(t, "INSERT INTO out SELECT k, n FROM c", snap)
	e := sqlerr.As(err)
	if e == nil || e.Code != sqlerr.CodeSinkChangelog {
		t.Fatalf("got %v, want a refusal of the changes", err)
	}
	if want := sqlerr.Pos(strings.Index("INSERT INTO out SELECT k, n FROM c", " c") + 2); e.Pos != want {
		t.Errorf("the refusal is at %d, the view is mentioned at %d", e.Pos, want)
	}
}

// TestChangedDependency: an object that a view or table was declared over has changed.
func TestChangedDependency(t *testing.T) {
	snap := declared(t, declarations)
	other := "CREATE OR REPLACE TABLE e (k VARCHAR) WITH (connector = 'nats', stream = 'e')"
	s := &script{snap: snap, opts: testOptions()}
	if _, err := s.run(t, "ddl", other); err != nil {
		t.Fatal(err)
	}
	src := "SELECT k FROM c"
	_, err := planText(t, src, s.snap)
	e := sqlerr.As(err)
	if e == nil || e.Code != sqlerr.CodeUndefinedColumn {
		t.Fatalf("got %v, want an unknown column", err)
	}
	if e.Pos != sqlerr.Pos(len(src)) || !strings.Contains(e.Detail, `view "c"`) {
		t.Errorf("error at %d with detail %q; the view is mentioned at %d", e.Pos, e.Detail, len(src))
	}
}

// TestSecrets: a ${NAME} and its value: the value is lent to the connector's check and
// enters no plan, and EXPLAIN shows no option as text and no value of a secret as JSON.
func TestSecrets(t *testing.T) {
	src := "CREATE TABLE e (k VARCHAR) WITH (connector = 'nats', stream = 's', 'auth.password' = '${PW}', end = '${END}')"
	s := &script{snap: catalog.Empty, opts: testOptions()}
	s.opts.Vars = func(name string) (string, bool) { return "hunter2", name == "PW" }
	if _, err := s.run(t, "ddl", src); err != nil {
		t.Fatal(err)
	}
	stmts, err := parser.Parse("SELECT k FROM e")
	if err != nil {
		t.Fatal(err)
	}
	p, err := planner.Plan([]planner.Output{{Stmt: stmts[0], Source: "SELECT k FROM e"}}, s.snap, s.opts)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "hunter2") || !strings.Contains(string(text), "${PW}") {
		t.Errorf("the plan holds the value, or lost the name: %s", text)
	}
	if strings.Contains(explain.Text(nil, p), "PW") {
		t.Errorf("EXPLAIN shows a secret option")
	}
	literal := strings.Replace(src, "${PW}", "hunter3", 1) + "; CREATE TABLE o (k VARCHAR, PRIMARY KEY (k)) WITH (connector = 'postgres', url = 'hunter4 ${PW}')"
	insert := "INSERT INTO o SELECT k FROM e"
	stmts, err = parser.Parse(insert)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := planner.Explain([]planner.Output{{Stmt: stmts[0], Source: insert}}, declared(t, literal), s.opts, tree.ExplainJSON)
	if err != nil || strings.Contains(shown, "hunter") || strings.Count(shown, `"***"`) != 2 || !strings.Contains(shown, "${END}") {
		t.Errorf("EXPLAIN (FORMAT JSON) shows secrets, or hides what is none (%v):\n%s", err, shown)
	}
}
