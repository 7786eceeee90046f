package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/vec"
)

// applier writes batches into one table inside a transaction of its caller.
type applier struct {
	t      *target
	put    string // INSERT of $1… arrays
	del    string // DELETE by the key arrays; "" without key
	folder folder
	arrays [2][][]byte // memory of what is bound to del and put
	look   []int       // columns in which a row may be refused at sight
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

// apply writes the net change of b and gives the rows that the target will not take.
// Those are found by halving inside savepoints, so that all others are written.
func (a *applier) apply(ctx context.Context, tx *transaction, b *vec.Batch) ([]refusal, error) {
	out := a.screen(b, 0)
	if len(out) > 0 {
		b = without(b, out)
	}
	net, err := a.net(b)
	if err != nil {
		return out, err
	}
	more, err := a.write(ctx, tx, b, net, a.bind(b, net))
	return append(out, more...), err
}

// write writes the net change of rows that were screened, as it was bound.
func (a *applier) write(ctx context.Context, tx *transaction, b *vec.Batch, net change, all []statement) ([]refusal, error) {
	if len(all) == 0 {
		return nil, nil
	}
	err := tx.try(ctx, func() error { return exec(ctx, tx.c, all) })
	if !refusesData(err) {
		return nil, err
	}
	return a.takeApart(ctx, tx, b, net, err)
}

// change is the rows of a batch by which keys are deleted, and the rows to be written.
type change struct{ dels, puts []int32 }

func (c change) len() int { return len(c.dels) + len(c.puts) }

// part is the change of the i-th to the j-th row, deletes before the others.
func (c change) part(i, j int) change {
	d := len(c.dels)
	return change{c.dels[min(i, d):min(j, d)], c.puts[max(i-d, 0):max(j-d, 0)]}
}

func (c change) row(i int) int32 {
	if i < len(c.dels) {
		return c.dels[i]
	}
	return c.puts[i-len(c.dels)]
}

func (a *applier) net(b *vec.Batch) (change, error) {
	if len(a.t.key) > 0 {
		dels, puts := a.folder.fold(b)
		return change{dels, puts}, nil
	}
	for i := range b.N {
		if b.Op(i).Sign() < 0 {
			return change{}, sqlerr.Internalf("a delete reached table %q, which has no key", a.t.table)
		}
	}
	return change{puts: span(0, b.N)}, nil
}

// statement is one with its values, which stay good until the applier binds again.
type statement struct {
	act, text string
	args      []any
}

// bind makes the statements of a change: deletes, then the others.
func (a *applier) bind(b *vec.Batch, x change) (all []statement) {
	if len(x.dels) > 0 {
		cols := make([]*vec.Vector, len(a.t.key))
		for k, i := range a.t.key {
			cols[k] = b.Cols[i]
		}
		all = append(all, statement{"delete from " + a.t.relation(), a.del, bindRows(&a.arrays[0], cols, x.dels)})
	}
	if len(x.puts) > 0 {
		all = append(all, statement{"write to " + a.t.relation(), a.put, bindRows(&a.arrays[1], b.Cols, x.puts)})
	}
	return all
}

// bindRows makes one array per column.
func bindRows(arrays *[][]byte, cols []*vec.Vector, rows []int32) []any {
	if *arrays == nil {
		*arrays = make([][]byte, len(cols))
	}
	args := make([]any, len(cols))
	for k, c := range cols {
		(*arrays)[k] = appendArray((*arrays)[k][:0], c, rows)
		args[k] = (*arrays)[k]
	}
	return args
}

func exec(ctx context.Context, c *sql.Conn, all []statement) error {
	for _, s := range all {
		if _, err := c.ExecContext(ctx, s.text, s.args...); err != nil {
			return classify(err, s.act)
		}
	}
	return nil
}
