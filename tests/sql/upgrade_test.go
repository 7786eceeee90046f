package sql

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// upgradeCase is a job whose query changes: was has read the rows of phase 1 when it is
// stopped, now goes on with those of phase 2. PostgreSQL has all rows in table truth (k,
// l, v, ts, phase) and says what the table is to hold: an accumulator that is gone on with
// knows both phases, one that begins empty the second alone.
type upgradeCase struct {
	name     string
	table    string // of PostgreSQL; the declaration is made of it
	was, now string // the job's outputs
	report   []string
	got      string // query, "" for the whole table
	want     string // query over truth
}

const (
	sums  = "k VARCHAR PRIMARY KEY, n BIGINT, s BIGINT"
	folds = "k VARCHAR, s TIMESTAMP(3), n BIGINT, m BIGINT, PRIMARY KEY (k, s)"
	hops  = `, generate_series(0, 1) g GROUP BY k, 2 HAVING bucket(ts) - g * interval '10 s' + interval '19.999 s' <= (SELECT max(ts) FROM truth) - interval '1 s'`
	open1 = "> (SELECT max(ts) FROM truth WHERE phase = 1) - interval '1 s'"
)

var upgrades = []upgradeCase{
	{"an accumulator more", "k VARCHAR PRIMARY KEY, n BIGINT, s BIGINT, m BIGINT",
		"INSERT INTO t (k, n, s) SELECT k, COUNT(*), CAST(SUM(v) AS BIGINT) FROM ev GROUP BY k",
		"INSERT INTO t SELECT k, COUNT(*), CAST(SUM(v) AS BIGINT), MAX(v) FROM ev GROUP BY k",
		[]string{`group "t/group": partial`, "COUNT(*): reuse", "SUM(v): reuse", "MAX(v): begins empty"}, "",
		"SELECT k, count(*), sum(v), max(v) FILTER (WHERE phase = 2) FROM truth GROUP BY k"},
	{"accumulators in another order, one less", "k VARCHAR PRIMARY KEY, a BIGINT, b BIGINT, c VARCHAR",
		"INSERT INTO t SELECT k, CAST(SUM(v) AS BIGINT), COUNT(v), MIN(l) FROM ev GROUP BY k",
		"INSERT INTO t SELECT k, COUNT(v), COUNT(*), MIN(l) FROM ev GROUP BY k",
		[]string{`group "t/group": reuse`}, "",
		"SELECT k, count(v), count(*), min(l) FROM truth GROUP BY k"},
	{"another filter", sums,
		"INSERT INTO t SELECT k, COUNT(*), CAST(SUM(v) AS BIGINT) FROM ev WHERE v > 3 GROUP BY k",
		"INSERT INTO t SELECT k, COUNT(*), CAST(SUM(v) AS BIGINT) FROM ev WHERE v > 25 GROUP BY k",
		[]string{"reuse, but the past was computed as ev WHERE v > 3"}, "",
		"SELECT k, count(*), sum(v) FROM truth WHERE v > CASE phase WHEN 1 THEN 3 ELSE 25 END GROUP BY k"},
	{"another key", sums,
		"INSERT INTO t SELECT k, COUNT(*), CAST(SUM(v) AS BIGINT) FROM ev GROUP BY k",
		"INSERT INTO t SELECT l, COUNT(*), CAST(SUM(v) AS BIGINT) FROM ev GROUP BY l",
		[]string{`group "t/group": rebuild`, "its rows were kept GROUP BY k"}, "SELECT * FROM t WHERE k LIKE 'l%'",
		"SELECT l, count(*), sum(v) FROM truth WHERE phase = 2 GROUP BY l"},
	{"distinct values", "k VARCHAR PRIMARY KEY, a BIGINT, b BIGINT, c BIGINT",
		"INSERT INTO t SELECT k, COUNT(DISTINCT l), COUNT(DISTINCT v) FILTER (WHERE v > 5), COUNT(DISTINCT v) FROM ev GROUP BY k",
		"INSERT INTO t SELECT k, COUNT(DISTINCT v) FILTER (WHERE v > 5), COUNT(DISTINCT l), COUNT(DISTINCT v * 2) FROM ev GROUP BY k",
		[]string{"COUNT(DISTINCT l): reuse", "COUNT(DISTINCT v) FILTER (WHERE v > 5): reuse", "COUNT(DISTINCT v * 2): begins empty"}, "",
		"SELECT k, count(DISTINCT v) FILTER (WHERE v > 5), count(DISTINCT l), count(DISTINCT v) FILTER (WHERE phase = 2) FROM truth GROUP BY k"},
	{"open windows", folds,
		"INSERT INTO t SELECT k, window_start, COUNT(*), MIN(v) FROM HOP(ev, ts, INTERVAL '10' SECOND, INTERVAL '20' SECOND) GROUP BY k, window_start, window_end",
		"INSERT INTO t SELECT k, window_start, COUNT(*), MAX(v) FROM HOP(ev, ts, INTERVAL '10' SECOND, INTERVAL '20' SECOND) GROUP BY k, window_start, window_end",
		[]string{`window "t/window": partial`, "COUNT(*): reuse", "MAX(v): begins empty"}, "SELECT * FROM t WHERE s + interval '19.999 s' " + open1,
		"SELECT k, bucket(ts) - g * interval '10 s' AS s, count(*), max(v) FILTER (WHERE phase = 2) FROM truth" + hops +
			" AND bucket(ts) - g * interval '10 s' + interval '19.999 s' " + open1},
	{"a group over a group", "n BIGINT PRIMARY KEY, keys BIGINT, s BIGINT",
		"INSERT INTO t (n, keys) SELECT n, COUNT(*) FROM (SELECT k, COUNT(*) AS n FROM ev GROUP BY k) q GROUP BY n",
		"INSERT INTO t SELECT n, COUNT(*), CAST(SUM(s) AS BIGINT) FROM (SELECT k, COUNT(*) AS n, SUM(v) AS s FROM ev GROUP BY k) q GROUP BY n",
		[]string{`group "t/group/group": rebuild`, `group "t/group": rebuild`}, "SELECT * FROM t WHERE s IS NOT NULL",
		"SELECT n, count(*), sum(s) FROM (SELECT k, count(*) AS n, sum(v) AS s FROM truth WHERE phase = 2 GROUP BY k) q GROUP BY n"},
}

// openAt opens the engine at a parallelism.
func (w *world) openAt(parallelism int, settings map[string]string) *engine.Engine {
	w.t.Helper()
	e, err := engine.Open(context.Background(), engine.Options{DataDir: w.dir, Parallelism: parallelism, Settings: settings,
		Log: slog.New(slog.NewTextHandler(w.log, nil)), WatchEdge: w.edges.Watch})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
}

// rowsOf publishes rows i = from … to and tells PostgreSQL.
func (w *world) rowsOf(phase, from, to int) {
	w.t.Helper()
	for i := from; i <= to; i++ {
		k, l, v, ts := fmt.Sprintf("k%d", i%5), fmt.Sprintf("l%d", i%3), i*i%37, fmt.Sprintf("2024-01-01T00:%02d:%02d", i/60, i%60)
		w.publish("ev.a", fmt.Sprintf(`{"k":%q,"l":%q,"v":%d,"ts":%q}`, k, l, v, ts))
		w.exec(fmt.Sprintf("INSERT INTO truth VALUES ('%s', '%s', %d, '%s', %d)", k, l, v, ts, phase))
	}
}

const eventColumns = "k VARCHAR, l VARCHAR, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND"

// truth makes the tables of an upgrade.
func (w *world) truth(table string) {
	w.exec("CREATE TABLE truth (k text, l text, v bigint, ts timestamp(3), phase int)", "CREATE TABLE t ("+table+")",
		`CREATE FUNCTION bucket(ts timestamp) RETURNS timestamp LANGUAGE sql AS $$ SELECT timestamp 'epoch' + floor(extract(epoch FROM ts) / 10) * interval '10 s' $$`)
}

func sorted(query string) string { return "SELECT * FROM (" + query + ") q ORDER BY 1, 2" }

// TestUpgrades changes queries over their state, from the last checkpoint and from a
// savepoint, at another parallelism.
func TestUpgrades(t *testing.T) {
	all := newWorld(t)
	for _, c := range upgrades {
		for _, from := range []string{"checkpoint", "savepoint"} {
			t.Run(c.name+"/"+from, func(t *testing.T) { all.fresh(t).upgrade(c, from) })
		}
	}
}

func (w *world) upgrade(c upgradeCase, from string) {
	t, ctx := w.t, context.Background()
	w.truth(c.table)
	declared := w.source(eventColumns, "") + w.sink("t", c.table, "")
	settings := map[string]string{"checkpoint.interval": "20ms"}
	e := w.openAt(1, settings)
	j := w.mustStart(e, declared+c.was, engine.Start{})
	w.rowsOf(1, 1, 33)
	w.eventually("the rows are read", func() bool { return j.Status().RowsIn == 33 })
	how, sp := engine.Start{}, ""
	if from == "savepoint" {
		sp = filepath.Join(t.TempDir(), "sp")
		how.FromSavepoint = sp
	}
	if err := j.Stop(soon(t), sp); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if from == "savepoint" {
		w.dir = t.TempDir()
	}

	e = w.openAt(3, settings)
	f, err := e.Load("job", declared+c.now)
	if err != nil {
		t.Fatal(err)
	}
	_, refused := e.Run(ctx, f, how)
	if sqlerr.CodeOf(refused) != sqlerr.CodeStateMismatch {
		t.Fatalf("without consent: %v", refused)
	}
	report, err := e.ExplainUpgrade(ctx, f, sp)
	if err != nil || !strings.Contains(sqlerr.As(refused).Detail, strings.TrimSpace(report)) {
		t.Fatalf("refused with\n%s\nwhere EXPLAIN UPGRADE gives\n%s%v", sqlerr.As(refused).Detail, report, err)
	}
	for _, want := range c.report {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
	how.AllowNonRestored = true
	if j, err = e.Run(ctx, f, how); err != nil {
		t.Fatal(err)
	}
	if j.Upgrade != report {
		t.Errorf("the job says\n%s\nwant\n%s", j.Upgrade, report)
	}
	got := c.got
	if got == "" {
		got = "SELECT * FROM t"
	}
	w.rowsOf(2, 34, 90)
	w.equals("after the change", got, c.want)
	w.eventually("a checkpoint", func() bool { return j.Status().Checkpoints > 0 })
	if err := j.Stop(soon(t), ""); err != nil {
		t.Fatal(err)
	}
	// What was carried is in the checkpoint: the next start asks for nothing.
	if _, err = e.Run(ctx, f, engine.Start{}); err != nil {
		t.Fatal(err)
	}
	w.rowsOf(2, 91, 120)
	w.equals("after another start", got, c.want)
}

// equals waits until two queries give the same rows.
func (w *world) equals(what, got, want string) {
	w.t.Helper()
	rows := w.rows(sorted(want))
	defer func() {
		if w.t.Failed() {
			w.t.Logf("there is:\n%s", w.rows(sorted(got)))
		}
	}()
	w.eventually(what+" PostgreSQL says:\n"+rows, func() bool { return w.rows(sorted(got)) == rows })
}
