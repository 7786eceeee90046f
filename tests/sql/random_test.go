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
	for seed := first; seed < first+n; seed++ {
		c := newRandomCase(seed)
		rows, err := c.check(db)
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
	t.Logf("%d queries, %d with rows to compare", n, answered)
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
	fails bool     // where we fail and may
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

// check compares the two answers and gives the number of rows.
func (c *randomCase) check(db *sql.DB) (int, error) {
	want, pgErr := c.postgres(db)
	got, ourErr := c.ours()
	var refused *pq.Error
	switch {
	case pgErr != nil && !errors.As(pgErr, &refused):
		return 0, pgErr
	case pgErr != nil && ourErr != nil:
		if e := sqlerr.As(ourErr); e == nil || e.Class == sqlerr.Internal {
			return 0, fmt.Errorf("PostgreSQL fails with %v, we with %v", pgErr, ourErr)
		}
		return 0, nil
	case pgErr != nil:
		// We may be spared a row, a column that nobody reads, or a constant that no row
		// needs.
		if refused.Code.Class() == "22" {
			return 0, nil
		}
		return 0, fmt.Errorf("PostgreSQL refuses it and we do not: %w", pgErr)
	case ourErr != nil:
		c.fails = true
		// What PostgreSQL does not compute cannot fail there: columns that nobody reads,
		// strict functions of a constant NULL. And its numbers may be wider.
		if c.gen.hard && strings.HasPrefix(sqlerr.CodeOf(ourErr), "22") || sqlerr.CodeOf(ourErr) == sqlerr.CodeNumericOutOfRange && wide(want) {
			return 0, nil
		}
		return 0, fmt.Errorf("we fail: %s", sqlerr.Render(ourErr, ours.Replace(c.query.text)))
	}
	c.want = want
	return len(want), sameRows(got, want, c.query.columns)
}

// checkKilled runs the query as a job that is killed and resumed, at other parallelisms,
// and compares what its sink holds at the end.
func (c *randomCase) checkKilled(t *testing.T) error {
	if c.want == nil || c.fails {
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

// wide reports a number of more digits than a DECIMAL has here.
func wide(rows []string) bool {
	for _, r := range rows {
		for _, v := range strings.Split(r, "|") {
			if len(v) > 38 && strings.Trim(v, "0123456789.-") == "" {
				return true
			}
		}
	}
	return false
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

func (c *randomCase) postgres(db *sql.DB) ([]string, error) {
	if err := c.load(db); err != nil {
		return nil, err
	}
	rows, err := pgtest.Query(db, postgres.Replace(c.query.text))
	sort.Strings(rows)
	return rows, err
}

// ours runs the query as a prompt would and folds its changes; a change that takes back
// a row that is not there is an error.
func (c *randomCase) ours() ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	q, done, err := c.start(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer done()
	return fold(ctx, q)
}

// start runs the query; done ends it.
func (c *randomCase) start(ctx context.Context, settings map[string]string) (q *engine.Query, done func(), err error) {
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
		res, err = describe(s, ours.Replace(c.query.text))
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
