package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lib/pq"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/pgtest"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/operators/opcheck"
)

// fromEnv reads a number from the environment.
func fromEnv(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestRandomQueries asks random queries over random tables here and on PostgreSQL.
// STREAMSQL_SEED is the first seed, STREAMSQL_QUERIES how many follow.
func TestRandomQueries(t *testing.T) {
	t.Parallel()
	pg := pgtest.Start(t)
	db := pg.Open(t)
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("SET timezone = 'UTC'"); err != nil {
		t.Fatal(err)
	}
	first, n := fromEnv(t, "STREAMSQL_SEED", 1), fromEnv(t, "STREAMSQL_QUERIES", 300)
	answered, failed := 0, 0
	sum := make(map[string]int)
	for seed := first; seed < first+n; seed++ {
		c := newRandomCase(seed)
		rows, err := c.check(db, sum)
		if err == nil && seed%16 == 0 {
			err = c.checkKilled(t)
		}
		if err != nil {
			t.Errorf("%v\n%s\nreplay with: STREAMSQL_SEED=%d STREAMSQL_QUERIES=1 go test ./tests/sql -run TestRandomQueries", err, c, seed)
			if failed++; failed == 20 {
				t.Fatal("too many")
			}
		}
		if rows > 0 {
			answered++
		}
	}
	t.Logf("%d queries, %d with rows to compare; others: %v", n, answered, sum)
	if n >= 100 && uint64(answered) < n/2 {
		t.Errorf("only %d of %d queries had rows to compare", answered, n)
	}
}

// randomCase is a query over its own tables, run one way.
type randomCase struct {
	gen   *generator
	query genQuery
	cut   variant
	chunk int
	want  []string // PostgreSQL's answer
}

func newRandomCase(seed uint64) *randomCase {
	g := newGenerator(seed)
	for i := range 1 + g.IntN(2) {
		g.table(fmt.Sprintf("t%d", i))
	}
	return &randomCase{gen: g, query: g.query(g.IntN(4)), chunk: pick(g, 1, 2, 7, 100),
		cut: variant{parallelism: 1 + g.IntN(4), batch: pick(g, 0, 1, 2, 7)}}
}

func (c *randomCase) String() string {
	var b strings.Builder
	for _, t := range c.gen.tables {
		fmt.Fprintf(&b, "CREATE TABLE %s (%s)\n", t.name, t.columns)
		for _, r := range t.rows {
			fmt.Fprintf(&b, "  %s\n", r)
		}
	}
	fmt.Fprintf(&b, "%s;\nin PostgreSQL: %s\nparallelism %d, batches of %d rows, chunks of %d", ours.Replace(c.query.text), postgres.Replace(c.query.text), c.cut.parallelism, c.cut.batch, c.chunk)
	return b.String()
}

// check compares the two answers and gives the number of rows. Both fail or neither, but
// for the reasons of allowed.
func (c *randomCase) check(db *sql.DB, sum map[string]int) (int, error) {
	want, pgErr := c.postgres(db, c.query.text)
	if pgErr != nil && !refused(pgErr) {
		return 0, pgErr
	}
	got, ourErr := c.ours(c.query.text)
	if e := sqlerr.As(ourErr); ourErr != nil && (e == nil || e.Class == sqlerr.Internal) {
		return 0, fmt.Errorf("we fail: %s", sqlerr.Render(ourErr, ours.Replace(c.query.text)))
	}
	switch {
	case pgErr != nil && ourErr != nil:
		sum["both fail"]++
		return 0, nil
	case pgErr != nil || ourErr != nil:
		reason := c.allowed(db, pgErr, ourErr)
		if reason == "" && pgErr != nil {
			return 0, fmt.Errorf("PostgreSQL fails and we do not: %w", pgErr)
		}
		if reason == "" {
			return 0, fmt.Errorf("we fail: %s", sqlerr.Render(ourErr, ours.Replace(c.query.text)))
		}
		sum[reason]++
		return 0, nil
	}
	c.want = want
	return len(want), sameRows(got, want, c.query.columns)
}

func refused(err error) bool {
	var e *pq.Error
	return errors.As(err, &e)
}

// allowed names the reason for which only one side fails; "" is none. It is the whole
// list; that of values, row by row, is limitCase.allowed.
func (c *randomCase) allowed(db *sql.DB, pgErr, ourErr error) string {
	e := sqlerr.As(ourErr)
	switch {
	case e != nil && e.Code == sqlerr.CodeNumericOutOfRange && strings.Contains(e.Msg, "DECIMAL"):
		return "a DECIMAL has the digits of its type, 38 at most, a numeric of PostgreSQL any number"
	case e != nil && e.Code == sqlerr.CodeDatetimeOverflow && c.gen.hard:
		return "dates and timestamps end in the year 294246, PostgreSQL's timestamps in 294276, its dates later"
	}
	var pe *pq.Error
	if errors.As(pgErr, &pe) && pe.Code == "22008" && (strings.Contains(c.query.text, "DATE_TRUNC(") || strings.Contains(c.query.text, " AT TIME ZONE ")) {
		return "DATE_TRUNC and AT TIME ZONE may give a time before 24 November 4714 BC, where PostgreSQL fails"
	}
	// A part in which both fail: around it nobody reads the column, or its row.
	for _, part := range c.gen.parts {
		if part == c.query.text || !strings.Contains(c.query.text, part) {
			continue
		}
		_, pgErr := c.postgres(db, part)
		_, ourErr := c.ours(part)
		if pgErr != nil && refused(pgErr) && ourErr != nil {
			return "what the query around it does not read need not be computed"
		}
	}
	if pgErr != nil && c.failsEmpty(db) {
		return "PostgreSQL computes constants though no row needs them"
	}
	// Among them is the state before any row has come.
	if ourErr != nil && (c.calm() || c.failsEmpty(db)) {
		return "rows of an updating query that come and go are computed too"
	}
	return ""
}

// failsEmpty reports that PostgreSQL fails without any rows.
func (c *randomCase) failsEmpty(db *sql.DB) bool {
	for _, t := range c.gen.tables {
		if _, err := db.Exec("TRUNCATE " + t.name); err != nil {
			return false
		}
	}
	_, err := pgtest.Query(db, postgres.Replace(c.query.text))
	return err != nil
}

// calm reports that we do not fail when all rows come at once.
func (c *randomCase) calm() bool {
	x := *c
	x.cut, x.chunk = variant{parallelism: 1}, 1000
	_, err := x.ours(c.query.text)
	return err == nil
}

// checkKilled runs the query as a job that is killed and resumed, at other parallelisms,
// and compares what its sink holds at the end.
func (c *randomCase) checkKilled(t *testing.T) error {
	if c.want == nil {
		return nil
	}
	r := &runner{feed: newFeed()}
	for _, x := range c.gen.tables {
		r.declare(x.name, fmt.Sprintf("CREATE TABLE %s (%s) WITH ('connector' = 'feed', 'format' = 'json');", x.name, x.columns))
		for _, row := range x.rows {
			r.feed.tables[x.name] = append(r.feed.tables[x.name], []byte(row))
		}
		r.lines = max(r.lines, len(x.rows))
	}
	job, err := r.job(ours.Replace(c.query.text))
	if err != nil {
		return fmt.Errorf("as a job: %w", err)
	}
	got, err := r.run(t, variant{name: "killed and resumed", parallelism: 2, batch: 3, kill: true}, job)
	if err != nil {
		return fmt.Errorf("killed and resumed: %w", err)
	}
	if err := sameRows(got, c.want, c.query.columns); err != nil {
		return fmt.Errorf("killed and resumed: %w", err)
	}
	return nil
}

// load fills PostgreSQL's tables.
func (c *randomCase) load(db *sql.DB) error {
	for _, t := range c.gen.tables {
		stmts := fmt.Sprintf("DROP TABLE IF EXISTS %s; CREATE UNLOGGED TABLE %s (%s);", t.name, t.name, t.columns)
		if len(t.rows) > 0 {
			stmts += fmt.Sprintf("INSERT INTO %s SELECT * FROM json_populate_recordset(NULL::%s, %s)", t.name, t.name, quoteSQL("["+strings.Join(t.rows, ",")+"]"))
		}
		if _, err := db.Exec(stmts); err != nil {
			return err
		}
	}
	return nil
}

func (c *randomCase) postgres(db *sql.DB, query string) ([]string, error) {
	if err := c.load(db); err != nil {
		return nil, err
	}
	rows, err := pgtest.Query(db, postgres.Replace(query))
	sort.Strings(rows)
	return rows, err
}

// ours runs the query as a prompt would and folds its changes; a change that takes back
// a row that is not there is an error.
func (c *randomCase) ours(query string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	q, done, err := c.start(ctx, query, nil)
	if err != nil {
		return nil, err
	}
	defer done()
	return fold(ctx, q)
}

// start runs the query; done ends it.
func (c *randomCase) start(ctx context.Context, query string, settings map[string]string) (q *engine.Query, done func(), err error) {
	f := newFeed()
	var decl strings.Builder
	for _, t := range c.gen.tables {
		list := make([][]byte, len(t.rows))
		for i, r := range t.rows {
			list[i] = []byte(r)
		}
		f.tables[t.name] = list
		fmt.Fprintf(&decl, "CREATE TABLE %s (%s) WITH ('connector' = 'feed', 'format' = 'json');\n", t.name, t.columns)
	}
	f.reset(1<<20, c.chunk)
	e, err := engine.Open(ctx, engine.Options{Parallelism: c.cut.parallelism, BatchRows: c.cut.batch, Connectors: []connectors.Connector{f.connector()},
		Settings: settings, WatchEdge: new(opcheck.Edges).Watch})
	if err != nil {
		return nil, nil, err
	}
	s := e.NewSession()
	res, err := describe(s, decl.String())
	if err == nil {
		res, err = describe(s, ours.Replace(query))
	}
	if err != nil {
		e.Close(ctx)
		return nil, nil, err
	}
	return res.Query, func() { res.Query.Stop(); e.Close(ctx) }, nil
}

// fold reads a query to its end and gives the relation that its changes leave, sorted.
func fold(ctx context.Context, q *engine.Query) ([]string, error) {
	live := make(map[string]int)
	for {
		b, err := q.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for i := range b.N {
			r := line(b, i)
			if live[r] += int(b.Op(i).Sign()); live[r] < 0 {
				return nil, fmt.Errorf("%s takes back a row that is not there: %s", b.Op(i), r)
			}
		}
		b.Release()
	}
	var out []string
	for r, n := range live {
		for range n {
			out = append(out, r)
		}
	}
	sort.Strings(out)
	return out, nil
}

// sameRows compares two relations: exactly, but numbers by value, and rough ones at
// 1e-9 (REAL: its own precision).
func sameRows(got, want []string, cols scope) error {
	left := make(map[string][][]string)
	for _, r := range want {
		f := strings.Split(r, "|")
		k := exactKey(f, cols)
		left[k] = append(left[k], f)
	}
	n := 0
	var extra []string
rows:
	for _, r := range got {
		f := strings.Split(r, "|")
		k := exactKey(f, cols)
		for i, w := range left[k] {
			if nearRow(f, w, cols) {
				left[k] = append(left[k][:i:i], left[k][i+1:]...)
				n++
				continue rows
			}
		}
		extra = append(extra, r)
	}
	if len(extra) == 0 && n == len(want) {
		return nil
	}
	var missing []string
	for _, rows := range left {
		for _, f := range rows {
			missing = append(missing, strings.Join(f, "|"))
		}
	}
	sort.Strings(missing)
	return fmt.Errorf("%d rows, PostgreSQL has %d\nonly we:\n  %s\nonly PostgreSQL:\n  %s", len(got), len(want),
		strings.Join(extra[:min(len(extra), 10)], "\n  "), strings.Join(missing[:min(len(missing), 10)], "\n  "))
}

// exactKey is a row without its rough numbers, the others in one form for each value.
func exactKey(f []string, cols scope) string {
	out := make([]string, len(f))
	for i, v := range f {
		out[i] = v
		if i >= len(cols) || v == "∅" {
			continue
		}
		switch {
		case cols[i].rough:
			out[i] = "~"
		case cols[i].kind == kDec || cols[i].kind == kInt:
			if x, ok := new(big.Rat).SetString(v); ok {
				out[i] = x.RatString()
			}
		}
	}
	return strings.Join(out, "|")
}

func nearRow(a, b []string, cols scope) bool {
	for i := range a {
		if a[i] == b[i] || i >= len(cols) || !cols[i].rough {
			continue
		}
		x, errX := strconv.ParseFloat(a[i], 64)
		y, errY := strconv.ParseFloat(b[i], 64)
		tolerance := 1e-9
		if len(a[i]) < 12 || len(b[i]) < 12 {
			tolerance = 2e-6
		}
		if errX != nil || errY != nil || !near(x, y, tolerance) {
			return false
		}
	}
	return true
}
