package sql

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/pgtest"
	"github.com/streamsql/streamsql/operators/opcheck"
)

// upserts are jobs whose keys come twice in a batch, move, or come and go. The table in
// PostgreSQL must hold the same whatever the cuts, in both modes, and killed in between.
var upserts = []struct {
	name, columns string
	rows          []string
	table         string // of PostgreSQL
	sink          string // columns of the declaration
	query         string
	want          string
}{
	{"B77, the same key twice in a batch", "id INT, v VARCHAR",
		[]string{`{"id":1,"v":"a"}`, `{"id":1,"v":"b"}`, `{"id":2,"v":"c"}`, `{"id":1,"v":"d"}`},
		"id int PRIMARY KEY, v text", "id INT, v VARCHAR, PRIMARY KEY (id)", "SELECT id, v FROM t", "1|d\n2|c"},
	{"B79, a key that moved away does not delete who took its place", "k VARCHAR",
		[]string{`{"k":"a"}`, `{"k":"b"}`, `{"k":"a"}`},
		"n bigint PRIMARY KEY, k text", "n BIGINT, k VARCHAR, PRIMARY KEY (n)", "SELECT COUNT(*), k FROM t GROUP BY k", "1|b\n2|a"},
	{"B80, a chain of key updates", "k INT",
		[]string{`{"k":1}`, `{"k":2}`, `{"k":3}`, `{"k":1}`, `{"k":2}`, `{"k":3}`},
		"n bigint PRIMARY KEY, k int", "n BIGINT, k INT, PRIMARY KEY (n)", "SELECT k + COUNT(*), k FROM t GROUP BY k", "3|1\n4|2\n5|3"},
	{"a group that crosses its HAVING and crosses back", "k VARCHAR, v BIGINT",
		[]string{`{"k":"x","v":70}`, `{"k":"y","v":101}`, `{"k":"x","v":50}`, `{"k":"x","v":-40}`},
		"k text PRIMARY KEY, s numeric", "k VARCHAR, s DECIMAL(38,0), PRIMARY KEY (k)", "SELECT k, SUM(v) FROM t GROUP BY k HAVING SUM(v) > 100", "y|101"},
	{"B41, a key that goes and comes back", "k VARCHAR, v BIGINT",
		[]string{`{"k":"x","v":1}`, `{"k":"x","v":-1}`, `{"k":"x","v":5}`},
		"k text PRIMARY KEY, s numeric", "k VARCHAR, s DECIMAL(38,0), PRIMARY KEY (k)", "SELECT k, SUM(v) FROM t GROUP BY k HAVING SUM(v) > 0", "x|5"},
}

func TestUpserts(t *testing.T) {
	t.Parallel()
	pg := pgtest.Start(t)
	db := pg.Open(t)
	for _, c := range upserts {
		t.Run(c.name, func(t *testing.T) {
			for _, mode := range []string{"upsert", "wal"} {
				for _, v := range []variant{{"whole", 1, 0, false}, {"batches of 1", 3, 1, false}, {"killed", 2, 1, true}} {
					if _, err := db.Exec("DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TABLE out (" + c.table + ")"); err != nil {
						t.Fatal(err)
					}
					f := newFeed()
					for _, r := range c.rows {
						f.tables["t"] = append(f.tables["t"], []byte(r))
					}
					text := fmt.Sprintf("CREATE TABLE t (%s) WITH (connector = 'feed', format = 'json');\nCREATE TABLE out (%s) WITH (connector = 'postgres', url = '%s', mode = '%s');\nINSERT INTO out %s;",
						c.columns, c.sink, pg.DSN, mode, c.query)
					runUpsert(t, f, v, text)
					rows := pg.Rows(t, db, "SELECT * FROM out ORDER BY 1")
					if got := textOf(rows); got != c.want+"\n" {
						t.Errorf("%s, %s:\n%swant\n%s", mode, v.name, got, c.want)
					}
				}
			}
		})
	}
}

// runUpsert runs a job to its end; killed, it sees one row more each time before that.
func runUpsert(t *testing.T, f *feed, v variant, text string) {
	t.Helper()
	dir := t.TempDir()
	edges := new(opcheck.Edges)
	f.reset(len(f.tables["t"]), max(1, v.batch))
	once := func(last bool) {
		ctx := context.Background()
		e, err := engine.Open(ctx, engine.Options{DataDir: dir, Parallelism: v.parallelism, BatchRows: v.batch,
			Connectors: []connectors.Connector{f.connector()}, Settings: map[string]string{"checkpoint.interval": "2ms"},
			WatchEdge: edges.Watch})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close(ctx)
		j, err := start(ctx, e, text)
		if err != nil {
			t.Fatal(err)
		}
		wait := time.Minute
		if !last {
			wait = 25 * time.Millisecond
		}
		select {
		case <-j.Done():
			if err := j.Wait(); err != nil {
				t.Fatal(err)
			}
		case <-time.After(wait):
			if last {
				t.Fatalf("the job does not end: %+v", j.Status())
			}
			j.Cancel()
		}
	}
	if v.kill {
		for n := range f.tables["t"] {
			f.allow(n)
			once(false)
		}
		f.allow(len(f.tables["t"]))
	}
	once(true)
}
