package postgres

import (
	"context"
	"database/sql/driver"
)

// impatient opens connections that the end of the context gives up at once: the driver
// looks at it only until the server's address has answered.
type impatient struct{ driver.Connector }

type opened struct {
	conn driver.Conn
	err  error
}

// Connect implements driver.Connector.
func (c impatient) Connect(ctx context.Context) (driver.Conn, error) {
	done := make(chan opened, 1)
	go func() {
		conn, err := c.Connector.Connect(ctx)
		done <- opened{conn, err}
	}()
	select {
	case o := <-done:
		return o.conn, o.err
	case <-ctx.Done():
		go func() {
			// It ends with the connection's own timeout.
			if o := <-done; o.err == nil {
				_ = o.conn.Close()
			}
		}()
		return nil, ctx.Err()
	}
}
