package repl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/streamsql/streamsql/connectors/console"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/vec"
)

// redrawEvery is the time between two drawings of a live result.
const redrawEvery = 100 * time.Millisecond

// live redraws the result in place as it changes.
func (p *Printer) live(ctx context.Context, q *engine.Query) error {
	fold := console.NewFolder(q.Schema)
	drawn, dirty := 0, true
	next := time.Now()
	for {
		if dirty && !time.Now().Before(next) {
			drawn, dirty = p.redraw(q, fold, drawn), false
			next = time.Now().Add(redrawEvery)
		}
		b, err := nextWithin(ctx, q, redrawEvery)
		switch {
		case errors.Is(err, io.EOF):
			p.redraw(q, fold, drawn)
			return nil
		case err != nil:
			return err
		case b == nil:
			continue
		}
		err = fold.Add(b)
		b.Release()
		if err != nil {
			return err
		}
		dirty = true
	}
}

// nextWithin gives the next rows, nil when there are none for so long.
func nextWithin(ctx context.Context, q *engine.Query, d time.Duration) (*vec.Batch, error) {
	wait, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	b, err := q.Next(wait)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, nil
	}
	return b, err
}

// liveRows is the most rows that a live result shows: the newest.
const liveRows = 20

// redraw goes back over the lines drawn before and draws the newest rows.
func (p *Printer) redraw(q *engine.Query, fold *console.Folder, drawn int) int {
	rows := fold.Rows()
	if rows.N > liveRows {
		sel := make([]int32, liveRows)
		for i := range sel {
			sel[i] = int32(rows.N - liveRows + i)
		}
		rows = rows.Take(sel)
	}
	var text bytes.Buffer
	if err := console.PrintAll(&text, q.Schema, rows, console.FormatTable); err != nil {
		return drawn
	}
	st := q.Status()
	fmt.Fprintf(&text, "%s in the result, %d read", rowsOf(int64(fold.Len())), st.RowsIn)
	if st.Stall != "" {
		fmt.Fprintf(&text, ", waiting: %s", st.Stall)
	}
	fmt.Fprint(&text, "; Ctrl-C ends the query\n")
	var out strings.Builder
	if drawn > 0 {
		fmt.Fprintf(&out, "\x1b[%dA\x1b[J", drawn)
	}
	out.WriteString(text.String())
	_, _ = io.WriteString(p.w, out.String())
	return strings.Count(text.String(), "\n")
}
