package vec

import (
	"math"
	"strconv"
	"unsafe"

	"github.com/streamsql/streamsql/internal/types"
)

// AppendInt appends x in decimal digits.
func AppendInt(dst []byte, x int64) []byte { return strconv.AppendInt(dst, x, 10) }

func floatBits(t types.Type) int {
	if t.Kind == types.Real {
		return 32
	}
	return 64
}

// AppendFloat appends the shortest digits that read back as f, in PostgreSQL's
// style: an exponent when it is below -4 or at least 15 (6 for REAL), NaN, Infinity.
func AppendFloat(dst []byte, f float64, bitSize int) []byte {
	switch {
	case f != f:
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	case f == 0:
		if math.Signbit(f) {
			return append(dst, "-0"...)
		}
		return append(dst, '0')
	}
	limit := 15
	if bitSize == 32 {
		limit = 6
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, bitSize)
	exp := exponentOf(dst[start:])
	if exp >= -4 && exp < limit {
		dst = strconv.AppendFloat(dst[:start], f, 'f', -1, bitSize)
	}
	return dst
}

func exponentOf(s []byte) int {
	i := len(s) - 1
	n, unit := 0, 1
	for isDigit(s[i]) {
		n += unit * int(s[i]-'0')
		unit *= 10
		i--
	}
	if s[i] == '-' {
		return -n
	}
	return n
}

// IntFits reports whether x is in the range of the integer type t.
func IntFits(t types.Type, x int64) bool {
	switch t.Kind {
	case types.SmallInt:
		return x == int64(int16(x))
	case types.Int:
		return x == int64(int32(x))
	}
	return true
}

// ParseInt64 reads an optional sign and digits, with blanks round them.
func ParseInt64(s []byte) (int64, Fault) {
	s = trimBlanks(s)
	if len(s) == 0 {
		return 0, BadSyntax
	}
	neg := s[0] == '-'
	if neg || s[0] == '+' {
		s = s[1:]
	}
	if len(s) == 0 {
		return 0, BadSyntax
	}
	var u uint64
	over := false
	for _, c := range s {
		d := c - '0'
		if d > 9 {
			return 0, BadSyntax
		}
		if u > (math.MaxUint64-9)/10 {
			over = true
		}
		u = u*10 + uint64(d)
	}
	if neg {
		if over || u > 1<<63 {
			return 0, OutOfRange
		}
		return -int64(u), Fine
	}
	if over || u > math.MaxInt64 {
		return 0, OutOfRange
	}
	return int64(u), Fine
}

// decimalParts is the shape of a decimal text: digits[0:point] before the point.
type decimalParts struct {
	neg      bool
	int, frc []byte
	exp      int
}

func splitDecimal(s []byte) (p decimalParts, f Fault) {
	s = trimBlanks(s)
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		p.neg = s[0] == '-'
		s = s[1:]
	}
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	p.int = s[:i]
	if i < len(s) && s[i] == '.' {
		j := i + 1
		for j < len(s) && isDigit(s[j]) {
			j++
		}
		p.frc = s[i+1 : j]
		i = j
	}
	if len(p.int)+len(p.frc) == 0 {
		return p, BadSyntax
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		e, f := parseExponent(s[i+1:])
		if f != Fine {
			return p, f
		}
		p.exp = e
		i = len(s)
	}
	if i != len(s) {
		return p, BadSyntax
	}
	for len(p.int) > 0 && p.int[0] == '0' {
		p.int = p.int[1:]
	}
	return p, Fine
}

func parseExponent(s []byte) (int, Fault) {
	if len(s) == 0 || isBlank(s[0]) {
		return 0, BadSyntax
	}
	e, f := ParseInt64(s)
	if f == Fine && (e > 100000 || e < -100000) {
		return 0, OutOfRange
	}
	return int(e), f
}

// ParseDecimal reads a number with optional point and exponent as an unscaled value
// of scale scale, rounding half away from zero. Precision 0 stands for 38 digits.
func ParseDecimal(s []byte, precision, scale int) (types.Int128, Fault) {
	p, f := splitDecimal(s)
	if f != Fine {
		return types.Int128{}, f
	}
	// keep is the number of digits that stay: those before 10^-scale.
	keep := len(p.int) + p.exp + scale
	total := len(p.int) + len(p.frc)
	var r types.Int128
	var small uint64
	n := 0
	for k := 0; k < min(keep, total); k++ {
		d := digitAt(p, k)
		if n < 18 {
			small = small*10 + uint64(d)
			if small != 0 {
				n++
			}
			continue
		}
		if n == 18 {
			r = types.I128(int64(small))
		}
		n++
		if n > types.MaxPrecision {
			return r, OutOfRange
		}
		r, _ = r.Mul(types.I128(10))
		r, _ = r.Add(types.I128(int64(d)))
	}
	if n <= 18 {
		r = types.I128(int64(small))
	}
	if keep > total && r.Sign() != 0 {
		if keep-total > types.MaxPrecision {
			return r, OutOfRange
		}
		var ok bool
		if r, ok = r.Mul(types.Pow10(keep - total)); !ok {
			return r, OutOfRange
		}
	}
	if keep >= 0 && keep < total && digitAt(p, keep) >= 5 {
		r, _ = r.Add(types.I128(1))
	}
	if !r.FitsPrecision(precision) {
		return r, OutOfRange
	}
	if p.neg {
		r = r.Neg()
	}
	return r, Fine
}

func digitAt(p decimalParts, k int) byte {
	if k < len(p.int) {
		return p.int[k] - '0'
	}
	return p.frc[k-len(p.int)] - '0'
}

// decimalTypeOf is the narrowest DECIMAL that holds the number s as written.
func decimalTypeOf(s []byte) types.Type {
	p, f := splitDecimal(s)
	if f != Fine {
		return types.TDecimal(types.MaxPrecision, 0)
	}
	scale := min(max(len(p.frc)-p.exp, 0), types.MaxPrecision)
	prec := min(max(len(p.int)+p.exp, 0)+scale, types.MaxPrecision)
	return types.TDecimal(max(prec, scale, 1), scale)
}

// ParseFloat reads a DOUBLE (bitSize 64) or REAL (32); NaN and Infinity in any case.
// A number too large, or too small to be told from zero, is OutOfRange.
func ParseFloat(s []byte, bitSize int) (float64, Fault) {
	s = trimBlanks(s)
	if len(s) == 0 {
		return 0, BadSyntax
	}
	nonzero, exponent := false, false
	for _, c := range s {
		switch {
		case c == '_', c == 'x', c == 'X', c == 'p', c == 'P':
			return 0, BadSyntax
		case c == 'e', c == 'E':
			exponent = true
		case c >= '1' && c <= '9' && !exponent:
			nonzero = true
		}
	}
	f, err := strconv.ParseFloat(unsafe.String(&s[0], len(s)), bitSize)
	if err != nil {
		if math.IsInf(f, 0) {
			return f, OutOfRange
		}
		return 0, BadSyntax
	}
	if f == 0 && nonzero {
		return 0, OutOfRange
	}
	return f, Fine
}
