package repl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/streamsql/streamsql/connectors/console"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// Printer prints the results of statements.
type Printer struct {
	w        io.Writer
	format   string
	terminal bool
	expanded bool
}

// NewPrinter returns a printer to w; an empty format is table. On a terminal a live
// result is redrawn in place.
func NewPrinter(w io.Writer, format string, terminal bool) *Printer {
	if format == "" {
		format = console.FormatTable
	}
	return &Printer{w: w, format: format, terminal: terminal}
}

// Query prints the rows of q until its end or the end of ctx. Bounded input gives the
// final rows; unbounded the changes as they come, or on a terminal the live result.
func (p *Printer) Query(ctx context.Context, q *engine.Query) error {
	switch {
	case q.Bounded && p.format != console.FormatChangelog:
		return p.final(ctx, q)
	case p.terminal && q.Updating && p.format == console.FormatTable:
		return p.live(ctx, q)
	}
	out, err := console.NewPrinter(p.w, q.Schema, p.format, q.Updating)
	if err != nil {
		return err
	}
	n := 0
	for {
		b, err := q.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out.Finish(n)
		}
		if err != nil {
			return err
		}
		n += b.N
		err = out.Print(b)
		b.Release()
		if err != nil {
			return err
		}
	}
}

// final prints what is left when the input has ended.
func (p *Printer) final(ctx context.Context, q *engine.Query) error {
	fold := console.NewFolder(q.Schema)
	for {
		b, err := q.Next(ctx)
		if errors.Is(err, io.EOF) {
			return p.all(q.Schema, fold.Rows())
		}
		if err != nil {
			return err
		}
		err = fold.Add(b)
		b.Release()
		if err != nil {
			return err
		}
	}
}

// redrawEvery is the time between two drawings of a live result.
const redrawEvery = 100 * time.Millisecond

// live redraws the result in place as it changes.
func (p *Printer) live(ctx context.Context, q *engine.Query) error {
	fold := console.NewFolder(q.Schema)
	drawn, dirty := 0, true
	for {
		wait, cancel := context.WithTimeout(ctx, redrawEvery)
		b, err := q.Next(wait)
		cancel()
		if b != nil {
			err = fold.Add(b)
			b.Release()
			dirty = true
			if err != nil {
				return err
			}
			continue
		}
		if dirty {
			drawn, dirty = p.redraw(q, fold, drawn), false
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !errors.Is(err, context.DeadlineExceeded):
			return err
		}
	}
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
	fmt.Fprintf(&text, "%d rows in the result, %d read", fold.Len(), st.RowsIn)
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

func (p *Printer) all(schema types.Schema, rows *vec.Batch) error {
	if p.expanded && p.format == console.FormatTable {
		return p.expand(schema, rows)
	}
	return console.PrintAll(p.w, schema, rows, p.format)
}

// expand prints one column a line, as psql's \x.
func (p *Printer) expand(schema types.Schema, rows *vec.Batch) error {
	width := 0
	for _, c := range schema {
		width = max(width, len([]rune(c.Name)))
	}
	var out bytes.Buffer
	for i := range rows.N {
		fmt.Fprintf(&out, "-[ RECORD %d ]%s\n", i+1, strings.Repeat("-", width))
		for k, c := range schema {
			pad := strings.Repeat(" ", width-len([]rune(c.Name)))
			fmt.Fprintf(&out, "%s%s | %s\n", c.Name, pad, vec.AppendText(nil, rows.Cols[k], i))
		}
	}
	_, err := p.w.Write(out.Bytes())
	return err
}

// Table prints rows of text under their column names.
func (p *Printer) Table(columns []string, rows [][]string) error {
	schema := make(types.Schema, len(columns))
	for i, c := range columns {
		schema[i] = types.Column{Name: c, Type: types.TText}
	}
	b := vec.NewBatch(schema.Types(), len(rows))
	for _, r := range rows {
		for i, cell := range r {
			b.Cols[i].AppendString(cell)
		}
		b.N++
	}
	return p.all(schema, b)
}

// Table prints rows of text as a table.
func Table(w io.Writer, columns []string, rows [][]string) error {
	return NewPrinter(w, console.FormatTable, false).Table(columns, rows)
}

// HistoryFile is where lines typed at the prompt are kept.
func HistoryFile(dataDir string) string { return filepath.Join(dataDir, "history") }
