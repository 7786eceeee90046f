package expr_test

import (
	"strings"
	"testing"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/pgtest"
)

// TestExamplesInPostgres runs each example's PostgreSQL twin on a real server: the
// results in the function table are PostgreSQL's and not ours.
func TestExamplesInPostgres(t *testing.T) {
	s := pgtest.Start(t)
	db := s.Open(t)
	if _, err := db.Exec("SET timezone = 'UTC'"); err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	ask := func(sql string) string {
		return strings.Join(s.Rows(t, db, "SELECT CASE WHEN v IS NULL THEN 'NULL' ELSE format('%s', v) END FROM (SELECT ("+sql+") AS v) q"), "\n")
	}
	for _, f := range expr.Functions() {
		if f.PG == "" {
			continue
		}
		if got := ask(f.PG); got != f.ExampleResult && !sameNumber(got, f.ExampleResult) {
			t.Errorf("%s: PostgreSQL gives %q for %s, the table has %q", f.Name, got, f.PG, f.ExampleResult)
		}
	}
	for _, c := range postgresCases {
		ours := evalText(c)
		pg := strings.ReplaceAll(c, "DOUBLE", "DOUBLE PRECISION")
		if theirs := ask(pg); ours != theirs && !sameNumber(ours, theirs) {
			t.Errorf("%s: %q, PostgreSQL %q", c, ours, theirs)
		}
	}
	for _, x := range extractCases {
		for _, field := range []string{"century", "day", "decade", "dow", "doy", "epoch", "hour", "isodow", "isoyear", "microseconds",
			"millennium", "milliseconds", "minute", "month", "quarter", "second", "week", "year"} {
			ours := evalText("EXTRACT('" + field + "', " + x + ")")
			if strings.HasPrefix(ours, "!0A000") {
				continue
			}
			if theirs := ask("EXTRACT(" + field + " FROM " + x + ")"); ours != theirs && !sameNumber(ours, theirs) {
				t.Errorf("EXTRACT(%s FROM %s): %q, PostgreSQL %q", field, x, ours, theirs)
			}
		}
	}
	for _, c := range zoneCases {
		ours := evalText("TIMEZONE('" + c.zone + "', " + c.time + ")")
		if theirs := ask(c.time + " AT TIME ZONE '" + c.zone + "'"); ours != theirs {
			t.Errorf("%s AT TIME ZONE '%s': %q, PostgreSQL %q", c.time, c.zone, ours, theirs)
		}
	}
}
