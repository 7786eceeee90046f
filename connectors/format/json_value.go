package format

import (
	"bytes"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// value decodes the value at b[i], of whatever form, into column c of the current row
// and gives the index after it, or -1.
func (d *jsonDecoder) value(c *column, b []byte, i int) int {
	if i = skipBlank(b, i); i >= len(b) {
		return d.broken(i, "unexpected end")
	}
	start := i
	var odd oddity
	switch ch := b[i]; {
	case ch == '"':
		plain := false
		if i, plain = skipString(b, i+1, &d.fault); i < 0 {
			return d.broken(d.fault.at, d.fault.msg)
		}
		text := b[start+1 : i-1]
		if c.Type.Kind == types.JSON {
			return d.jsonText(c, b[start:i], i)
		}
		if !plain {
			d.scratch, _, odd = unescape(d.scratch[:0], b, start+1, &d.fault)
			text = d.scratch
		}
		if odd != 0 {
			return d.odd(c, odd)
		}
		return d.fromString(c, text, i)
	case ch == '-' || ch-'0' <= 9:
		if i = scanNumber(b, i); i < 0 {
			return d.broken(start, "invalid number")
		}
		return d.fromNumber(c, b[start:i], i)
	case ch == '{' || ch == '[':
		if i = d.skip(b, i); i < 0 {
			return -1
		}
		switch {
		case c.Type.Kind == types.JSON:
			return d.jsonText(c, b[start:i], i)
		case c.Type.Kind == types.Text:
			return d.text(c, b[start:i], i)
		case ch == '{':
			return d.mismatch(c, "an object")
		}
		return d.mismatch(c, "an array")
	}
	if i = d.skip(b, i); i < 0 {
		return -1
	}
	word := b[start:i]
	switch {
	case word[0] == 'n':
		if c.NotNull {
			return d.reject(c, sqlerr.CodeNotNull, "is null and the column is NOT NULL")
		}
		c.setNull(d.row, d.rows)
		return i
	case c.Type.Kind == types.Bool:
		c.bits.SetTo(d.row, word[0] == 't')
		c.setValid(d.row)
		return i
	case c.Type.Kind == types.JSON || c.Type.Kind == types.Text:
		return d.text(c, word, i)
	}
	return d.mismatch(c, "a boolean")
}

func (d *jsonDecoder) mismatch(c *column, what string) int {
	return d.reject(c, sqlerr.CodeInvalidText, "%s where %s is due", what, c.Type)
}

// faulty records what vec found wrong with the text s of a value.
func (d *jsonDecoder) faulty(c *column, s []byte, f vec.Fault) int {
	e := vec.TextError(c.Type, s, f)
	return d.reject(c, e.Code, "%s", e.Msg)
}

// text stores a value as it is written.
func (d *jsonDecoder) text(c *column, s []byte, next int) int {
	if f := c.setText(d.row, s); f != vec.Fine {
		return d.faulty(c, s, f)
	}
	return next
}

// jsonText stores a value of a JSON column as it is written.
func (d *jsonDecoder) jsonText(c *column, s []byte, next int) int {
	if bytes.IndexByte(s, '\\') >= 0 {
		if odd := oddEscapes(s, d.scratch); odd != 0 {
			return d.odd(c, odd)
		}
	}
	return d.text(c, s, next)
}

// odd rejects a string that no text can hold, with PostgreSQL's codes for TEXT and for
// JSONB.
func (d *jsonDecoder) odd(c *column, o oddity) int {
	if o&oddNUL != 0 {
		return d.reject(c, sqlerr.CodeInvalidEncoding, `the character \u0000 cannot be part of a text`)
	}
	return d.reject(c, sqlerr.CodeInvalidText, "half of a surrogate pair is not a character")
}

// fromNumber stores a JSON number. Where JSON and the type's text form part ways
// (1e3 for an integer) the number counts.
func (d *jsonDecoder) fromNumber(c *column, s []byte, next int) int {
	var x int64
	var f vec.Fault
	switch {
	case c.Type.IsInteger():
		x, f = parseInt(s, c.Type)
	case c.Type.IsTimestamp() && d.unit != isoText:
		x, f = unixTime(s, d.unit, c.Type)
	case c.Type.IsTimestamp():
		return d.reject(c, sqlerr.CodeDatetimeFormat, "a number where %s is due; option %q can be unix-s, unix-ms or unix-us", c.Type, timestampFormat)
	case c.Type.IsNumeric() || c.Type.Kind == types.JSON || c.Type.Kind == types.Text:
		return d.text(c, s, next)
	default:
		return d.mismatch(c, "a number")
	}
	if f != vec.Fine {
		return d.faulty(c, s, f)
	}
	c.i64[d.row] = x
	c.setValid(d.row)
	return next
}

// fromString stores the text of a JSON string in a column of any type but JSON.
func (d *jsonDecoder) fromString(c *column, s []byte, next int) int {
	if c.Type.IsTimestamp() && d.unit != isoText {
		if s = bytes.TrimSpace(s); len(s) == 0 || scanNumber(s, 0) != len(s) {
			return d.reject(c, sqlerr.CodeDatetimeFormat, "a text where option %q asks for a number", timestampFormat)
		}
		return d.fromNumber(c, s, next)
	}
	return d.text(c, s, next)
}
