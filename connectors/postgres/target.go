package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// target is the real table as the sink writes it: its columns in the order of the
// sink's input.
type target struct {
	schema, table string
	oid           int64
	cols          []*column
	types         []types.Type
	key           []int
	// onlyKey: the only unique index is that of the key, so that the rows of different
	// keys may be written in any order.
	onlyKey bool
}

func (t *target) relation() string { return quote(t.schema) + "." + quote(t.table) }

// resolve reads the real table and matches it with the declared one.
func resolve(ctx context.Context, c *sql.Conn, cfg connectors.Config, schema, table string) (*target, error) {
	t := &target{schema: schema, table: table, types: cfg.Schema.Types(), key: cfg.Key}
	var kind string
	err := c.QueryRowContext(ctx, `SELECT c.oid::bigint, c.relkind::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = $2`, schema, table).Scan(&t.oid, &kind)
	switch {
	case err == sql.ErrNoRows:
		return nil, missing(ctx, c, t, cfg)
	case err != nil:
		return nil, classify(err, "look up table "+t.relation())
	case kind != "r" && kind != "p":
		what := map[string]string{"v": "a view", "m": "a materialized view", "f": "a foreign table", "S": "a sequence", "i": "an index"}[kind]
		return nil, sqlerr.New(sqlerr.CodeSchema, 0, "%s of the PostgreSQL database is %s, and only tables are written", t.relation(), cmp.Or(what, "no table")).
			WithHint("Name the table itself with the option table.")
	}
	real, err := readColumns(ctx, c, t.oid)
	if err != nil {
		return nil, err
	}
	if err := t.match(cfg, real); err != nil {
		return nil, err
	}
	return t, t.checkKey(ctx, c)
}

// missing is the error for a table that does not exist, with the CREATE that would
// make it.
func missing(ctx context.Context, c *sql.Conn, t *target, cfg connectors.Config) error {
	var near []string
	rows, err := c.QueryContext(ctx, `SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')`, t.schema)
	if err == nil {
		defer rows.Close()
		for rows.Next() {
			var n string
			if rows.Scan(&n) == nil {
				near = append(near, n)
			}
		}
	}
	e := sqlerr.New(sqlerr.CodeSchema, 0, "table %q does not exist in schema %q of the PostgreSQL database", t.table, t.schema).
		WithHint("Create it with: %s; or set 'auto.create' = 'true'.", createTable(t, cfg))
	if n := sqlerr.Nearest(t.table, near); n != "" {
		e.WithDetail("There is a table %q.", n)
	}
	return e
}

// createTable is the DDL for the declared table, with the columns that this sink does
// not write too.
func createTable(t *target, cfg connectors.Config) string {
	var parts []string
	declared := cfg.Declared
	if declared == nil {
		declared = cfg.Schema
	}
	for _, c := range declared {
		p := quote(c.Name) + " " + sqlType(c.Type)
		if c.NotNull {
			p += " NOT NULL"
		}
		parts = append(parts, p)
	}
	if len(cfg.Key) > 0 {
		var names []string
		for _, k := range cfg.Key {
			names = append(names, quote(cfg.Schema[k].Name))
		}
		parts = append(parts, "PRIMARY KEY ("+strings.Join(names, ", ")+")")
	}
	return fmt.Sprintf("CREATE TABLE %s (%s)", t.relation(), strings.Join(parts, ", "))
}

func readColumns(ctx context.Context, c *sql.Conn, oid int64) ([]*column, error) {
	rows, err := c.QueryContext(ctx, `SELECT a.attname, format_type(a.atttypid, a.atttypmod), b.typname, b.typtype = 'e',
			CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END,
			a.attnotnull OR t.typnotnull,
			a.atthasdef OR a.attidentity <> '' OR a.attgenerated <> '' OR t.typdefault IS NOT NULL,
			a.attidentity = 'a' OR a.attgenerated <> ''
		FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
		JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
		WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`, oid)
	if err != nil {
		return nil, classify(err, "read the columns of the table")
	}
	defer rows.Close()
	var out []*column
	for rows.Next() {
		k := &column{}
		if err := rows.Scan(&k.name, &k.typ, &k.base, &k.enum, &k.typmod, &k.notNull, &k.defaults, &k.always); err != nil {
			return nil, classify(err, "read the columns of the table")
		}
		out = append(out, k)
	}
	if err := rows.Err(); err != nil {
		return nil, classify(err, "read the columns of the table")
	}
	return out, nil
}

// match finds the real column of each declared one: the same spelling, else the only
// one that differs in case.
func (t *target) match(cfg connectors.Config, real []*column) error {
	used := make(map[*column]string)
	var names []string
	for _, r := range real {
		names = append(names, r.name)
	}
	for _, want := range cfg.Schema {
		var hit *column
		folded := 0
		for _, r := range real {
			if r.name == want.Name {
				hit, folded = r, 1
				break
			}
			if strings.EqualFold(r.name, want.Name) {
				hit = r
				folded++
			}
		}
		switch {
		case folded == 0:
			e := sqlerr.New(sqlerr.CodeSchema, 0, "table %s of the PostgreSQL database has no column %q", t.relation(), want.Name).
				WithHint("Add it with: ALTER TABLE %s ADD COLUMN %s %s.", t.relation(), quote(want.Name), sqlType(want.Type))
			if n := sqlerr.Nearest(want.Name, names); n != "" {
				e.WithDetail("There is a column %q.", n)
			}
			return e
		case folded > 1:
			return sqlerr.New(sqlerr.CodeSchema, 0, "column %q matches several columns of table %s that differ only in case", want.Name, t.relation()).
				WithHint("Declare the column with the exact spelling in double quotes.")
		}
		if other, dup := used[hit]; dup {
			return sqlerr.New(sqlerr.CodeSchema, 0, "columns %q and %q are both column %q of table %s", other, want.Name, hit.name, t.relation())
		}
		used[hit] = want.Name
		if hit.always {
			return sqlerr.New(sqlerr.CodeSchema, 0, "column %q of table %s is GENERATED ALWAYS and cannot be written", hit.name, t.relation()).
				WithHint("Leave it out of the columns that INSERT fills, or make it GENERATED BY DEFAULT.")
		}
		if !hit.takes(want.Type) {
			return sqlerr.New(sqlerr.CodeSchema, 0, "column %q of table %s has type %s, which cannot take every %s", hit.name, t.relation(), hit.typ, want.Type).
				WithHint("Declare the column with a type that fits, or change the table's column to %s.", sqlType(want.Type))
		}
		t.cols = append(t.cols, hit)
	}
	for _, r := range real {
		if _, ok := used[r]; !ok && r.notNull && !r.defaults {
			return sqlerr.New(sqlerr.CodeSchema, 0, "column %q of table %s is NOT NULL without a default, and nothing is written to it", r.name, t.relation()).
				WithHint("Write the column too, or give it a DEFAULT.")
		}
	}
	return nil
}

// checkKey looks for the unique index that ON CONFLICT needs.
func (t *target) checkKey(ctx context.Context, c *sql.Conn) error {
	if len(t.key) == 0 {
		return nil
	}
	rows, err := c.QueryContext(ctx, `SELECT string_agg(a.attname, chr(1) ORDER BY a.attname),
			(SELECT count(*) FROM pg_index o WHERE o.indrelid = $1 AND (o.indisunique OR o.indisexclusion)) = 1
		FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey::int2[])
		WHERE i.indrelid = $1 AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL
			AND i.indexprs IS NULL AND i.indnkeyatts = i.indnatts
		GROUP BY i.indexrelid`, t.oid)
	if err != nil {
		return classify(err, "read the indexes of the table")
	}
	defer rows.Close()
	var want, shown []string
	for _, k := range t.key {
		want = append(want, t.cols[k].name)
		shown = append(shown, quote(t.cols[k].name))
	}
	slices.Sort(want)
	for rows.Next() {
		var have string
		if err := rows.Scan(&have, &t.onlyKey); err != nil {
			return classify(err, "read the indexes of the table")
		}
		if have == strings.Join(want, "\x01") {
			return nil
		}
	}
	if err := rows.Err(); err != nil {
		return classify(err, "read the indexes of the table")
	}
	cols := strings.Join(shown, ", ")
	return sqlerr.New(sqlerr.CodeSchema, 0, "table %s has no unique index on the declared PRIMARY KEY (%s)", t.relation(), cols).
		WithHint("Create it with: CREATE UNIQUE INDEX ON %s (%s).", t.relation(), cols)
}
