package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/stream"
)

// letters is the table in which a commit keeps what its targets refused, until the
// dead letters have it.
func (f fence) letters() string { return quote(f.schema) + ".streamsql_letter" }

// keep stores what was put aside of a part behind its first n pieces and gives their
// number.
func (f fence) keep(ctx context.Context, tx *transaction, id connectors.CommitID, p connectors.Part, n int) (int, error) {
	for piece := p.Diverted(); piece != nil; piece = p.Diverted() {
		_, err := tx.c.ExecContext(ctx, fmt.Sprintf(`INSERT INTO %s (job, node, epoch, piece, letters) VALUES ($1, $2, $3, $4, $5)`, f.letters()),
			id.Job, int64(p.Node), int64(id.Epoch), int64(n), piece)
		if err != nil {
			return n, classify(err, "keep refused rows")
		}
		n++
	}
	return n, nil
}

// kept reads a piece, nil when there is none.
func (f fence) kept(ctx context.Context, c *sql.Conn, job string, epoch stream.Epoch, node, n int) (piece []byte, err error) {
	err = c.QueryRowContext(ctx, fmt.Sprintf(`SELECT letters FROM %s WHERE job = $1 AND node = $2 AND epoch = $3 AND piece = $4`, f.letters()),
		job, int64(node), int64(epoch), int64(n)).Scan(&piece)
	if err == sql.ErrNoRows {
		return nil, nil
	}
	if err != nil {
		return nil, classify(err, "read refused rows")
	}
	return piece, nil
}

func (f fence) forget(ctx context.Context, c *sql.Conn, job string, epoch stream.Epoch, node int) error {
	_, err := c.ExecContext(ctx, fmt.Sprintf(`DELETE FROM %s WHERE job = $1 AND node = $2 AND epoch <= $3`, f.letters()), job, int64(node), int64(epoch))
	if err != nil {
		return classify(err, "remove refused rows")
	}
	return nil
}
