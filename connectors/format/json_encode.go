package format

import (
	"math"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// jsonEncoder writes one object a row.
type jsonEncoder struct {
	keys []string // `{"a":`, `,"b":`
	cols []Column
	unit int
}

func newJSONEncoder(cols []Column, unit int) *jsonEncoder {
	e := &jsonEncoder{cols: cols, unit: unit}
	for i, c := range cols {
		lead := byte(',')
		if i == 0 {
			lead = '{'
		}
		k := AppendJSONString([]byte{lead}, []byte(c.Field))
		e.keys = append(e.keys, string(append(k, ':')))
	}
	return e
}

// Append implements Encoder.
func (e *jsonEncoder) Append(dst []byte, b *vec.Batch, i int) []byte {
	if len(e.keys) == 0 {
		return append(dst, '{', '}')
	}
	for k, key := range e.keys {
		dst = append(dst, key...)
		dst = appendJSONValue(dst, b.Cols[k], i, e.unit)
	}
	return append(dst, '}')
}

// appendJSONValue appends value i of v: numbers in full, JSON as it is, times as ISO
// 8601 text or, for timestamps, the unit's number; everything else as a string.
func appendJSONValue(dst []byte, v *vec.Vector, i, unit int) []byte {
	if v.IsNull(i) {
		return append(dst, "null"...)
	}
	switch k := v.Type.Kind; {
	case k == types.Bool:
		if v.Bits.Get(i) {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case v.Type.IsInteger():
		return vec.AppendInt(dst, v.I64[i])
	case v.Type.IsFloat() && !math.IsNaN(v.F64[i]) && !math.IsInf(v.F64[i], 0), k == types.Decimal:
		return vec.AppendText(dst, v, i)
	case k == types.JSON:
		return appendOneLine(dst, v.Bytes(i))
	case v.Type.IsTimestamp() && unit != isoText:
		scale := 6 - unit
		d := types.I128(v.I64[i])
		for scale > 0 {
			q, r := d.QuoRem(types.I128(10))
			if r.Sign() != 0 {
				break
			}
			d, scale = q, scale-1
		}
		return d.AppendDecimal(dst, scale)
	case v.Type.IsTimestamp():
		return append(appendISO(append(dst, '"'), v.I64[i], v.Type), '"')
	case v.Type.Phys() == types.PBytes && k != types.Bytes:
		return AppendJSONString(dst, v.Bytes(i))
	}
	dst = append(dst, '"')
	start := len(dst)
	dst = vec.AppendText(dst, v, i)
	if v.Type.Kind == types.Bytes {
		// The backslash of \x6869 is escaped.
		dst = append(dst, 0)
		copy(dst[start+1:], dst[start:])
	}
	return append(dst, '"')
}

// appendOneLine appends a JSON text with its line ends, which are white space, as blanks.
func appendOneLine(dst, s []byte) []byte {
	start := len(dst)
	dst = append(dst, s...)
	for i, c := range dst[start:] {
		if c == '\n' || c == '\r' {
			dst[start+i] = ' '
		}
	}
	return dst
}

// appendISO appends 2024-01-01T00:00:00.123, with the type's digits of a second, and a
// Z for TIMESTAMPTZ.
func appendISO(dst []byte, micros int64, t types.Type) []byte {
	days, us := vec.SplitMicros(micros)
	y, _, _ := vec.CivilFromDays(days)
	if y < 1 || y > 9999 {
		// ISO 8601 has no agreed form for these years; PostgreSQL's is read back.
		if t.Kind == types.TimestampTZ {
			return vec.AppendTimestampTZ(dst, micros)
		}
		return vec.AppendTimestamp(dst, micros)
	}
	dst = append(vec.AppendDate(dst, days), 'T')
	s := us / 1000000
	dst = append(dst, byte('0'+s/36000), byte('0'+s/3600%10), ':', byte('0'+s/600%6), byte('0'+s/60%10), ':',
		byte('0'+s%60/10), byte('0'+s%10))
	if t.Precision > 0 {
		dst = append(dst, '.')
		f := us % 1000000
		for p, div := t.Precision, int64(100000); p > 0; p, div = p-1, div/10 {
			dst = append(dst, byte('0'+f/div%10))
		}
	}
	if t.Kind == types.TimestampTZ {
		dst = append(dst, 'Z')
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// AppendJSONString appends s, which is UTF-8, as a JSON string.
func AppendJSONString(dst, s []byte) []byte {
	dst = append(dst, '"')
	from, i := 0, 0
	for i < len(s) {
		if i+8 <= len(s) {
			n := firstMark(special(load64(s[i:])))
			i += n
			if n == 8 {
				continue
			}
		}
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			if c < utf8.RuneSelf {
				i++
				continue
			}
			if _, n := utf8.DecodeRune(s[i:]); n > 1 {
				i += n
				continue
			}
			dst = append(append(dst, s[from:i]...), "\ufffd"...)
			i++
			from = i
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}
