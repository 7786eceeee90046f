package postgres

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/pgtest"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/vec"
)

// TestFewKeys: an epoch that changes a few keys again and again reaches the table as
// their net change, in fewer statements than it has batches; the newest row that the
// table can take stands.
func TestFewKeys(t *testing.T) {
	pg := pgtest.Start(t)
	db := pg.Open(t)
	rnd := rand.New(rand.NewPCG(86, 2))
	for _, c := range []struct {
		name, more string
		few        bool
	}{{"alone", "", true}, {"beside another unique index", ", UNIQUE (k, v)", false}} {
		t.Run(c.name, func(t *testing.T) {
			mustExec(t, db, "DROP TABLE IF EXISTS t, streamsql_fence, streamsql_target, streamsql_letter", "CREATE TABLE t (k bigint PRIMARY KEY, v text NOT NULL"+c.more+")")
			s := open(t, config(pg.DSN, kv, []int{0}, "mode=wal", "batch.rows=100"))
			statements := 0
			watch(t, s, func(stmt string, err error) error {
				if strings.HasPrefix(stmt, "INSERT INTO "+s.target.relation()) {
					statements++
				}
				return err
			})
			k := acquire(t, s, "job", 1)
			model := map[int64]string{}
			for epoch := 1; epoch <= 5; epoch++ {
				var batches []*vec.Batch
				bad := 0
				for range 40 {
					var text strings.Builder
					for i := range 37 {
						key := rnd.Int64N(20)
						old, there := model[key]
						switch v := fmt.Sprintf("e%d-%d-%d", epoch, len(batches), i); {
						case there && rnd.IntN(3) == 0:
							fmt.Fprintf(&text, "-%d,%s ", key, old)
							delete(model, key)
						case rnd.IntN(10) == 0:
							fmt.Fprintf(&text, "+%d,∅ ", key)
							bad++
						case there:
							fmt.Fprintf(&text, "-%d,%s +%d,%s ", key, old, key, v)
							model[key] = v
						default:
							fmt.Fprintf(&text, "+%d,%s ", key, v)
							model[key] = v
						}
					}
					batches = append(batches, batch(text.String()))
				}
				refused := 0
				p := part(s, func(*vec.Batch, int, *sqlerr.Error) error { refused++; return nil }, batches...)
				id := connectors.CommitID{Job: "job", Attempt: 1, Epoch: stream.Epoch(epoch), Prev: stream.Epoch(epoch - 1), Checksum: "x"}
				if err := k.Commit(ctx, id, []connectors.Part{p}); err != nil {
					t.Fatal(err)
				}
				if refused != bad {
					t.Errorf("epoch %d: refused %d rows of %d", epoch, refused, bad)
				}
				var rows []string
				for _, key := range slices.Sorted(maps.Keys(model)) {
					rows = append(rows, fmt.Sprintf("%d|%s", key, model[key]))
				}
				want(t, pg, db, "SELECT * FROM t ORDER BY k", rows...)
			}
			if c.few != (statements <= 5) {
				t.Errorf("%d statements", statements)
			}
		})
	}
}
