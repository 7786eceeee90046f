package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/lib/pq"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
)

// fence is the row by which the database remembers a job: its newest attempt, and the
// last epoch that is in the tables. Every transaction of every mode updates it first;
// none updated means that a later attempt owns the targets.
type fence struct{ schema string }

func (f fence) jobs() string    { return quote(f.schema) + ".streamsql_fence" }
func (f fence) targets() string { return quote(f.schema) + ".streamsql_target" }

func (f fence) create(ctx context.Context, c *sql.Conn) error {
	var have bool
	err := c.QueryRowContext(ctx, `SELECT count(*) = 3 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname IN ('streamsql_fence', 'streamsql_target', 'streamsql_letter')`, f.schema).Scan(&have)
	if err != nil {
		return classify(err, "look for the fence tables")
	}
	if have {
		return nil
	}
	ddl := fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s (job text PRIMARY KEY, attempt bigint NOT NULL, epoch bigint NOT NULL,
			checksum text NOT NULL, changed timestamptz NOT NULL DEFAULT now());
		CREATE TABLE IF NOT EXISTS %s (relation bigint PRIMARY KEY, job text NOT NULL, released boolean NOT NULL DEFAULT false);
		CREATE TABLE IF NOT EXISTS %s (job text, node bigint, epoch bigint, piece bigint, letters bytea NOT NULL, PRIMARY KEY (job, node, epoch, piece))`,
		f.jobs(), f.targets(), f.letters())
	// Two sinks that start at once may both see no table; the lock makes the second wait.
	_, err = c.ExecContext(ctx, "BEGIN; SELECT pg_advisory_xact_lock(7356114283110214512); "+ddl+"; COMMIT")
	if err == nil {
		return nil
	}
	_, _ = c.ExecContext(ctx, "ROLLBACK")
	e := classify(err, "create the fence tables in schema "+quote(f.schema))
	if e.Code == "42501" || e.Code == "3F000" {
		e.Hint = "Set 'fence.schema' to a schema in which the user may create tables."
	}
	return e
}

// claim is a job's claim to a table.
type claim struct {
	job      string
	released bool
}

// acquire makes attempt the job's newest and claims the tables for the job. The claims of
// other jobs that it replaces are put into before.
func (f fence) acquire(ctx context.Context, c *sql.Conn, job string, attempt uint64, targets []*target, takeOver bool, before map[int64]claim) error {
	if _, err := c.ExecContext(ctx, begin); err != nil {
		return classify(err, "acquire the fence")
	}
	var have int64
	err := c.QueryRowContext(ctx, fmt.Sprintf(`INSERT INTO %s AS f (job, attempt, epoch, checksum) VALUES ($1, $2, 0, '')
		ON CONFLICT (job) DO UPDATE SET attempt = greatest(f.attempt, excluded.attempt), changed = now() RETURNING attempt`,
		f.jobs()), job, int64(attempt)).Scan(&have)
	if err != nil {
		return classify(err, "acquire the fence")
	}
	if have != int64(attempt) {
		return fenced(job, attempt, have)
	}
	for _, t := range targets {
		var was claim
		err := c.QueryRowContext(ctx, fmt.Sprintf(`SELECT job, released FROM %s WHERE relation = $1 FOR UPDATE`, f.targets()), t.oid).Scan(&was.job, &was.released)
		if err != nil && err != sql.ErrNoRows {
			return classify(err, "claim table "+t.relation())
		}
		if err == nil && was.job != job {
			before[t.oid] = was
		}
		var owner string
		err = c.QueryRowContext(ctx, fmt.Sprintf(`INSERT INTO %s AS f (relation, job) VALUES ($1, $2)
			ON CONFLICT (relation) DO UPDATE SET job = CASE WHEN $3 OR f.released THEN excluded.job ELSE f.job END,
				released = false
			RETURNING job`, f.targets()), t.oid, job, takeOver).Scan(&owner)
		if err != nil {
			return classify(err, "claim table "+t.relation())
		}
		if owner != job {
			return sqlerr.New(sqlerr.CodeFenced, 0, "table %s is written by another job (id %s)", t.relation(), owner).
				WithHint("Stop that job and start this one with --take-over, or write to another table.")
		}
	}
	if _, err := c.ExecContext(ctx, "COMMIT"); err != nil {
		return classify(err, "acquire the fence")
	}
	return nil
}

// relinquish marks the job's tables as free for others. Those that before names go back
// when nothing was committed.
func (f fence) relinquish(ctx context.Context, c *sql.Conn, job string, before map[int64]claim) error {
	for oid, was := range before {
		_, err := c.ExecContext(ctx, fmt.Sprintf(`UPDATE %s SET job = $3, released = $4 WHERE relation = $1 AND job = $2
			AND NOT EXISTS (SELECT FROM %s WHERE job = $2 AND epoch > 0)`, f.targets(), f.jobs()), oid, job, was.job, was.released)
		if err != nil {
			return classify(err, "give table back to job "+was.job)
		}
	}
	if _, err := c.ExecContext(ctx, fmt.Sprintf(`UPDATE %s SET released = true WHERE job = $1`, f.targets()), job); err != nil {
		return classify(err, "give up the claim to the tables")
	}
	return nil
}

// heldBy is the job that was the last to claim t, "" for none.
func (f fence) heldBy(ctx context.Context, c *sql.Conn, t *target) (job string, err error) {
	err = c.QueryRowContext(ctx, fmt.Sprintf(`SELECT job FROM %s WHERE relation = $1`, f.targets()), t.oid).Scan(&job)
	if err != nil && err != sql.ErrNoRows {
		return "", classify(err, "look up who claimed "+t.relation())
	}
	return job, nil
}

// hold opens a transaction, proves that attempt is still the newest, and sets the first
// savepoint, in one round trip.
func (f fence) hold(ctx context.Context, tx *transaction, job string, attempt uint64) error {
	var have int64
	err := tx.c.QueryRowContext(ctx, fmt.Sprintf(`%s; SELECT attempt FROM %s WHERE job = %s FOR SHARE; %s`,
		tx.begin, f.jobs(), pq.QuoteLiteral(job), savepoint)).Scan(&have)
	tx.marked, tx.unused = true, true
	if err == sql.ErrNoRows {
		return sqlerr.New(sqlerr.CodeFenced, 0, "the fence row of job %s is gone from %s", job, f.jobs())
	}
	if err != nil {
		return classify(err, "check the fence")
	}
	if have != int64(attempt) {
		return fenced(job, attempt, have)
	}
	return nil
}

// advance moves the fence to id inside a transaction; done says that the fence is there
// already.
func (f fence) advance(ctx context.Context, c *sql.Conn, id connectors.CommitID) (done bool, err error) {
	r, err := c.ExecContext(ctx, fmt.Sprintf(`UPDATE %s SET epoch = $3, checksum = $4, changed = now()
		WHERE job = $1 AND attempt = $2 AND epoch < $3`, f.jobs()), id.Job, int64(id.Attempt), int64(id.Epoch), id.Checksum)
	if err != nil {
		return false, classify(err, "advance the fence")
	}
	if n, err := r.RowsAffected(); err == nil && n == 1 {
		return false, nil
	}
	have, err := f.read(ctx, c, id.Job)
	if err != nil {
		return false, err
	}
	switch {
	case !have.Known:
		return false, sqlerr.New(sqlerr.CodeFenced, 0, "the fence row of job %s is gone from %s", id.Job, f.jobs())
	case have.Attempt != id.Attempt:
		return false, fenced(id.Job, id.Attempt, int64(have.Attempt))
	case have.Epoch == id.Epoch && have.Checksum == id.Checksum:
		return true, nil
	}
	return false, sqlerr.New(sqlerr.CodeFenced, 0, "epoch %d cannot be committed: the target already holds epoch %d", id.Epoch, have.Epoch)
}

func (f fence) read(ctx context.Context, c *sql.Conn, job string) (connectors.Fence, error) {
	var attempt, epoch int64
	out := connectors.Fence{Job: job}
	err := c.QueryRowContext(ctx, fmt.Sprintf(`SELECT attempt, epoch, checksum FROM %s WHERE job = $1`, f.jobs()), job).
		Scan(&attempt, &epoch, &out.Checksum)
	if err == sql.ErrNoRows {
		return out, nil
	}
	if err != nil {
		return out, classify(err, "read the fence")
	}
	out.Known, out.Attempt, out.Epoch = true, uint64(attempt), stream.Epoch(epoch)
	return out, nil
}

func fenced(job string, attempt uint64, have int64) error {
	return sqlerr.New(sqlerr.CodeFenced, 0, "attempt %d of job %s was superseded by attempt %d", attempt, job, have).
		WithHint("The job runs somewhere else; this process must not write any more.")
}
