package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/streamsql/streamsql/internal/crashpoint"
)

// job is a file, the tables it needs and how to check what it left.
type job struct {
	name   string
	tables []string
	sql    string // after the declaration of bid
	got    string
	want   string
}

func jobs(dsn string) []job {
	pg := func(table, columns, more string) string {
		return fmt.Sprintf("CREATE TABLE %s (%s) WITH (connector = 'postgres', url = '%s'%s);\n", table, columns, dsn, more)
	}
	windows := `INSERT INTO %s SELECT auction, window_start, COUNT(*), SUM(price), MAX(price)
FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR("dateTime"), INTERVAL '1' SECOND)) WHERE price >= 200 GROUP BY auction, window_start, window_end;`
	windowsWant := `SELECT auction, date_trunc('second', "dateTime"), count(*), sum(price), max(price) FROM truth
WHERE price >= 200 GROUP BY 1, 2 ORDER BY 1, 2`
	ddl := "auction bigint, start timestamp(3), bids bigint, total numeric, highest bigint"
	decl := "auction BIGINT, start TIMESTAMP(3), bids BIGINT, total DECIMAL(38, 0), highest BIGINT"
	return []job{
		{"upsert early", []string{"CREATE TABLE win (" + ddl + ", PRIMARY KEY (auction, start))"},
			pg("win", decl+", PRIMARY KEY (auction, start)", "") + fmt.Sprintf(windows, "win"),
			"SELECT * FROM win ORDER BY 1, 2", windowsWant},
		{"wal", []string{"CREATE TABLE win (" + ddl + ", PRIMARY KEY (auction, start))"},
			pg("win", decl+", PRIMARY KEY (auction, start)", ", mode = 'wal'") + fmt.Sprintf(windows, "win"),
			"SELECT * FROM win ORDER BY 1, 2", windowsWant},
		{"append", []string{"CREATE TABLE win (" + ddl + ")"},
			pg("win", decl, ", mode = 'append'") + fmt.Sprintf(windows, "win"),
			"SELECT * FROM win ORDER BY 1, 2", windowsWant},
		{"upsert of an updating query", []string{"CREATE TABLE tot (auction bigint PRIMARY KEY, bids bigint, bidders bigint)"},
			pg("tot", "auction BIGINT, bids BIGINT, bidders BIGINT, PRIMARY KEY (auction)", "") +
				`INSERT INTO tot SELECT auction, COUNT(*), COUNT(DISTINCT bidder) FROM bid GROUP BY auction HAVING SUM(price) < 3000000;`,
			"SELECT * FROM tot ORDER BY 1",
			"SELECT auction, count(*), count(DISTINCT bidder) FROM truth GROUP BY 1 HAVING sum(price) < 3000000 ORDER BY 1"},
		{"processing time", []string{"CREATE TABLE win (auction bigint, start timestamptz(3), bids bigint, total numeric)"},
			pg("win", "auction BIGINT, start TIMESTAMP(3) WITH TIME ZONE, bids BIGINT, total DECIMAL(38, 0)", ", mode = 'append'") +
				`INSERT INTO win SELECT auction, window_start, COUNT(*), SUM(price)
FROM TABLE(TUMBLE((SELECT *, PROCTIME() AS p FROM bid), DESCRIPTOR(p), INTERVAL '0.02' SECOND)) GROUP BY auction, window_start, window_end;`,
			"SELECT auction, sum(bids), sum(total) FROM win GROUP BY 1 ORDER BY 1",
			"SELECT auction, count(*), sum(price) FROM truth GROUP BY 1 ORDER BY 1"},
		{"two sinks", []string{"CREATE TABLE a (auction bigint PRIMARY KEY, bids bigint)", "CREATE TABLE b (bidder bigint, price bigint)"},
			pg("a", "auction BIGINT, bids BIGINT, PRIMARY KEY (auction)", "") + pg("b", "bidder BIGINT, price BIGINT", ", mode = 'append'") +
				"INSERT INTO a SELECT auction, COUNT(*) FROM bid GROUP BY auction;\nINSERT INTO b SELECT bidder, price FROM bid WHERE MOD(auction, 123) = 0;",
			"SELECT auction, bids FROM a UNION ALL SELECT bidder, price FROM b ORDER BY 1, 2",
			"SELECT auction, count(*) FROM truth GROUP BY 1 UNION ALL SELECT bidder, price FROM truth WHERE auction % 123 = 0 ORDER BY 1, 2"},
	}
}

func seed(t *testing.T) *rand.Rand {
	n := uint64(time.Now().UnixNano())
	if s := os.Getenv("STREAMSQL_SEED"); s != "" {
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		n = v
	}
	t.Logf("replay with STREAMSQL_SEED=%d go test ./tests/crash -run '%s'", n, t.Name())
	return rand.New(rand.NewPCG(n, 0))
}

// TestKilledAtRandom kills the program at random moments until it has been killed often
// enough or has finished.
func TestKilledAtRandom(t *testing.T) {
	w := newWorld(t, 200_000)
	for _, j := range jobs(w.pg.DSN) {
		t.Run(j.name, func(t *testing.T) {
			w := &world{t: t, url: w.url, pg: w.pg, db: w.db, js: w.js}
			rnd := seed(t)
			w.exec("DROP TABLE IF EXISTS win, tot, a, b, streamsql_fence, streamsql_target")
			w.exec(j.tables...)
			if j.name != "upsert early" {
				defer w.observe(t, j.tables).end(t)
			}
			file, data := w.file("job", w.bidTable()+j.sql), t.TempDir()
			kills := 0
			for k := range 8 {
				p := w.start(file, data)
				// The first run is killed early, so that no machine is too fast for it.
				if p.ended(time.Duration(30+rnd.IntN(100+50*k)) * time.Millisecond) {
					if p.err != nil {
						t.Fatalf("the job failed: %v\n%s", p.err, p.stderr.String())
					}
					break
				}
				p.kill()
				kills++
			}
			if kills == 0 {
				t.Fatal("the job was never killed")
			}
			w.finish(file, data)
			w.same(j.got, j.want)
		})
	}
}

// TestKilledAtCrashPoints kills the program the first, second and fifth time that it
// reaches each named place.
func TestKilledAtCrashPoints(t *testing.T) {
	w := newWorld(t, 60_000)
	for _, j := range jobs(w.pg.DSN) {
		t.Run(j.name, func(t *testing.T) {
			w := &world{t: t, url: w.url, pg: w.pg, db: w.db, js: w.js}
			w.exec("DROP TABLE IF EXISTS win, tot, a, b")
			w.exec(j.tables...)
			file, data := w.file("job", w.bidTable()+j.sql), t.TempDir()
			died := 0
			for _, name := range crashpoint.Names {
				for _, n := range []int{1, 2} {
					if w.died(w.start(file, data, crashAt(name, n))) {
						died++
					}
				}
			}
			if died < 4 {
				t.Fatalf("the program died only %d times", died)
			}
			w.finish(file, data)
			w.same(j.got, j.want)
		})
	}
}

// TestServersDie restarts PostgreSQL and NATS under a running job: it stalls, says so,
// and goes on.
func TestServersDie(t *testing.T) {
	w := newWorld(t, 200_000)
	j := jobs(w.pg.DSN)[3]
	w.exec(j.tables...)
	file, data := w.file("job", w.bidTable()+j.sql), t.TempDir()
	p := w.start(file, data)
	ctx := context.Background()
	w.begun(p)
	for range 3 {
		if p.ended(100 * time.Millisecond) {
			break
		}
		if err := w.pg.StopImmediate(); err != nil {
			t.Fatal(err)
		}
		if err := w.pg.Cluster.Start(ctx); err != nil {
			t.Fatal(err)
		}
		w.restartNATS()
	}
	if w.died(p) {
		t.Fatal("the job was killed")
	}
	w.db = w.pg.Open(t)
	w.same(j.got, j.want)
}

// TestStoppedProcessWakes: a process is stopped, another takes the job over and ends it,
// the first wakes up: it must write nothing more and end.
func TestStoppedProcessWakes(t *testing.T) {
	w := newWorld(t, 200_000)
	for _, j := range jobs(w.pg.DSN)[:3] {
		t.Run(j.name, func(t *testing.T) {
			w := &world{t: t, url: w.url, pg: w.pg, db: w.db, js: w.js}
			w.exec("DROP TABLE IF EXISTS win, tot, a, b, streamsql_fence, streamsql_target")
			w.exec(j.tables...)
			file, data := w.file("job", w.bidTable()+j.sql), t.TempDir()
			old := w.start(file, data)
			w.begun(old)
			if err := old.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			w.finish(file, data)
			w.same(j.got, j.want)
			if err := old.cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			if !old.ended(60 * time.Second) {
				t.Fatalf("the overtaken process goes on\n%s", old.stderr.String())
			}
			if old.err == nil {
				t.Error("the overtaken process ended as if all were well")
			}
			w.same(j.got, j.want)
		})
	}
}
