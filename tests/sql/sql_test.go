// Package sql runs the cases of testdata end to end: declared tables, rows, a query,
// its result. Each runs whole, cut into single rows and sevens, at other parallelism,
// and killed and resumed at another parallelism; every run must give the same
// relation, and PostgreSQL the same rows where it knows the query.
package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/pgtest"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/operators/opcheck"
)

func TestCases(t *testing.T) {
	t.Parallel()
	pg := pgtest.Start(t)
	db := pg.Open(t)
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		r := &runner{pg: pg, db: db, feed: newFeed(), file: filepath.Base(path)}
		r.exec(t, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
		datadriven.RunTest(t, path, r.command)
	})
}

type runner struct {
	pg    *pgtest.Server
	db    *sql.DB
	feed  *feed
	file  string
	ddl   map[string]string // our declarations by name
	order []string
	lines int      // of the largest table
	last  []string // rows of the last query
	edges *opcheck.Edges
}

var watermark = regexp.MustCompile(`(?is),\s*WATERMARK FOR .*$`)

// command runs one directive of a case file:
//
//	table NAME        columns on the first line, then a JSON row a line
//	events NAME W=n   lines of second:key,value; the table is (k, v, ts) with a delay of n
//	view NAME [ours]  a CREATE VIEW; ours: PostgreSQL does not know its words
//	query [pg]        the rows, sorted; pg: PostgreSQL answers the same text alike
//	postgres          the last query in PostgreSQL's words: the same rows
//	run               statements one after another, as at the prompt, and what each gives
//	error             the message of the last statement, as it is shown
//	reset             forget all tables
func (r *runner) command(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "table":
		head, rows, _ := strings.Cut(d.Input, "\n")
		r.table(t, d.CmdArgs[0].Key, head, rows)
	case "events":
		r.events(t, d)
	case "view":
		r.declare(d.CmdArgs[0].Key, d.Input)
		if !d.HasArg("ours") {
			r.exec(t, d.Input)
		}
	case "reset":
		r.ddl, r.order, r.lines = nil, nil, 0
		r.feed.tables = make(map[string][][]byte)
	case "query":
		return r.query(t, d)
	case "postgres":
		want := r.pg.Rows(t, r.db, strings.TrimSuffix(strings.TrimSpace(d.Input), ";"))
		sort.Strings(want)
		if strings.Join(r.last, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%s: PostgreSQL gives\n%s\nwe gave\n%s", d.Pos, textOf(want), textOf(r.last))
		}
		return "the same\n"
	case "run":
		return r.prompt(t, d.Input)
	case "error":
		return r.fails(t, d.Input)
	default:
		t.Fatalf("%s: no directive %q", d.Pos, d.Cmd)
	}
	return ""
}

// declare files a declaration under its name, in the place of an older one.
func (r *runner) declare(name, ddl string) {
	if r.ddl == nil {
		r.ddl = make(map[string]string)
	}
	if r.ddl[name] == "" {
		r.order = append(r.order, name)
	}
	r.ddl[name] = ddl
}

func (r *runner) declarations() string {
	var out strings.Builder
	for _, n := range r.order {
		out.WriteString(r.ddl[n] + "\n")
	}
	return out.String()
}

func (r *runner) exec(t *testing.T, stmts ...string) {
	t.Helper()
	for _, s := range stmts {
		if _, err := r.db.Exec(s); err != nil {
			t.Fatalf("PostgreSQL: %s: %v", s, err)
		}
	}
}

func (r *runner) table(t *testing.T, name, columns, rows string) {
	t.Helper()
	r.declare(name, fmt.Sprintf("CREATE TABLE %s (%s) WITH ('connector' = 'feed', 'format' = 'json');", name, columns))
	r.exec(t, "DROP TABLE IF EXISTS "+name+" CASCADE", fmt.Sprintf("CREATE TABLE %s (%s)", name, watermark.ReplaceAllString(columns, "")))
	var list [][]byte
	for _, l := range strings.Split(rows, "\n") {
		if l = strings.TrimSpace(l); l != "" {
			list = append(list, []byte(l))
			if _, err := r.db.Exec(fmt.Sprintf("INSERT INTO %s SELECT * FROM json_populate_record(NULL::%s, $1)", name, name), l); err != nil {
				t.Fatalf("PostgreSQL: %s: %v", l, err)
			}
		}
	}
	r.feed.tables[name] = list
	r.lines = max(r.lines, len(list))
}

func (r *runner) events(t *testing.T, d *datadriven.TestData) {
	delay := "0"
	for _, a := range d.CmdArgs[1:] {
		if a.Key == "W" {
			delay = a.Vals[0]
		}
	}
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	var rows strings.Builder
	for _, e := range strings.Fields(d.Input) {
		var sec float64
		at, kv, _ := strings.Cut(e, ":")
		k, v, _ := strings.Cut(kv, ",")
		if _, err := fmt.Sscan(at, &sec); err != nil {
			t.Fatalf("%s: %q: %v", d.Pos, e, err)
		}
		ts := start.Add(time.Duration(sec * float64(time.Second))).Format("2006-01-02T15:04:05.000")
		key := `"` + k + `"`
		if k == "∅" {
			key = "null"
		}
		if v == "" || v == "∅" {
			v = "null"
		}
		fmt.Fprintf(&rows, `{"k":%s,"v":%s,"ts":"%s"}`+"\n", key, v, ts)
	}
	r.table(t, d.CmdArgs[0].Key, "k VARCHAR, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '"+delay+"' SECOND", rows.String())
}

// variant is one way to run a query.
type variant struct {
	name        string
	parallelism int
	batch       int
	kill        bool
}

var variants = []variant{
	{"whole", 1, 0, false},
	{"parallelism 4", 4, 0, false},
	{"batches of 1", 2, 1, false},
	{"batches of 7", 3, 7, false},
	{"killed and resumed", 2, 3, true},
}

func (r *runner) query(t *testing.T, d *datadriven.TestData) string {
	text := strings.TrimSuffix(strings.TrimSpace(d.Input), ";")
	job, err := r.job(text)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var first []string
	for _, v := range variants {
		rows, err := r.run(t, v, job)
		if err != nil {
			t.Fatalf("%s: %s: %v", d.Pos, v.name, err)
		}
		if v.name == "whole" {
			first = rows
		} else if strings.Join(rows, "\n") != strings.Join(first, "\n") {
			t.Fatalf("%s: %s gives another relation\n%s\nwhole\n%s", d.Pos, v.name, strings.Join(rows, "\n"), strings.Join(first, "\n"))
		}
	}
	for _, a := range d.CmdArgs {
		if a.Key != "pg" {
			continue
		}
		want := r.pg.Rows(t, r.db, text)
		sort.Strings(want)
		if strings.Join(first, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%s: PostgreSQL gives another relation\n%s\nwe give\n%s", d.Pos, strings.Join(want, "\n"), strings.Join(first, "\n"))
		}
	}
	r.last = first
	return textOf(first)
}

// job writes the file that sends the query's rows to the feed.
func (r *runner) job(query string) (string, error) {
	e, err := r.open(variant{}, "")
	if err != nil {
		return "", err
	}
	defer e.Close(context.Background())
	s := e.NewSession()
	decl := r.declarations()
	if _, err := describe(s, decl); err != nil {
		return "", err
	}
	schema, err := s.Columns(query)
	if err != nil {
		return "", err
	}
	var cols []string
	for i, c := range schema {
		cols = append(cols, fmt.Sprintf("c%d %s", i, c.Type))
	}
	return fmt.Sprintf("%s\nCREATE TABLE out (%s) WITH ('connector' = 'feed', 'format' = 'json');\nINSERT INTO out %s;",
		decl, strings.Join(cols, ", "), query), nil
}

func describe(s *engine.Session, text string) (last *engine.Result, err error) {
	script, err := s.Parse(text)
	if err != nil {
		return nil, err
	}
	for i := range script.Statements {
		if last, err = s.Exec(context.Background(), script, i); err != nil {
			return nil, err
		}
	}
	return last, nil
}

func (r *runner) open(v variant, dir string) (*engine.Engine, error) {
	if r.edges == nil {
		r.edges = new(opcheck.Edges)
	}
	return engine.Open(context.Background(), engine.Options{
		DataDir: dir, Parallelism: v.parallelism, BatchRows: v.batch,
		Connectors: []connectors.Connector{r.feed.connector()},
		Settings:   map[string]string{"checkpoint.interval": "5ms"},
		WatchEdge:  r.edges.Watch,
	})
}

// run runs the job one way and gives the relation that the sink holds at its end.
func (r *runner) run(t *testing.T, v variant, job string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	chunk := v.batch
	if chunk == 0 {
		chunk = 1024
	}
	r.feed.reset(r.lines, chunk)
	r.edges = nil
	dir := t.TempDir()
	if v.kill {
		h := fnv.New64a()
		h.Write([]byte(job))
		rnd := rand.New(rand.NewPCG(h.Sum64(), 1))
		for limit := 0; limit < r.lines; limit += 1 + rnd.IntN(max(1, r.lines/3)) {
			r.feed.allow(limit)
			v.parallelism = 1 + rnd.IntN(4)
			if err := r.killed(ctx, v, dir, job, time.Duration(rnd.IntN(25))*time.Millisecond); err != nil {
				return nil, err
			}
		}
		r.feed.allow(r.lines)
	}
	e, err := r.open(v, dir)
	if err != nil {
		return nil, err
	}
	defer e.Close(ctx)
	j, err := start(ctx, e, job)
	if errors.Is(err, engine.ErrFinished) {
		return r.feed.result(), nil
	}
	if err != nil {
		return nil, err
	}
	select {
	case <-j.Done():
	case <-ctx.Done():
		j.Cancel()
		return nil, fmt.Errorf("the job does not end: %+v", j.Status())
	}
	if err := j.Wait(); err != nil {
		return nil, err
	}
	rows := r.feed.result()
	if len(rows) > 0 && r.edges.Batches() == 0 {
		return nil, errors.New("no edge was checked")
	}
	return rows, nil
}

// killed runs the job for a moment and ends it without a last checkpoint.
func (r *runner) killed(ctx context.Context, v variant, dir, job string, after time.Duration) error {
	e, err := r.open(v, dir)
	if err != nil {
		return err
	}
	defer e.Close(ctx)
	j, err := start(ctx, e, job)
	if errors.Is(err, engine.ErrFinished) {
		return nil
	}
	if err != nil {
		return err
	}
	select {
	case <-time.After(after):
	case <-j.Done():
	}
	j.Cancel()
	return nil
}

func start(ctx context.Context, e *engine.Engine, job string) (*engine.Job, error) {
	f, err := e.Load("case", job)
	if err != nil {
		return nil, err
	}
	return e.Run(ctx, f, engine.Start{})
}

// prompt runs statements over the declarations and prints what each gives; it stops at
// the first that fails.
func (r *runner) prompt(t *testing.T, input string) string {
	r.feed.reset(r.lines, 1024)
	e, err := r.open(variant{parallelism: 2}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	s := e.NewSession()
	if _, err := describe(s, r.declarations()); err != nil {
		t.Fatal(err)
	}
	script, err := s.Parse(input)
	if err != nil {
		return sqlerr.Render(err, input)
	}
	var out strings.Builder
	for i := range script.Statements {
		res, err := s.Exec(context.Background(), script, i)
		if err != nil {
			return out.String() + sqlerr.Render(err, input)
		}
		out.WriteString(shown(t, res))
	}
	return out.String()
}

// shown is a statement's result as text.
func shown(t *testing.T, res *engine.Result) string {
	switch {
	case res.Query != nil:
		defer res.Query.Stop()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		rows, err := fold(ctx, res.Query)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(res.Query.Schema.Names(), "|") + "\n" + textOf(rows)
	case res.Job != nil:
		select {
		case <-res.Job.Done():
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the job does not end: %+v", res.Tag, res.Job.Status())
		}
		if err := res.Job.Wait(); err != nil {
			return "error: " + err.Error() + "\n"
		}
		return res.Tag + "\n"
	case res.Text != "":
		return strings.TrimRight(res.Text, "\n") + "\n"
	case res.Columns != nil:
		lines := []string{strings.Join(res.Columns, "|")}
		for _, row := range res.Rows {
			lines = append(lines, strings.Join(row, "|"))
		}
		return strings.Join(lines, "\n") + "\n"
	}
	return res.Tag + "\n"
}

// fails gives the message of a statement that is refused.
func (r *runner) fails(t *testing.T, input string) string {
	e, err := r.open(variant{}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	s := e.NewSession()
	if _, err := describe(s, r.declarations()); err != nil {
		t.Fatal(err)
	}
	res, err := describe(s, input)
	if err == nil {
		if res != nil && res.Query != nil {
			res.Query.Stop()
		}
		return "no error\n"
	}
	return sqlerr.Render(err, input)
}

func textOf(rows []string) string {
	if len(rows) == 0 {
		return "(no rows)\n"
	}
	return strings.Join(rows, "\n") + "\n"
}
