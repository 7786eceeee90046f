package vec

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// AppendText appends value i of v as PostgreSQL's COPY prints it (booleans t and f,
// trailing zeros of a time cut, bytes as \x…), without any quoting. A NULL appends
// nothing.
func AppendText(dst []byte, v *Vector, i int) []byte {
	if v.IsNull(i) {
		return dst
	}
	switch v.Type.Phys() {
	case types.PBool:
		return appendBool(dst, v.Bits.Get(i))
	case types.PInt64:
		return appendInt64Text(dst, v.Type, v.I64[i])
	case types.PFloat64:
		return AppendFloat(dst, v.F64[i], floatBits(v.Type))
	case types.PInt128:
		return v.I128[i].AppendDecimal(dst, int(v.Type.Scale))
	case types.PInterval:
		return types.AppendInterval(dst, v.Iv[i])
	}
	if v.Type.Kind == types.Bytes {
		return appendHex(dst, v.Bytes(i))
	}
	return append(dst, v.Bytes(i)...)
}

// AppendValueText is AppendText for a single value.
func AppendValueText(dst []byte, x types.Value) []byte {
	if x.Null {
		return dst
	}
	switch x.Type.Phys() {
	case types.PBool:
		return appendBool(dst, x.I != 0)
	case types.PInt64:
		return appendInt64Text(dst, x.Type, x.I)
	case types.PFloat64:
		return AppendFloat(dst, x.F, floatBits(x.Type))
	case types.PInt128:
		return x.Dec.AppendDecimal(dst, int(x.Type.Scale))
	case types.PInterval:
		return types.AppendInterval(dst, x.Iv)
	}
	if x.Type.Kind == types.Bytes {
		return appendHex(dst, []byte(x.S))
	}
	return append(dst, x.S...)
}

func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, 't')
	}
	return append(dst, 'f')
}

func appendInt64Text(dst []byte, t types.Type, x int64) []byte {
	switch t.Kind {
	case types.Date:
		return AppendDate(dst, x)
	case types.Time:
		return AppendTime(dst, x)
	case types.Timestamp:
		return AppendTimestamp(dst, x)
	case types.TimestampTZ:
		return AppendTimestampTZ(dst, x)
	}
	return AppendInt(dst, x)
}

func appendHex(dst, b []byte) []byte {
	dst = append(dst, '\\', 'x')
	return hex.AppendEncode(dst, b)
}

// Fault says why a text is not a value of a type. The zero Fault is success.
type Fault uint8

const (
	// Fine: no fault.
	Fine Fault = iota
	// BadSyntax: not in the form of the type.
	BadSyntax
	// OutOfRange: in the right form, but beyond the type's range.
	OutOfRange
	// TooLong: more characters than VARCHAR(n) takes.
	TooLong
	// BadEncoding: not UTF-8, or with a zero byte.
	BadEncoding
)

// TextError builds the error for a fault that a parser of this package reported for
// text s and type t, with PostgreSQL's words and SQLSTATE.
func TextError(t types.Type, s []byte, f Fault) *sqlerr.Error {
	shown := strings.ToValidUTF8(string(s[:min(len(s), 200)]), "?")
	switch f {
	case TooLong:
		return sqlerr.New(sqlerr.CodeStringTooLong, 0, "value too long for type %s", t)
	case BadEncoding:
		return sqlerr.New(sqlerr.CodeInvalidEncoding, 0, "invalid byte sequence for encoding \"UTF8\" in a value of type %s", t)
	case OutOfRange:
		switch t.Kind {
		case types.Date, types.Time, types.Timestamp, types.TimestampTZ:
			return sqlerr.New(sqlerr.CodeDatetimeOverflow, 0, "date/time field value out of range: %q", shown)
		case types.Interval:
			return sqlerr.New(sqlerr.CodeIntervalOverflow, 0, "interval field value out of range: %q", shown)
		}
		return sqlerr.New(sqlerr.CodeNumericOutOfRange, 0, "value %q is out of range for type %s", shown, t)
	}
	code := sqlerr.CodeInvalidText
	switch t.Kind {
	case types.Date, types.Time, types.Timestamp, types.TimestampTZ, types.Interval:
		code = sqlerr.CodeDatetimeFormat
	}
	return sqlerr.New(code, 0, "invalid input syntax for type %s: %q", t, shown)
}

// ParseText reads s as PostgreSQL's input function of t does; blanks round a number
// or time do not count. A zone offset in a text for TIMESTAMP is applied (the result
// is in UTC), not ignored; digits beyond the precision of a time are cut off, those
// beyond the scale of a DECIMAL rounded half away from zero. For DECIMAL without
// precision the result has the scale of the text.
// Errors: *sqlerr.Error with 22P02, 22003, 22007, 22008, 22015, 22001 or 22021.
func ParseText(t types.Type, s []byte) (types.Value, error) {
	x, f := parseText(t, s)
	if f != Fine {
		return types.Value{}, TextError(t, s, f)
	}
	return x, nil
}

func parseText(t types.Type, s []byte) (types.Value, Fault) {
	x := types.Value{Type: t}
	var f Fault
	switch t.Kind {
	case types.Bool:
		var b bool
		if b, f = ParseBool(s); b {
			x.I = 1
		}
	case types.SmallInt, types.Int, types.BigInt:
		if x.I, f = ParseInt64(s); f == Fine && !IntFits(t, x.I) {
			f = OutOfRange
		}
	case types.Real:
		x.F, f = ParseFloat(s, 32)
	case types.Double:
		x.F, f = ParseFloat(s, 64)
	case types.Decimal:
		if t.Precision == 0 && t.Scale == 0 {
			x.Type = decimalTypeOf(s)
		}
		x.Dec, f = ParseDecimal(s, int(x.Type.Precision), int(x.Type.Scale))
	case types.Date:
		x.I, f = ParseDate(s)
	case types.Time:
		if x.I, f = ParseTime(s); f == Fine {
			x.I = TruncateTick(x.I, t.Tick())
		}
	case types.Timestamp, types.TimestampTZ:
		if x.I, _, f = ParseTimestamp(s); f == Fine {
			x.I = TruncateTick(x.I, t.Tick())
		}
	case types.Interval:
		x.Iv, f = ParseInterval(s)
	case types.UUID:
		var u [36]byte
		u, f = ParseUUID(s)
		x.S = string(u[:])
	case types.Bytes:
		var b []byte
		b, f = AppendParsedBytes(nil, s)
		x.S = string(b)
	case types.JSON:
		if f = CheckText(s, 0); f == Fine && !json.Valid(s) {
			f = BadSyntax
		}
		x.S = string(s)
	default:
		f = CheckText(s, int(t.Length))
		x.S = string(s)
	}
	return x, f
}

// CheckText judges s as a value of VARCHAR(limit), or TEXT when limit is 0: UTF-8
// without a zero byte (PostgreSQL refuses it in TEXT), not longer than limit
// characters.
func CheckText(s []byte, limit int) Fault {
	if bytes.IndexByte(s, 0) >= 0 || !utf8.Valid(s) {
		return BadEncoding
	}
	if limit > 0 && len(s) > limit && utf8.RuneCount(s) > limit {
		return TooLong
	}
	return Fine
}

// ParseBool reads t, true, y, yes, on, 1 and their opposites, or any unique prefix,
// without regard to case.
func ParseBool(s []byte) (bool, Fault) {
	s = trimBlanks(s)
	if len(s) == 0 || len(s) > 5 {
		return false, BadSyntax
	}
	var low [5]byte
	for i, c := range s {
		low[i] = lowerByte(c)
	}
	w := string(low[:len(s)])
	switch {
	case strings.HasPrefix("true", w), strings.HasPrefix("yes", w), w == "on", w == "1":
		return true, Fine
	case strings.HasPrefix("false", w), strings.HasPrefix("no", w), w == "of", w == "off", w == "0":
		return false, Fine
	}
	return false, BadSyntax
}

// ParseInterval reads PostgreSQL's forms of an interval, a bare number as seconds.
func ParseInterval(s []byte) (types.IntervalValue, Fault) {
	v, err := types.ParseInterval(string(s), types.NoUnit, types.NoUnit)
	switch err {
	case nil:
		return v, Fine
	case types.ErrIntervalRange:
		return v, OutOfRange
	}
	return v, BadSyntax
}

// ParseUUID reads a UUID with or without hyphens after each four digits and braces,
// and returns its canonical text.
func ParseUUID(s []byte) (u [36]byte, f Fault) {
	if len(s) > 1 && s[0] == '{' {
		if s[len(s)-1] != '}' {
			return u, BadSyntax
		}
		s = s[1 : len(s)-1]
	}
	digits, k := 0, 0
	for i := 0; i < len(s); i++ {
		c := lowerByte(s[i])
		if c == '-' && digits > 0 && digits%4 == 0 && digits < 32 && s[i-1] != '-' {
			continue
		}
		if digits == 32 || !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return u, BadSyntax
		}
		if digits == 8 || digits == 12 || digits == 16 || digits == 20 {
			u[k] = '-'
			k++
		}
		u[k] = c
		k++
		digits++
	}
	if digits != 32 || s[len(s)-1] == '-' {
		return u, BadSyntax
	}
	return u, Fine
}

// AppendParsedBytes appends the bytes that PostgreSQL's bytea text s stands for: \x
// and hex digits, or the escape form.
func AppendParsedBytes(dst, s []byte) ([]byte, Fault) {
	if len(s) >= 2 && s[0] == '\\' && s[1] == 'x' {
		out, err := hex.AppendDecode(dst, s[2:])
		if err != nil {
			return dst, BadSyntax
		}
		return out, Fine
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			dst = append(dst, s[i])
			continue
		}
		switch {
		case i+1 < len(s) && s[i+1] == '\\':
			dst = append(dst, '\\')
			i++
		case i+3 < len(s) && s[i+1] >= '0' && s[i+1] <= '3' && isOctal(s[i+2]) && isOctal(s[i+3]):
			dst = append(dst, (s[i+1]-'0')<<6|(s[i+2]-'0')<<3|(s[i+3]-'0'))
			i += 3
		default:
			return dst, BadSyntax
		}
	}
	return dst, Fine
}

func isOctal(c byte) bool { return c >= '0' && c <= '7' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 32
	}
	return c
}

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func trimBlanks(s []byte) []byte {
	for len(s) > 0 && isBlank(s[0]) {
		s = s[1:]
	}
	for len(s) > 0 && isBlank(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}
