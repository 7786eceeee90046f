package sql

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

const vTable = "v BIGINT"

// The messages of B73.
var poison = []string{`{"t":1,"v":1}`, `{"t":12iii,"v":1}`, `{"t":2,"v":2}`, "\xff\xfe", `{"key":004}`, `{"t":3,"v":3}`, `{"t":4`,
	`{"t":5,"v":5}{"t":6,"v":6}`, ``}

// TestBrokenPayloads is B73 and B74 under each policy.
func TestBrokenPayloads(t *testing.T) {
	all := newWorld(t)
	t.Run("skip", func(t *testing.T) {
		w := all.fresh(t)
		w.exec("CREATE TABLE got (t bigint, v bigint)")
		w.publish("ev.a", poison...)
		st := w.mustRun(w.source("t BIGINT, v BIGINT", ", 'end' = 'now', 'on.error' = 'skip'") + w.sink("got", "t BIGINT, v BIGINT", "") + "INSERT INTO got SELECT t, v FROM ev;")
		w.equal("rows", w.rows("SELECT * FROM got ORDER BY 1"), "1|1\n2|2\n3|3\n5|5\n6|6")
		if st.Broken != 5 || st.RowsIn != 5 {
			t.Errorf("%d rows failed and %d came in, want 5 and 5: %v", st.Broken, st.RowsIn, errorsOf(st))
		}
	})
	t.Run("dead letters", func(t *testing.T) {
		w := all.fresh(t)
		w.exec("CREATE TABLE got (t bigint, v bigint)")
		w.publish("ev.a", poison...)
		w.mustRun(w.letters() + w.source("t BIGINT, v BIGINT", ", 'end' = 'now', 'on.error' = 'dead-letter', 'dead-letter.table' = 'letters'") +
			w.sink("got", "t BIGINT, v BIGINT", "") + "INSERT INTO got SELECT t, v FROM ev;")
		w.equal("rows", w.rows("SELECT * FROM got ORDER BY 1"), "1|1\n2|2\n3|3\n5|5\n6|6")
		w.equal("letters", w.rows("SELECT split_part(position, ' ', 2)::int, table_name, error_code, subject, encode(payload, 'escape') FROM letters ORDER BY 1"),
			`2|ev|SS002|ev.a|{"t":12iii,"v":1}`+"\n"+`4|ev|SS002|ev.a|\377\376`+"\n"+`5|ev|SS002|ev.a|{"key":004}`+"\n"+`7|ev|SS002|ev.a|{"t":4`+"\n"+`9|ev|SS002|ev.a|`)
		if got := w.rows("SELECT count(*) FROM letters WHERE error = ''"); got != "0" {
			t.Errorf("%s letters do not say what is wrong", got)
		}
	})
	t.Run("fail", func(t *testing.T) {
		w := all.fresh(t)
		w.exec("CREATE TABLE got (t bigint, v bigint)")
		w.publish("ev.a", poison...)
		text := w.source("t BIGINT, v BIGINT", ", 'end' = 'now'") + w.sink("got", "t BIGINT, v BIGINT", "") + "INSERT INTO got SELECT t, v FROM ev;"
		for range 2 {
			_, err := w.run(text)
			e := sqlerr.As(err)
			if e == nil || e.Code != sqlerr.CodeDecode || e.Class != sqlerr.User {
				t.Fatalf("the job ends with %v", err)
			}
			if all := e.Msg + e.Detail + e.Hint; !strings.Contains(all, "ev") || !strings.Contains(all, "2") || !strings.Contains(all, "on.error") {
				t.Errorf("the error does not say where and what to do: %s\n%s\n%s", e.Msg, e.Detail, e.Hint)
			}
		}
	})
}

// TestSchemaDrift is B76: the field changes its type upstream. A quoted number is taken
// where its text is one.
func TestSchemaDrift(t *testing.T) {
	w := newWorld(t)
	w.exec("CREATE TABLE got (a int)")
	w.publish("ev.a", `{"a":1}`, `{"a":1,"b":2}`, `{}`, `{"a":"1"}`, `{"a":1.5}`, `{"a":true}`, `{"a":{}}`, `{"a":3000000000}`, `{"a":null}`, `{"a":7}`)
	st := w.mustRun(w.letters() + w.source("a INT", ", 'end' = 'now', 'on.error' = 'dead-letter', 'dead-letter.table' = 'letters'") +
		w.sink("got", "a INT", "") + "INSERT INTO got SELECT a FROM ev;")
	w.equal("rows", w.rows("SELECT a FROM got ORDER BY a"), "1\n1\n1\n7\n∅\n∅")
	w.equal("letters", w.rows("SELECT split_part(position, ' ', 2)::int, field, encode(payload, 'escape') FROM letters ORDER BY 1"),
		`5|a|{"a":1.5}`+"\n"+`6|a|{"a":true}`+"\n"+`7|a|{"a":{}}`+"\n"+`8|a|{"a":3000000000}`)
	if st.Counts != (engine.Counts{RowsIn: 6, RowsOut: 6, DeadLetters: 4}) {
		t.Errorf("counted %+v", st.Counts)
	}
}

// TestBadJobLeavesOthersAlone is the end of B76: a job dies of a row, the other one in
// the process goes on.
func TestBadJobLeavesOthersAlone(t *testing.T) {
	w := newWorld(t)
	w.exec("CREATE TABLE good (v bigint)", "CREATE TABLE bad (v bigint)")
	e := w.open()
	ctx := context.Background()
	run := func(name, more string) *engine.Job {
		f, err := e.Load(name, w.source(vTable, more)+w.sink(name, vTable, "")+"INSERT INTO "+name+" SELECT v FROM ev;")
		if err != nil {
			t.Fatal(err)
		}
		j, err := e.Run(ctx, f, engine.Start{})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	good, bad := run("good", ", 'on.error' = 'skip'"), run("bad", "")
	w.publish("ev.a", `{"v":1}`, `{"v":"x"}`)
	select {
	case <-bad.Done():
	case <-time.After(60 * time.Second):
		t.Fatal("the bad job goes on")
	}
	w.publish("ev.a", `{"v":2}`)
	w.eventually("the good job goes on", func() bool { return w.rows("SELECT v FROM good ORDER BY v") == "1\n2" })
	if !good.Running() {
		t.Error("the good job has ended")
	}
}

// TestNullTime drops, keeps or dies of rows without event time; a number is no time
// without a unit (B22).
func TestNullTime(t *testing.T) {
	all := newWorld(t)
	messages := []string{`{"v":1,"ts":"2024-01-01T00:00:01"}`, `{"v":2}`, `{"v":3,"ts":null}`, `{"v":4,"ts":"yesterday"}`, `{"v":5,"ts":1704067200}`, `{"v":6,"ts":"2024-01-01T00:00:02"}`}
	job := func(w *world, more string) string {
		return w.source("v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts", ", 'end' = 'now'"+more) + w.sink("got", "v DECIMAL(38,0), n BIGINT", "") +
			"INSERT INTO got SELECT SUM(v), COUNT(*) FROM TUMBLE(ev, ts, INTERVAL '10' SECOND) GROUP BY window_start, window_end;"
	}
	t.Run("fail", func(t *testing.T) {
		w := all.fresh(t)
		w.exec("CREATE TABLE got (v numeric, n bigint)")
		w.publish("ev.a", messages[:2]...)
		_, err := w.run(job(w, ""))
		if sqlerr.CodeOf(err) != sqlerr.CodeNullTime {
			t.Errorf("the job ends with %v", err)
		}
	})
	t.Run("skip", func(t *testing.T) {
		w := all.fresh(t)
		w.exec("CREATE TABLE got (v numeric, n bigint)")
		w.publish("ev.a", messages...)
		st := w.mustRun(job(w, ", 'on.error' = 'skip'"))
		w.equal("rows", w.rows("SELECT * FROM got"), "7|2")
		if n := errorsOf(st); n[sqlerr.CodeNullTime] != 2 || st.Broken != 4 {
			t.Errorf("counted %v", n)
		}
	})
	t.Run("dead letters", func(t *testing.T) {
		w := all.fresh(t)
		w.exec("CREATE TABLE got (v numeric, n bigint)")
		w.publish("ev.a", messages...)
		w.mustRun(w.letters() + job(w, ", 'on.error' = 'dead-letter', 'dead-letter.table' = 'letters'"))
		w.equal("rows", w.rows("SELECT * FROM got"), "7|2")
		w.equal("letters", w.rows("SELECT split_part(position, ' ', 2)::int, field, encode(payload, 'escape') FROM letters ORDER BY 1"),
			`2|ts|{"v":2}`+"\n"+`3|ts|{"v":3,"ts":null}`+"\n"+`4|ts|{"v":4,"ts":"yesterday"}`+"\n"+`5|ts|{"v":5,"ts":1704067200}`)
	})
	t.Run("a declared unit", func(t *testing.T) {
		w := all.fresh(t)
		w.exec("CREATE TABLE got (v numeric, n bigint)")
		w.publish("ev.a", `{"v":1,"ts":1704067201}`, `{"v":2,"ts":1704067202}`)
		w.mustRun(job(w, ", 'timestamp.format' = 'unix-s'"))
		w.equal("rows", w.rows("SELECT * FROM got"), "3|2")
	})
}

// TestCounts: each row is counted as one thing, at a source, in an expression, at a
// target that refuses it, and in windows; the next run goes on from the counts.
func TestCounts(t *testing.T) {
	all := newWorld(t)
	run := func(w *world, text string, want engine.Counts) {
		t.Helper()
		if st := w.mustRun(text); st.Counts != want {
			t.Errorf("counted %+v, want %+v", st.Counts, want)
		}
	}
	// 1 and 5 are taken, "x" is broken in the source, 0 in the condition, 2 is filtered
	// out, 3 is refused by the target.
	numbers := []string{`{"v":1}`, `{"v":"x"}`, `{"v":0}`, `{"v":2}`, `{"v":3}`, `{"v":5}`}
	for _, mode := range []string{"upsert", "wal"} {
		job := func(w *world, more string) string {
			return w.source(vTable, ", 'end' = 'now'"+more) + w.sink("got", vTable+", PRIMARY KEY (v) NOT ENFORCED", ", mode = '"+mode+"'"+more) +
				"INSERT INTO got SELECT v FROM ev WHERE 10 / v <> 5;"
		}
		t.Run("skip, "+mode, func(t *testing.T) {
			w := all.fresh(t)
			w.exec("CREATE TABLE got (v bigint PRIMARY KEY CHECK (v <> 3))")
			w.publish("ev.a", numbers...)
			run(w, job(w, ", 'on.error' = 'skip'"), engine.Counts{RowsIn: 5, RowsOut: 2, Broken: 3})
		})
		t.Run("dead letters, "+mode, func(t *testing.T) {
			w := all.fresh(t)
			w.exec("CREATE TABLE got (v bigint PRIMARY KEY CHECK (v <> 3))")
			w.publish("ev.a", numbers...)
			run(w, w.letters()+job(w, ", 'on.error' = 'dead-letter', 'dead-letter.table' = 'letters'"), engine.Counts{RowsIn: 5, RowsOut: 2, DeadLetters: 3})
		})
	}
	t.Run("partly late", func(t *testing.T) {
		w := all.fresh(t)
		w.exec("CREATE TABLE got (s timestamp(3), n bigint)")
		for _, s := range []int{1, 12, 8, 2} {
			w.publish("ev.a", fmt.Sprintf(`{"ts":"2024-01-01T00:00:%02d"}`, s))
		}
		// 8 is in the windows from 0, which has fired, and from 5; 2 only in those from 0
		// and before it.
		run(w, w.source("ts TIMESTAMP(3), WATERMARK FOR ts AS ts", ", 'end' = 'now'")+w.sink("got", "s TIMESTAMP(3), n BIGINT", "")+
			"INSERT INTO got SELECT window_start, COUNT(*) FROM HOP(ev, ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND) GROUP BY window_start, window_end;",
			engine.Counts{RowsIn: 4, RowsOut: 4, Late: 1, PartlyLate: 1})
	})
}

// TestLateRows drops and counts late rows, or keeps them as dead letters.
func TestLateRows(t *testing.T) {
	all := newWorld(t)
	var messages []string
	for _, s := range []int{1, 2, 16, 3, 12, 27} {
		messages = append(messages, fmt.Sprintf(`{"v":%d,"ts":"2024-01-01T00:00:%02d"}`, s, s))
	}
	job := func(w *world, more string) string {
		return w.source("v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND", ", 'end' = 'now'"+more) + w.sink("got", "s TIMESTAMP(3), n BIGINT", "") +
			"INSERT INTO got SELECT window_start, COUNT(*) FROM TUMBLE(ev, ts, INTERVAL '10' SECOND) GROUP BY window_start, window_end;"
	}
	want := "2024-01-01 00:00:00|2\n2024-01-01 00:00:10|2\n2024-01-01 00:00:20|1"
	t.Run("dropped and counted", func(t *testing.T) {
		w := all.fresh(t)
		w.exec("CREATE TABLE got (s timestamp(3), n bigint)")
		w.publish("ev.a", messages...)
		st := w.mustRun(job(w, ""))
		w.equal("rows", w.rows("SELECT * FROM got ORDER BY 1"), want)
		if st.Counts != (engine.Counts{RowsIn: 6, RowsOut: 3, Late: 1}) {
			t.Errorf("counted %+v", st.Counts)
		}
	})
	t.Run("dead letters", func(t *testing.T) {
		w := all.fresh(t)
		w.exec("CREATE TABLE got (s timestamp(3), n bigint)")
		w.publish("ev.a", messages...)
		st := w.mustRun(w.letters() + job(w, ", 'late.rows' = 'dead-letter', 'dead-letter.table' = 'letters'"))
		w.equal("rows", w.rows("SELECT * FROM got ORDER BY 1"), want)
		w.equal("letters", w.rows("SELECT table_name, error_code FROM letters"), "ev|late")
		if got := w.rows("SELECT convert_from(payload, 'UTF8') FROM letters"); !strings.Contains(got, "00:00:03") {
			t.Errorf("the letter does not hold the row: %s", got)
		}
		if st.Counts != (engine.Counts{RowsIn: 6, RowsOut: 3, DeadLetters: 1}) {
			t.Errorf("counted %+v", st.Counts)
		}
	})
}

// TestExpressionErrors is B50 and B68: the rows that can be computed come, the others
// follow the policy, the next rows flow.
func TestExpressionErrors(t *testing.T) {
	all := newWorld(t)
	messages := []string{`{"id":1,"a":10,"b":2,"s":"1"}`, `{"id":2,"a":10,"b":0,"s":" 42"}`, `{"id":3,"a":9,"b":3,"s":""}`, `{"id":4,"a":9,"b":3,"s":"1e3"}`, `{"id":5,"a":9,"b":3,"s":"x"}`, `{"id":6,"a":9,"b":3,"s":"3"}`}
	columns := "id INT, a INT, b INT, s VARCHAR"
	t.Run("division by zero", func(t *testing.T) {
		w := all.fresh(t)
		w.exec("CREATE TABLE got (id int, q int)")
		w.publish("ev.a", messages[:3]...)
		st := w.mustRun(w.letters() + w.source(columns, ", 'end' = 'now', 'on.error' = 'dead-letter', 'dead-letter.table' = 'letters'") + w.sink("got", "id INT, q INT", "") + "INSERT INTO got SELECT id, a / b FROM ev;")
		w.equal("rows", w.rows("SELECT * FROM got ORDER BY 1"), "1|5\n3|3")
		w.equal("letters", w.rows("SELECT table_name, error_code, convert_from(payload, 'UTF8')::json ->> 'id' FROM letters"), "ev|22012|2")
		if n := errorsOf(st); n[sqlerr.CodeDivisionByZero] != 1 {
			t.Errorf("counted %v", n)
		}
	})
	t.Run("text to number", func(t *testing.T) {
		w := all.fresh(t)
		w.exec("CREATE TABLE got (k int PRIMARY KEY, n bigint)")
		w.publish("ev.a", messages...)
		st := w.mustRun(w.source(columns, ", 'end' = 'now', 'on.error' = 'skip'") + w.sink("got", "k INT, n BIGINT, PRIMARY KEY (k)", "") + "INSERT INTO got SELECT 0, SUM(CAST(s AS INT)) FROM ev;")
		w.equal("rows", w.rows("SELECT n FROM got"), "46")
		if st.Broken != 3 {
			t.Errorf("%d rows are counted as failed", st.Broken)
		}
	})
	t.Run("B55, a decimal that is too large", func(t *testing.T) {
		w := all.fresh(t)
		w.exec("CREATE TABLE got (id int, d numeric)")
		w.publish("ev.a", `{"id":1,"d":99999999999999999999999999999999999.999}`, `{"id":2,"d":99999999999999999999999999999999998.999}`, `{"id":3,"d":1.5}`)
		st := w.mustRun(w.source("id INT, d DECIMAL(38,3)", ", 'end' = 'now', 'on.error' = 'skip'") + w.sink("got", "id INT, d DECIMAL(38,3)", "") + "INSERT INTO got SELECT id, d + 1.000 FROM ev;")
		w.equal("rows", w.rows("SELECT * FROM got ORDER BY 1"), "2|99999999999999999999999999999999999.999\n3|2.500")
		if n := errorsOf(st); n[sqlerr.CodeNumericOutOfRange] != 1 {
			t.Errorf("counted %v", n)
		}
	})
	t.Run("fails again after a restart, without a loop", func(t *testing.T) {
		w := all.fresh(t)
		w.exec("CREATE TABLE got (id int, q int)")
		w.publish("ev.a", messages[:3]...)
		text := w.source(columns, ", 'end' = 'now'") + w.sink("got", "id INT, q INT", "") + "INSERT INTO got SELECT id, a / b FROM ev;"
		for range 2 {
			st, err := w.run(text)
			if sqlerr.CodeOf(err) != sqlerr.CodeDivisionByZero || st.Restarts != 0 {
				t.Fatalf("the job ends with %v after %d restarts", err, st.Restarts)
			}
		}
	})
}

// TestTextAndJSON is B56, B62, B64 and B65 from the bytes of a message to a column.
func TestTextAndJSON(t *testing.T) {
	w := newWorld(t)
	w.exec(`CREATE TABLE got (id bigint, s text, "userId" int, userid int, n jsonb)`)
	w.publish("ev.a",
		`{"id":9007199254740993,"s":"\ud83d\ude00","userId":7,"userid":8,"n":{"x":18014398509481985}}`,
		`{"id":2,"s":"\ud83d"}`,
		`{"id":3,"s":"a\u0000b"}`,
		`{"id":4,"USERID":9,"n":[1,{"a":null}]}`,
		`{"id":5,"n":"a\u0000b"}`,
		`{"id":6,"s":"good"}`)
	st := w.mustRun(w.letters() + w.source(`id BIGINT, s VARCHAR, "userId" INT, userid INT, n JSON`, ", 'end' = 'now', 'on.error' = 'dead-letter', 'dead-letter.table' = 'letters'") +
		w.sink("got", `id BIGINT, s VARCHAR, "userId" INT, userid INT, n JSON`, ", 'on.error' = 'dead-letter', 'dead-letter.table' = 'letters'") + "INSERT INTO got SELECT * FROM ev;")
	w.equal("rows", w.rows("SELECT * FROM got ORDER BY id"), "4|∅|∅|∅|[1, {\"a\": null}]\n6|good|∅|∅|∅\n9007199254740993|😀|7|8|{\"x\": 18014398509481985}")
	w.equal("letters", w.rows("SELECT substring(encode(payload, 'escape') FROM '\"id\":(\\d)'), error_code, field FROM letters ORDER BY 1"), "2|22P02|s\n3|22021|s\n5|22021|n")
	if st.DeadLetters != 3 || st.Broken != 0 {
		t.Errorf("%d dead letters and %d broken rows are counted: %v", st.DeadLetters, st.Broken, errorsOf(st))
	}
}

// TestSubjectsMetadataComputed reads a token of the subject, the sequence and a computed
// column beside the fields of the message.
func TestSubjectsMetadataComputed(t *testing.T) {
	w := newWorld(t)
	w.exec("CREATE TABLE got (seq bigint, region text, v bigint, twice bigint, subject text)")
	w.publish("ev.eu", `{"v":1,"region":"wrong"}`)
	w.publish("ev.us", `{"v":2}`)
	w.publish("ev.eu", `{"v":3}`)
	text := fmt.Sprintf(`CREATE TABLE ev (v BIGINT, region VARCHAR, twice AS v * 2, seq BIGINT METADATA FROM 'sequence' VIRTUAL, subject VARCHAR METADATA VIRTUAL)
		WITH (connector = 'nats', url = '%s', stream = 'EVENTS', subject = 'ev.{region}', format = 'json', 'end' = 'now');`, w.nats.URL()) +
		w.sink("got", "seq BIGINT, region VARCHAR, v BIGINT, twice BIGINT, subject VARCHAR", "")
	w.mustRun(text + "INSERT INTO got SELECT seq, region, v, twice, subject FROM ev;")
	w.equal("rows", w.rows("SELECT * FROM got ORDER BY 1"), "1|eu|1|2|ev.eu\n2|us|2|4|ev.us\n3|eu|3|6|ev.eu")
	w.exec("TRUNCATE got")
	w.dir = t.TempDir()
	w.mustRun(text + "INSERT INTO got SELECT seq, region, v, twice, subject FROM ev WHERE region = 'us' AND twice > 3;")
	w.equal("rows of one region", w.rows("SELECT * FROM got"), "2|us|2|4|ev.us")
}
