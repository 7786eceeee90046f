package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/streamsql/streamsql/connectors"
)

// sink is one declared table.
type sink struct {
	cfg    connectors.Config
	schema string
	table  string
	rows   int
	fence  fence
	db     *sql.DB
	locks  *locks
	target *target
	group  string
}

func openSink(_ context.Context, cfg connectors.Config) (connectors.Sink, error) {
	s := &sink{cfg: cfg, schema: cfg.Options["schema"], table: cfg.Options["table"], fence: fence{cfg.Options["fence.schema"]}}
	if s.table == "" {
		s.table = cfg.Table
	}
	var err error
	if s.rows, err = batchRows(cfg.Options); err != nil {
		return nil, err
	}
	conn, err := dsn(cfg.Options)
	if err != nil {
		return nil, err
	}
	s.locks = &locks{dsn: conn}
	if s.db, err = openDB(conn, s.locks); err != nil {
		return nil, err
	}
	return s, nil
}

// Check finds the real table, makes it when asked to, and compares.
func (s *sink) Check(ctx context.Context) error {
	l := &link{db: s.db}
	defer l.drop()
	if err := l.probe(ctx); err != nil {
		return err
	}
	c, err := l.get(ctx)
	if err != nil {
		return err
	}
	if s.cfg.Options["auto.create"] == "true" {
		t := &target{schema: s.schema, table: s.table}
		ddl := "CREATE TABLE IF NOT EXISTS" + createTable(t, s.cfg)[len("CREATE TABLE"):]
		if _, err := c.ExecContext(ctx, ddl); err != nil {
			return classify(err, "create table "+t.relation())
		}
	}
	if s.target, err = resolve(ctx, c, s.cfg, s.schema, s.table); err != nil {
		return err
	}
	if err := s.fence.create(ctx, c); err != nil {
		return err
	}
	var system, database string
	err = c.QueryRowContext(ctx, "SELECT system_identifier::text, current_database()::text FROM pg_control_system()").Scan(&system, &database)
	if err != nil {
		return classify(err, "identify the database")
	}
	s.group = fmt.Sprintf("postgres:%s/%s/%s", system, database, s.fence.schema)
	return nil
}

func (s *sink) Group() string { return s.group }

// Identity implements connectors.Identified.
func (s *sink) Identity() string {
	return fmt.Sprintf("table %s, oid %d", s.target.relation(), s.target.oid)
}

func (s *sink) Close() error { return errors.Join(s.db.Close(), s.locks.close()) }

// OpenWriter opens an early writer: each flush is one transaction.
func (s *sink) OpenWriter(ctx context.Context, wc connectors.WriterContext) (connectors.Writer, error) {
	return &writer{s: s, wc: wc, link: link{db: s.db}, apply: newApplier(s.target)}, nil
}

// Committer opens the committing side of the database.
func (s *sink) Committer(ctx context.Context, job string, attempt uint64) (connectors.Committer, error) {
	return &committer{s: s, job: job, attempt: attempt, link: link{db: s.db}}, nil
}
