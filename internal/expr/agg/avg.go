package agg

import (
	"math/big"

	"github.com/streamsql/streamsql/internal/cell"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

func newAvg(args []types.Type, result types.Type) Accumulator {
	switch t := args[0]; {
	case t.IsInteger():
		return avgInt{shift: int(result.Scale)}
	case t.Kind == types.Decimal:
		return avgDec{shift: int(result.Scale) - int(t.Scale)}
	default:
		return avgFloat{}
	}
}

// avgInt keeps what sumInt keeps.
type avgInt struct {
	sumInt
	shift int // digits of the quotient beyond those of the sum
}

// Emit appends the rounded quotients.
func (a avgInt) Emit(s *cell.Store, off int, ids []uint32, out *vec.Vector, errs *expr.RowErrors) {
	for k, id := range ids {
		r := s.Record(id)[off : off+3]
		if r[0] == 0 {
			out.AppendNull()
			continue
		}
		v, ok := quotient(types.Int128{Hi: int64(r[2]), Lo: r[1]}, int64(r[0]), a.shift)
		appendDecimal(out, v, ok, k, errs)
	}
}

// avgDec keeps what sumDec keeps.
type avgDec struct {
	sumDec
	shift int
}

// Emit appends the rounded quotients.
func (a avgDec) Emit(s *cell.Store, off int, ids []uint32, out *vec.Vector, errs *expr.RowErrors) {
	for k, id := range ids {
		r := s.Record(id)[off : off+4]
		if r[0] == 0 {
			out.AppendNull()
			continue
		}
		var v types.Int128
		sum, ok := narrow192(r[1:4])
		if ok {
			v, ok = quotient(sum, int64(r[0]), a.shift)
		} else {
			v, ok = bigQuotient(big192(r[1:4]), int64(r[0]), a.shift)
		}
		appendDecimal(out, v, ok, k, errs)
	}
}

// quotient is sum * 10^shift / n rounded half away from zero.
func quotient(sum types.Int128, n int64, shift int) (types.Int128, bool) {
	x, ok := sum.Mul(types.Pow10(shift))
	if !ok {
		return bigQuotient(sum.Big(), n, shift)
	}
	q, r := x.QuoRem(types.I128(n))
	rem, _ := r.Int64() // |r| < n
	if rem < 0 {
		rem = -rem
	}
	if rem >= n-rem {
		return q.Add(types.I128(int64(x.Sign())))
	}
	return q, true
}

func bigQuotient(sum *big.Int, n int64, shift int) (types.Int128, bool) {
	x := sum.Mul(sum, types.Pow10(shift).Big())
	q, r := new(big.Int).QuoRem(x, big.NewInt(n), new(big.Int))
	if r.Abs(r).Lsh(r, 1).Cmp(big.NewInt(n)) >= 0 {
		q.Add(q, big.NewInt(int64(x.Sign())))
	}
	return types.FromBig(q)
}

// big192 converts a 192-bit two's complement integer.
func big192(w []uint64) *big.Int {
	b := types.Int128{Hi: int64(w[2]), Lo: w[1]}.Big()
	b.Lsh(b, 64)
	return b.Add(b, new(big.Int).SetUint64(w[0]))
}
