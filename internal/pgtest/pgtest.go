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

// Pooler starts pgbouncer before the server, in transaction mode unless settings say
// otherwise; it ends with the test.
func (s *Server) Pooler(t testing.TB, settings ...string) *pgcluster.Pooler {
	t.Helper()
	p, err := s.StartPooler(context.Background(), settings...)
	if err != nil {
		t.Fatalf("start a pooler: %v", err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	return p
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

// Rows runs a query and returns its rows as PostgreSQL's own text, columns joined by
// "|" and NULL as "∅", in the query's order.
func (s *Server) Rows(t testing.TB, db *sql.DB, query string, args ...any) []string {
	t.Helper()
	out, err := Query(db, query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return out
}

// Query is Rows for a query that may fail.
func Query(db *sql.DB, query string, args ...any) ([]string, error) {
	// A row's text form is the server's: the driver would turn times and numbers into
	// Go's.
	rows, err := db.Query("SELECT ROW(q.*)::text FROM ("+query+"\n) AS q", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		out = append(out, strings.Join(fields(text), "|"))
	}
	return out, rows.Err()
}

// fields takes the text of a composite value apart (record_out): commas separate,
// nothing at all is NULL, quotes and backslashes inside quotes are doubled.
func fields(text string) []string {
	var out []string
	text = strings.TrimSuffix(strings.TrimPrefix(text, "("), ")")
	for {
		var cell strings.Builder
		quoted, inside, i := false, false, 0
		for ; i < len(text); i++ {
			c := text[i]
			switch {
			case inside && (c == '"' || c == '\\') && i+1 < len(text) && text[i+1] == c:
				cell.WriteByte(c)
				i++
				continue
			case c == '"':
				quoted, inside = true, !inside
				continue
			case c == ',' && !inside:
			default:
				cell.WriteByte(c)
				continue
			}
			break
		}
		v := cell.String()
		if v == "" && !quoted {
			v = "∅"
		}
		out = append(out, v)
		if i >= len(text) {
			return out
		}
		text = text[i+1:]
	}
}
