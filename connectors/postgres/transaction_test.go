package postgres

import (
	"testing"
	"time"

	"github.com/streamsql/streamsql/internal/pgtest"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// TestTransactionOfOneWhoStandsStill: the server ends it, and its owner may try again.
func TestTransactionOfOneWhoStandsStill(t *testing.T) {
	pg := pgtest.Start(t)
	l := link{db: pg.Open(t)}
	defer l.drop()
	c, err := l.get(ctx)
	if err != nil {
		t.Fatal(err)
	}
	err = transact(ctx, c, func(tx *transaction) error {
		if err := tx.open(ctx); err != nil {
			return err
		}
		var limit string
		if err := c.QueryRowContext(ctx, "SHOW idle_in_transaction_session_timeout").Scan(&limit); err != nil || limit != "30s" {
			t.Errorf("the limit is %q, %v", limit, err)
		}
		if err := tx.run(ctx, "shorten the limit", "SET LOCAL idle_in_transaction_session_timeout = '20ms'"); err != nil {
			return err
		}
		time.Sleep(500 * time.Millisecond)
		return tx.run(ctx, "go on", "SELECT 1")
	})
	if e := sqlerr.As(err); e == nil || e.Class != sqlerr.External || !e.Retry {
		t.Errorf("got %+v", err)
	}
}
