package sql

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/operators/opcheck"
)

// TestUpsertOrphans looks for rows of a keyed table that stay although the query has no
// such row any more: groups that cross a HAVING and cross back, keys that move from group
// to group, the job killed in between and run again with other cuts. PostgreSQL computes
// what the table must hold. STREAMSQL_SEED is the first seed, STREAMSQL_ORPHANS how many
// follow.
func TestUpsertOrphans(t *testing.T) {
	w := newWorld(t)
	first, n := fromEnv(t, "STREAMSQL_SEED", 1), fromEnv(t, "STREAMSQL_ORPHANS", 12)
	for seed := first; seed < first+n; seed++ {
		if err := w.orphans(seed); err != nil {
			t.Fatalf("seed %d: %v\nreplay with: STREAMSQL_SEED=%d STREAMSQL_ORPHANS=1 go test ./tests/sql -run TestUpsertOrphans", seed, err, seed)
		}
	}
}

var orphanQueries = []string{
	"SELECT k, SUM(v) AS s, COUNT(*) AS n FROM t GROUP BY k HAVING SUM(v) > 100",
	"SELECT k, SUM(v) AS s, COUNT(*) AS n FROM t WHERE v <> 0 GROUP BY k HAVING SUM(v) > 0 AND COUNT(*) % 3 <> 0",
	"SELECT s AS k, SUM(k) AS s, COUNT(*) AS n FROM (SELECT k, SUM(v) % 7 AS s FROM t GROUP BY k) AS q GROUP BY s HAVING COUNT(*) < 3",
	"SELECT k, MAX(s) AS s, COUNT(*) AS n FROM (SELECT k, v % 3 AS m, SUM(v) AS s FROM t GROUP BY k, v % 3 HAVING SUM(v) > 20) AS q GROUP BY k",
	"SELECT k, SUM(n) AS s, COUNT(*) AS n FROM (SELECT k, 1 AS n FROM t UNION ALL SELECT k, v AS n FROM t WHERE v < 0) AS u GROUP BY k HAVING SUM(n) > -50",
}

func (w *world) orphans(seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 11))
	query, mode := orphanQueries[rng.IntN(len(orphanQueries))], []string{"upsert", "wal"}[rng.IntN(2)]
	f := newFeed()
	w.exec("DROP TABLE IF EXISTS t, o, streamsql_fence, streamsql_target", "CREATE TABLE t (k bigint, v bigint)", "CREATE TABLE o (k bigint PRIMARY KEY, s bigint, n bigint)")
	var values []string
	for range 150 + rng.IntN(150) {
		k, v := rng.IntN(6), rng.IntN(161)-80
		f.tables["t"] = append(f.tables["t"], fmt.Appendf(nil, `{"k":%d,"v":%d}`, k, v))
		values = append(values, fmt.Sprintf("(%d, %d)", k, v))
	}
	w.exec("INSERT INTO t VALUES " + strings.Join(values, ", "))
	rows, dir, edges := len(values), w.t.TempDir(), new(opcheck.Edges)
	text := "CREATE TABLE t (k BIGINT, v BIGINT) WITH ('connector' = 'feed', 'format' = 'json');\n" +
		w.sink("o", "k BIGINT, s BIGINT, n BIGINT, PRIMARY KEY (k)", ", mode = '"+mode+"'") + "INSERT INTO o " + query + ";"
	f.reset(0, 1)
	for limit := 0; ; {
		limit = min(rows, limit+1+rng.IntN(rows/3))
		f.chunk = 1 + rng.IntN(20)
		f.allow(limit)
		done, err := runUntil(dir, text, f, edges, rng, limit == rows && rng.IntN(2) == 0)
		if err != nil {
			return fmt.Errorf("%s, mode %s: %w", query, mode, err)
		}
		if done {
			break
		}
	}
	const order = " ORDER BY 1"
	if got, want := w.rows("SELECT * FROM o"+order), w.rows("SELECT * FROM ("+query+") AS x"+order); got != want {
		return fmt.Errorf("%s, mode %s: the table has\n%s\nwant\n%s", query, mode, got, want)
	}
	return nil
}

// runUntil runs the job for a moment, or to its end; done says that it has finished.
func runUntil(dir, text string, f *feed, edges *opcheck.Edges, rng *rand.Rand, toEnd bool) (done bool, err error) {
	ctx := context.Background()
	e, err := engine.Open(ctx, engine.Options{DataDir: dir, Parallelism: 1 + rng.IntN(3), BatchRows: 1 + rng.IntN(10),
		Connectors: []connectors.Connector{f.connector()}, WatchEdge: edges.Watch, Settings: map[string]string{"checkpoint.interval": "3ms"}})
	if err != nil {
		return false, err
	}
	defer e.Close(ctx)
	j, err := start(ctx, e, text)
	if errors.Is(err, engine.ErrFinished) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	wait := time.Duration(rng.IntN(40)) * time.Millisecond
	if toEnd {
		wait = time.Minute
	}
	select {
	case <-j.Done():
		return true, j.Wait()
	case <-time.After(wait):
		j.Cancel()
		if toEnd {
			return false, fmt.Errorf("the job does not end: %+v", j.Status())
		}
		return false, nil
	}
}
