package sql

import (
	"context"
	"errors"
	"testing"

	"github.com/lib/pq"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/pgtest"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// TestGroupByConstant: a number in GROUP BY is a place in the select list, also behind
// minus signs; an expression of constants is none. PostgreSQL says which is which.
func TestGroupByConstant(t *testing.T) {
	t.Parallel()
	pg := pgtest.Start(t)
	db := pg.Open(t)
	e, err := engine.Open(context.Background(), engine.Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	refusals := 0
	for _, constant := range []string{
		"1", "-1", "- 1", "-(1)", "(-1)", "((1))", "((2))", "- -1", "-(-1)", "- - -1", "0", "-0", "2", "+1", "-1 + 0", "1 + 1", "+(-1)",
		"1.5", "-1.5", "1e0", "99999999999", "-99999999999", "'x'", "NULL", "TRUE", "CAST(1 AS BIGINT)", "DATE '2020-01-01'",
	} {
		query := "SELECT 1 AS a FROM (VALUES (1)) AS t(v) GROUP BY " + constant
		var refused *pq.Error
		want := ""
		if _, err := db.Exec(query); errors.As(err, &refused) {
			want = string(refused.Code)
			refusals++
		} else if err != nil {
			t.Fatal(err)
		}
		_, err := e.NewSession().Columns(query)
		got := ""
		if err != nil {
			got = sqlerr.CodeOf(err)
		}
		if got != want {
			t.Errorf("GROUP BY %s: we say %q (%v), PostgreSQL %q", constant, got, err, want)
		}
	}
	if refusals < 10 {
		t.Errorf("PostgreSQL refuses %d", refusals)
	}
}
