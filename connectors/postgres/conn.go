package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/lib/pq"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// ioTimeout is how long one read or write on the socket may take. lib/pq does not
// return on a context's deadline while the server is stopped, so the socket has to.
// What waits for a lock may take longer: the server answers others.
const ioTimeout = 60 * time.Second

// deadlineConn sets a deadline before every read and write.
type deadlineConn struct {
	net.Conn
	timeout time.Duration
	locks   *locks // nil for none
}

func (c *deadlineConn) Read(b []byte) (int, error) {
	begin := time.Now()
	since, noted := begin, false
	for {
		wait := c.timeout
		if c.locks != nil {
			wait = min(lockPatience, wait)
		}
		if err := c.SetReadDeadline(time.Now().Add(wait)); err != nil {
			return 0, err
		}
		n, err := c.Conn.Read(b)
		if c.locks != nil && n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && time.Since(since) < c.timeout {
			if noted = c.locks.held(c, begin); noted {
				since = time.Now()
			}
			continue
		}
		if noted {
			c.locks.answered(c)
		}
		return n, err
	}
}

func (c *deadlineConn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// dialer makes connections that no read or write holds for longer than timeout, unless
// locks says that the server waits for one.
type dialer struct {
	timeout time.Duration
	locks   *locks
}

func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialTimeout(network, address, d.timeout)
}

func (d dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &deadlineConn{c, d.timeout, d.locks}, nil
}

// openDB makes a pool; it connects on first use. Nothing here lets database/sql
// repeat a statement on another connection: work runs on one *sql.Conn.
func openDB(dsn string, l *locks) (*sql.DB, error) {
	c, err := connector(dsn, dialer{timeout: ioTimeout, locks: l})
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(impatient{c}), nil
}

// connector makes connections that bind values in binary, each statement in one round
// trip: nothing is prepared that a pooler would have to know.
func connector(dsn string, d dialer) (*pq.Connector, error) {
	cfg, err := pq.NewConfig(dsn)
	if err != nil {
		return nil, sqlerr.New(sqlerr.CodeOption, 0, "the PostgreSQL connection options are not valid").
			WithHint("Check url, user and sslmode; libpq's keywords and URLs are accepted.")
	}
	cfg.BinaryParameters = true
	c, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return nil, err
	}
	c.Dialer(d)
	return c, nil
}

// link is one connection that is made anew after it broke.
type link struct {
	db   *sql.DB
	conn *sql.Conn
	busy sync.WaitGroup // what is under way on conn
}

// get waits until nothing is under way.
func (l *link) get(ctx context.Context) (*sql.Conn, error) {
	l.busy.Wait()
	if l.conn != nil {
		return l.conn, nil
	}
	c, err := l.db.Conn(ctx)
	if err != nil {
		return nil, classify(err, "connect to PostgreSQL")
	}
	l.conn = c
	return c, nil
}

// drop closes the connection for good: its state is unknown.
func (l *link) drop() {
	l.busy.Wait()
	if l.conn == nil {
		return
	}
	_ = l.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = l.conn.Close()
	l.conn = nil
}

// probe tells a pooler that gives no connection for the length of a transaction, and
// ends it instead, from a database that is away: single statements succeed.
func (l *link) probe(ctx context.Context) error {
	for range 3 {
		c, err := l.get(ctx)
		if err != nil {
			return err
		}
		if _, err := c.ExecContext(ctx, "SELECT 1"); err != nil {
			l.drop()
			return classify(err, "connect to PostgreSQL")
		}
		err = transact(ctx, c, func(tx *transaction) error { return tx.open(ctx) })
		if sqlerr.CodeOf(err) != sqlerr.CodeConnection {
			return err
		}
		l.drop()
	}
	return &sqlerr.Error{Class: sqlerr.User, Code: sqlerr.CodeNotReady, Msg: "PostgreSQL ends the connection when a transaction begins",
		Hint: "A pooler before the database must keep a connection for a whole transaction: set its pool_mode to transaction or session."}
}

// run calls do on a connection until it succeeds or fails for good. Between tries it
// waits with back-off and tells stalled why; what do wrote in a transaction that did
// not commit is gone, so do starts from the beginning.
func (l *link) run(ctx context.Context, stalled func(error), do func(context.Context, *sql.Conn) error) error {
	wait := 20 * time.Millisecond
	waited := false
	for {
		c, err := l.get(ctx)
		if err == nil {
			err = do(ctx, c)
		}
		if err == nil {
			if waited && stalled != nil {
				stalled(nil)
			}
			return nil
		}
		l.drop()
		e := sqlerr.As(err)
		if ctx.Err() != nil || e == nil || !e.Retry {
			return err
		}
		if stalled != nil {
			waited = true
			stalled(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		wait = min(2*wait, 5*time.Second)
	}
}

// classify turns a driver error into ours: what may be tried again, what the user has
// to mend, what is one row's fault.
func classify(err error, act string) *sqlerr.Error {
	if e := sqlerr.As(err); e != nil {
		return e
	}
	var pe *pq.Error
	if !errors.As(err, &pe) {
		var ne net.Error
		if errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
			errors.Is(err, net.ErrClosed) || errors.Is(err, sql.ErrConnDone) || errors.As(err, &ne) {
			return sqlerr.Externalf(sqlerr.CodeConnection, err, "%s", act)
		}
		return &sqlerr.Error{Class: sqlerr.External, Code: sqlerr.CodeConnection, Msg: act, Err: err}
	}
	code := string(pe.Code)
	e := &sqlerr.Error{Class: sqlerr.User, Code: code, Msg: act + ": " + pe.Message, Detail: pe.Detail, Hint: pe.Hint}
	switch {
	case code == "08P01" && strings.HasPrefix(pe.Message, "unsupported startup parameter"):
		e.Hint = "The pooler before the database refuses a parameter of the url: leave it out, or add its name to the pooler's ignore_startup_parameters."
	case code[:2] == "28":
		e.Code = sqlerr.CodeAuth
	case code == "42501" && e.Hint == "":
		e.Hint = "Grant the user the right, or for the fence tables name a schema of its own with 'fence.schema'."
	case code == "25006":
		// A standby, or a server that is being failed over: it will take writes again.
		e.Class, e.Code, e.Retry = sqlerr.External, sqlerr.CodeNotReady, true
	case code[:2] == "08", code[:2] == "53", code[:2] == "57", code[:2] == "40", code == "55P03", code == "55006", code == "25P03":
		e.Class, e.Retry = sqlerr.External, true
	case code == "0A000" && pe.Routine == "RevalidateCachedQuery", code == "26000":
		e.Class, e.Retry = sqlerr.External, true
	}
	return e
}

// refusesData reports an error that is about the values of a row: classes 22 and 23, a
// key twice in one statement, and what triggers raise.
func refusesData(err error) bool {
	e := sqlerr.As(err)
	return e != nil && !e.Retry && len(e.Code) == 5 &&
		(e.Code[:2] == "22" || e.Code[:2] == "23" || e.Code[:2] == "P0" || e.Code == "21000")
}

// quote quotes an identifier.
func quote(name string) string { return pq.QuoteIdentifier(name) }
