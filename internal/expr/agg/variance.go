package agg

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/streamsql/streamsql/internal/cell"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// spread says which of VAR_POP, VAR_SAMP, STDDEV_POP and STDDEV_SAMP is meant.
type spread struct{ sample, root bool }

func (k spread) make(args []types.Type, result types.Type) Accumulator {
	if args[0].IsFloat() {
		return spreadFloat{k}
	}
	return spreadExact{spread: k, scale: int(args[0].Scale), digits: int(result.Scale)}
}

// divisor is what the sum of squared distances of n rows is divided by; 0 is NULL.
func (k spread) divisor(n int64) int64 {
	if k.sample {
		return n - 1
	}
	return n
}

// spreadExact is the spread of integers and decimals, computed exactly and rounded
// once. Words: the count of non-NULL arguments, their sum in 192 bits, the sum of
// their squares in 320 bits, both from low to high.
type spreadExact struct {
	spread
	scale, digits int // after the point: of the argument, of the result
}

const (
	spreadSum   = 1
	spreadSq    = spreadSum + 3
	spreadWords = spreadSq + 5
)

func (spreadExact) Words() int     { return spreadWords }
func (spreadExact) Heaps() []int   { return nil }
func (spreadExact) Retracts() bool { return true }

func (spreadExact) Update(s *cell.Store, off int, ids []uint32, arg *vec.Vector, sel []int32, signs []int8) {
	for k, id := range ids {
		i := rowOf(sel, k)
		if arg.IsNull(i) {
			continue
		}
		var x types.Int128
		if arg.Type.Phys() == types.PInt64 {
			x = types.I128(arg.I64[i])
		} else {
			x = arg.I128[i]
		}
		ext := uint64(x.Hi >> 63)
		sum, sq := [3]uint64{x.Lo, uint64(x.Hi), ext}, square(x)
		r := s.Record(id)[off : off+spreadWords]
		sign := signOf(signs, k)
		r[0] += uint64(sign)
		if sign > 0 {
			addWords(r[spreadSum:spreadSq], sum[:])
			addWords(r[spreadSq:], sq[:])
		} else {
			subWords(r[spreadSum:spreadSq], sum[:])
			subWords(r[spreadSq:], sq[:])
		}
	}
}

// square is x * x in words from low to high.
func square(x types.Int128) (w [5]uint64) {
	if x.Hi < 0 {
		x = x.Neg()
	}
	a, b := x.Lo, uint64(x.Hi)
	var c uint64
	w[1], w[0] = bits.Mul64(a, a)
	w[3], w[2] = bits.Mul64(b, b)
	hi, lo := bits.Mul64(a, b)
	for range 2 {
		w[1], c = bits.Add64(w[1], lo, 0)
		w[2], c = bits.Add64(w[2], hi, c)
		w[3] += c
	}
	return w
}

func addWords(dst, x []uint64) {
	var c uint64
	for i := range dst {
		dst[i], c = bits.Add64(dst[i], x[i], c)
	}
}

func subWords(dst, x []uint64) {
	var c uint64
	for i := range dst {
		dst[i], c = bits.Sub64(dst[i], x[i], c)
	}
}

func (spreadExact) Merge(dst *cell.Store, off int, to uint32, src *cell.Store, srcOff int, from uint32) {
	d, x := dst.Record(to)[off:off+spreadWords], src.Record(from)[srcOff:srcOff+spreadWords]
	d[0] += x[0]
	addWords(d[spreadSum:spreadSq], x[spreadSum:spreadSq])
	addWords(d[spreadSq:], x[spreadSq:])
}

func (a spreadExact) Emit(s *cell.Store, off int, ids []uint32, out *vec.Vector, errs *expr.RowErrors) {
	for k, id := range ids {
		r := s.Record(id)[off : off+spreadWords]
		n := int64(r[0])
		div := a.divisor(n)
		if n == 0 || div == 0 {
			out.AppendNull()
			continue
		}
		v, ok := a.value(n, div, bigWords(r[spreadSum:spreadSq]), bigWords(r[spreadSq:]))
		appendDecimal(out, v, ok, k, errs)
	}
}

// value is (n * squares - sum^2) / (n * div), or its root, with the digits wanted.
func (a spreadExact) value(n, div int64, sum, squares *big.Int) (types.Int128, bool) {
	num := squares.Mul(squares, big.NewInt(n))
	num.Sub(num, sum.Mul(sum, sum))
	den := new(big.Int).Mul(big.NewInt(n), big.NewInt(div))
	shift := a.digits - 2*a.scale
	if a.root {
		shift = 2*a.digits - 2*a.scale
	}
	pow := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(shift, -shift))), nil)
	if shift >= 0 {
		num.Mul(num, pow)
	} else {
		den.Mul(den, pow)
	}
	if a.root {
		// round(sqrt(x)) = floor((sqrt(4x) + 1) / 2), and floors nest.
		num.Lsh(num, 2).Quo(num, den)
		num.Sqrt(num)
		num.Add(num, big.NewInt(1)).Rsh(num, 1)
		return types.FromBig(num)
	}
	num.Lsh(num, 1).Add(num, den).Quo(num, den.Lsh(den, 1))
	return types.FromBig(num)
}

// bigWords converts a two's complement integer, words from low to high.
func bigWords(w []uint64) *big.Int {
	b := big.NewInt(int64(w[len(w)-1]))
	for i := len(w) - 2; i >= 0; i-- {
		b.Lsh(b, 64).Add(b, new(big.Int).SetUint64(w[i]))
	}
	return b
}

// spreadFloat is the spread of doubles by the recurrence of Youngs and Cramer, 1971,
// as in PostgreSQL: it does not lose the digits that a sum of squares loses, and
// cannot take rows back. Words: the count of non-NULL arguments, their sum, the sum of
// squared distances from the mean: NaN once an argument was not finite, infinite once
// finite ones were too large.
type spreadFloat struct{ spread }

func (spreadFloat) Words() int     { return 3 }
func (spreadFloat) Heaps() []int   { return nil }
func (spreadFloat) Retracts() bool { return false }

func (spreadFloat) Update(s *cell.Store, off int, ids []uint32, arg *vec.Vector, sel []int32, _ []int8) {
	for k, id := range ids {
		i := rowOf(sel, k)
		if arg.IsNull(i) {
			continue
		}
		r := s.Record(id)[off : off+3]
		r[0]++
		n, x := float64(r[0]), arg.F64[i]
		sum := math.Float64frombits(r[1]) + x
		r[1] = math.Float64bits(sum)
		d := x*n - sum
		switch {
		case r[0] > 1:
			d *= d / (n * (n - 1))
		case d == 0:
			continue
		}
		sq := math.Float64frombits(r[2])
		if next := sq + d; finite(next) {
			r[2] = math.Float64bits(next)
		} else {
			r[2] = math.Float64bits(notFinite(sq, !finite(x)))
		}
	}
}

func finite(x float64) bool { return x-x == 0 }

// notFinite is the sum of squared distances that follows sq where it has no value.
func notFinite(sq float64, other bool) float64 {
	if math.IsInf(sq, 1) || !math.IsNaN(sq) && !other {
		return math.Inf(1)
	}
	return math.NaN()
}

func (spreadFloat) Merge(dst *cell.Store, off int, to uint32, src *cell.Store, srcOff int, from uint32) {
	d, x := dst.Record(to)[off:off+3], src.Record(from)[srcOff:srcOff+3]
	if x[0] == 0 {
		return
	}
	if d[0] == 0 {
		copy(d, x)
		return
	}
	n, m := float64(d[0]), float64(x[0])
	a, b := math.Float64frombits(d[1]), math.Float64frombits(x[1])
	apart := a/n - b/m
	d[0] += x[0]
	d[1] = math.Float64bits(a + b)
	p, q := math.Float64frombits(d[2]), math.Float64frombits(x[2])
	next := p + q + n*m*apart*apart/(n+m)
	if !finite(next) {
		next = notFinite(p, math.IsNaN(q))
		if math.IsInf(q, 1) {
			next = q
		}
	}
	d[2] = math.Float64bits(next)
}

func (a spreadFloat) Emit(s *cell.Store, off int, ids []uint32, out *vec.Vector, errs *expr.RowErrors) {
	for k, id := range ids {
		r := s.Record(id)[off : off+3]
		div := a.divisor(int64(r[0]))
		if r[0] == 0 || div == 0 {
			out.AppendNull()
			continue
		}
		v := math.Float64frombits(r[2]) / float64(div)
		if a.root {
			v = math.Sqrt(v)
		}
		appendFloat(out, v, !math.IsInf(v, 0), k, errs)
	}
}
