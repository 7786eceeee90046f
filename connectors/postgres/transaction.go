package postgres

import (
	"context"
	"database/sql"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// transaction is a transaction whose newest savepoint is kept until the next.
type transaction struct {
	c     *sql.Conn
	begin string // opens it
	// marked: there is a savepoint; unused: nothing was done since it was set.
	marked, unused bool
}

// savepoint undoes what a try has written.
const savepoint = "SAVEPOINT streamsql_rows"

// begin opens a transaction that does not outlive a process that stands still: what it has
// locked would keep the job's next attempt waiting for ever.
const begin = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '30s'"

// transact runs do in a transaction, which do opens. Constraints that the database would
// check at the end are checked with every statement when a first try ends with one of
// them broken: so the row that breaks it is found.
func transact(ctx context.Context, c *sql.Conn, do func(*transaction) error) error {
	for _, how := range []string{begin, begin + "; SET CONSTRAINTS ALL IMMEDIATE"} {
		tx := &transaction{c: c, begin: how}
		if err := do(tx); err != nil {
			return err
		}
		if err := tx.run(ctx, "commit", "COMMIT"); !refusesData(err) {
			return err
		}
	}
	return sqlerr.Internalf("a transaction that checks at once is refused at its end")
}

func (t *transaction) open(ctx context.Context) error { return t.run(ctx, "begin", t.begin) }

func (t *transaction) run(ctx context.Context, act, stmt string) error {
	if _, err := t.c.ExecContext(ctx, stmt); err != nil {
		return classify(err, act)
	}
	return nil
}

// try runs do inside a savepoint, which undoes it when it fails.
func (t *transaction) try(ctx context.Context, do func() error) error {
	stmt := savepoint
	if t.marked {
		stmt = "RELEASE " + savepoint + "; " + savepoint
	}
	if !t.unused {
		if err := t.run(ctx, "begin to write", stmt); err != nil {
			return err
		}
	}
	t.marked, t.unused = true, false
	err := do()
	if err == nil || !refusesData(err) {
		return err
	}
	t.unused = true
	if back := t.run(ctx, "undo a refused write", "ROLLBACK TO "+savepoint); back != nil {
		return back
	}
	return err
}
