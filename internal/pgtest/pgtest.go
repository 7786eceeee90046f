// Package pgtest gives tests a real PostgreSQL. A machine without one fails the test;
// it never skips it.
package pgtest

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/lib/pq" // the driver the tests open the cluster with

	"github.com/streamsql/streamsql/internal/pgcluster"
)

// Server is a private cluster that ends with the test.
type Server struct {
	*pgcluster.Cluster
	DSN string
}

// Start starts a cluster for t.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	// Not t.TempDir: the server's user must be able to enter every directory above.
	dir, err := os.MkdirTemp("", "streamsql-pg-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := pgcluster.Start(context.Background(), pgcluster.Options{Dir: filepath.Join(dir, "c"), Settings: settings})
	if err != nil {
		os.RemoveAll(dir)
		t.Fatalf("start a private PostgreSQL: %v", err)
	}
	t.Cleanup(func() {
		_ = c.Kill()
		os.RemoveAll(dir)
	})
	return &Server{Cluster: c, DSN: c.DSN()}
}

// Open returns a connection pool that is closed with the test.
func (s *Server) Open(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open("postgres", s.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// Rows runs a query and returns its rows as text, columns joined by "|" and NULL as
// "∅", in the query's order.
func (s *Server) Rows(t testing.TB, db *sql.DB, query string, args ...any) []string {
	t.Helper()
	rows, err := db.Query(query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	cells := make([]sql.NullString, len(cols))
	ptrs := make([]any, len(cols))
	for i := range cells {
		ptrs[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(ptrs...); err != nil {
			t.Fatal(err)
		}
		parts := make([]string, len(cells))
		for i, c := range cells {
			parts[i] = "∅"
			if c.Valid {
				parts[i] = c.String
			}
		}
		out = append(out, strings.Join(parts, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
