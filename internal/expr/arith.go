package expr

import (
	"math"
	"math/bits"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

func arithFuncs() []Func {
	return []Func{
		{
			Name: "+", Forms: []string{"number + number", "date + int", "time + interval", "interval + interval"}, Strict: true, resolve: resolvePlus, kernel: arithKernel('+'),
			Doc:     "Sum of numbers; a time moved by an interval or a date by days.",
			Example: "DATE '2024-01-31' + INTERVAL '1 month'", ExampleResult: "2024-02-29 00:00:00",
			PG: "DATE '2024-01-31' + INTERVAL '1 month'",
		},
		{
			Name: "-", Forms: []string{"number - number", "date - int", "date - date", "time - interval", "time - time", "interval - interval", "- number", "- interval"}, Strict: true, resolve: resolveMinus, kernel: arithKernel('-'),
			Doc:     "Difference of numbers, times or intervals; with one operand, the negative.",
			Example: "TIMESTAMP '2024-01-02 03:00:00' - TIMESTAMP '2024-01-01'", ExampleResult: "1 day 03:00:00",
			PG: "TIMESTAMP '2024-01-02 03:00:00' - TIMESTAMP '2024-01-01'",
		},
		{
			Name: "*", Forms: []string{"number * number", "interval * double"}, Strict: true, resolve: resolveTimes, kernel: arithKernel('*'),
			Doc:     "Product of numbers, or of an interval and a number.",
			Example: "0.908 * 73134520", ExampleResult: "66406144.160", PG: "0.908 * 73134520",
		},
		{
			Name: "/", Forms: []string{"number / number", "interval / double"}, Strict: true, resolve: resolveOver, kernel: arithKernel('/'),
			Doc:     "Quotient. That of integers is cut towards zero, that of decimals has 16 significant digits or more where it is at least 1.",
			Example: "-7 / 2", ExampleResult: "-3", PG: "-7 / 2",
		},
		{
			Name: "%", Forms: []string{"mod(number, number)", "number % number"}, Aliases: []string{"mod"}, Strict: true, resolve: resolveMod, kernel: arithKernel('%'),
			Doc:     "Remainder of a division, with the sign of the dividend.",
			Example: "MOD(-7, 3)", ExampleResult: "-1", PG: "MOD(-7, 3)",
		},
	}
}

// resolveNumeric settles an operation of two numbers, or of a number and an open
// literal, which takes the other's type.
func resolveNumeric(op byte, args []*Expr) ([]*Expr, types.Type, error) {
	if len(args) != 2 {
		return nil, types.Type{}, errNoSignature
	}
	args, err := settleOpen(args)
	if err != nil {
		return nil, types.Type{}, err
	}
	a, b := args[0].Type, args[1].Type
	if !a.IsNumeric() || !b.IsNumeric() {
		return nil, types.Type{}, errNoSignature
	}
	t := arithType(op, a, b)
	if op == '%' && t.IsFloat() {
		return nil, types.Type{}, errNoSignature
	}
	if t.Kind == types.Decimal {
		return args, t, nil
	}
	out := make([]*Expr, 2)
	for i := range args {
		if out[i], err = CoerceTo(args[i], t); err != nil {
			return nil, t, err
		}
	}
	return out, t, nil
}

// settleOpen gives an open literal the type of the other operand.
func settleOpen(args []*Expr) ([]*Expr, error) {
	a, b := args[0], args[1]
	var err error
	switch {
	case a.Type.Kind == types.Unknown && b.Type.Kind != types.Unknown:
		a, err = CoerceTo(a, openType(a, b.Type))
	case b.Type.Kind == types.Unknown && a.Type.Kind != types.Unknown:
		b, err = CoerceTo(b, openType(b, a.Type))
	}
	return []*Expr{a, b}, err
}

func resolveTimes(args []*Expr) ([]*Expr, types.Type, error) {
	if len(args) == 2 {
		for i := range args {
			if args[i].Type.Kind == types.Interval && (args[1-i].Type.IsNumeric() || args[1-i].Type.Kind == types.Unknown) {
				n, err := coerceKind(args[1-i], types.Double)
				return []*Expr{args[i], n}, types.TInterval, err
			}
		}
	}
	return resolveNumeric('*', args)
}

func resolveOver(args []*Expr) ([]*Expr, types.Type, error) {
	if len(args) == 2 && args[0].Type.Kind == types.Interval {
		n, err := coerceKind(args[1], types.Double)
		return []*Expr{args[0], n}, types.TInterval, err
	}
	return resolveNumeric('/', args)
}

func resolveMod(args []*Expr) ([]*Expr, types.Type, error) { return resolveNumeric('%', args) }

func resolvePlus(args []*Expr) ([]*Expr, types.Type, error) {
	if len(args) == 1 && args[0].Type.IsNumeric() {
		return append(args, Lit(types.IntValue(types.TSmallInt, 0))), args[0].Type, nil
	}
	if out, t, ok, err := resolveTimeArith('+', args); ok {
		return out, t, err
	}
	return resolveNumeric('+', args)
}

func resolveMinus(args []*Expr) ([]*Expr, types.Type, error) {
	if len(args) == 1 {
		switch a := args[0]; {
		case a.Type.IsNumeric(), a.Type.Kind == types.Interval:
			return args, a.Type, nil
		case a.Type.Kind == types.Unknown:
			d, err := CoerceTo(a, types.TDouble)
			return []*Expr{d}, types.TDouble, err
		}
	}
	if out, t, ok, err := resolveTimeArith('-', args); ok {
		return out, t, err
	}
	return resolveNumeric('-', args)
}

// arithKernel picks the kernel of an operator by the types of its operands.
func arithKernel(op byte) func([]Arg, types.Type) impl {
	return func(args []Arg, result types.Type) impl {
		if len(args) == 1 {
			return negKernel(result)
		}
		if im, ok := timeArithKernel(op, args, result); ok {
			return im
		}
		switch {
		case result.Kind == types.Decimal:
			return decArith(op, args, result)
		case result.IsFloat():
			return impl{run: floatArith(op), raises: true, cost: 3}
		}
		return intArith(op, args, result)
	}
}

func negKernel(t types.Type) impl {
	switch t.Phys() {
	case types.PFloat64:
		return impl{run: floatFloat(func(x float64) float64 { return -x }), cost: 1}
	case types.PInt128:
		return impl{run: rowDec(func(_ *kctx, a []*vec.Vector, i int, _ *vec.Vector) (types.Int128, bool) {
			return a[0].I128[i].Neg(), true
		}), cost: 2}
	case types.PInterval:
		return impl{run: rowInterval(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (types.IntervalValue, bool) {
			x := a[0].Iv[i]
			if x.Months == math.MinInt32 || x.Days == math.MinInt32 || x.Micros == math.MinInt64 {
				k.fail(out, i, sqlerr.CodeDatetimeOverflow, "interval out of range")
				return x, false
			}
			return types.IntervalValue{Months: -x.Months, Days: -x.Days, Micros: -x.Micros}, true
		}), raises: true, cost: 2}
	}
	return impl{run: rowInt(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (int64, bool) {
		x := a[0].I64[i]
		if x == math.MinInt64 || !vec.IntFits(t, -x) {
			k.overflow(out, i)
		}
		return -x, live(out, i)
	}), raises: true, cost: 2}
}

func intArith(op byte, args []Arg, result types.Type) impl {
	switch op {
	case '+', '-', '*':
		return impl{run: intLoop(op), raises: true, cost: 2}
	case '%':
		if c := args[1].Const; c != nil && c.I != 0 && c.I != -1 {
			return impl{run: modConst(c.I), cost: 3}
		}
	}
	return impl{run: intDivMod(op), raises: true, cost: 4}
}

// intLoop adds, subtracts or multiplies without a branch per row and looks for the
// rows that overflowed only when there was one.
func intLoop(op byte) kernel {
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		x, y, d := a[0].I64[:k.n], a[1].I64[:k.n], out.I64[:k.n]
		spare := spareBits(out.Type)
		var bad uint64
		if k.sel == nil {
			for i := range d {
				r, o := intOp(op, x[i], y[i])
				d[i] = r
				bad |= o | uint64(r<<spare>>spare^r)
			}
		} else {
			for _, i := range k.sel {
				r, o := intOp(op, x[i], y[i])
				d[i] = r
				bad |= o | uint64(r<<spare>>spare^r)
			}
		}
		if bad == 0 {
			return
		}
		k.each(out, func(i int) {
			if r, o := intOp(op, x[i], y[i]); o != 0 || !vec.IntFits(out.Type, r) {
				k.overflow(out, i)
			}
		})
	}
}

// spareBits is the number of high bits that a value of an integer type does not use.
func spareBits(t types.Type) uint {
	switch t.Kind {
	case types.SmallInt:
		return 48
	case types.Int:
		return 32
	}
	return 0
}

// intOp gives the result modulo 2^64, and a number other than 0 when it overflowed.
func intOp(op byte, x, y int64) (r int64, overflow uint64) {
	switch op {
	case '+':
		r = x + y
		return r, uint64((x^r)&(y^r)) >> 63
	case '-':
		r = x - y
		return r, uint64((x^y)&(x^r)) >> 63
	}
	hi, lo := mulSigned(x, y)
	return int64(lo), uint64(hi ^ int64(lo)>>63)
}

// mulSigned is the 128-bit product of two signed numbers.
func mulSigned(x, y int64) (hi int64, lo uint64) {
	h, l := bits.Mul64(uint64(x), uint64(y))
	return int64(h) - x>>63&y - y>>63&x, l
}

// modConst is the remainder by a constant that is neither 0 nor -1, by multiplication
// with its reciprocal (Granlund and Montgomery, 1994, for dividends below 2^63).
func modConst(c int64) kernel {
	d := uint64(c)
	if c < 0 {
		d = -d
	}
	if d == 1 || d == 1<<63 {
		return modSlow(c)
	}
	shift := uint(bits.Len64(d-1)) - 1
	m, _ := bits.Div64(1<<shift, 0, d)
	m++
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		x, dst := a[0].I64[:k.n], out.I64[:k.n]
		if k.sel != nil {
			for _, i := range k.sel {
				dst[i] = x[i] % c
			}
			return
		}
		for i, v := range x {
			sign := v >> 63
			u := uint64((v ^ sign) - sign)
			if u>>63 != 0 {
				dst[i] = v % c
				continue
			}
			q, _ := bits.Mul64(m, u)
			r := int64(u - q>>(shift&63)*d)
			dst[i] = (r ^ sign) - sign
		}
	}
}

func modSlow(c int64) kernel {
	return intInt(func(x int64) int64 { return x % c })
}

func intDivMod(op byte) kernel {
	return rowInt(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (int64, bool) {
		x, y := a[0].I64[i], a[1].I64[i]
		switch {
		case y == 0:
			divisionByZero(k, out, i)
			return 0, false
		case op == '%':
			if y == -1 {
				return 0, true
			}
			return x % y, true
		case y == -1 && (x == math.MinInt64 || !vec.IntFits(out.Type, -x)):
			k.overflow(out, i)
			return 0, false
		}
		return x / y, true
	})
}

func divisionByZero(k *kctx, out *vec.Vector, i int) {
	k.fail(out, i, sqlerr.CodeDivisionByZero, "division by zero")
}

func floatArith(op byte) kernel {
	return rowFloat(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (float64, bool) {
		x, y := a[0].F64[i], a[1].F64[i]
		var r float64
		switch op {
		case '+':
			r = x + y
		case '-':
			r = x - y
		case '*':
			r = x * y
		case '/':
			if y == 0 && x == x {
				divisionByZero(k, out, i)
				return 0, false
			}
			r = x / y
		}
		if out.Type.Kind == types.Real {
			r = float64(float32(r))
		}
		return r, checkFloat(k, out, i, r, x, y, (op == '*' || op == '/') && x != 0 && !(op == '/' && math.IsInf(y, 0)))
	})
}

// checkFloat reports, as PostgreSQL does, a result that became infinite from finite
// operands or zero where the exact result is not.
func checkFloat(k *kctx, out *vec.Vector, i int, r, x, y float64, nonzero bool) bool {
	switch {
	case math.IsInf(r, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0):
		k.fail(out, i, sqlerr.CodeNumericOutOfRange, "value out of range: overflow")
		return false
	case r == 0 && nonzero && y != 0:
		k.fail(out, i, sqlerr.CodeNumericOutOfRange, "value out of range: underflow")
		return false
	}
	return true
}
