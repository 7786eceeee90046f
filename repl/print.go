package repl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

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

// OutputClosed reports that err says that nobody reads the output any more.
func OutputClosed(err error) bool { return errors.Is(err, syscall.EPIPE) }

// Query prints the rows of q until its end or the end of ctx. Bounded input gives the
// final rows; unbounded the changes as they come, or on a terminal the live result.
func (p *Printer) Query(ctx context.Context, q *engine.Query) error {
	asTable := p.format == console.FormatTable
	switch {
	case q.Bounded && p.format != console.FormatChangelog && (q.Updating || asTable):
		return p.final(ctx, q)
	case p.terminal && q.Updating && asTable:
		return p.live(ctx, q)
	}
	return p.stream(ctx, q)
}

// stream prints rows as they come.
func (p *Printer) stream(ctx context.Context, q *engine.Query) error {
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
	if rows.N == 0 {
		out.WriteString("(0 rows)\n")
	}
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

// Table prints rows of text under their column names. They are no changes, and so have
// no op.
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
	if p.format == console.FormatChangelog {
		return console.PrintAll(p.w, schema, b, console.FormatTable)
	}
	return p.all(schema, b)
}
