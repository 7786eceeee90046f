package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/pgtest"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

var ctx = context.Background()

// patient is ctx with an end, for what waits until a server is back.
func patient(t *testing.T) context.Context {
	c, cancel := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	return c
}

var kv = types.Schema{{Name: "k", Type: types.TBigInt}, {Name: "v", Type: types.TText}}

func config(dsn string, schema types.Schema, key []int, options ...string) connectors.Config {
	o := map[string]string{"url": dsn}
	for _, x := range Connector().Options {
		if x.Default != "" {
			o[x.Name] = x.Default
		}
	}
	for _, kv := range options {
		k, v, _ := strings.Cut(kv, "=")
		o[k] = v
	}
	return connectors.Config{Table: "t", Options: o, Schema: schema, Key: key}
}

func open(t *testing.T, cfg connectors.Config) *sink {
	t.Helper()
	s, err := openSink(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Check(ctx); err != nil {
		t.Fatal(err)
	}
	return s.(*sink)
}

func acquire(t *testing.T, s *sink, job string, attempt uint64) connectors.Committer {
	t.Helper()
	c, err := s.Committer(ctx, job, attempt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.Acquire(ctx, []connectors.Sink{s}, false); err != nil {
		t.Fatal(err)
	}
	return c
}

// batch reads "+1,a -1,a": signs and values of kv.
func batch(rows string) *vec.Batch {
	b := vec.NewBatch(kv.Types(), 8)
	for _, f := range strings.Fields(rows) {
		k, v, _ := strings.Cut(f[1:], ",")
		var n int64
		fmt.Sscan(k, &n)
		b.Cols[0].AppendInt64(n)
		if v == "∅" {
			b.Cols[1].AppendNull()
		} else {
			b.Cols[1].AppendString(v)
		}
		op := vec.Insert
		if f[0] == '-' {
			op = vec.Delete
		}
		b.AppendOp(op)
	}
	return b
}

func part(s *sink, refused refuse, batches ...*vec.Batch) connectors.Part {
	return connectors.Part{Sink: s, Refused: refused, Rows: func(ctx context.Context, yield func(*vec.Batch) error) error {
		for _, b := range batches {
			if err := yield(b); err != nil {
				return err
			}
		}
		return nil
	}}
}

func fail(_ *vec.Batch, _ int, cause *sqlerr.Error) error { return cause }

func want(t *testing.T, pg *pgtest.Server, db *sql.DB, query string, rows ...string) {
	t.Helper()
	if got := pg.Rows(t, db, query); !reflect.DeepEqual(got, rows) && len(got)+len(rows) > 0 {
		t.Fatalf("%s\n got %q\nwant %q", query, got, rows)
	}
}

// TestFold has the cases of one key twice in a batch, a delete that overtakes an
// insert.
func TestFold(t *testing.T) {
	pg := pgtest.Start(t)
	db := pg.Open(t)
	mustExec(t, db, "CREATE TABLE t (k bigint PRIMARY KEY, v text)")
	s := open(t, config(pg.DSN, kv, []int{0}))
	acquire(t, s, "job", 1)
	cases := []struct{ before, rows, want string }{
		{"", "+1,a +1,b +2,c +1,d", "1|d 2|c"},
		{"+7,r1", "+7,r2 -7,r1", "7|r2"},
		{"+7,r1", "-7,r1 +7,r2", "7|r2"},
		{"+7,r1", "-7,r1", ""},
		{"", "+1,a -1,a", ""},
		{"+1,a", "+1,∅", "1|∅"},
	}
	for _, c := range cases {
		mustExec(t, db, "TRUNCATE t")
		w, err := s.OpenWriter(ctx, connectors.WriterContext{Job: "job", Attempt: 1, Refused: fail})
		if err != nil {
			t.Fatal(err)
		}
		for _, rows := range []string{c.before, c.rows} {
			if err := w.Write(ctx, batch(rows)); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(ctx); err != nil {
				t.Fatal(err)
			}
		}
		w.Close()
		want(t, pg, db, "SELECT * FROM t ORDER BY k", strings.Fields(c.want)...)
	}
}

// TestKeysEqualOnlyInPostgres: the driver sees two keys, the index one.
func TestKeysEqualOnlyInPostgres(t *testing.T) {
	pg := pgtest.Start(t)
	db := pg.Open(t)
	mustExec(t, db, "CREATE TABLE t (k char(5) PRIMARY KEY, v bigint)")
	schema := types.Schema{{Name: "k", Type: types.TText}, {Name: "v", Type: types.TBigInt}}
	s := open(t, config(pg.DSN, schema, []int{0}))
	acquire(t, s, "job", 1)
	w, _ := s.OpenWriter(ctx, connectors.WriterContext{Job: "job", Attempt: 1, Refused: fail})
	b := vec.NewBatch(schema.Types(), 4)
	for i, k := range []string{"a ", "b", "a"} {
		b.Cols[0].AppendString(k)
		b.Cols[1].AppendInt64(int64(i))
		b.AppendOp(vec.Insert)
	}
	if err := w.Write(ctx, b); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	want(t, pg, db, "SELECT trim(k), v FROM t ORDER BY k", "a|2", "b|1")
}

// TestSecondUniqueIndex: a swap of unique values needs the rows' own order.
func TestSecondUniqueIndex(t *testing.T) {
	pg := pgtest.Start(t)
	db := pg.Open(t)
	mustExec(t, db, "CREATE TABLE t (k bigint PRIMARY KEY, v text UNIQUE)", "INSERT INTO t VALUES (1,'a'),(2,'b')")
	s := open(t, config(pg.DSN, kv, []int{0}))
	c := acquire(t, s, "job", 1)
	id := connectors.CommitID{Job: "job", Attempt: 1, Epoch: 1, Checksum: "x"}
	if err := c.Commit(ctx, id, []connectors.Part{part(s, fail, batch("+1,c +2,a +1,b"))}); err != nil {
		t.Fatal(err)
	}
	want(t, pg, db, "SELECT * FROM t ORDER BY k", "1|b", "2|a")
}

func TestCommitOnceAndFenced(t *testing.T) {
	pg := pgtest.Start(t)
	db := pg.Open(t)
	mustExec(t, db, "CREATE TABLE t (k bigint, v text)")
	s := open(t, config(pg.DSN, kv, nil, "mode=append"))
	one := acquire(t, s, "job", 1)
	id := connectors.CommitID{Job: "job", Attempt: 1, Epoch: 5, Checksum: "m5"}
	for range 3 {
		if err := one.Commit(ctx, id, []connectors.Part{part(s, fail, batch("+1,a +2,b"), batch("+3,c"))}); err != nil {
			t.Fatal(err)
		}
	}
	want(t, pg, db, "SELECT * FROM t ORDER BY k", "1|a", "2|b", "3|c")
	f, err := one.Fence(ctx)
	if err != nil || !f.Known || f.Epoch != 5 || f.Checksum != "m5" || f.Attempt != 1 {
		t.Fatalf("fence %+v, %v", f, err)
	}
	two := acquire(t, s, "job", 2)
	id.Epoch = 6
	if err := one.Commit(ctx, id, []connectors.Part{part(s, fail, batch("+9,z"))}); sqlerr.CodeOf(err) != sqlerr.CodeFenced {
		t.Fatalf("a superseded attempt committed: %v", err)
	}
	w, _ := s.OpenWriter(ctx, connectors.WriterContext{Job: "job", Attempt: 1, Refused: fail})
	if err := w.Write(ctx, batch("+9,z")); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(ctx); sqlerr.CodeOf(err) != sqlerr.CodeFenced {
		t.Fatalf("a superseded attempt wrote: %v", err)
	}
	id.Attempt = 2
	id.Epoch = 4
	if err := two.Commit(ctx, id, nil); sqlerr.CodeOf(err) != sqlerr.CodeFenced {
		t.Fatalf("an epoch below the fence was committed: %v", err)
	}
	other, _ := s.Committer(ctx, "other", 1)
	defer other.Close()
	if err := other.Acquire(ctx, []connectors.Sink{s}, false); sqlerr.CodeOf(err) != sqlerr.CodeFenced {
		t.Fatalf("another job took the table without asking: %v", err)
	}
	if err := two.(connectors.Relinquisher).Relinquish(ctx); err != nil {
		t.Fatal(err)
	}
	if err := other.Acquire(ctx, []connectors.Sink{s}, false); err != nil {
		t.Fatalf("a table that was given up: %v", err)
	}
	if err := two.Acquire(ctx, []connectors.Sink{s}, false); sqlerr.CodeOf(err) != sqlerr.CodeFenced {
		t.Fatalf("the first job took the table back without asking: %v", err)
	}
	if err := two.Acquire(ctx, []connectors.Sink{s}, true); err != nil {
		t.Fatalf("take over: %v", err)
	}
	want(t, pg, db, "SELECT count(*) FROM t", "3")
}

// TestRefusedRows: one row in a thousand that the table's CHECK refuses goes to the
// policy, its neighbours are written, and under "fail" nothing of the epoch is.
func TestRefusedRows(t *testing.T) {
	pg := pgtest.Start(t)
	db := pg.Open(t)
	mustExec(t, db, "CREATE TABLE t (k bigint PRIMARY KEY CHECK (k <> 500), v varchar(3) NOT NULL)")
	s := open(t, config(pg.DSN, kv, []int{0}, "mode=wal"))
	c := acquire(t, s, "job", 1)
	var rows strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&rows, "+%d,v ", i)
	}
	rows.WriteString("+1001,∅ +1002,toolong +1003,ééé")
	var refusedRows []string
	policy := func(b *vec.Batch, row int, cause *sqlerr.Error) error {
		refusedRows = append(refusedRows, fmt.Sprintf("%d:%s", b.Cols[0].I64[row], cause.Code))
		return nil
	}
	id := connectors.CommitID{Job: "job", Attempt: 1, Epoch: 1, Checksum: "x"}
	err := c.Commit(ctx, id, []connectors.Part{part(s, fail, batch(rows.String()))})
	if err == nil || sqlerr.As(err).Retry {
		t.Fatalf("policy fail: %v", err)
	}
	want(t, pg, db, "SELECT count(*) FROM t", "0")
	if err := c.Commit(ctx, id, []connectors.Part{part(s, policy, batch(rows.String()))}); err != nil {
		t.Fatal(err)
	}
	want(t, pg, db, "SELECT count(*), max(k) FROM t", "1000|1003")
	if got := strings.Join(refusedRows, " "); got != "1001:23502 1002:22001 500:23514" {
		t.Fatalf("refused %s", got)
	}
}

func TestNULIsRefused(t *testing.T) {
	pg := pgtest.Start(t)
	db := pg.Open(t)
	mustExec(t, db, "CREATE TABLE t (k bigint PRIMARY KEY, v text)")
	s := open(t, config(pg.DSN, kv, []int{0}))
	acquire(t, s, "job", 1)
	var code string
	w, _ := s.OpenWriter(ctx, connectors.WriterContext{Job: "job", Attempt: 1,
		Refused: func(_ *vec.Batch, _ int, cause *sqlerr.Error) error { code = cause.Code; return nil }})
	if err := w.Write(ctx, batch("+1,a +2,x\x00y")); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	want(t, pg, db, "SELECT * FROM t", "1|a")
	if code != sqlerr.CodeInvalidEncoding {
		t.Fatalf("code %q", code)
	}
}

// TestDefaultSSLMode: without sslmode the connection is encrypted if the server can, as
// libpq does.
func TestDefaultSSLMode(t *testing.T) {
	pg := pgtest.Start(t)
	mustExec(t, pg.Open(t), "CREATE TABLE t (k bigint PRIMARY KEY, v text)")
	for _, dsn := range []string{
		strings.ReplaceAll(pg.DSN, "?sslmode=disable", ""),
		fmt.Sprintf("host=127.0.0.1 port=%d user=%s dbname=postgres", pg.Port(), "streamsql"),
	} {
		open(t, config(dsn, kv, []int{0}))
	}
}

func TestSchemaMismatchIsNamed(t *testing.T) {
	pg := pgtest.Start(t)
	db := pg.Open(t)
	mustExec(t, db, `CREATE TABLE t (k bigint, v text, i int, s smallint, z timestamptz, n numeric(5,2), must int NOT NULL, "X" int, x int)`,
		"CREATE TABLE keyed (k bigint PRIMARY KEY, v text)", "CREATE TABLE unkeyed (k bigint, v text)",
		"CREATE VIEW seen AS SELECT * FROM keyed", "CREATE TABLE identity (k bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v text)",
		"CREATE TABLE computed (k bigint PRIMARY KEY, v text GENERATED ALWAYS AS ('x') STORED)")
	cases := []struct {
		name    string
		schema  types.Schema
		key     []int
		options []string
		parts   []string
	}{
		{"text into int", types.Schema{{Name: "i", Type: types.TText}}, nil, nil, []string{`"i"`, "integer", "VARCHAR"}},
		{"bigint into smallint", types.Schema{{Name: "s", Type: types.TBigInt}}, nil, nil, []string{`"s"`, "smallint", "BIGINT"}},
		{"timestamp into timestamptz", types.Schema{{Name: "z", Type: types.TTimestamp(3)}}, nil, nil, []string{`"z"`, "with time zone", "TIMESTAMP(3)"}},
		{"decimal that would be rounded", types.Schema{{Name: "n", Type: types.TDecimal(10, 3)}}, nil, nil, []string{`"n"`, "numeric(5,2)"}},
		{"missing not null column", types.Schema{{Name: "k", Type: types.TBigInt}}, nil, nil, []string{`"must"`, "NOT NULL"}},
		{"no such column", types.Schema{{Name: "vv", Type: types.TText}}, nil, nil, []string{`"vv"`, "no column"}},
		{"two columns that differ in case", types.Schema{{Name: "xX"[:1], Type: types.TInt}, {Name: "X", Type: types.TInt}, {Name: "must", Type: types.TInt}, {Name: "K", Type: types.TBigInt}, {Name: "k", Type: types.TBigInt}}, nil, nil, []string{`"K"`, `"k"`}},
		{"no unique index", kv, []int{0}, []string{"table=unkeyed"}, []string{"unique index", `"k"`}},
		{"no such table", kv, []int{0}, []string{"table=keyd"}, []string{"does not exist"}},
		{"a view", kv, []int{0}, []string{"table=seen"}, []string{`"seen"`, "a view"}},
		{"a view, to be made", kv, []int{0}, []string{"table=seen", "auto.create=true"}, []string{`"seen"`, "a view"}},
		{"a generated identity", kv, []int{0}, []string{"table=identity"}, []string{`"k"`, "GENERATED ALWAYS"}},
		{"a computed column", kv, []int{0}, []string{"table=computed"}, []string{`"v"`, "GENERATED ALWAYS"}},
	}
	for _, c := range cases {
		s, err := openSink(ctx, config(pg.DSN, c.schema, c.key, c.options...))
		if err != nil {
			t.Fatal(err)
		}
		err = s.Check(ctx)
		s.Close()
		e := sqlerr.As(err)
		if e == nil || e.Code != sqlerr.CodeSchema || e.Retry {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, p := range c.parts {
			if !strings.Contains(e.Msg, p) {
				t.Errorf("%s: %q does not name %s", c.name, e.Msg, p)
			}
		}
		if e.Hint == "" && !strings.Contains(c.name, "differ in case") {
			t.Errorf("%s: no hint", c.name)
		}
	}
	s := open(t, config(pg.DSN, kv, []int{0}, "table=made", "auto.create=true"))
	if s.target.cols[0].typ != "bigint" {
		t.Fatal("auto.create made another table")
	}
}

func TestEveryTypeArrives(t *testing.T) {
	pg := pgtest.Start(t)
	db := pg.Open(t)
	mustExec(t, db, "CREATE TYPE mood AS ENUM ('sad','ok')",
		`CREATE TABLE t (a boolean, b smallint, c int, d bigint, e real, f double precision, g numeric, h numeric(20,4), i text, j varchar(9),
			k bytea, l date, m time, n timestamp, o timestamptz, p interval, q jsonb, r uuid, s mood, u inet)`)
	values := []struct {
		name string
		v    types.Value
		want string
	}{
		{"a", types.BoolValue(true), "true"},
		{"b", types.IntValue(types.TSmallInt, -32768), "-32768"},
		{"c", types.IntValue(types.TInt, 2147483647), "2147483647"},
		{"d", types.IntValue(types.TBigInt, 9007199254740993), "9007199254740993"},
		{"e", types.Value{Type: types.TReal, F: float64(float32(0.1))}, "0.1"},
		{"f", types.FloatValue(-1.5e300), "-1.5e+300"},
		{"g", types.DecimalValue(types.TDecimal(38, 18), mustDec(t, "-12345678901234567890123456789012345678")), "-12345678901234567890.123456789012345678"},
		{"h", types.DecimalValue(types.TDecimal(6, 2), types.I128(-5)), "-0.0500"},
		{"i", types.TextValue("it's \\ \"日本\""), "it's \\ \"日本\""},
		{"j", types.TextValue("{},NULL"), "{},NULL"},
		{"k", types.Value{Type: types.TBytes, S: "\x00\xff"}, "\\x00ff"},
		{"l", types.IntValue(types.TDate, -1), "1969-12-31"},
		{"m", types.IntValue(types.TTime, 86399_999999), "23:59:59.999999"},
		{"n", types.IntValue(types.TTimestamp(6), -1), "1969-12-31 23:59:59.999999"},
		{"o", types.IntValue(types.TTimestampTZ(3), 1704067200_000000), "2024-01-01 00:00:00+00"},
		{"p", types.Value{Type: types.TInterval, Iv: types.IntervalValue{Months: 14, Days: -3, Micros: 1500000}}, "1 year 2 mons -3 days +00:00:01.5"},
		{"q", types.Value{Type: types.TJSON, S: `{"x":18014398509481985}`}, `{"x": 18014398509481985}`},
		{"r", types.Value{Type: types.TUUID, S: "00112233-4455-6677-8899-aabbccddeeff"}, "00112233-4455-6677-8899-aabbccddeeff"},
		{"s", types.TextValue("ok"), "ok"},
		{"u", types.TextValue("10.0.0.0/8"), "10.0.0.0/8"},
	}
	var schema types.Schema
	var wants, nulls, sel []string
	for _, x := range values {
		schema = append(schema, types.Column{Name: x.name, Type: x.v.Type})
		wants = append(wants, x.want)
		nulls = append(nulls, "∅")
		sel = append(sel, x.name+"::text")
	}
	s := open(t, config(pg.DSN, schema, nil, "mode=append"))
	c := acquire(t, s, "job", 1)
	b := vec.NewBatch(schema.Types(), 2)
	for i, x := range values {
		b.Cols[i].AppendValue(x.v)
		b.Cols[i].AppendNull()
	}
	b.N = 2
	id := connectors.CommitID{Job: "job", Attempt: 1, Epoch: 1, Checksum: "x"}
	if err := c.Commit(ctx, id, []connectors.Part{part(s, fail, b)}); err != nil {
		t.Fatal(err)
	}
	mustExec(t, db, "SET timezone = 'UTC'")
	want(t, pg, db, "SELECT "+strings.Join(sel, ", ")+" FROM t ORDER BY a", strings.Join(wants, "|"), strings.Join(nulls, "|"))
}

func mustDec(t *testing.T, digits string) (d types.Int128) {
	t.Helper()
	if err := d.UnmarshalJSON([]byte(`"` + digits + `"`)); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSecretsStayHidden(t *testing.T) {
	const secret = "s3cr3t-passw0rd"
	pg := pgtest.Start(t)
	for _, dsn := range []string{
		"postgres://u:" + secret + "@127.0.0.1:1/x?sslmode=disable",
		"postgres://u:" + secret + "@[bad/x",
		"host=127.0.0.1 port=1 password='" + secret,
		fmt.Sprintf("host=127.0.0.1 port=%d user=nobody_here password=%s dbname=nosuchdb sslmode=disable", pg.Port(), secret),
	} {
		s, err := openSink(ctx, config(dsn, kv, nil))
		if err == nil {
			c, cancel := context.WithTimeout(ctx, 5*time.Second)
			err = s.Check(c)
			cancel()
			s.Close()
		}
		if err == nil {
			t.Fatalf("connected with %q", dsn)
		}
		if text := sqlerr.Render(err, ""); strings.Contains(text, secret) {
			t.Fatalf("the password is shown: %s", text)
		}
	}
}

// TestRestartsUnderLoad: the server is stopped in three ways in mid-batch, and comes
// back once read-only; the writer waits and the table is exact.
func TestRestartsUnderLoad(t *testing.T) {
	pg := pgtest.Start(t)
	db := pg.Open(t)
	mustExec(t, db, "CREATE TABLE t (k bigint PRIMARY KEY, v text)")
	s := open(t, config(pg.DSN, kv, []int{0}, "batch.rows=200"))
	acquire(t, s, "job", 1)
	var stalls int
	w, _ := s.OpenWriter(ctx, connectors.WriterContext{Job: "job", Attempt: 1, Refused: fail,
		Stalled: func(cause error) {
			if cause != nil {
				stalls++
			}
		}})
	model := make(map[int64]string)
	stop := make(chan struct{})
	ctx, cancel := context.WithCancelCause(patient(t))
	defer func() {
		cancel(nil)
		<-stop // nobody starts the server again behind the end
	}()
	go func() {
		defer close(stop)
		for _, end := range []func() error{pg.StopImmediate, pg.Stop, pg.Kill, pg.StopImmediate, pg.Stop} {
			time.Sleep(100 * time.Millisecond)
			if ctx.Err() != nil {
				return
			}
			if err := errors.Join(end(), pg.Cluster.Start(ctx)); err != nil {
				cancel(err)
				return
			}
		}
	}()
	for i := 0; ; i++ {
		b := vec.NewBatch(kv.Types(), 100)
		for range 100 {
			k, v := rand.Int64N(5000), fmt.Sprint(i)
			b.Cols[0].AppendInt64(k)
			b.Cols[1].AppendString(v)
			b.AppendOp(vec.Insert)
			model[k] = v
		}
		if err := w.Write(ctx, b); err != nil {
			t.Fatal(err, context.Cause(ctx))
		}
		b.Release()
		select {
		case <-stop:
		default:
			continue
		}
		break
	}
	if err := w.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if stalls == 0 {
		t.Fatal("no outage was met: the test proves nothing")
	}
	db2 := pg.Open(t)
	got := pg.Rows(t, db2, "SELECT k, v FROM t")
	if len(got) != len(model) {
		t.Fatalf("%d rows, want %d", len(got), len(model))
	}
	for _, r := range got {
		k, v, _ := strings.Cut(r, "|")
		var n int64
		fmt.Sscan(k, &n)
		if model[n] != v {
			t.Fatalf("key %d is %q, want %q", n, v, model[n])
		}
	}
}

func TestReadOnlyIsNotYet(t *testing.T) {
	pg := pgtest.Start(t)
	db := pg.Open(t)
	mustExec(t, db, "CREATE TABLE t (k bigint PRIMARY KEY, v text)")
	s := open(t, config(pg.DSN, kv, []int{0}))
	acquire(t, s, "job", 1)
	mustExec(t, db, "ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
	// A new connection that has the setting comes from a server that has told the others.
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		fresh := pg.Open(t)
		got := pg.Rows(t, fresh, "SELECT current_setting('default_transaction_read_only')")
		fresh.Close()
		if got[0] == "on" {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the server does not take the setting")
		}
	}
	stalled := make(chan error, 1)
	w, _ := s.OpenWriter(ctx, connectors.WriterContext{Job: "job", Attempt: 1, Refused: fail,
		Stalled: func(cause error) {
			select {
			case stalled <- cause:
			default: // the first reason is enough
			}
		}})
	if err := w.Write(ctx, batch("+1,a")); err != nil {
		t.Fatal(err)
	}
	res, limit := make(chan error, 1), patient(t)
	go func() { res <- w.Flush(limit) }()
	select {
	case cause := <-stalled:
		if sqlerr.CodeOf(cause) != sqlerr.CodeNotReady {
			t.Fatalf("stalled by %v", cause)
		}
	case err := <-res:
		t.Fatalf("wrote to a read-only server: %v", err)
	}
	mustExec(t, db, "ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()")
	if err := <-res; err != nil {
		t.Fatal(err)
	}
	want(t, pg, db, "SELECT * FROM t", "1|a")
}

// TestSinksCommitTogether: two tables of a job are at one epoch in every snapshot.
func TestSinksCommitTogether(t *testing.T) {
	pg := pgtest.Start(t)
	db := pg.Open(t)
	mustExec(t, db, "CREATE TABLE t (k bigint PRIMARY KEY, v text)", "CREATE TABLE t2 (k bigint PRIMARY KEY, v text)")
	a := open(t, config(pg.DSN, kv, []int{0}, "mode=wal"))
	b := open(t, config(pg.DSN, kv, []int{0}, "mode=wal", "table=t2"))
	if a.Group() != b.Group() {
		t.Fatalf("groups %q and %q", a.Group(), b.Group())
	}
	c, _ := a.Committer(ctx, "job", 1)
	defer c.Close()
	if err := c.Acquire(ctx, []connectors.Sink{a, b}, false); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	seen := make(chan string, 1)
	go func() {
		defer close(seen)
		for {
			select {
			case <-stop:
				return
			default:
			}
			var x, y sql.NullString
			if err := db.QueryRow("SELECT (SELECT v FROM t), (SELECT v FROM t2)").Scan(&x, &y); err != nil || x != y {
				seen <- fmt.Sprint(x, y, err)
				return
			}
		}
	}()
	for e := 1; e <= 60; e++ {
		id := connectors.CommitID{Job: "job", Attempt: 1, Epoch: stream.Epoch(e), Prev: stream.Epoch(e - 1), Checksum: "x"}
		rows := batch(fmt.Sprintf("+1,e%d", e))
		if err := c.Commit(ctx, id, []connectors.Part{part(a, fail, rows), part(b, fail, rows)}); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if bad, ok := <-seen; ok {
		t.Fatalf("a reader saw two epochs: %s", bad)
	}
	want(t, pg, db, "SELECT t.v, t2.v FROM t, t2", "e60|e60")
}

func mustExec(t *testing.T, db *sql.DB, stmts ...string) {
	t.Helper()
	for _, s := range stmts {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}
