package pgtest

import (
	"context"
	"reflect"
	"testing"
)

func TestClusterSurvivesKill(t *testing.T) {
	s := Start(t)
	db := s.Open(t)
	if got := s.Rows(t, db, "SELECT 1, NULL, 'x'"); !reflect.DeepEqual(got, []string{"1|∅|x"}) {
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
