package expr

import (
	"math/bits"

	"github.com/streamsql/streamsql/internal/types"
)

// minProductScale is the scale down to which a product is cut when 38 digits do not
// hold all of it.
const minProductScale = 6

// MinQuotientScale is the least number of digits after the point of a quotient, an
// AVG's too.
const MinQuotientScale = 16

// arithType is the table of result types of + - * / %: see
// docs/design/0009-numbers-and-casts.md.
func arithType(op byte, a, b types.Type) types.Type {
	if a.Kind != types.Decimal && b.Kind != types.Decimal || a.IsFloat() || b.IsFloat() {
		return commonArith(a, b)
	}
	pa, sa := asDecimal(a)
	pb, sb := asDecimal(b)
	var p, s int
	switch op {
	case '+', '-':
		s = max(sa, sb)
		p = max(pa-sa, pb-sb) + s + 1
	case '*':
		s = sa + sb
		if p = pa + pb; p > types.MaxPrecision {
			whole := p - s
			s = min(s, max(types.MaxPrecision-whole, sa, sb, minProductScale))
		}
	case '/':
		whole := pa - sa + sb
		s = max(sa, sb, MinQuotientScale, min(MinQuotientScale+pb-sb, types.MaxPrecision-whole))
		p = whole + s
	case '%':
		s = max(sa, sb)
		p = min(pa-sa, pb-sb) + s
	}
	s = min(s, types.MaxPrecision)
	return types.TDecimal(min(max(p, s, 1), types.MaxPrecision), s)
}

// commonArith is the type of an operation on integers and floats. REAL stays REAL only
// with REAL; an integer or DECIMAL beside it makes DOUBLE, as in PostgreSQL.
func commonArith(a, b types.Type) types.Type {
	if a.IsFloat() || b.IsFloat() {
		if a.Kind == types.Real && b.Kind == types.Real {
			return a
		}
		return types.TDouble
	}
	if a.Kind > b.Kind {
		return a
	}
	return b
}

// u256 is an unsigned 256-bit number, lowest word first.
type u256 [4]uint64

func abs128(a types.Int128) (hi, lo uint64) {
	if a.Hi < 0 {
		a = a.Neg()
	}
	return uint64(a.Hi), a.Lo
}

// mulWide multiplies two unsigned 128-bit numbers.
func mulWide(ah, al, bh, bl uint64) u256 {
	var r u256
	h, l := bits.Mul64(al, bl)
	r[0], r[1] = l, h
	var c uint64
	h, l = bits.Mul64(al, bh)
	r[1], c = bits.Add64(r[1], l, 0)
	r[2], c = bits.Add64(r[2], h, c)
	r[3] += c
	h, l = bits.Mul64(ah, bl)
	r[1], c = bits.Add64(r[1], l, 0)
	r[2], c = bits.Add64(r[2], h, c)
	r[3] += c
	h, l = bits.Mul64(ah, bh)
	r[2], c = bits.Add64(r[2], l, 0)
	r[3], _ = bits.Add64(r[3], h, c)
	return r
}

// divWide divides n by the non-zero 128-bit number d. Bit by bit above 64 bits of
// divisor: such quotients are rare.
func divWide(n u256, dh, dl uint64) (q u256, rh, rl uint64) {
	if dh == 0 {
		var rem uint64
		for i := 3; i >= 0; i-- {
			q[i], rem = bits.Div64(rem, n[i], dl)
		}
		return q, 0, rem
	}
	for i := 255; i >= 0; i-- {
		carry := rh >> 63
		rh = rh<<1 | rl>>63
		rl = rl<<1 | n[i>>6]>>(uint(i)&63)&1
		if carry != 0 || rh > dh || rh == dh && rl >= dl {
			var b uint64
			rl, b = bits.Sub64(rl, dl, 0)
			rh, _ = bits.Sub64(rh, dh, b)
			q[i>>6] |= 1 << (uint(i) & 63)
		}
	}
	return q, rh, rl
}

// narrowSigned makes a signed 128-bit number of magnitude m; ok is false when it does
// not fit.
func narrowSigned(m u256, neg bool) (types.Int128, bool) {
	if m[3] != 0 || m[2] != 0 || m[1]>>63 != 0 {
		return types.Int128{}, false
	}
	r := types.Int128{Hi: int64(m[1]), Lo: m[0]}
	if neg {
		r = r.Neg()
	}
	return r, true
}

// roundQuotient adds one to q when the remainder is at least half of the divisor.
func roundQuotient(q u256, rh, rl, dh, dl uint64) u256 {
	th, tl := rh<<1|rl>>63, rl<<1
	if rh>>63 != 0 || th > dh || th == dh && tl >= dl {
		var c uint64
		q[0], c = bits.Add64(q[0], 1, 0)
		q[1], c = bits.Add64(q[1], 0, c)
		q[2], c = bits.Add64(q[2], 0, c)
		q[3] += c
	}
	return q
}

// mulDecimal multiplies two unscaled values and drops digits decimal digits, rounding
// half away from zero; ok is false when the result exceeds 38 digits.
func mulDecimal(a, b types.Int128, drop int) (types.Int128, bool) {
	neg := (a.Hi < 0) != (b.Hi < 0)
	ah, al := abs128(a)
	bh, bl := abs128(b)
	m := mulWide(ah, al, bh, bl)
	if drop > 0 {
		dh, dl := abs128(types.Pow10(drop))
		q, rh, rl := divWide(m, dh, dl)
		m = roundQuotient(q, rh, rl, dh, dl)
	}
	r, ok := narrowSigned(m, neg)
	return r, ok && r.FitsPrecision(types.MaxPrecision)
}

// DivDecimal divides a / 10^as by b / 10^bs, which is not zero, to scale s, rounding
// half away from zero; ok is false when the quotient exceeds 38 digits.
func DivDecimal(a types.Int128, as int, b types.Int128, bs, s int) (types.Int128, bool) {
	neg := (a.Hi < 0) != (b.Hi < 0)
	ah, al := abs128(a)
	dh, dl := abs128(b)
	shift := s - as + bs
	n := u256{al, ah}
	if shift >= 0 {
		for ; shift > types.MaxPrecision; shift-- {
			n = mulSmall(n, 10)
		}
		ph, pl := abs128(types.Pow10(shift))
		if n[2] != 0 || n[3] != 0 {
			return types.Int128{}, false
		}
		n = mulWide(n[1], n[0], ph, pl)
	} else {
		ph, pl := abs128(types.Pow10(-shift))
		d := mulWide(dh, dl, ph, pl)
		if d[2] != 0 || d[3] != 0 {
			return types.Int128{}, true
		}
		dh, dl = d[1], d[0]
	}
	q, rh, rl := divWide(n, dh, dl)
	r, ok := narrowSigned(roundQuotient(q, rh, rl, dh, dl), neg)
	return r, ok && r.FitsPrecision(types.MaxPrecision)
}

func mulSmall(n u256, m uint64) u256 {
	var carry uint64
	for i := range n {
		h, l := bits.Mul64(n[i], m)
		var c uint64
		n[i], c = bits.Add64(l, carry, 0)
		carry = h + c
	}
	return n
}

// modDecimal gives the remainder of a / b at scale s, with the sign of a.
func modDecimal(a types.Int128, as int, b types.Int128, bs, s int) types.Int128 {
	x, ok1 := a.Rescale(as, s)
	y, ok2 := b.Rescale(bs, s)
	if ok1 && ok2 {
		_, r := x.QuoRem(y)
		return r
	}
	if !ok2 {
		r, _ := a.Rescale(as, s)
		return r
	}
	ah, al := abs128(a)
	ph, pl := abs128(types.Pow10(s - as))
	dh, dl := abs128(y)
	_, rh, rl := divWide(mulWide(ah, al, ph, pl), dh, dl)
	r := types.Int128{Hi: int64(rh), Lo: rl}
	if a.Hi < 0 {
		r = r.Neg()
	}
	return r
}
