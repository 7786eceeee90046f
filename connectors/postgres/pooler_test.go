package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/pgtest"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/vec"
)

// TestThroughAPooler is B86: behind pgbouncer in transaction mode every statement outside
// a transaction, and every transaction, may run on another connection. Two writers and a
// committer share one connection of the pool.
func TestThroughAPooler(t *testing.T) {
	ctx, cancel := context.WithCancel(patient(t))
	pg := pgtest.Start(t)
	db := pg.Open(t)
	pooler := pg.Pooler(t, "default_pool_size = 1")
	mustExec(t, db, "CREATE TABLE a (k bigint PRIMARY KEY, v text)", "CREATE TABLE b (k bigint PRIMARY KEY, v text)",
		"CREATE TABLE c (k bigint PRIMARY KEY CHECK (k % 10 <> 0), v text)")
	var sinks []*sink
	for _, name := range []string{"a", "b", "c"} {
		sinks = append(sinks, open(t, config(pooler.DSN(), kv, []int{0}, "table="+name)))
	}
	straight := open(t, config(pg.DSN, kv, []int{0}, "table=a"))
	if g := straight.Group(); g != sinks[0].Group() {
		t.Fatalf("the database is %s, through the pooler %s", g, sinks[0].Group())
	}
	k, err := sinks[2].Committer(ctx, "job", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if err := k.Acquire(ctx, []connectors.Sink{sinks[0], sinks[1], sinks[2]}, false); err != nil {
		t.Fatal(err)
	}
	const rounds = 60
	var wg sync.WaitGroup
	defer func() {
		cancel()
		wg.Wait()
	}()
	for i := range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			w, err := sinks[i].OpenWriter(ctx, connectors.WriterContext{Job: "job", Attempt: 1, Refused: fail})
			if err != nil {
				t.Error(err)
				return
			}
			defer w.Close()
			for n := range rounds {
				if err := w.Write(ctx, batch(fmt.Sprintf("+%d,v%d +%d,w", n, n, n+1))); err != nil {
					t.Error(err)
					return
				}
				if err := w.Flush(ctx); err != nil {
					t.Error(err)
					return
				}
				if n == 20 {
					// A plan that was prepared before would not fit any more.
					mustExec(t, db, fmt.Sprintf("ALTER TABLE %s ADD COLUMN more int", sinks[i].table), fmt.Sprintf("ALTER TABLE %s ALTER COLUMN v TYPE varchar(50)", sinks[i].table))
				}
				if n == 40 && i == 0 {
					if err := pooler.Kill(); err != nil {
						t.Error(err)
					}
					time.Sleep(50 * time.Millisecond)
					if err := pooler.Start(context.Background()); err != nil {
						t.Error(err)
						cancel() // the others wait for it
						return
					}
				}
			}
		}()
	}
	skip := func(*vec.Batch, int, *sqlerr.Error) error { return nil }
	for e := 1; e <= rounds; e++ {
		id := connectors.CommitID{Job: "job", Attempt: 1, Epoch: stream.Epoch(e), Prev: stream.Epoch(e - 1), Checksum: "x"}
		p := part(sinks[2], skip, batch(fmt.Sprintf("+%d,e%d +%d,x", e, e, 10*e)))
		for {
			err := k.Commit(ctx, id, []connectors.Part{p})
			if err == nil {
				break
			}
			if x := sqlerr.As(err); x == nil || !x.Retry || ctx.Err() != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	wg.Wait()
	for _, table := range []string{"a", "b"} {
		want(t, pg, db, "SELECT count(*), count(*) FILTER (WHERE v = 'v' || k) FROM "+table, fmt.Sprintf("%d|%d", rounds+1, rounds))
	}
	want(t, pg, db, "SELECT count(*), count(*) FILTER (WHERE v = 'e' || k) FROM c", fmt.Sprintf("%d|%d", rounds-rounds/10, rounds-rounds/10))
}

// TestPoolersThatCannot: what has to be set at the pooler is said at the start, and not
// waited for.
func TestPoolersThatCannot(t *testing.T) {
	for _, c := range []struct{ name, setting, dsn, hint string }{
		{"statement mode", "pool_mode = statement", "", "transaction"},
		{"a parameter of the start", "pool_mode = transaction", "&options=-c%20geqo%3Doff", "ignore_startup_parameters"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pg := pgtest.Start(t)
			mustExec(t, pg.Open(t), "CREATE TABLE t (k bigint PRIMARY KEY, v text)")
			s, err := openSink(ctx, config(pg.Pooler(t, c.setting).DSN()+c.dsn, kv, []int{0}))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			e := sqlerr.As(s.Check(patient(t)))
			if e == nil || e.Retry || e.Class != sqlerr.User || !strings.Contains(e.Hint, c.hint) {
				t.Fatalf("%+v", e)
			}
		})
	}
}
