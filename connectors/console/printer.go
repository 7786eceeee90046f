package console

import (
	"bufio"
	"io"

	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// The formats of printed rows.
const (
	// FormatTable is psql's aligned table.
	FormatTable = "table"
	// FormatCSV is PostgreSQL's COPY … TO STDOUT CSV HEADER.
	FormatCSV = "csv"
	// FormatJSON is one object a line.
	FormatJSON = "json"
	// FormatChangelog is a table whose first column, op, holds +I, -U, +U or -D.
	FormatChangelog = "changelog"
)

// Formats lists the formats.
func Formats() []string { return []string{FormatTable, FormatCSV, FormatJSON, FormatChangelog} }

func checkFormat(f string) error {
	for _, k := range Formats() {
		if f == k {
			return nil
		}
	}
	return sqlerr.New(sqlerr.CodeOption, 0, "unknown output format %q", f).WithHint("It can be table, csv, json or changelog.")
}

// Printer prints rows as they come. One goroutine uses it at a time.
type Printer struct {
	w      *bufio.Writer
	schema types.Schema
	ops    bool
	rows   rowPrinter
	begun  bool
	line   []byte
}

// rowPrinter is one format.
type rowPrinter interface {
	// begin appends what stands before the first row, which is in b; b may be empty.
	begin(dst []byte, b *vec.Batch) []byte
	row(dst []byte, b *vec.Batch, i int) []byte
	// end appends what stands after the last of n rows.
	end(dst []byte, n int) []byte
}

// NewPrinter returns a printer of rows of schema to w. ops adds a column op to the
// formats that have none.
func NewPrinter(w io.Writer, schema types.Schema, f string, ops bool) (*Printer, error) {
	if err := checkFormat(f); err != nil {
		return nil, err
	}
	p := &Printer{w: bufio.NewWriterSize(w, 1<<16), schema: schema, ops: ops || f == FormatChangelog}
	switch f {
	case FormatCSV, FormatJSON:
		var err error
		if p.rows, err = newTextRows(schema, f, p.ops); err != nil {
			return nil, err
		}
	default:
		p.rows = newTable(schema, p.ops)
	}
	return p, nil
}

// Print prints the rows of b and hands them to the writer at once. The first call
// prints the header; in a table it also settles the columns' widths, which later rows
// may widen.
func (p *Printer) Print(b *vec.Batch) error {
	if err := p.print(b); err != nil {
		return err
	}
	return p.flush()
}

func (p *Printer) print(b *vec.Batch) error {
	if !p.begun {
		p.begun = true
		p.line = p.rows.begin(p.line[:0], b)
		if _, err := p.w.Write(p.line); err != nil {
			return outputError(err)
		}
	}
	for i := range b.N {
		p.line = append(p.rows.row(p.line[:0], b, i), '\n')
		if _, err := p.w.Write(p.line); err != nil {
			return outputError(err)
		}
	}
	return nil
}

func (p *Printer) flush() error {
	if err := p.w.Flush(); err != nil {
		return outputError(err)
	}
	return nil
}

// Finish prints what stands after the last of n rows, and the header if there were
// none.
func (p *Printer) Finish(n int) error {
	if !p.begun {
		if err := p.print(vec.NewBatch(p.schema.Types(), 0)); err != nil {
			return err
		}
	}
	if _, err := p.w.Write(p.rows.end(p.line[:0], n)); err != nil {
		return outputError(err)
	}
	return p.flush()
}

func outputError(err error) error {
	return &sqlerr.Error{Class: sqlerr.External, Code: sqlerr.CodeConnection, Msg: "write output", Err: err}
}

// textRows prints csv and json.
type textRows struct {
	header []byte
	json   bool
	ops    bool
	enc    format.Encoder
}

func newTextRows(schema types.Schema, name string, ops bool) (*textRows, error) {
	f, err := format.Find(name)
	if err != nil {
		return nil, err
	}
	cols := make([]format.Column, len(schema))
	for i, c := range schema {
		cols[i] = format.Column{Field: c.Name, Type: c.Type}
	}
	t := &textRows{json: name == FormatJSON, ops: ops}
	if t.enc, err = f.NewEncoder(cols, nil); err != nil {
		return nil, err
	}
	if !t.json {
		names := schema.Names()
		if ops {
			names = append([]string{"op"}, names...)
		}
		if t.header, err = format.AppendCSVFields(nil, names, nil); err != nil {
			return nil, err
		}
		t.header = append(t.header, '\n')
	}
	return t, nil
}

func (t *textRows) begin(dst []byte, _ *vec.Batch) []byte { return append(dst, t.header...) }

func (t *textRows) end(dst []byte, _ int) []byte { return dst }

func (t *textRows) row(dst []byte, b *vec.Batch, i int) []byte {
	switch {
	case !t.ops:
		return t.enc.Append(dst, b, i)
	case !t.json:
		dst = append(dst, b.Op(i).String()...)
		if len(b.Cols) == 0 {
			return dst
		}
		return t.enc.Append(append(dst, ','), b, i)
	}
	dst = append(append(append(dst, `{"op":"`...), b.Op(i).String()...), '"')
	at := len(dst)
	dst = t.enc.Append(dst, b, i)
	dst[at] = ','
	if len(b.Cols) == 0 {
		return append(dst[:at], '}')
	}
	return dst
}
