package sql

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// TestDeadLettersThroughCrashes is the second half of B74: a job that is gone at any
// moment, again and again, leaves each broken message among the dead letters once, under
// its own sequence, and each good one in the table once.
func TestDeadLettersThroughCrashes(t *testing.T) {
	w := newWorld(t)
	w.exec("CREATE TABLE got (v bigint)")
	const messages = 3000
	good, bad := 0, 0
	for i := 1; i <= messages; i++ {
		p := fmt.Sprintf(`{"v":%d}`, i)
		if i%7 == 0 {
			p = fmt.Sprintf(`{"v":%d`, i)
			bad++
		} else {
			good++
		}
		if _, err := w.js.PublishAsync("ev.a", []byte(p), jetstream.WithStallWait(10*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-w.js.PublishAsyncComplete():
	case <-time.After(60 * time.Second):
		t.Fatal("the messages were not published")
	}
	text := w.letters() + w.source(vTable, ", 'end' = 'now', 'on.error' = 'dead-letter', 'dead-letter.table' = 'letters'") + w.sink("got", vTable, "") + "INSERT INTO got SELECT v FROM ev;"
	rnd := rand.New(rand.NewPCG(74, 0))
	for range 6 {
		e := w.open("checkpoint.interval", "2ms")
		j, err := w.start(e, text)
		if err == nil {
			select {
			case <-j.Done():
			case <-time.After(time.Duration(5+rnd.IntN(60)) * time.Millisecond):
			}
			j.Cancel()
		} else if err != engine.ErrFinished {
			t.Fatal(err)
		}
		if err := e.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.run(text); err != nil && err != engine.ErrFinished {
		t.Fatal(err)
	}
	w.equal("rows", w.rows("SELECT count(*), count(DISTINCT v) FROM got"), fmt.Sprintf("%d|%d", good, good))
	w.equal("letters", w.rows("SELECT count(*), count(DISTINCT position), count(*) FILTER (WHERE split_part(position, ' ', 2)::int % 7 = 0) FROM letters"),
		fmt.Sprintf("%d|%d|%d", bad, bad, bad))
}

// TestDeadLetterSubject keeps dead letters in another stream; without that stream the job
// stops or waits, and nothing is dropped: it goes on when the stream is there again.
func TestDeadLetterSubject(t *testing.T) {
	w := newWorld(t)
	w.stream("DEAD", "dead.>")
	w.exec("CREATE TABLE got (v bigint)")
	text := w.source(vTable, ", 'on.error' = 'dead-letter', 'dead-letter.subject' = 'dead.ev'") + w.sink("got", vTable, "") + "INSERT INTO got SELECT v FROM ev;"
	letters := func() []string {
		s, err := w.js.Stream(context.Background(), "DEAD")
		if err != nil {
			return nil
		}
		info, err := s.Info(context.Background())
		if err != nil {
			return nil
		}
		var out []string
		for seq := max(1, info.State.FirstSeq); seq <= info.State.LastSeq; seq++ {
			m, err := s.GetMsg(context.Background(), seq)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(m.Data))
		}
		return out
	}
	e := w.open()
	j := w.mustStart(e, text, engine.Start{})
	w.publish("ev.a", `{"v":1}`, `{"v":"x"}`, `{"v":2}`)
	w.eventually("the good rows", func() bool { return w.rows("SELECT v FROM got ORDER BY v") == "1\n2" })
	w.eventually("a letter", func() bool { return len(letters()) == 1 })
	var letter struct {
		Table    string `json:"table_name"`
		Field    string `json:"field"`
		Subject  string `json:"subject"`
		Position string `json:"position"`
		Error    string `json:"error"`
	}
	if err := json.Unmarshal([]byte(letters()[0]), &letter); err != nil {
		t.Fatalf("%s: %v", letters()[0], err)
	}
	if letter.Table != "ev" || letter.Field != "v" || letter.Subject != "ev.a" || letter.Position != "sequence 2" || letter.Error == "" {
		t.Errorf("the letter is %s", letters()[0])
	}

	if err := w.js.DeleteStream(context.Background(), "DEAD"); err != nil {
		t.Fatal(err)
	}
	w.publish("ev.a", `{"v":"y"}`, `{"v":3}`)
	w.eventually("the job waits or stops", func() bool { return j.Status().Stall != "" || !j.Running() })
	w.stream("DEAD", "dead.>")
	if !j.Running() {
		_ = e.Close(context.Background())
		e = w.open()
		w.mustStart(e, text, engine.Start{})
	}
	w.eventually("the letter and the row behind it", func() bool {
		return len(letters()) >= 1 && w.rows("SELECT v FROM got ORDER BY v") == "1\n2\n3"
	})
}

// TestDeadLettersOfACommit: rows that a commit refuses are counted on their sink, and the
// dead letters are in the table with the same epoch.
func TestDeadLettersOfACommit(t *testing.T) {
	w := newWorld(t)
	w.exec("CREATE TABLE got (v bigint CHECK (v % 10 <> 0))")
	w.numbers("ev.a", 1, 50)
	st := w.mustRun(w.letters() + w.source(vTable, ", 'end' = 'now'") +
		w.sink("got", vTable, ", mode = 'append', 'on.error' = 'dead-letter', 'dead-letter.table' = 'letters'") + "INSERT INTO got SELECT v FROM ev;")
	w.equal("rows", w.rows("SELECT count(*) FROM got"), "45")
	w.equal("letters", w.rows(`SELECT table_name, error_code, convert_from(payload, 'UTF8') FROM letters ORDER BY length(payload), 3`),
		"got|23514|{\"v\":10}\ngot|23514|{\"v\":20}\ngot|23514|{\"v\":30}\ngot|23514|{\"v\":40}\ngot|23514|{\"v\":50}")
	w.equal("counted", fmt.Sprint(errorsOf(st)), "map[23514:5]")
	if st.Counts != (engine.Counts{RowsIn: 50, RowsOut: 45, DeadLetters: 5}) {
		t.Errorf("counted %+v", st.Counts)
	}
	for _, n := range st.Nodes {
		if n.Name == `sink "letters"` && n.In != 5 {
			t.Errorf("%s has taken %d rows", n.Name, n.In)
		}
	}
}

// TestDeadLettersBothWays: of two systems whose commits wait for each other's dead letters
// neither could begin.
func TestDeadLettersBothWays(t *testing.T) {
	w := newWorld(t)
	w.exec("CREATE DATABASE other")
	u, err := url.Parse(w.pg.DSN)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/other"
	var text string
	for name, dsn := range map[string]string{"a": w.pg.DSN, "b": u.String()} {
		other := map[string]string{"a": "b", "b": "a"}[name]
		text += fmt.Sprintf(`CREATE TABLE rows_%s (v BIGINT) WITH (connector = 'postgres', url = '%s', 'auto.create' = 'true', 'on.error' = 'dead-letter', 'dead-letter.table' = 'letters_%s');
CREATE TABLE letters_%s (payload BYTES) WITH (connector = 'postgres', url = '%s', 'auto.create' = 'true');
`, name, dsn, other, name, dsn)
	}
	_, err = w.run(w.source(vTable, ", 'end' = 'now'") + text + "INSERT INTO rows_a SELECT v FROM ev; INSERT INTO rows_b SELECT v FROM ev;")
	e := sqlerr.As(err)
	if e == nil || e.Code != sqlerr.CodeOption || !strings.Contains(e.Msg, "the other way round") || e.Hint == "" {
		t.Fatalf("two systems wait for each other: %v", err)
	}
}
