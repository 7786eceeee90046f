package postgres

import (
	"context"
	"database/sql"
	"net"
	"sync"
	"time"

	"github.com/streamsql/streamsql/connectors"
)

// lockPatience is how long a server may say nothing before it is asked whether another
// session's lock is why, and again after that.
const lockPatience = 3 * time.Second

// locks finds out, while connections of a sink wait for an answer, whether the server
// waits for a lock. It asks on a connection of its own.
type locks struct {
	dsn string

	mu    sync.Mutex
	db    *sql.DB
	notes map[net.Conn]string // what the wait on a connection is for
}

// Status tells what is waited for, of several waits the first by name.
func (l *locks) Status() connectors.Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	var st connectors.Status
	for _, why := range l.notes {
		if st.Waiting == "" || why < st.Waiting {
			st.Waiting = why
		}
	}
	return st
}

// answered takes away what was noted of c.
func (l *locks) answered(c net.Conn) {
	l.mu.Lock()
	delete(l.notes, c)
	l.mu.Unlock()
}

// held reports that the server lives and a statement that c sent at since waits for a
// lock, and notes whose.
func (l *locks) held(c net.Conn, since time.Time) bool {
	why := l.ask(since)
	l.mu.Lock()
	defer l.mu.Unlock()
	if why == "" {
		delete(l.notes, c)
		return false
	}
	if l.notes == nil {
		l.notes = map[net.Conn]string{}
	}
	l.notes[c] = why
	return true
}

// lockedBy finds the statement of this user that began so many seconds ago and waits for
// a lock. A pooler may have given it any connection to the server.
const lockedBy = `SELECT coalesce('table ' || min(w.relation::regclass::text) || ' is', 'rows are') || ' locked in PostgreSQL by ' ||
		string_agg(DISTINCT CASE WHEN x.pid = 0 THEN 'a prepared transaction' ELSE 'session ' || x.pid END ||
			CASE WHEN b.application_name <> '' THEN ' (' || b.application_name || ')' ELSE '' END, ', ')
	FROM pg_stat_activity a CROSS JOIN LATERAL unnest(pg_blocking_pids(a.pid)) AS x(pid)
	LEFT JOIN pg_stat_activity b ON b.pid = x.pid
	LEFT JOIN pg_locks w ON w.pid = a.pid AND NOT w.granted
	WHERE a.datname = current_database() AND a.usename = current_user AND a.wait_event_type = 'Lock'
		AND abs(extract(epoch FROM clock_timestamp() - a.query_start) - $1) < 2
	GROUP BY a.pid ORDER BY a.pid LIMIT 1`

// ask gives whose lock the statement sent at since waits for, "" for none that is known.
func (l *locks) ask(since time.Time) (why string) {
	db := l.open()
	if db == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	c, err := db.Conn(ctx)
	if err != nil {
		return ""
	}
	defer c.Close()
	if c.QueryRowContext(ctx, lockedBy, time.Since(since).Seconds()).Scan(&why) != nil {
		return ""
	}
	return why
}

func (l *locks) open() *sql.DB {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.db == nil {
		c, err := connector(l.dsn, dialer{timeout: lockPatience})
		if err != nil {
			return nil
		}
		l.db = sql.OpenDB(impatient{c})
		l.db.SetMaxIdleConns(0)
	}
	return l.db
}

func (l *locks) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.db == nil {
		return nil
	}
	return l.db.Close()
}
