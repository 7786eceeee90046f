package format

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// csvScanner walks the fields of one record.
type csvScanner struct {
	csvStyle
	b       []byte
	i       int  // start of the next field
	done    bool // the last field was read
	scratch []byte
}

func (s *csvScanner) more() bool { return !s.done }

// next gives the next field; null is true for the unquoted NULL text; ok is false where
// quotes stay open. The text is valid until the next call. As in PostgreSQL, quotes may
// open and close anywhere in a field.
func (s *csvScanner) next() (text []byte, null, ok bool) {
	b, i := s.b, s.i
	start := i
	for i < len(b) && b[i] != '"' && b[i] != s.delimiter {
		i++
	}
	if i == len(b) || b[i] == s.delimiter {
		text = b[start:i]
		s.end(i)
		return text, string(text) == s.null, true
	}
	out := append(s.scratch[:0], b[start:i]...)
	quoted := false
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"' && quoted && i+1 < len(b) && b[i+1] == '"':
			out = append(out, '"')
			i++
		case c == '"':
			quoted = !quoted
		case c == s.delimiter && !quoted:
			s.scratch = out
			s.end(i)
			return out, false, true
		default:
			out = append(out, c)
		}
	}
	s.scratch = out
	s.end(i)
	return out, false, !quoted
}

func (s *csvScanner) end(i int) {
	if i == len(s.b) {
		s.done = true
	}
	s.i = i + 1
}

// csvDecoder decodes one record a payload.
type csvDecoder struct {
	builder
	csvStyle
	order  []int // column of each field of a record, -1: not wanted
	fields []string
	scan   csvScanner
	err    RowError
}

func newCSVDecoder(cols []Column, options map[string]string) (*csvDecoder, error) {
	style, err := csvStyleOf(options)
	if err != nil {
		return nil, err
	}
	if err := checkColumns("csv", cols); err != nil {
		return nil, err
	}
	d := &csvDecoder{builder: newBuilder(cols), csvStyle: style}
	for _, c := range cols {
		d.fields = append(d.fields, c.Field)
	}
	if list := options[CSVColumns]; list != "" {
		if d.fields, err = CSVFields([]byte(list), options); err != nil {
			return nil, err
		}
	}
	at, wanted := make(map[string]int, len(cols)), make(map[string]bool, len(cols))
	for i, c := range cols {
		at[c.Field], wanted[c.Field] = i, true
	}
	for _, f := range d.fields {
		col, ok := at[f]
		if !ok {
			if wanted[f] {
				return nil, sqlerr.New(sqlerr.CodeSchema, 0, "the CSV records have more than one field %q", f)
			}
			col = -1
		}
		delete(at, f)
		d.order = append(d.order, col)
	}
	for _, c := range cols {
		if _, missing := at[c.Field]; missing {
			err := sqlerr.New(sqlerr.CodeSchema, 0, "column %q is no field of the CSV records", c.Field)
			if near := sqlerr.Nearest(c.Field, d.fields); near != "" {
				return nil, err.WithHint("Did you mean %q?", near)
			}
			return nil, err
		}
	}
	return d, nil
}

// Decode implements Decoder.
func (d *csvDecoder) Decode(payloads [][]byte, out *vec.Batch, origin []int32, errs []RowError) ([]int32, []RowError) {
	d.begin(out, len(payloads))
	for p, b := range payloads {
		if d.record(b) {
			d.row++
			origin = append(origin, int32(p))
			continue
		}
		d.undo(d.row)
		d.err.Payload = p
		errs = append(errs, d.err)
	}
	d.end()
	return origin, errs
}

func (d *csvDecoder) reject(field, code, format string, args ...any) bool {
	msg := fmt.Sprintf(format, args...)
	if field != "" {
		msg = fmt.Sprintf("field %q: ", field) + msg
	}
	d.err = RowError{Field: field, Code: code, Msg: msg}
	return false
}

func (d *csvDecoder) record(b []byte) bool {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = withoutCR(b[:n-1])
	}
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		return d.reject("", sqlerr.CodeInvalidEncoding, "the record is not UTF-8 or holds a zero byte")
	}
	d.scan = csvScanner{csvStyle: d.csvStyle, b: b, scratch: d.scan.scratch}
	for k, col := range d.order {
		if !d.scan.more() {
			return d.reject(d.fields[k], sqlerr.CodeDecode, "the record ends before it")
		}
		text, null, ok := d.scan.next()
		if !ok {
			return d.reject(d.fields[k], sqlerr.CodeDecode, "its quotes stay open")
		}
		if col >= 0 && !d.set(&d.cols[col], text, null) {
			return false
		}
	}
	if d.scan.more() && len(d.order) > 0 {
		return d.reject("", sqlerr.CodeDecode, "the record goes on after the last field %q", d.fields[len(d.fields)-1])
	}
	return true
}

func (d *csvDecoder) set(c *column, text []byte, null bool) bool {
	if null {
		if c.NotNull {
			return d.reject(c.Field, sqlerr.CodeNotNull, "is null and the column is NOT NULL")
		}
		c.setNull(d.row, d.rows)
		return true
	}
	if c.Type.Kind == types.JSON {
		var f fault
		end := skipValue(text, skipBlank(text, 0), 0, &f)
		if end < 0 || skipBlank(text, end) != len(text) {
			return d.reject(c.Field, sqlerr.CodeInvalidText, "invalid JSON")
		}
		if oddEscapes(text, nil) != 0 {
			return d.reject(c.Field, sqlerr.CodeInvalidText, `JSON with \u0000 or half of a surrogate pair`)
		}
	}
	if f := c.setText(d.row, text); f != vec.Fine {
		e := vec.TextError(c.Type, text, f)
		return d.reject(c.Field, e.Code, "%s", e.Msg)
	}
	return true
}

// csvEncoder writes records as COPY … TO STDOUT CSV does.
type csvEncoder struct{ csvStyle }

// Append implements Encoder.
func (e *csvEncoder) Append(dst []byte, b *vec.Batch, i int) []byte {
	for k, c := range b.Cols {
		if k > 0 {
			dst = append(dst, e.delimiter)
		}
		if c.IsNull(i) {
			dst = append(dst, e.null...)
			continue
		}
		start := len(dst)
		dst = e.quote(vec.AppendText(dst, c, i), start, len(b.Cols) == 1)
	}
	return dst
}
