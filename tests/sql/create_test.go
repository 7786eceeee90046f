package sql

import "testing"

// TestAutoCreate makes the table as it is declared, with what the query does not write.
func TestAutoCreate(t *testing.T) {
	w := newWorld(t)
	w.numbers("ev.a", 1, 3)
	w.mustRun(w.source(vTable, ", 'end' = 'now'") +
		w.sink("made", "note VARCHAR(20), v BIGINT NOT NULL, share DECIMAL(10, 2), k BIGINT, seen TIMESTAMP(3), j JSON, PRIMARY KEY (k)", ", 'auto.create' = 'true'") +
		"INSERT INTO made (k, v) SELECT v, v * 2 FROM ev;")
	w.equal("columns", w.rows(`SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull FROM pg_attribute a
		WHERE a.attrelid = 'made'::regclass AND a.attnum > 0 ORDER BY a.attnum`),
		"note|character varying(20)|f\nv|bigint|t\nshare|numeric(10,2)|f\nk|bigint|t\nseen|timestamp(3) without time zone|f\nj|jsonb|f")
	w.equal("key", w.rows("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'made'::regclass"), "PRIMARY KEY (k)")
	w.equal("rows", w.rows("SELECT * FROM made ORDER BY k"), "∅|2|∅|1|∅|∅\n∅|4|∅|2|∅|∅\n∅|6|∅|3|∅|∅")
}
