package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// refuse decides what becomes of a row the target will not take: nil goes on without it.
type refuse func(b *vec.Batch, row int, cause *sqlerr.Error) error

// applier writes batches into one table inside a transaction of its caller.
type applier struct {
	t       *target
	put     string // INSERT of $1… arrays
	del     string // DELETE by the key arrays; "" without key
	folder  folder
	scratch [][]byte
	all     []int32
}

func newApplier(t *target) *applier {
	a := &applier{t: t, folder: folder{key: t.key}}
	names := make([]string, len(t.cols))
	exprs := make([]string, len(t.cols))
	arrays := make([]string, len(t.cols))
	aliases := make([]string, len(t.cols))
	for i, c := range t.cols {
		aliases[i] = fmt.Sprintf("c%d", i+1)
		names[i] = quote(c.name)
		array, expr := c.param(t.types[i], aliases[i])
		arrays[i] = fmt.Sprintf("$%d::%s", i+1, array)
		exprs[i] = expr
	}
	a.put = fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM unnest(%s) AS u(%s)", t.relation(),
		strings.Join(names, ", "), strings.Join(exprs, ", "), strings.Join(arrays, ", "), strings.Join(aliases, ", "))
	if len(t.key) == 0 {
		return a
	}
	inKey := make(map[int]bool, len(t.key))
	keys := make([]string, len(t.key))
	karrays := make([]string, len(t.key))
	kaliases := make([]string, len(t.key))
	match := make([]string, len(t.key))
	for k, i := range t.key {
		inKey[i] = true
		keys[k] = names[i]
		kaliases[k] = fmt.Sprintf("c%d", k+1)
		array, expr := t.cols[i].param(t.types[i], "u."+kaliases[k])
		karrays[k] = fmt.Sprintf("$%d::%s", k+1, array)
		match[k] = "t." + names[i] + " = " + expr
	}
	var sets []string
	for i, n := range names {
		if !inKey[i] {
			sets = append(sets, n+" = excluded."+n)
		}
	}
	a.put += fmt.Sprintf(" ON CONFLICT (%s) DO ", strings.Join(keys, ", "))
	if len(sets) == 0 {
		a.put += "NOTHING"
	} else {
		a.put += "UPDATE SET " + strings.Join(sets, ", ")
	}
	a.del = fmt.Sprintf("DELETE FROM %s AS t USING unnest(%s) AS u(%s) WHERE %s", t.relation(),
		strings.Join(karrays, ", "), strings.Join(kaliases, ", "), strings.Join(match, " AND "))
	return a
}

// apply writes the net change of b. tx is in a transaction; a statement that the
// target refuses is undone by a savepoint and taken apart down to the row.
func (a *applier) apply(ctx context.Context, tx *sql.Conn, b *vec.Batch, refused refuse) error {
	bad, err := a.screen(b, refused)
	if err != nil {
		return err
	}
	if len(bad) > 0 {
		b = without(b, bad)
	}
	if b.N == 0 {
		return nil
	}
	if len(a.t.key) == 0 {
		a.all = a.all[:0]
		for i := range b.N {
			if b.Op(i).Sign() < 0 {
				return sqlerr.Internalf("a delete reached table %q, which has no key", a.t.table)
			}
			a.all = append(a.all, int32(i))
		}
		return a.write(ctx, tx, b, a.all, refused)
	}
	dels, puts := a.folder.fold(b)
	err = guarded(ctx, tx, "streamsql_batch", func() error {
		if len(dels) > 0 {
			if err := a.exec(ctx, tx, a.del, b, a.t.key, dels); err != nil {
				return classify(err, "delete from "+a.t.relation())
			}
		}
		if len(puts) == 0 {
			return nil
		}
		return a.write(ctx, tx, b, puts, refused)
	})
	if errors.Is(err, errOrder) {
		return a.applyInOrder(ctx, tx, b, refused)
	}
	return err
}

// errOrder says that a set of rows cannot be written at once: another unique index, or
// keys that only PostgreSQL calls equal. What the rows did one after the other decides.
var errOrder = errors.New("the order of single rows matters")

// applyInOrder writes every row of b by itself, as the changelog has them.
func (a *applier) applyInOrder(ctx context.Context, tx *sql.Conn, b *vec.Batch, refused refuse) error {
	one := make([]int32, 1)
	for i := range b.N {
		one[0] = int32(i)
		stmt, cols := a.put, []int(nil)
		if b.Op(i).Sign() < 0 {
			stmt, cols = a.del, a.t.key
		}
		err := guarded(ctx, tx, "streamsql_row", func() error {
			if err := a.exec(ctx, tx, stmt, b, cols, one); err != nil {
				return classify(err, "write to "+a.t.relation())
			}
			return nil
		})
		if refusesData(err) {
			err = refused(b, i, sqlerr.As(err))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// guarded runs do inside a savepoint, which undoes it when it fails.
func guarded(ctx context.Context, tx *sql.Conn, savepoint string, do func() error) error {
	if _, err := tx.ExecContext(ctx, "SAVEPOINT "+savepoint); err != nil {
		return classify(err, "begin to write")
	}
	if err := do(); err != nil {
		if e := sqlerr.As(err); e != nil && e.Retry {
			return err
		}
		if _, back := tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT "+savepoint); back != nil {
			return classify(back, "undo a refused write")
		}
		return err
	}
	if _, err := tx.ExecContext(ctx, "RELEASE SAVEPOINT "+savepoint); err != nil {
		return classify(err, "write")
	}
	return nil
}

// write inserts rows in one statement; when the target refuses one it is found by
// halving.
func (a *applier) write(ctx context.Context, tx *sql.Conn, b *vec.Batch, rows []int32, refused refuse) error {
	err := guarded(ctx, tx, "streamsql_rows", func() error {
		if err := a.exec(ctx, tx, a.put, b, nil, rows); err != nil {
			return classify(err, "write to "+a.t.relation())
		}
		return nil
	})
	if !refusesData(err) {
		return err
	}
	e := sqlerr.As(err)
	if len(a.t.key) > 0 && (e.Code == sqlerr.CodeUnique || e.Code == "21000") {
		return errOrder
	}
	if len(rows) == 1 {
		return refused(b, int(rows[0]), e)
	}
	mid := len(rows) / 2
	if err := a.write(ctx, tx, b, rows[:mid], refused); err != nil {
		return err
	}
	return a.write(ctx, tx, b, rows[mid:], refused)
}

// exec binds one array per column (all columns when cols is nil) and runs stmt.
func (a *applier) exec(ctx context.Context, tx *sql.Conn, stmt string, b *vec.Batch, cols []int, rows []int32) error {
	n := len(b.Cols)
	if cols != nil {
		n = len(cols)
	}
	for len(a.scratch) < n {
		a.scratch = append(a.scratch, nil)
	}
	args := make([]any, n)
	for k := range n {
		i := k
		if cols != nil {
			i = cols[k]
		}
		a.scratch[k] = appendArray(a.scratch[k][:0], b.Cols[i], rows)
		args[k] = a.scratch[k]
	}
	_, err := tx.ExecContext(ctx, stmt, args...)
	return err
}

// screen finds rows that the table cannot take before the server is asked: NULL for
// NOT NULL, NUL in text, text too long, text that is not UTF-8.
func (a *applier) screen(b *vec.Batch, refused refuse) (bad []int32, err error) {
	isBad := func(i int) bool { return len(bad) > 0 && bad[len(bad)-1] == int32(i) }
	for i := range b.N {
		if b.Op(i).Sign() < 0 {
			continue
		}
		for k, c := range a.t.cols {
			v := b.Cols[k]
			if cause := c.refuses(v, i); cause != nil && !isBad(i) {
				if err := refused(b, i, cause); err != nil {
					return nil, err
				}
				bad = append(bad, int32(i))
			}
		}
	}
	return bad, nil
}

func (c *column) refuses(v *vec.Vector, i int) *sqlerr.Error {
	if v.IsNull(i) {
		if c.notNull {
			return sqlerr.New(sqlerr.CodeNotNull, 0, "null value in column %q, which is NOT NULL", c.name)
		}
		return nil
	}
	if v.Type.Phys() != types.PBytes || v.Type.Kind == types.Bytes {
		return nil
	}
	text := v.Bytes(i)
	chars, ascii := 0, true
	for _, x := range text {
		if x == 0 {
			return sqlerr.New(sqlerr.CodeInvalidEncoding, 0, "text for column %q holds a NUL character, which PostgreSQL cannot store", c.name)
		}
		ascii = ascii && x < 0x80
	}
	if !ascii && !utf8.Valid(text) {
		return sqlerr.New(sqlerr.CodeInvalidEncoding, 0, "text for column %q is not valid UTF-8", c.name)
	}
	if limit := c.maxChars(); limit > 0 && len(text) > limit {
		if chars = utf8.RuneCount(text); chars > limit {
			return sqlerr.New(sqlerr.CodeStringTooLong, 0, "text of %d characters is too long for column %q of type %s", chars, c.name, c.typ)
		}
	}
	return nil
}

func without(b *vec.Batch, bad []int32) *vec.Batch {
	keep := make([]int32, 0, b.N-len(bad))
	for i := range b.N {
		if len(bad) > 0 && bad[0] == int32(i) {
			bad = bad[1:]
			continue
		}
		keep = append(keep, int32(i))
	}
	return b.Take(keep)
}
