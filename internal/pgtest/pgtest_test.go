package pgtest

import (
	"context"
	"reflect"
	"testing"
)

func TestClusterSurvivesKill(t *testing.T) {
	s := Start(t)
	db := s.Open(t)
	const q = `SELECT 1, NULL, 'x', '', 'a,"b\c', true, 1e20::float8, timestamp '2024-01-01 00:00:00.5', NULL`
	if got := s.Rows(t, db, q); !reflect.DeepEqual(got, []string{`1|∅|x||a,"b\c|t|1e+20|2024-01-01 00:00:00.5|∅`}) {
		t.Fatalf("got %q", got)
	}
	if _, err := db.Exec("CREATE TABLE t AS SELECT 7 AS n"); err != nil {
		t.Fatal(err)
	}
	for _, stop := range []func() error{s.Stop, s.StopImmediate, s.Kill} {
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if err := s.Cluster.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		db := s.Open(t)
		if got := s.Rows(t, db, "SELECT n FROM t"); !reflect.DeepEqual(got, []string{"7"}) {
			t.Fatalf("after a stop: %q", got)
		}
	}
}
