package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/pgtest"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/vec"
)

// watched is a driver that tells of every statement without a result before and after
// it; what after returns is the statement's error.
type watched struct {
	driver.Connector
	after func(stmt string, err error) error
}

type watchedConn struct {
	driver.Conn
	w *watched
}

func (w *watched) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := w.Connector.Connect(ctx)
	return &watchedConn{c, w}, err
}

func (c *watchedConn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	r, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, q, args)
	return r, c.w.after(q, err)
}

func (c *watchedConn) QueryContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, q, args)
}

// watch puts itself between the sink and its database.
func watch(t *testing.T, s *sink, after func(stmt string, err error) error) {
	t.Helper()
	text, err := dsn(s.cfg.Options)
	if err != nil {
		t.Fatal(err)
	}
	c, err := connector(text, dialer{timeout: ioTimeout})
	if err != nil {
		t.Fatal(err)
	}
	s.db.Close()
	s.db = sql.OpenDB(&watched{c, after})
}

// TestRefusedByTheDatabase has what a database refuses by itself, in large epochs: some
// twenty statements find a row among thousands, all others are written.
func TestRefusedByTheDatabase(t *testing.T) {
	pg := pgtest.Start(t)
	db := pg.Open(t)
	const rows = 20_000
	bad := []int{0, 777, 9_999, 10_000, 19_999}
	row := func(i int) string { return fmt.Sprintf("+%d,v%d ", i, i) }
	all := func(_ int) bool { return true }
	few := func(i int) bool { return slices.Contains(bad, i) }
	for _, c := range []struct {
		name  string
		ddl   []string
		code  string
		row   func(i int) string
		bad   func(int) bool
		noKey bool
		n     int
	}{
		{name: "CHECK", ddl: []string{"CREATE TABLE t (k bigint PRIMARY KEY, v text CHECK (v NOT LIKE 'bad%'))"}, code: "23514"},
		{name: "CHECK without key", ddl: []string{"CREATE TABLE t (k bigint, v text CHECK (v NOT LIKE 'bad%'))"}, code: "23514", noKey: true},
		{name: "foreign key", ddl: []string{"CREATE TABLE p (v text PRIMARY KEY)", "INSERT INTO p SELECT 'v' || n FROM generate_series(0, 20000) n",
			"CREATE TABLE t (k bigint PRIMARY KEY, v text REFERENCES p)"}, code: "23503"},
		{name: "foreign key checked at the end", ddl: []string{"CREATE TABLE p (v text PRIMARY KEY)", "INSERT INTO p SELECT 'v' || n FROM generate_series(0, 20000) n",
			"CREATE TABLE t (k bigint PRIMARY KEY, v text REFERENCES p DEFERRABLE INITIALLY DEFERRED)"}, code: "23503"},
		{name: "trigger", ddl: []string{"CREATE TABLE t (k bigint PRIMARY KEY, v text)",
			"CREATE OR REPLACE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.v LIKE 'bad%' THEN RAISE EXCEPTION 'no %', NEW.k; END IF; RETURN NEW; END $$",
			"CREATE TRIGGER no BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION no()"}, code: "P0001"},
		{name: "overflow", ddl: []string{"CREATE TABLE t (k bigint PRIMARY KEY, v text, n int GENERATED ALWAYS AS (CASE WHEN v LIKE 'bad%' THEN 2147483647 ELSE 0 END + 1) STORED)"}, code: "22003"},
		{name: "another unique index", ddl: []string{"CREATE TABLE t (k bigint PRIMARY KEY, v text UNIQUE)", "INSERT INTO t VALUES (-1, 'bad')"}, code: "23505",
			row: func(i int) string {
				if few(i) {
					return fmt.Sprintf("+%d,bad ", i)
				}
				return row(i)
			}},
		{name: "delete", ddl: []string{"CREATE TABLE t (k bigint PRIMARY KEY, v text)", "INSERT INTO t SELECT n, 'v' || n FROM generate_series(0, 19999) n",
			"CREATE TABLE c (k bigint REFERENCES t)", "INSERT INTO c VALUES (0), (777), (9999), (10000), (19999)"}, code: "23503",
			row: func(i int) string { return fmt.Sprintf("-%d,v%d ", i, i) }},
		{name: "all", ddl: []string{"CREATE TABLE t (k bigint PRIMARY KEY, v text CHECK (false))"}, code: "23514", bad: all, n: 700},
		{name: "none", ddl: []string{"CREATE TABLE t (k bigint PRIMARY KEY, v text)"}, bad: func(int) bool { return false }},
	} {
		t.Run(c.name, func(t *testing.T) {
			mustExec(t, db, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
			mustExec(t, db, c.ddl...)
			n, isBad := c.n, c.bad
			if n == 0 {
				n = rows
			}
			if isBad == nil {
				isBad = few
			}
			var text strings.Builder
			var wantRefused []string
			good := 0
			for i := range n {
				switch {
				case c.row != nil:
					text.WriteString(c.row(i))
				case isBad(i):
					fmt.Fprintf(&text, "+%d,bad%d ", i, i)
				default:
					text.WriteString(row(i))
				}
				if isBad(i) {
					wantRefused = append(wantRefused, fmt.Sprintf("%d:%s", i, c.code))
				} else {
					good++
				}
			}
			key, mode := []int{0}, "mode=wal"
			if c.noKey {
				key, mode = nil, "mode=append"
			}
			s := open(t, config(pg.DSN, kv, key, mode))
			statements := 0
			watch(t, s, func(_ string, err error) error { statements++; return err })
			k := acquire(t, s, "job", 1)
			statements = 0
			var got []string
			refused := func(b *vec.Batch, row int, cause *sqlerr.Error) error {
				got = append(got, fmt.Sprintf("%d:%s", b.Cols[0].I64[row], cause.Code))
				return nil
			}
			p := part(s, refused, batch(text.String()))
			replay := p.Rows
			p.Rows = func(ctx context.Context, yield func(*vec.Batch) error) error { got = nil; return replay(ctx, yield) }
			id := connectors.CommitID{Job: "job", Attempt: 1, Epoch: 1, Checksum: "x"}
			if err := k.Commit(ctx, id, []connectors.Part{p}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, wantRefused) {
				t.Fatalf("refused %d rows, want %d: %.300v", len(got), len(wantRefused), got)
			}
			if c.name == "delete" {
				want(t, pg, db, "SELECT count(*) FROM t", fmt.Sprint(len(bad)))
			} else {
				want(t, pg, db, "SELECT count(*) FROM t WHERE k >= 0", fmt.Sprint(good))
			}
			// A row costs two writes for each time that ten thousand can be halved, each
			// with a savepoint before it and some undone.
			if limit := 20 + len(wantRefused)*2*14*3; statements > limit {
				t.Errorf("%d statements for %d refused rows, more than %d", statements, len(wantRefused), limit)
			}
		})
	}
}

// TestRefusedInOrder: a row that was refused before the order of rows turned out to
// matter is told once.
func TestRefusedInOrder(t *testing.T) {
	pg := pgtest.Start(t)
	db := pg.Open(t)
	mustExec(t, db, "CREATE TABLE t (k bigint PRIMARY KEY CHECK (k <> 5), v text UNIQUE)", "INSERT INTO t VALUES (1, 'x'), (7, 'r1')")
	s := open(t, config(pg.DSN, kv, []int{0}))
	acquire(t, s, "job", 1)
	var got []string
	w, _ := s.OpenWriter(ctx, connectors.WriterContext{Job: "job", Attempt: 1, Refused: func(b *vec.Batch, row int, cause *sqlerr.Error) error {
		got = append(got, fmt.Sprintf("%d:%s", b.Cols[0].I64[row], cause.Code))
		return nil
	}})
	if err := w.Write(ctx, batch("+5,w +7,r2 -1,x +2,x +1,z -7,r1 +3,z")); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	want(t, pg, db, "SELECT * FROM t ORDER BY k", "1|z", "2|x", "7|r2")
	if s := strings.Join(got, " "); s != "5:23514 3:23505" {
		t.Fatalf("refused %s", s)
	}
}

// TestRefusedAreKeptWithTheFence: what a commit puts aside is there exactly if its rows
// are, also when the answer of the commit is lost.
func TestRefusedAreKeptWithTheFence(t *testing.T) {
	pg := pgtest.Start(t)
	db := pg.Open(t)
	mustExec(t, db, "CREATE TABLE t (k bigint PRIMARY KEY CHECK (k <> 2 AND pg_sleep(.01)::text = ''), v text)")
	s := open(t, config(pg.DSN, kv, []int{0}, "mode=wal", "batch.rows=2"))
	var lose string
	watch(t, s, func(stmt string, err error) error {
		if stmt == lose {
			lose = ""
			return driver.ErrBadConn
		}
		return err
	})
	k := acquire(t, s, "job", 1).(*committer)
	keptOf := func(epoch stream.Epoch) (out []string) {
		t.Helper()
		if err := k.Kept(ctx, epoch, 3, func(p []byte) error { out = append(out, string(p)); return nil }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	var aside []string
	p := part(s, func(b *vec.Batch, row int, _ *sqlerr.Error) error {
		aside = append(aside, fmt.Sprint(b.Cols[0].I64[row]))
		return nil
	}, batch("+1,a +2,b +3,c"), batch("+4,d +2,e"))
	p.Node = 3
	replay := p.Rows
	p.Rows = func(ctx context.Context, yield func(*vec.Batch) error) error { aside = nil; return replay(ctx, yield) }
	p.Diverted = func() []byte {
		if len(aside) == 0 {
			return nil
		}
		x := aside[0]
		aside = aside[1:]
		return []byte(x)
	}
	seen := -1
	last := connectors.Part{Node: 4, Sink: s, Refused: fail, Rows: func(ctx context.Context, yield func(*vec.Batch) error) error {
		// The question comes while rows are being written.
		err := yield(batch("+5,f +6,g +7,h"))
		seen = len(keptOf(1))
		return err
	}}
	id := connectors.CommitID{Job: "job", Attempt: 1, Epoch: 1, Checksum: "x"}
	for i, stmt := range []string{"RELEASE SAVEPOINT streamsql_batch", "COMMIT"} {
		lose = stmt
		if err := k.Commit(ctx, id, []connectors.Part{p, last}); err == nil || !sqlerr.As(err).Retry {
			t.Fatalf("%s: %v", stmt, err)
		}
		if got := keptOf(1); len(got) != 2*i {
			t.Fatalf("%s: kept %q", stmt, got)
		}
	}
	if seen != 2 {
		t.Errorf("the next part saw %d of 2 rows put aside", seen)
	}
	if err := k.Commit(ctx, id, []connectors.Part{p, last}); err != nil {
		t.Fatal(err)
	}
	if got := keptOf(1); !slices.Equal(got, []string{"2", "2"}) {
		t.Fatalf("kept %q", got)
	}
	want(t, pg, db, "SELECT k FROM t ORDER BY k", "1", "3", "4", "5", "6", "7")
	if err := k.Forget(ctx, 1, 3); err != nil || len(keptOf(1)) > 0 {
		t.Fatalf("after Forget: %v, %q", err, keptOf(1))
	}
}

// TestRefusedOnceByAWriter: a flush whose answer is lost is repeated, and tells of its
// refused rows once.
func TestRefusedOnceByAWriter(t *testing.T) {
	pg := pgtest.Start(t)
	db := pg.Open(t)
	mustExec(t, db, "CREATE TABLE t (k bigint PRIMARY KEY CHECK (k <> 2), v text)")
	s := open(t, config(pg.DSN, kv, []int{0}))
	lost := false
	watch(t, s, func(stmt string, err error) error {
		if stmt == "COMMIT" && !lost {
			lost = true
			return driver.ErrBadConn
		}
		return err
	})
	straight := open(t, config(pg.DSN, kv, []int{0}))
	acquire(t, straight, "job", 1)
	refused := 0
	w, _ := s.OpenWriter(ctx, connectors.WriterContext{Job: "job", Attempt: 1, Refused: func(*vec.Batch, int, *sqlerr.Error) error { refused++; return nil }})
	if err := w.Write(ctx, batch("+1,a +2,b +3,c")); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if !lost || refused != 1 {
		t.Fatalf("the answer was lost: %v; refused %d times", lost, refused)
	}
	want(t, pg, db, "SELECT k FROM t ORDER BY k", "1", "3")
}
