package format

import (
	"bytes"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// setText reads s as PostgreSQL's input function of the column's type does and makes it
// the value of row r. Blanks beyond the length of VARCHAR(n) are cut, as an assignment
// does. JSON is taken unread: the caller has checked it. s is UTF-8 without a zero
// byte.
func (c *column) setText(r int, s []byte) (f vec.Fault) {
	t := c.Type
	switch t.Kind {
	case types.Bool:
		var v bool
		v, f = vec.ParseBool(s)
		c.bits.SetTo(r, v)
	case types.SmallInt, types.Int, types.BigInt:
		if c.i64[r], f = vec.ParseInt64(s); f == vec.Fine && !vec.IntFits(t, c.i64[r]) {
			f = vec.OutOfRange
		}
	case types.Real:
		c.f64[r], f = vec.ParseFloat(s, 32)
	case types.Double:
		c.f64[r], f = vec.ParseFloat(s, 64)
	case types.Decimal:
		c.i128[r], f = vec.ParseDecimal(s, int(t.Precision), int(t.Scale))
	case types.Date:
		c.i64[r], f = vec.ParseDate(s)
	case types.Time:
		c.i64[r], f = vec.ParseTime(s)
		c.i64[r] = vec.TruncateTick(c.i64[r], c.tick)
	case types.Timestamp, types.TimestampTZ:
		c.i64[r], _, f = vec.ParseTimestamp(s)
		c.i64[r] = vec.TruncateTick(c.i64[r], c.tick)
	case types.Interval:
		c.iv[r], f = vec.ParseInterval(s)
	case types.UUID:
		var u [36]byte
		if u, f = vec.ParseUUID(s); f == vec.Fine {
			return c.setBytes(r, u[:])
		}
	case types.Bytes:
		if !c.room(len(s)) {
			return vec.TooLong
		}
		start := c.off[r]
		var out []byte
		out, f = vec.AppendParsedBytes(c.data[start:start], s)
		c.used = int(start) + len(out)
		c.off[r+1] = int32(c.used)
	case types.Text:
		cut, ok := withinLength(s, t)
		if !ok {
			return vec.TooLong
		}
		return c.setBytes(r, cut)
	default:
		return c.setBytes(r, s)
	}
	c.setValid(r)
	return f
}

// withinLength cuts blanks beyond the length of VARCHAR(n); ok is false when something
// else is beyond it.
func withinLength(s []byte, t types.Type) (cut []byte, ok bool) {
	n := int(t.Length)
	if n == 0 || len(s) <= n {
		return s, true
	}
	at := 0
	for ; n > 0 && at < len(s); n-- {
		_, w := utf8.DecodeRune(s[at:])
		at += w
	}
	return s[:at], len(bytes.TrimRight(s[at:], " ")) == 0
}
