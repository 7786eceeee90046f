package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/pgtest"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// tryFunction gives, for every row of a table, what an expression is there, or "!" and
// the SQLSTATE with which it fails.
const tryFunction = `CREATE OR REPLACE FUNCTION try(t text, e text) RETURNS TABLE(r int, v text) LANGUAGE plpgsql AS $$
BEGIN
  FOR r IN EXECUTE format('SELECT id FROM %I ORDER BY 1', t) LOOP
    BEGIN
      EXECUTE format('SELECT CASE WHEN v IS NULL THEN ''∅'' ELSE format(''%%s'', v) END FROM (SELECT (%s) AS v FROM %I WHERE id = %s OFFSET 0) q', e, t, r) INTO v;
    EXCEPTION WHEN OTHERS THEN
      v := '!' || SQLSTATE;
    END;
    RETURN NEXT;
  END LOOP;
END $$`

// TestRandomLimits computes random expressions over values near the limits of their
// types, here and on PostgreSQL, row by row: both give the same value or fail with the
// same code, but for what allowed lists. STREAMSQL_SEED is the first seed,
// STREAMSQL_QUERIES how many follow.
func TestRandomLimits(t *testing.T) {
	t.Parallel()
	pg := pgtest.Start(t)
	db := pg.Open(t)
	db.SetMaxOpenConns(1)
	for _, s := range []string{"SET timezone = 'UTC'", tryFunction} {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	first, n := fromEnv(t, "STREAMSQL_SEED", 1), fromEnv(t, "STREAMSQL_QUERIES", 300)
	failed := 0
	var sum limitSum
	for seed := first; seed < first+n; seed++ {
		c := newLimitCase(seed)
		if err := c.check(db, &sum); err != nil {
			t.Errorf("%v\n%s\nreplay with: STREAMSQL_SEED=%d STREAMSQL_QUERIES=1 go test ./tests/sql -run TestRandomLimits", err, c, seed)
			if failed++; failed == 20 {
				t.Fatal("too many")
			}
		}
	}
	t.Logf("%d expressions; rows: %d equal, of these %d errors; allowed: %v", n, sum.equal, sum.errors, sum.allowed)
	if n >= 100 && (sum.errors < int(n)/10 || sum.equal < int(n)*3) {
		t.Error("too little was compared")
	}
}

type limitSum struct {
	equal, errors int
	allowed       map[string]int
}

type limitCase struct {
	*randomCase
	item column
	// parts are the values of parts of item in PostgreSQL, row by row.
	parts map[string][]string
}

func newLimitCase(seed uint64) *limitCase {
	g := newGenerator(seed)
	g.hard, g.floats = true, true
	g.table("t0")
	t := &g.tables[0]
	t.columns = "id INT, " + t.columns
	for i := range t.rows {
		t.rows[i] = fmt.Sprintf(`{"id":%d,%s`, i, t.rows[i][1:])
	}
	c := &limitCase{randomCase: &randomCase{gen: g, chunk: pick(g, 1, 7, 100), cut: variant{parallelism: 1 + g.IntN(2), batch: pick(g, 0, 1, 7)}}}
	for {
		c.item = g.expr(t.scope, g.kind(t.scope), 1+g.IntN(4), false)
		if refers(t.scope, c.item.text) {
			break
		}
	}
	c.query = genQuery{text: "SELECT id AS c0, " + c.item.text + " AS c1 FROM t0", columns: scope{{text: "c0", kind: kInt}, c.item}}
	return c
}

func (c *limitCase) check(db *sql.DB, sum *limitSum) error {
	if err := c.load(db); err != nil {
		return err
	}
	want, err := try(db, c.item.text)
	if err != nil {
		return err
	}
	got, codes, err := c.values()
	if err != nil {
		return fmt.Errorf("we fail: %s", sqlerr.Render(err, ours.Replace(c.query.text)))
	}
	wantCodes := make(map[string]int64)
	var faults []string
	var failing []int
	for i, w := range want {
		g, ok := got[fmt.Sprint(i)]
		code, fails := strings.CutPrefix(w, "!")
		switch {
		case fails && !ok:
			wantCodes[code]++
			sum.errors++
			failing = append(failing, i)
		case !fails && ok && nearRow([]string{g}, []string{w}, c.query.columns[1:]) || sameValue(g, w, c.item) && ok:
		default:
			if !ok {
				g = "!"
			}
			reason := c.allowed(db, i, g, w)
			if reason == "" {
				faults = append(faults, fmt.Sprintf("row %d: we have %s, PostgreSQL %s", i, g, w))
				continue
			}
			if sum.allowed == nil {
				sum.allowed = make(map[string]int)
			}
			sum.allowed[reason]++
			if !ok {
				codes = nil
			}
			continue
		}
		sum.equal++
	}
	if faults == nil && codes != nil && !maps.Equal(c.codes(codes), c.codes(wantCodes)) {
		for _, i := range failing {
			if c.allowed(db, i, "!", want[i]) != "" {
				return nil
			}
		}
		faults = append(faults, fmt.Sprintf("our rows fail with %v, PostgreSQL's with %v", codes, wantCodes))
	}
	if faults != nil {
		return errors.New(strings.Join(faults, "\n"))
	}
	return nil
}

func sameValue(g, w string, c column) bool {
	return g == w || exactKey([]string{g}, scope{c}) == exactKey([]string{w}, scope{c})
}

// typeOf is the type of a part of the expression here.
func (c *limitCase) typeOf(text string) (types.Type, error) {
	ctx := context.Background()
	e, err := engine.Open(ctx, engine.Options{Connectors: []connectors.Connector{newFeed().connector()}})
	if err != nil {
		return types.Type{}, err
	}
	defer e.Close(ctx)
	s := e.NewSession()
	if _, err := describe(s, fmt.Sprintf("CREATE TABLE t0 (%s) WITH ('connector' = 'feed', 'format' = 'json');", c.gen.tables[0].columns)); err != nil {
		return types.Type{}, err
	}
	schema, err := s.Columns(ours.Replace("SELECT " + text + " AS c FROM t0"))
	if err != nil {
		return types.Type{}, err
	}
	return schema[0].Type, nil
}

// try is tryFunction over t0.
func try(db *sql.DB, e string) ([]string, error) {
	rows, err := db.Query("SELECT v FROM try('t0', $1) ORDER BY r", postgres.Replace(e))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// values runs the query with broken rows skipped: what each row has by its id, and how
// many failed with which code.
func (c *limitCase) values() (map[string]string, map[string]int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	q, done, err := c.start(ctx, c.query.text, map[string]string{"on.error": "skip"})
	if err != nil {
		return nil, nil, err
	}
	defer done()
	out := make(map[string]string)
	for {
		b, err := q.Next(ctx)
		if err == io.EOF {
			return out, errorsOf(q.Status()), nil
		}
		if err != nil {
			return nil, nil, err
		}
		for i := range b.N {
			id, v, _ := strings.Cut(line(b, i), "|")
			out[id] = v
		}
		b.Release()
	}
}

// allowed names the reason for which one side may fail where the other does not, or give
// another value; "" is none. With codes it is the whole list of how the two systems
// differ at the limits of types.
func (c *limitCase) allowed(db *sql.DB, row int, got, want string) string {
	switch {
	case got == "!" && c.wide(db, row):
		return "a DECIMAL has the digits of its type, 38 at most, a numeric of PostgreSQL any number"
	case c.somewhere(db, row, func(s column, v string) bool { return s.kind == kDec && v == "NaN" }):
		return "a DECIMAL is never NaN"
	case got == "!" && c.somewhere(db, row, beyondTime):
		return "dates and timestamps end in the year 294246, PostgreSQL's timestamps in 294276, its dates later"
	case c.item.rough && strings.Contains(c.item.text, " / NULLIF("):
		return "a quotient has a scale of its type, in PostgreSQL one of its value"
	case got == "!" && strings.Contains(c.item.text, "AS DATE)") && c.somewhere(db, row, func(s column, v string) bool { return s.kind == kText && !isoDate.MatchString(v) }):
		return "text of a time that is not ISO 8601 is refused where PostgreSQL guesses"
	case c.somewhere(db, row, cutBeyondTime):
		return "DATE_TRUNC and AT TIME ZONE may give a time before 24 November 4714 BC, where PostgreSQL fails"
	}
	return ""
}

var isoDate = regexp.MustCompile(`^\d{4,6}-\d\d-\d\d( BC|[T ].*)?$`)

// codes puts those codes together of which PostgreSQL's may be the other one: whether a
// text is in the wrong form or out of range is told apart in another way for times, and
// for integers PostgreSQL stops at the digit that is too much, before it sees the rest.
func (c *limitCase) codes(m map[string]int64) map[string]int64 {
	one := map[string]string{}
	if strings.Contains(c.item.text, "AS DATE)") {
		one["22008"], one["22009"], one["22023"] = "22007", "22007", "22007"
	}
	if strings.Contains(c.item.text, "INT)") {
		one["22003"] = "22P02"
	}
	out := make(map[string]int64)
	for k, n := range m {
		if to := one[k]; to != "" {
			k = to
		}
		out[k] += n
	}
	return out
}

// somewhere reports whether a part of the expression has, in PostgreSQL, such a value in
// the row.
func (c *limitCase) somewhere(db *sql.DB, row int, such func(s column, v string) bool) bool {
	for _, s := range c.gen.subs {
		if !strings.Contains(c.item.text, s.text) {
			continue
		}
		if c.parts == nil {
			c.parts = make(map[string][]string)
		}
		if c.parts[s.text] == nil {
			v, err := try(db, s.text)
			if err != nil {
				return false
			}
			c.parts[s.text] = v
		}
		if such(s, c.parts[s.text][row]) {
			return true
		}
	}
	return false
}

// wide reports a number that does not fit the type that it has here, or into which a
// choice among several brings it.
func (c *limitCase) wide(db *sql.DB, row int) bool {
	return c.somewhere(db, row, func(s column, v string) bool {
		if s.kind != kDec {
			return false
		}
		t, err := c.typeOf(s.text)
		if err != nil || t.Kind != types.Decimal {
			return false
		}
		if exceeds(v, t) {
			return true
		}
		choice := false
		for _, p := range []string{"LEAST(", "GREATEST(", "COALESCE(", "NULLIF(", "CASE "} {
			choice = choice || strings.HasPrefix(s.text, p)
		}
		return choice && c.somewhere(db, row, func(part column, v string) bool {
			return (part.kind == kDec || part.kind == kInt) && strings.Contains(s.text, part.text) && exceeds(v, t)
		})
	})
}

// exceeds reports a number that has no room in t.
func exceeds(v string, t types.Type) bool {
	if strings.Trim(v, "0123456789.-") != "" {
		return false
	}
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(v, "-"), ".")
	digits := len(strings.TrimLeft(whole, "0"))
	if strings.Trim(whole, "9") == "" && strings.HasPrefix(fraction, strings.Repeat("9", int(t.Scale))) {
		digits++ // rounding may carry
	}
	return digits > int(t.Precision)-int(t.Scale)
}

func beyondTime(s column, v string) bool {
	if k := s.kind; k != kDate && k != kStamp && k != kStampTZ || strings.Contains(v, "BC") {
		return false
	}
	year, _, _ := strings.Cut(v, "-")
	n, err := strconv.Atoi(year)
	return err == nil && n > 294246
}

func cutBeyondTime(s column, v string) bool {
	return v == "!22008" && (strings.HasPrefix(s.text, "DATE_TRUNC(") || strings.Contains(s.text, " AT TIME ZONE "))
}
