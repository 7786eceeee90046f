package format

import (
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// scanNumber finds the end of the JSON number that starts at b[i], or -1 where the
// grammar breaks.
func scanNumber(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b):
		return -1
	case b[i] == '0':
		i++
	case b[i] >= '1' && b[i] <= '9':
		i = digits(b, i)
	default:
		return -1
	}
	if i < len(b) && b[i] == '.' {
		start := i + 1
		if i = digits(b, start); i == start {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		start := i
		if i = digits(b, start); i == start {
			return -1
		}
	}
	return i
}

// digits gives the index of the first byte at or after i that is no digit.
func digits(b []byte, i int) int {
	for i+8 <= len(b) {
		n := firstMark(nonDigits(load64(b[i:]) ^ '0'*each))
		i += n
		if n < 8 {
			return i
		}
	}
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

// Remainders of scaled.
const (
	exact = iota
	below // less than half a unit was cut off
	half  // half a unit or more was cut off
)

// scaled gives a number's value times 10^scale, cut towards zero, and what was cut
// off. b is a JSON number. ok is false when the result has more than 38 digits.
func scaled(b []byte, scale int) (v types.Int128, cut int, ok bool) {
	neg := b[0] == '-'
	if neg {
		b = b[1:]
	}
	// Digits stand in b[:end]; exp is the power of ten of the last of them.
	end, frac, point := len(b), 0, -1
	exp := 0
	for i, c := range b {
		if c == '.' {
			point = i
		} else if c|0x20 == 'e' {
			exp, end = exponent(b[i+1:]), i
			break
		}
	}
	if point >= 0 {
		frac = end - point - 1
	}
	first := 0
	for first < end && (b[first] == '0' || b[first] == '.') {
		first++
	}
	n := end - first
	if point > first {
		n--
	}
	if n == 0 {
		return types.Int128{}, exact, true
	}
	shift := exp - frac + scale
	keep := n + min(shift, 0)
	if n+shift > types.MaxPrecision {
		return types.Int128{}, exact, false
	}
	var part uint64
	width := 0
	flush := func() {
		v, _ = v.Mul(types.Pow10(width))
		v, _ = v.Add(types.Int128{Lo: part})
		part, width = 0, 0
	}
	for i, k := first, 0; i < end; i++ {
		c := b[i]
		if c == '.' {
			continue
		}
		switch {
		case k < keep:
			part = part*10 + uint64(c-'0')
			if width++; width == 18 {
				flush()
			}
		case k == keep && c >= '5':
			cut = half
		case c != '0' && cut == exact:
			cut = below
		}
		k++
	}
	flush()
	if shift > 0 {
		v, _ = v.Mul(types.Pow10(shift))
	}
	if neg {
		v = v.Neg()
	}
	return v, cut, true
}

// exponent reads the digits after e; far beyond any use it stops counting.
func exponent(b []byte) int {
	neg := b[0] == '-'
	if neg || b[0] == '+' {
		b = b[1:]
	}
	e := 0
	for _, c := range b {
		if e < 1<<40 {
			e = e*10 + int(c-'0')
		}
	}
	if neg {
		return -e
	}
	return e
}

// parseInt gives a JSON number as a value of the integer type t; one with a fraction is
// BadSyntax.
func parseInt(b []byte, t types.Type) (x int64, f vec.Fault) {
	v, cut, ok := scaled(b, 0)
	if !ok {
		return 0, vec.OutOfRange
	}
	if cut != exact {
		return 0, vec.BadSyntax
	}
	if x, ok = v.Int64(); !ok || !vec.IntFits(t, x) {
		return 0, vec.OutOfRange
	}
	return x, vec.Fine
}

// unixTime gives the microseconds of a JSON number that counts units of 10^-scale
// seconds, cut to t's precision towards the past.
func unixTime(b []byte, scale int, t types.Type) (micros int64, f vec.Fault) {
	v, cut, ok := scaled(b, 6-scale)
	if ok && cut != exact && b[0] == '-' {
		v, ok = v.Sub(types.I128(1))
	}
	if ok {
		micros, ok = v.Int64()
	}
	if !ok || !vec.TimestampInRange(micros) {
		return 0, vec.OutOfRange
	}
	return vec.TruncateTick(micros, t.Tick()), vec.Fine
}
