package types

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

// Int128 is a two's complement 128-bit integer: the unscaled value of a DECIMAL.
type Int128 struct {
	Hi int64
	Lo uint64
}

// I128 widens v.
func I128(v int64) Int128 { return Int128{Hi: v >> 63, Lo: uint64(v)} }

// Int64 narrows a; ok is false when it does not fit.
func (a Int128) Int64() (v int64, ok bool) {
	v = int64(a.Lo)
	return v, a.Hi == v>>63
}

// Sign is -1, 0 or +1.
func (a Int128) Sign() int {
	switch {
	case a.Hi < 0:
		return -1
	case a.Hi == 0 && a.Lo == 0:
		return 0
	}
	return 1
}

// Cmp compares a and b.
func (a Int128) Cmp(b Int128) int {
	switch {
	case a.Hi < b.Hi:
		return -1
	case a.Hi > b.Hi:
		return 1
	case a.Lo < b.Lo:
		return -1
	case a.Lo > b.Lo:
		return 1
	}
	return 0
}

// Neg returns -a, wrapping at the minimum.
func (a Int128) Neg() Int128 {
	lo, borrow := bits.Sub64(0, a.Lo, 0)
	hi, _ := bits.Sub64(0, uint64(a.Hi), borrow)
	return Int128{Hi: int64(hi), Lo: lo}
}

// Add returns a+b; ok is false on overflow of 128 bits.
func (a Int128) Add(b Int128) (r Int128, ok bool) {
	lo, carry := bits.Add64(a.Lo, b.Lo, 0)
	hi, _ := bits.Add64(uint64(a.Hi), uint64(b.Hi), carry)
	r = Int128{Hi: int64(hi), Lo: lo}
	return r, (a.Hi^r.Hi)&(b.Hi^r.Hi) >= 0
}

// Sub returns a-b; ok is false on overflow of 128 bits.
func (a Int128) Sub(b Int128) (r Int128, ok bool) {
	lo, borrow := bits.Sub64(a.Lo, b.Lo, 0)
	hi, _ := bits.Sub64(uint64(a.Hi), uint64(b.Hi), borrow)
	r = Int128{Hi: int64(hi), Lo: lo}
	return r, (a.Hi^b.Hi)&(a.Hi^r.Hi) >= 0
}

// Mul returns a*b; ok is false on overflow of 128 bits.
func (a Int128) Mul(b Int128) (r Int128, ok bool) {
	if x, okx := a.Int64(); okx {
		if y, oky := b.Int64(); oky {
			hi, lo := bits.Mul64(uint64(x), uint64(y))
			h := int64(hi)
			if x < 0 {
				h -= y
			}
			if y < 0 {
				h -= x
			}
			return Int128{Hi: h, Lo: lo}, true
		}
	}
	neg := (a.Hi < 0) != (b.Hi < 0)
	ua, ub := a.abs(), b.abs()
	if ua.Hi != 0 && ub.Hi != 0 {
		return Int128{}, false
	}
	if ua.Hi != 0 {
		ua, ub = ub, ua
	}
	// ua fits in 64 bits.
	h1, l1 := bits.Mul64(ua.Lo, ub.Lo)
	h2, l2 := bits.Mul64(ua.Lo, uint64(ub.Hi))
	hi, carry := bits.Add64(h1, l2, 0)
	if h2 != 0 || carry != 0 || hi>>63 != 0 {
		return Int128{}, false
	}
	r = Int128{Hi: int64(hi), Lo: l1}
	if neg {
		r = r.Neg()
	}
	return r, true
}

func (a Int128) abs() Int128 {
	if a.Hi < 0 {
		return a.Neg()
	}
	return a
}

// QuoRem divides truncating towards zero. b must not be zero.
func (a Int128) QuoRem(b Int128) (q, r Int128) {
	if x, okx := a.Int64(); okx {
		if y, oky := b.Int64(); oky && !(x == math.MinInt64 && y == -1) {
			return I128(x / y), I128(x % y)
		}
	}
	ua, ub := a.abs(), b.abs()
	var uq, ur Int128
	if ub.Hi == 0 {
		qh := uint64(ua.Hi) / ub.Lo
		ql, rem := bits.Div64(uint64(ua.Hi)%ub.Lo, ua.Lo, ub.Lo)
		uq, ur = Int128{Hi: int64(qh), Lo: ql}, Int128{Lo: rem}
	} else {
		bq, br := new(big.Int).QuoRem(a.Big(), b.Big(), new(big.Int))
		q, _ = FromBig(bq)
		r, _ = FromBig(br)
		return q, r
	}
	if (a.Hi < 0) != (b.Hi < 0) {
		uq = uq.Neg()
	}
	if a.Hi < 0 {
		ur = ur.Neg()
	}
	return uq, ur
}

var pow10 = func() (t [MaxPrecision + 1]Int128) {
	t[0] = I128(1)
	for i := 1; i < len(t); i++ {
		t[i], _ = t[i-1].Mul(I128(10))
	}
	return t
}()

// Pow10 returns 10^n for n from 0 to 38.
func Pow10(n int) Int128 { return pow10[n] }

// Rescale brings an unscaled value from scale from to scale to, rounding half away
// from zero; ok is false on overflow.
func (a Int128) Rescale(from, to int) (r Int128, ok bool) {
	switch {
	case to == from:
		return a, true
	case to > from:
		if to-from > MaxPrecision {
			return Int128{}, a.Sign() == 0
		}
		return a.Mul(pow10[to-from])
	}
	if from-to > MaxPrecision {
		return Int128{}, true
	}
	d := pow10[from-to]
	q, rem := a.QuoRem(d)
	ar := rem.abs()
	half, _ := d.QuoRem(I128(2))
	if ar.Cmp(half) >= 0 && (rem.Sign() != 0) {
		if a.Hi < 0 {
			q, _ = q.Sub(I128(1))
		} else {
			q, _ = q.Add(I128(1))
		}
	}
	return q, true
}

// FitsPrecision reports |a| < 10^p. Precision 0 stands for MaxPrecision.
func (a Int128) FitsPrecision(p int) bool {
	if p == 0 {
		p = MaxPrecision
	}
	u := a.abs()
	return u.Hi >= 0 && u.Cmp(pow10[p]) < 0
}

// Big converts to a big integer.
func (a Int128) Big() *big.Int {
	b := big.NewInt(a.Hi)
	b.Lsh(b, 64)
	return b.Add(b, new(big.Int).SetUint64(a.Lo))
}

// FromBig narrows b; ok is false when it does not fit in 128 bits.
func FromBig(b *big.Int) (r Int128, ok bool) {
	if b.BitLen() > 127 {
		return Int128{}, false
	}
	lo := new(big.Int).And(b, new(big.Int).SetUint64(math.MaxUint64))
	hi := new(big.Int).Rsh(b, 64)
	return Int128{Hi: hi.Int64(), Lo: lo.Uint64()}, true
}

// Float64 gives the nearest double of a / 10^scale.
func (a Int128) Float64(scale int) float64 {
	if v, ok := a.Int64(); ok && v > -1<<53 && v < 1<<53 && scale <= 22 {
		return float64(v) / math.Pow10(scale)
	}
	f, _ := new(big.Rat).SetFrac(a.Big(), Pow10(scale).Big()).Float64()
	return f
}

// AppendDecimal appends a / 10^scale in plain digits, scale digits after the point.
func (a Int128) AppendDecimal(dst []byte, scale int) []byte {
	if a.Hi < 0 {
		dst = append(dst, '-')
	}
	u := a.abs()
	var buf [48]byte
	i := len(buf)
	n := 0
	for u.Hi != 0 || u.Lo != 0 || n <= scale {
		if n == scale && scale > 0 {
			i--
			buf[i] = '.'
		}
		var digit uint64
		if u.Hi == 0 {
			digit = u.Lo % 10
			u.Lo /= 10
		} else {
			qh := uint64(u.Hi) / 10
			var ql uint64
			ql, digit = bits.Div64(uint64(u.Hi)%10, u.Lo, 10)
			u = Int128{Hi: int64(qh), Lo: ql}
		}
		i--
		buf[i] = byte('0' + digit)
		n++
	}
	return append(dst, buf[i:]...)
}

func (a Int128) String() string { return string(a.AppendDecimal(nil, 0)) }

// MarshalJSON writes the digits as a string, so that no reader rounds them.
func (a Int128) MarshalJSON() ([]byte, error) { return json.Marshal(a.String()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Int128) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	big, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return fmt.Errorf("invalid 128-bit integer %q", s)
	}
	v, ok := FromBig(big)
	if !ok {
		return fmt.Errorf("integer %q does not fit in 128 bits", s)
	}
	*a = v
	return nil
}

// CompareDecimal compares a / 10^as with b / 10^bs exactly.
func CompareDecimal(a Int128, as int, b Int128, bs int) int {
	if as == bs {
		return a.Cmp(b)
	}
	s := max(as, bs)
	if x, ok := a.Rescale(as, s); ok {
		if y, ok := b.Rescale(bs, s); ok {
			return x.Cmp(y)
		}
	}
	x := new(big.Int).Mul(a.Big(), Pow10(s-as).Big())
	return x.Cmp(new(big.Int).Mul(b.Big(), Pow10(s-bs).Big()))
}
