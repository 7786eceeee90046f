package crash

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/internal/crashpoint"
)

// TestDeadLettersOfCommits kills a job whose tables refuse rows in the commit. Each bad
// row is among the dead letters once, wherever those go: the same database, another one,
// a stream in atomic batches, files. A stream without a fence may have it more than once.
func TestDeadLettersOfCommits(t *testing.T) {
	w := newWorld(t, 60_000)
	files := t.TempDir()
	ctx := context.Background()
	for _, c := range []jetstream.StreamConfig{
		{Name: "DEAD", Subjects: []string{"dead.>"}, AllowAtomicPublish: true, AllowMsgTTL: true},
		{Name: "LOOSE", Subjects: []string{"loose.>"}},
	} {
		if _, err := w.js.CreateStream(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	w.exec("CREATE DATABASE other")
	u, err := url.Parse(w.pg.DSN)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/other"
	letter := "table_name VARCHAR, error_code VARCHAR, error VARCHAR, payload VARCHAR"
	targets := []struct{ name, with string }{
		{"same", fmt.Sprintf("connector = 'postgres', url = '%s', 'auto.create' = 'true'", w.pg.DSN)},
		{"other", fmt.Sprintf("connector = 'postgres', url = '%s', 'auto.create' = 'true'", u)},
		{"stream", fmt.Sprintf("connector = 'nats', url = '%s', subject = 'dead.row', delivery = 'exactly-once', format = 'json'", w.url)},
		{"files", fmt.Sprintf("connector = 'file', path = '%s', format = 'json'", files)},
		{"loose", fmt.Sprintf("connector = 'nats', url = '%s', subject = 'loose.row', format = 'json'", w.url)},
	}
	text := w.bidTable()
	for _, x := range targets {
		w.exec(fmt.Sprintf("CREATE TABLE t_%s (auction bigint, bidder bigint, price bigint CHECK (price %% 7 <> 0))", x.name))
		text += fmt.Sprintf("CREATE TABLE letters_%s (%s) WITH (%s);\n", x.name, letter, x.with)
		text += fmt.Sprintf("CREATE TABLE t_%s (auction BIGINT, bidder BIGINT, price BIGINT) WITH (connector = 'postgres', url = '%s', 'on.error' = 'dead-letter', 'dead-letter.table' = 'letters_%s');\n", x.name, w.pg.DSN, x.name)
	}
	for _, x := range targets {
		text += fmt.Sprintf("INSERT INTO t_%s SELECT auction, bidder, price FROM bid WHERE MOD(auction, 3) = 0;\n", x.name)
	}
	file, data := w.file("job", text), t.TempDir()
	rnd, died := seed(t), 0
	for _, name := range append([]string{""}, crashpoint.Names...) {
		for _, n := range []int{1, 3} {
			var env []string
			if name != "" {
				env = append(env, crashAt(name, n))
			}
			p := w.start(file, data, env...)
			if name == "" && !p.ended(time.Duration(30+rnd.IntN(300))*time.Millisecond) {
				p.kill()
			}
			if w.died(p) {
				died++
			}
		}
	}
	if died < 6 {
		t.Fatalf("the program died only %d times", died)
	}
	w.finish(file, data)

	lines := map[string][][]byte{"stream": w.messages("DEAD", "dead.row"), "loose": w.messages("LOOSE", "loose.row"), "files": fileLines(t, files)}
	db, err := sql.Open("postgres", u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, r := range w.pg.Rows(t, db, "SELECT payload, table_name, error_code FROM letters_other") {
		payload, rest, _ := strings.Cut(r, "|")
		if rest != "t_other|23514" {
			t.Fatalf("letter %q", r)
		}
		line, err := json.Marshal(map[string]string{"payload": payload, "table_name": "t_other"})
		if err != nil {
			t.Fatal(err)
		}
		lines["other"] = append(lines["other"], line)
	}
	w.exec("CREATE TABLE got (name text, letter jsonb)", "INSERT INTO got SELECT 'same', to_jsonb(l) FROM letters_same l")
	for name, all := range lines {
		tx, err := w.db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range all {
			if _, err := tx.Exec("INSERT INTO got VALUES ($1, $2)", name, string(l)); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range targets {
		distinct := ""
		if x.name == "loose" {
			distinct = "DISTINCT"
		}
		const row = "(p->>'auction')::bigint, (p->>'bidder')::bigint, (p->>'price')::bigint"
		w.same(fmt.Sprintf("SELECT %s %s FROM got, LATERAL (SELECT (letter->>'payload')::jsonb AS p) x WHERE name = '%s' AND letter->>'table_name' = 't_%s' ORDER BY 1, 2, 3", distinct, row, x.name, x.name),
			fmt.Sprintf("SELECT %s auction, bidder, price FROM truth WHERE auction %% 3 = 0 AND price %% 7 = 0 ORDER BY 1, 2, 3", distinct))
		w.same(fmt.Sprintf("SELECT * FROM t_%s ORDER BY 1, 2, 3", x.name),
			"SELECT auction, bidder, price FROM truth WHERE auction % 3 = 0 AND price % 7 <> 0 ORDER BY 1, 2, 3")
	}
	w.same("SELECT count(*) FROM streamsql_letter", "SELECT 0::bigint")
}

// messages reads the payloads of a subject.
func (w *world) messages(stream, subject string) (out [][]byte) {
	w.t.Helper()
	ctx := context.Background()
	s, err := w.js.Stream(ctx, stream)
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{FilterSubjects: []string{subject}})
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		b, err := c.FetchNoWait(5000)
		if err != nil {
			w.t.Fatal(err)
		}
		n := len(out)
		for m := range b.Messages() {
			out = append(out, bytes.Clone(m.Data()))
		}
		if len(out) == n {
			return out
		}
	}
}

func fileLines(t *testing.T, dir string) (out [][]byte) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "[^.]*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
			out = append(out, bytes.Clone(s.Bytes()))
		}
	}
	return out
}
