package postgres

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/pgtest"
)

// TestLocked: a write that waits for another session's lock says so, and goes on when the
// lock is given up.
func TestLocked(t *testing.T) {
	pg := pgtest.Start(t)
	db := pg.Open(t)
	mustExec(t, db, "CREATE TABLE t (k bigint PRIMARY KEY, v text)", "INSERT INTO t VALUES (1, 'old')")
	for _, c := range []struct{ mode, lock, says string }{
		{"upsert", "LOCK TABLE t", "table t is locked in PostgreSQL by session "},
		{"wal", "LOCK TABLE t", "table t is locked in PostgreSQL by session "},
		{"wal", "UPDATE t SET v = 'theirs'", "rows are locked in PostgreSQL by session "},
	} {
		s := open(t, config(pg.DSN, kv, []int{0}, "mode="+c.mode))
		// The lock is held for longer than a server may be silent.
		s.db.Close()
		p, err := connector(pg.DSN, dialer{timeout: lockPatience + time.Second, locks: s.locks})
		if err != nil {
			t.Fatal(err)
		}
		s.db = sql.OpenDB(p)
		k, err := s.Committer(ctx, "job", 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Acquire(ctx, []connectors.Sink{s}, true); err != nil {
			t.Fatal(err)
		}
		other, err := db.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.ExecContext(ctx, "SET application_name = 'other'; BEGIN; "+c.lock); err != nil {
			t.Fatal(err)
		}
		f, err := k.Fence(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var rep connectors.Reporter = k.(*committer)
		res, limit := make(chan error, 1), patient(t)
		if c.mode == "upsert" {
			w, err := s.OpenWriter(ctx, connectors.WriterContext{Job: "job", Attempt: 1, Refused: fail})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if err := w.Write(ctx, batch("+1,ours")); err != nil {
				t.Fatal(err)
			}
			rep = w.(*writer)
			go func() { res <- w.Flush(limit) }()
		} else {
			id := connectors.CommitID{Job: "job", Attempt: 1, Epoch: f.Epoch + 1, Prev: f.Epoch, Checksum: "x"}
			go func() { res <- k.Commit(limit, id, []connectors.Part{part(s, fail, batch("+1,ours"))}) }()
		}
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			says := rep.Status().Waiting
			if strings.HasPrefix(says, c.says) && strings.HasSuffix(says, " (other)") {
				break
			}
			if says != "" || time.Now().After(end) {
				t.Fatalf("%s, %s: it says %q", c.mode, c.lock, says)
			}
		}
		select {
		case err := <-res:
			t.Fatalf("%s, %s: it does not wait: %v", c.mode, c.lock, err)
		case <-time.After(2 * time.Second):
		}
		if _, err := other.ExecContext(ctx, "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
		if err := <-res; err != nil {
			t.Fatalf("%s, %s: %v", c.mode, c.lock, err)
		}
		if says := rep.Status().Waiting; says != "" {
			t.Errorf("%s, %s: then it says %q", c.mode, c.lock, says)
		}
		want(t, pg, db, "SELECT * FROM t", "1|ours")
		other.Close()
		k.Close()
	}
}
