package postgres

import (
	"context"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// refuse decides what becomes of a row the target will not take: nil goes on without it.
type refuse func(b *vec.Batch, row int, cause *sqlerr.Error) error

// refusal is a row that the target does not take.
type refusal struct {
	b     *vec.Batch
	row   int32
	cause *sqlerr.Error
}

// report tells the policy of every refusal, in the order of the rows.
func report(all []refusal, refused refuse) error {
	for _, r := range all {
		if err := refused(r.b, int(r.row), r.cause); err != nil {
			return err
		}
	}
	return nil
}

// errOrder says that a set of rows cannot be written at once: another unique index, or
// keys that only PostgreSQL calls equal. What the rows did one after the other decides.
var errOrder = errors.New("the order of single rows matters")

// takeApart writes a change that was refused as a whole, for the reason why, and gives
// the rows that stay refused: some 2 log n statements for each of n rows.
func (a *applier) takeApart(ctx context.Context, tx *transaction, b *vec.Batch, net change, why error) ([]refusal, error) {
	if err := tx.run(ctx, "begin to write", "SAVEPOINT streamsql_batch"); err != nil {
		return nil, err
	}
	tx.marked, tx.unused = false, false
	var out []refusal
	err := a.split(net.len(), why, func(i, j int) error {
		return tx.try(ctx, func() error { return exec(ctx, tx.c, a.bind(b, net.part(i, j))) })
	}, func(i int, cause *sqlerr.Error) {
		out = append(out, refusal{b, net.row(i), cause})
	}, len(a.t.key) > 0)
	if err == errOrder {
		if err := tx.run(ctx, "undo a refused write", "ROLLBACK TO SAVEPOINT streamsql_batch"); err != nil {
			return nil, err
		}
		tx.marked, tx.unused = false, false
		out, err = a.inOrder(ctx, tx, b, why)
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(x, y refusal) int { return int(x.row - y.row) })
	tx.marked, tx.unused = true, false
	return out, tx.run(ctx, "write", "RELEASE SAVEPOINT streamsql_batch")
}

// inOrder writes the rows of b as the changelog has them, in runs that the target takes
// at once.
func (a *applier) inOrder(ctx context.Context, tx *transaction, b *vec.Batch, why error) ([]refusal, error) {
	rows := a.folder.news(b)
	run := folder{key: a.t.key}
	var out []refusal
	err := a.split(len(rows), why, func(i, j int) error {
		piece := b
		if j-i < b.N {
			piece = b.Take(rows[i:j])
			defer piece.Release()
		}
		dels, puts := run.fold(piece)
		return tx.try(ctx, func() error { return exec(ctx, tx.c, a.bind(piece, change{dels, puts})) })
	}, func(i int, cause *sqlerr.Error) { out = append(out, refusal{b, rows[i], cause}) }, false)
	return out, err
}

// split halves n rows, of which the target refuses some for the reason why, until every
// row is written or refused by itself. With ordered it gives up with errOrder when the
// reason is what other rows hold.
func (a *applier) split(n int, why error, write func(i, j int) error, refused func(i int, cause *sqlerr.Error), ordered bool) error {
	var halve func(i, j int, why error) error
	halve = func(i, j int, why error) error {
		e := sqlerr.As(why)
		if ordered && (e.Code == sqlerr.CodeUnique || e.Code == "21000") {
			return errOrder
		}
		if j-i == 1 {
			refused(i, e)
			return nil
		}
		mid := (i + j) / 2
		for _, h := range [2][2]int{{i, mid}, {mid, j}} {
			err := write(h[0], h[1])
			if refusesData(err) {
				err = halve(h[0], h[1], err)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return halve(0, n, why)
}

// screen finds rows that the table cannot take before the server is asked: NULL for
// NOT NULL, NUL in text, text too long, text that is not UTF-8. It begins at row from.
func (a *applier) screen(b *vec.Batch, from int) (out []refusal) {
	a.look = a.look[:0]
	for k, c := range a.t.cols {
		if v := b.Cols[k]; v.Valid != nil && c.notNull || v.Type.Phys() == types.PBytes && v.Type.Kind != types.Bytes {
			a.look = append(a.look, k)
		}
	}
	for i := from; i < b.N && len(a.look) > 0; i++ {
		if b.Op(i).Sign() < 0 {
			continue
		}
		for _, k := range a.look {
			if cause := a.t.cols[k].refuses(b.Cols[k], i); cause != nil {
				out = append(out, refusal{b, int32(i), cause})
				break
			}
		}
	}
	return out
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

// without is b without the rows that were refused, which are in order.
func without(b *vec.Batch, bad []refusal) *vec.Batch {
	keep := make([]int32, 0, b.N-len(bad))
	for i := range b.N {
		if len(bad) > 0 && bad[0].row == int32(i) {
			bad = bad[1:]
			continue
		}
		keep = append(keep, int32(i))
	}
	return b.Take(keep)
}
