package expr

import (
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// decAt reads value i of an integer or DECIMAL column.
func decAt(v *vec.Vector, i int) types.Int128 {
	if v.Type.Kind == types.Decimal {
		return v.I128[i]
	}
	return types.I128(v.I64[i])
}

func decArith(op byte, args []Arg, result types.Type) impl {
	pa, sa := asDecimal(args[0].Type)
	pb, sb := asDecimal(args[1].Type)
	s := int(result.Scale)
	switch op {
	case '*':
		drop := sa + sb - s
		safe := pa+pb <= types.MaxPrecision && drop == 0
		for c := range args {
			if v := args[c].Const; safe && v != nil && args[1-c].Type.IsInteger() {
				d := v.Dec
				if args[c].Type.IsInteger() {
					d = types.I128(v.I)
				}
				if small, ok := d.Int64(); ok {
					return impl{run: mulIntConst(1-c, small), cost: 2}
				}
			}
		}
		return impl{run: rowDec(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (types.Int128, bool) {
			x, y := decAt(a[0], i), decAt(a[1], i)
			if safe {
				r, _ := x.Mul(y)
				return r, true
			}
			return inDecimal(k, out, i)(mulDecimal(x, y, drop))
		}), raises: !safe, cost: 6}
	case '/':
		return impl{run: rowDec(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (types.Int128, bool) {
			y := decAt(a[1], i)
			if y.Sign() == 0 {
				divisionByZero(k, out, i)
				return y, false
			}
			return inDecimal(k, out, i)(DivDecimal(decAt(a[0], i), sa, y, sb, s))
		}), raises: true, cost: 30}
	case '%':
		return impl{run: rowDec(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (types.Int128, bool) {
			y := decAt(a[1], i)
			if y.Sign() == 0 {
				divisionByZero(k, out, i)
				return y, false
			}
			return modDecimal(decAt(a[0], i), sa, y, sb, s), true
		}), raises: true, cost: 20}
	}
	return impl{run: decSum(op, sa, sb, s), raises: int(result.Precision) == types.MaxPrecision, cost: 6}
}

// inDecimal passes a result on, or reports that it does not fit.
func inDecimal(k *kctx, out *vec.Vector, i int) func(types.Int128, bool) (types.Int128, bool) {
	return func(r types.Int128, ok bool) (types.Int128, bool) {
		if !ok {
			k.overflow(out, i)
		}
		return r, ok
	}
}

func decSum(op byte, sa, sb, s int) kernel {
	return rowDec(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (types.Int128, bool) {
		x, ok1 := decAt(a[0], i).Rescale(sa, s)
		y, ok2 := decAt(a[1], i).Rescale(sb, s)
		if op == '-' {
			y = y.Neg()
		}
		r, ok3 := x.Add(y)
		if !ok1 || !ok2 || !ok3 || !r.FitsPrecision(int(out.Type.Precision)) {
			k.overflow(out, i)
			return r, false
		}
		return r, true
	})
}

// mulIntConst multiplies an integer column, argument arg, by the unscaled value c of a
// DECIMAL.
func mulIntConst(arg int, c int64) kernel {
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		x, d := a[arg].I64[:k.n], out.I128[:k.n]
		if k.sel == nil {
			for i, v := range x {
				hi, lo := mulSigned(v, c)
				d[i] = types.Int128{Hi: hi, Lo: lo}
			}
			return
		}
		for _, i := range k.sel {
			hi, lo := mulSigned(x[i], c)
			d[i] = types.Int128{Hi: hi, Lo: lo}
		}
	}
}
