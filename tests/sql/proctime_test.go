package sql

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/streamsql/streamsql/engine"
)

// TestProcessingTime stamps rows of a stream and counts them in windows that the wall
// clock alone fires, in two subtasks, through a crash: every row has one moment between
// its publication and its commit, all functions of the moment agree on it, and the windows
// are those of the moments that the rows show.
func TestProcessingTime(t *testing.T) {
	w := newWorld(t)
	w.exec("CREATE TABLE came (id bigint PRIMARY KEY, k text, p timestamptz, n timestamptz, l timestamp, d date, u bigint, again boolean)",
		"CREATE TABLE win (k text, s timestamptz, e timestamptz, n bigint, fired timestamptz, PRIMARY KEY (k, s))")
	text := w.source("id BIGINT NOT NULL, k VARCHAR, p AS PROCTIME(), ts TIMESTAMP(3), WATERMARK FOR ts AS ts", "") +
		w.sink("came", "id BIGINT, k VARCHAR, p TIMESTAMP_LTZ(3), n TIMESTAMP_LTZ(6), l TIMESTAMP(6), d DATE, u BIGINT, again BOOLEAN, PRIMARY KEY (id)", "") +
		w.sink("win", "k VARCHAR, s TIMESTAMP_LTZ(3), e TIMESTAMP_LTZ(3), n BIGINT, fired TIMESTAMP_LTZ(6), PRIMARY KEY (k, s)", "") +
		`INSERT INTO came SELECT id, k, p, n, LOCALTIMESTAMP, CURRENT_DATE, UNIX_TIMESTAMP(), n = NOW() AND p = CURRENT_TIMESTAMP(3)
FROM (SELECT *, NOW() AS n FROM ev) q;
INSERT INTO win SELECT k, window_start, window_end, COUNT(*), NOW() FROM TUMBLE(ev, p, INTERVAL '0.2' SECOND) GROUP BY k, window_start, window_end;`
	publish := func(from, to int) {
		for i := from; i <= to; i++ {
			w.publish("ev.a", fmt.Sprintf(`{"id":%d,"k":"k%d"}`, i, i%3))
		}
	}
	total := func(n int) func() bool {
		return func() bool { return w.rows("SELECT sum(n) FROM win") == fmt.Sprint(n) }
	}
	before := time.Now()
	publish(1, 50)
	e := w.open()
	j := w.mustStart(e, text, engine.Start{})
	w.eventually("the windows of 50 rows, without any more", total(50))
	publish(51, 80)
	w.eventually("80 rows", func() bool { return w.rows("SELECT count(*) FROM came") == "80" })
	j.Cancel()
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	e = w.open()
	j = w.mustStart(e, text, engine.Start{})
	w.eventually("the windows of 80 rows in a job that goes on", total(80))
	publish(81, 90)
	w.eventually("the windows of 90 rows", total(90))
	if err := j.Stop(soon(t), ""); err != nil {
		t.Fatal(err)
	}
	w.equal("rows", w.rows("SELECT count(*), count(DISTINCT id) FROM came"), "90|90")
	w.equal("moments that do not agree", w.rows(`SELECT * FROM came WHERE NOT again OR p <> date_trunc('milliseconds', n)
		OR l <> n AT TIME ZONE 'UTC' OR d <> l::date OR u <> floor(extract(epoch FROM n))`), "")
	w.equal("moments that are not of this test", w.rows(fmt.Sprintf("SELECT * FROM came WHERE n < to_timestamp(%d / 1e6) OR n > to_timestamp(%d / 1e6)",
		before.UnixMicro(), time.Now().UnixMicro())), "")
	w.equal("windows that are not those of the rows", w.rows(`SELECT * FROM (SELECT k, date_bin('0.2 s', p, '2000-01-01+00') AS s, count(*) AS n FROM came GROUP BY 1, 2) r
		FULL JOIN win USING (k, s) WHERE r.n IS DISTINCT FROM win.n`), "")
	w.equal("windows that fired before their end", w.rows("SELECT * FROM win WHERE fired < e"), "")
	for _, n := range j.Status().Nodes {
		if n.Late > 0 {
			t.Errorf("%d rows are late", n.Late)
		}
	}
}
