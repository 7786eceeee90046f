package sql

import (
	"strings"
	"testing"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// TestPartialColumns: columns that the declaration or the INSERT leaves out keep what they
// hold in the table, in both modes; a new row takes their defaults.
func TestPartialColumns(t *testing.T) {
	all := newWorld(t)
	for _, mode := range []string{"upsert", "wal"} {
		for name, c := range map[string]struct{ columns, into string }{
			"declared without it":     {"k VARCHAR, n BIGINT, PRIMARY KEY (k)", "o"},
			"left out of the columns": {"k VARCHAR, note VARCHAR, n BIGINT, PRIMARY KEY (k)", "o (n, k)"},
		} {
			t.Run(mode+"/"+name, func(t *testing.T) {
				w := all.fresh(t)
				w.exec("CREATE TABLE o (k text PRIMARY KEY, n bigint, note text DEFAULT 'new')", "INSERT INTO o VALUES ('k1', -1, 'mine'), ('other', 5, 'kept')")
				query := " SELECT k, COUNT(*) FROM ev GROUP BY k;"
				if strings.Contains(c.into, "(") {
					query = " SELECT COUNT(*), k FROM ev GROUP BY k;"
				}
				e := w.open("checkpoint.interval", "10ms")
				j := w.mustStart(e, w.source("k VARCHAR", "")+w.sink("o", c.columns, ", mode = '"+mode+"'")+"INSERT INTO "+c.into+query, engine.Start{})
				for n, want := range []string{"k1|1|mine\nk2|1|new\nother|5|kept", "k1|2|mine\nk2|2|yours\nother|5|kept"} {
					w.publish("ev.a", `{"k":"k1"}`, `{"k":"k2"}`)
					w.eventually("the rows\n"+want, func() bool { return w.rows("SELECT k, n, note FROM o ORDER BY k") == want })
					if n == 0 {
						w.exec("UPDATE o SET note = 'yours' WHERE k = 'k2'")
					}
				}
				j.Cancel()
			})
		}
	}
}

// TestAggregateErrorFailsTheJob: a result that does not fit is no row's error, whatever
// on.error says, and is none as long as it is not given out (B49).
func TestAggregateErrorFailsTheJob(t *testing.T) {
	all := newWorld(t)
	const big = `{"k":"x","v":99999999999999999999999999999999999.999,"ts":"2024-01-01T00:00:01"}`
	job := func(w *world, query string) string {
		return w.letters() + w.source("k VARCHAR, v DECIMAL(38,3), ts TIMESTAMP(3), WATERMARK FOR ts AS ts", ", 'end' = 'now', 'on.error' = 'dead-letter', 'dead-letter.table' = 'letters'") +
			w.sink("o", "k VARCHAR, s DECIMAL(38,3), PRIMARY KEY (k)", "") + "INSERT INTO o " + query
	}
	for name, query := range map[string]string{
		"group":  "SELECT k, SUM(v) FROM ev GROUP BY k;",
		"window": "SELECT k, SUM(v) FROM TUMBLE(ev, ts, INTERVAL '10' SECOND) GROUP BY k, window_start, window_end;",
	} {
		t.Run(name, func(t *testing.T) {
			w := all.fresh(t)
			w.exec("CREATE TABLE o (k text PRIMARY KEY, s numeric)")
			w.publish("ev.a", big, big)
			_, err := w.run(job(w, query))
			if sqlerr.CodeOf(err) != sqlerr.CodeNumericOutOfRange || sqlerr.ClassOf(err) != sqlerr.User {
				t.Fatalf("the job ends with %v", err)
			}
			w.equal("letters", w.rows("SELECT count(*) FROM letters"), "0")
		})
	}
	t.Run("taken back before it is given out", func(t *testing.T) {
		w := all.fresh(t)
		w.exec("CREATE TABLE o (k text PRIMARY KEY, s numeric)")
		w.publish("ev.a", big, big, strings.Replace(big, ":9", ":-9", 1))
		w.mustRun(job(w, "SELECT k, SUM(v) FROM TUMBLE(ev, ts, INTERVAL '10' SECOND) GROUP BY k, window_start, window_end;"))
		w.equal("the sum", w.rows("SELECT s FROM o"), "99999999999999999999999999999999999.999")
	})
}
