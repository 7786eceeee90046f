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

func (k spread) makeChanging([]types.Type, types.Type) Accumulator { return spreadChanging{k} }

// spreadChanging is the spread of doubles that may be taken back: exact, so that an
// argument that is gone has left nothing behind, however large it was. It keeps the sums
// of the arguments and of their squares as integers of unit 2^-150 and 2^-300; digits of
// an argument below the unit are cut. NaN and infinities are counted apart, and so are
// arguments of 2^170 (1.5e51) and more, beside which there is no result.
type spreadChanging struct{ spread }

const (
	scCount = 0 // non-NULL arguments
	scOther = 1 // NaN and infinities
	scLarge = 2
	scSum   = 3
	scSq    = scSum + 6
	scWords = scSq + 11

	scUnit  = -150
	scLimit = 0x1p170
)

func (spreadChanging) Words() int     { return scWords }
func (spreadChanging) Heaps() []int   { return nil }
func (spreadChanging) Retracts() bool { return true }

func (spreadChanging) Update(s *cell.Store, off int, ids []uint32, arg *vec.Vector, sel []int32, signs []int8) {
	for k, id := range ids {
		i := rowOf(sel, k)
		if arg.IsNull(i) {
			continue
		}
		r, x, sign := s.Record(id)[off:off+scWords], arg.F64[i], signOf(signs, k)
		r[scCount] += uint64(sign)
		switch {
		case x-x != 0:
			r[scOther] += uint64(sign)
		case math.Abs(x) >= scLimit:
			r[scLarge] += uint64(sign)
		default:
			units, shift := inUnits(math.Abs(x))
			hi, lo := bits.Mul64(units, units)
			addShifted(r[scSum:scSq], units, 0, shift, (x < 0) != (sign < 0))
			addShifted(r[scSq:], lo, hi, 2*shift, sign < 0)
		}
	}
}

// inUnits gives x as units * 2^shift of the unit.
func inUnits(x float64) (units uint64, shift uint) {
	f, e := math.Frexp(x)
	units, e = uint64(math.Ldexp(f, 53)), e-53-scUnit
	if e < 0 {
		return units >> -e, 0
	}
	return units, uint(e)
}

// addShifted adds the integer (hi, lo) * 2^shift to words from low to high, or takes it away.
func addShifted(words []uint64, lo, hi uint64, shift uint, minus bool) {
	words, shift = words[shift/64:], shift%64
	var x [12]uint64
	x[0], x[1], x[2] = lo<<shift, hi<<shift|lo>>(64-shift), hi>>(64-shift)
	if minus {
		subWords(words, x[:len(words)])
	} else {
		addWords(words, x[:len(words)])
	}
}

func (spreadChanging) Merge(dst *cell.Store, off int, to uint32, src *cell.Store, srcOff int, from uint32) {
	d, x := dst.Record(to)[off:off+scWords], src.Record(from)[srcOff:srcOff+scWords]
	for w := range scSum {
		d[w] += x[w]
	}
	addWords(d[scSum:scSq], x[scSum:scSq])
	addWords(d[scSq:], x[scSq:])
}

func (a spreadChanging) Emit(s *cell.Store, off int, ids []uint32, out *vec.Vector, errs *expr.RowErrors) {
	for k, id := range ids {
		r := s.Record(id)[off : off+scWords]
		n := int64(r[scCount])
		div := a.divisor(n)
		switch {
		case n == 0 || div == 0:
			out.AppendNull()
		case r[scOther] != 0:
			out.AppendFloat64(math.NaN())
		case n == 1:
			out.AppendFloat64(0)
		case r[scLarge] != 0:
			appendFloat(out, 0, false, k, errs)
		default:
			v := apart(n, div, bigWords(r[scSum:scSq]), bigWords(r[scSq:]))
			if a.root {
				v = math.Sqrt(v)
			}
			out.AppendFloat64(v)
		}
	}
}

// apart is (n * squares - sum^2) / (n * div), of sums in units.
func apart(n, div int64, sum, squares *big.Int) float64 {
	squares.Mul(squares, big.NewInt(n))
	squares.Sub(squares, sum.Mul(sum, sum))
	v := new(big.Float).SetPrec(128).SetInt(squares)
	v.Quo(v, new(big.Float).SetInt(new(big.Int).Mul(big.NewInt(n), big.NewInt(div))))
	f, _ := v.SetMantExp(v, 2*scUnit).Float64()
	return f
}
