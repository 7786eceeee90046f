package sql

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/engine"
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
	<-w.js.PublishAsyncComplete()
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
