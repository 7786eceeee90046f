package engine_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/pgtest"
)

// kept has every operator that keeps state, and every aggregate. Its text stands in the
// savepoint of testdata and must not change.
const kept = `CREATE TABLE g (id BIGINT, v BIGINT, x DOUBLE PRECISION, s VARCHAR, k AS id % 7, ts AS TO_TIMESTAMP_LTZ(id, 0),
  WATERMARK FOR ts AS ts - INTERVAL '3' SECOND)
  WITH (connector = 'generator', kind = 'columns', rows = '${ROWS}', seed = '11', 'fields.id.kind' = 'sequence',
  'fields.v.min' = '-50', 'fields.v.max' = '50', 'fields.v.null-rate' = '0.1', 'fields.s.length' = '1', 'fields.x.min' = '-1', 'fields.x.max' = '1');
CREATE TABLE tot (k BIGINT PRIMARY KEY, n BIGINT, s NUMERIC, a DECIMAL(38,16), lo VARCHAR, hi BIGINT, dv BIGINT, ds BIGINT, vp DECIMAL(38,16), sx DOUBLE PRECISION, up BOOLEAN, al BOOLEAN)
  WITH (connector = 'postgres', url = '${DSN}', table = '${PRE}tot', 'auto.create' = 'true');
CREATE TABLE sizes (n BIGINT PRIMARY KEY, keys BIGINT, hi BIGINT, sd DOUBLE PRECISION)
  WITH (connector = 'postgres', url = '${DSN}', table = '${PRE}sizes', 'auto.create' = 'true', mode = 'wal');
CREATE TABLE live (m BIGINT PRIMARY KEY, k BIGINT) WITH (connector = 'postgres', url = '${DSN}', table = '${PRE}live', 'auto.create' = 'true');
CREATE TABLE win (k BIGINT, ws TIMESTAMP_LTZ(3), n BIGINT, s NUMERIC, ds BIGINT, PRIMARY KEY (k, ws))
  WITH (connector = 'postgres', url = '${DSN}', table = '${PRE}win', 'auto.create' = 'true');
CREATE TABLE hop (ws TIMESTAMP_LTZ(3), n BIGINT, a DECIMAL(38,16)) WITH (connector = 'postgres', url = '${DSN}', table = '${PRE}hop', 'auto.create' = 'true', mode = 'append');
CREATE TABLE outer_win (ws TIMESTAMP_LTZ(3) PRIMARY KEY, n BIGINT, hi BIGINT)
  WITH (connector = 'postgres', url = '${DSN}', table = '${PRE}outer_win', 'auto.create' = 'true');
INSERT INTO tot SELECT k, COUNT(*), SUM(v), AVG(v), MIN(s), MAX(v), COUNT(DISTINCT v), COUNT(DISTINCT s) FILTER (WHERE v > 0), VAR_POP(v), SUM(x), BOOL_OR(v > 49), BOOL_AND(v > -49)
  FROM g GROUP BY k HAVING COUNT(*) > 3;
INSERT INTO sizes SELECT n, COUNT(*), MAX(k), STDDEV_POP(x) FROM (SELECT id % 13 AS k, COUNT(*) AS n, MAX(x) AS x FROM g GROUP BY id % 13) q GROUP BY n;
INSERT INTO live SELECT k * 1000 + COUNT(*), k FROM g GROUP BY k;
INSERT INTO win SELECT k, window_start, COUNT(*), SUM(v), COUNT(DISTINCT s) FROM TUMBLE(g, ts, INTERVAL '60' SECOND) GROUP BY k, window_start, window_end;
INSERT INTO hop SELECT window_start, COUNT(*), AVG(v) FROM HOP(g, ts, INTERVAL '10' SECOND, INTERVAL '40' SECOND) GROUP BY window_start, window_end;
INSERT INTO outer_win SELECT window_start, SUM(n), MAX(n) FROM TUMBLE((SELECT k, COUNT(*) AS n, window_time AS t FROM TUMBLE(g, ts, INTERVAL '20' SECOND) GROUP BY k, window_start, window_end, window_time), t, INTERVAL '100' SECOND) GROUP BY window_start, window_end`

// goldenSavepoint was written by version 1 of manifest, plan, state and positions. Another
// version gets a savepoint of its own beside it: what once was written is read for ever.
const goldenSavepoint = "testdata/savepoint-v1"

// TestGoldenSavepoint goes on from a savepoint that an older program made, after 500 rows,
// with the plan that it holds, and is after 600 where a job is that read them all.
func TestGoldenSavepoint(t *testing.T) {
	pg, ctx := pgtest.Start(t), context.Background()
	db := pg.Open(t)
	run := func(pre string, rows, parallelism int, how engine.Start) *engine.Engine {
		t.Helper()
		e := open(t, engine.Options{DataDir: t.TempDir(), Parallelism: parallelism,
			Vars: map[string]string{"ROWS": fmt.Sprint(rows), "DSN": pg.DSN, "PRE": pre}})
		j, err := e.Run(ctx, load(t, e, "kept", kept), how)
		if err == nil {
			err = ended(t, j)
		}
		if err != nil {
			t.Fatal(rendered(err, kept))
		}
		if j.Upgrade != "" {
			t.Errorf("the plan is not the stored one:\n%s", j.Upgrade)
		}
		return e
	}
	if flag.Lookup("rewrite").Value.String() == "true" {
		e := run("first_", 500, 2, engine.Start{})
		if err := os.RemoveAll(goldenSavepoint); err != nil {
			t.Fatal(err)
		}
		if _, err := e.SavepointOf(ctx, "kept", goldenSavepoint); err != nil {
			t.Fatal(err)
		}
		shut(t, e)
	}
	shut(t, run("all_", 600, 2, engine.Start{}))
	for _, parallelism := range []int{2, 3} {
		pre := fmt.Sprintf("on%d_", parallelism)
		sp := filepath.Join(t.TempDir(), "sp") // opening a store writes to it
		if err := os.CopyFS(sp, os.DirFS(goldenSavepoint)); err != nil {
			t.Fatal(err)
		}
		shut(t, run(pre, 600, parallelism, engine.Start{FromSavepoint: sp, ReplayIntoSinks: true, Continue: true}))
		// Of windows the job shows those that the watermark of row 499 had not closed.
		for _, c := range []struct{ table, since string }{
			{"tot", ""}, {"sizes", ""}, {"live", ""},
			{"win", "ws + interval '60 s'"}, {"hop", "ws + interval '40 s'"}, {"outer_win", "ws + interval '100 s'"},
		} {
			where := ""
			if c.since != "" {
				where = " WHERE " + c.since + " - interval '1 ms' > to_timestamp(496)"
			}
			got := pg.Rows(t, db, "SELECT * FROM "+pre+c.table+" ORDER BY 1, 2")
			want := pg.Rows(t, db, "SELECT * FROM all_"+c.table+where+" ORDER BY 1, 2")
			if !reflect.DeepEqual(got, want) || len(want) == 0 {
				t.Errorf("%s at parallelism %d:\n%v\nwant\n%v", c.table, parallelism, got, want)
			}
		}
	}
}
