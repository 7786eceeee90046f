package expr

import (
	"math"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

func mathFuncs() []Func {
	same := func(ts []types.Type) types.Type { return ts[0] }
	abs := func([]Arg, types.Type) impl { return impl{run: absInt, raises: true, cost: 2} }
	whole := func(name, doc, example, result string, dec func(types.Int128, int) types.Int128, flt func(float64) float64) Func {
		return Func{Name: name, Doc: doc, Strict: true, Example: example, ExampleResult: result, PG: example,
			Sigs: []Sig{
				{Args: []types.Kind{types.Decimal}, ret: wholeDecimal, kernel: decToWhole(dec)},
				{Args: []types.Kind{types.Double}, Ret: types.TDouble, kernel: floatKernel(flt)},
				{Args: []types.Kind{types.BigInt}, Ret: types.TDouble, kernel: intToFloat},
			}}
	}
	return []Func{
		{
			Name: "abs", Doc: "Absolute value.", Strict: true, Example: "ABS(-17.4)", ExampleResult: "17.4", PG: "ABS(-17.4)",
			Sigs: []Sig{
				{Args: []types.Kind{types.SmallInt}, Ret: types.TSmallInt, kernel: abs},
				{Args: []types.Kind{types.Int}, Ret: types.TInt, kernel: abs},
				{Args: []types.Kind{types.BigInt}, Ret: types.TBigInt, kernel: abs},
				{Args: []types.Kind{types.Decimal}, ret: same, kernel: decKernel(func(x types.Int128) types.Int128 {
					if x.Sign() < 0 {
						return x.Neg()
					}
					return x
				})},
				{Args: []types.Kind{types.Real}, Ret: types.TReal, kernel: floatKernel(math.Abs)},
				{Args: []types.Kind{types.Double}, Ret: types.TDouble, kernel: floatKernel(math.Abs)},
			},
		},
		withAliases(whole("ceil", "The smallest whole number not below the argument.", "CEIL(-0.5)", "0", ceilDecimal, math.Ceil), "ceiling"),
		whole("floor", "The largest whole number not above the argument.", "FLOOR(-42.8)", "-43", floorDecimal, math.Floor),
		{
			Name: "round", Forms: []string{"round(decimal [, int])", "round(double)"}, Doc: "Rounds to the nearest whole number or, for a DECIMAL, to n digits: a DECIMAL half away from zero, a DOUBLE half to even.",
			Strict: true, Example: "ROUND(42.4382, 2)", ExampleResult: "42.44", PG: "ROUND(42.4382, 2)",
			resolve: resolveRound, kernel: roundKernel(true),
		},
		{
			Name: "trunc", Forms: []string{"trunc(decimal [, int])", "trunc(double)"}, Aliases: []string{"truncate"}, Doc: "Cuts towards zero to a whole number or, for a DECIMAL, to n digits.",
			Strict: true, Example: "TRUNC(-42.4382, 2)", ExampleResult: "-42.43", PG: "TRUNC(-42.4382, 2)",
			resolve: resolveRound, kernel: roundKernel(false),
		},
		{
			Name: "sign", Doc: "-1, 0 or 1.", Strict: true, Example: "SIGN(-8.4)", ExampleResult: "-1", PG: "SIGN(-8.4)",
			Sigs: []Sig{
				{Args: []types.Kind{types.Decimal}, Ret: types.TDecimal(1, 0), kernel: decKernel(func(x types.Int128) types.Int128 {
					return types.I128(int64(x.Sign()))
				})},
				{Args: []types.Kind{types.Double}, Ret: types.TDouble, kernel: floatKernel(signFloat)},
			},
		},
		power(),
		floatFunc("sqrt", nil, "Square root.", "SQRT(2::DOUBLE)", "1.4142135623730951", math.Sqrt, nonNegative),
		floatFunc("exp", nil, "e raised to the argument.", "EXP(1::DOUBLE)", "2.718281828459045", math.Exp, nil),
		floatFunc("ln", nil, "Natural logarithm.", "LN(2::DOUBLE)", "0.6931471805599453", math.Log, positive),
		logFunc(),
		floatFunc("log2", nil, "Logarithm to base 2.", "LOG2(8::DOUBLE)", "3", math.Log2, positive),
		floatFunc("sin", nil, "Sine of radians.", "SIN(1::DOUBLE)", "0.8414709848078965", math.Sin, finite),
		floatFunc("cos", nil, "Cosine of radians.", "COS(1::DOUBLE)", "0.5403023058681398", math.Cos, finite),
		floatFunc("tan", nil, "Tangent of radians.", "TAN(1::DOUBLE)", "1.557407724654902", math.Tan, finite),
	}
}

func absInt(k *kctx, a []*vec.Vector, out *vec.Vector) {
	k.each(out, func(i int) {
		x := a[0].I64[i]
		if x < 0 {
			if x = -x; x < 0 || !vec.IntFits(out.Type, x) {
				k.overflow(out, i)
			}
		}
		out.I64[i] = x
	})
}

func decKernel(f func(types.Int128) types.Int128) func([]Arg, types.Type) impl {
	return func([]Arg, types.Type) impl {
		return impl{run: rowDec(func(_ *kctx, a []*vec.Vector, i int, _ *vec.Vector) (types.Int128, bool) {
			return f(a[0].I128[i]), true
		}), cost: 4}
	}
}

func floatKernel(f func(float64) float64) func([]Arg, types.Type) impl {
	return func([]Arg, types.Type) impl { return impl{run: floatFloat(f), cost: 5} }
}

func intToFloat([]Arg, types.Type) impl {
	return impl{run: rowFloat(func(_ *kctx, a []*vec.Vector, i int, _ *vec.Vector) (float64, bool) {
		return float64(a[0].I64[i]), true
	}), cost: 2}
}

// wholeDecimal is the type of CEIL, FLOOR and ROUND of a DECIMAL: one digit more before
// the point, none after.
func wholeDecimal(ts []types.Type) types.Type {
	p, s := asDecimal(ts[0])
	return types.TDecimal(min(p-s+1, types.MaxPrecision), 0)
}

func decToWhole(f func(types.Int128, int) types.Int128) func([]Arg, types.Type) impl {
	return func(args []Arg, _ types.Type) impl {
		s := int(args[0].Type.Scale)
		return decKernel(func(x types.Int128) types.Int128 { return f(x, s) })(args, types.Type{})
	}
}

func floorDecimal(x types.Int128, scale int) types.Int128 {
	q, r := x.QuoRem(types.Pow10(scale))
	if r.Sign() < 0 {
		q, _ = q.Sub(types.I128(1))
	}
	return q
}

func ceilDecimal(x types.Int128, scale int) types.Int128 {
	q, r := x.QuoRem(types.Pow10(scale))
	if r.Sign() > 0 {
		q, _ = q.Add(types.I128(1))
	}
	return q
}

// signFloat gives 0 for -0 and NaN, as PostgreSQL does.
func signFloat(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// resolveRound settles ROUND and TRUNC: a number of digits needs a DECIMAL, and where
// it is a constant it is the scale of the result.
func resolveRound(args []*Expr) ([]*Expr, types.Type, error) {
	if len(args) == 0 || len(args) > 2 {
		return nil, types.Type{}, errNoSignature
	}
	x := args[0]
	if x.Type.Kind == types.Unknown || x.Type.Kind == types.Real || len(args) == 1 && x.Type.IsInteger() {
		var err error
		if x, err = CoerceTo(x, types.TDouble); err != nil {
			return nil, types.Type{}, err
		}
	}
	if len(args) == 1 {
		switch x.Type.Kind {
		case types.Double:
			return []*Expr{x}, types.TDouble, nil
		case types.Decimal:
			return []*Expr{x}, wholeDecimal([]types.Type{x.Type}), nil
		}
		return nil, types.Type{}, errNoSignature
	}
	x, err := coerceKind(x, types.Decimal)
	if err != nil || x.Type.Kind != types.Decimal {
		return nil, types.Type{}, errNoSignature
	}
	n, err := CoerceTo(args[1], types.TInt)
	if err != nil {
		return nil, types.Type{}, err
	}
	p, s := asDecimal(x.Type)
	scale := s
	if n.Kind == Literal && !n.Val.Null {
		scale = max(0, min(int(n.Val.I), types.MaxPrecision-1))
		if scale > s {
			scale = min(scale, types.MaxPrecision-(p-s))
		}
	}
	return []*Expr{x, n}, types.TDecimal(min(p-s+scale+1, types.MaxPrecision), scale), nil
}

func roundKernel(half bool) func([]Arg, types.Type) impl {
	return func(args []Arg, result types.Type) impl {
		if result.Kind == types.Double {
			f := math.Trunc
			if half {
				f = math.RoundToEven
			}
			return impl{run: floatFloat(f), cost: 3}
		}
		from, to := int(args[0].Type.Scale), int(result.Scale)
		return impl{run: rowDec(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (types.Int128, bool) {
			digits := int64(0)
			if len(a) == 2 {
				digits = a[1].I64[i]
			}
			x, ok := roundDecimal(a[0].I128[i], from, int(max(-40, min(digits, 40))), half)
			if ok {
				x, ok = x.Rescale(from, to)
			}
			if !ok || !x.FitsPrecision(types.MaxPrecision) {
				k.overflow(out, i)
				return x, false
			}
			return x, true
		}), raises: true, cost: 10}
	}
}

// roundDecimal rounds (half away from zero) or cuts x of the given scale to digits
// after the point, which may be negative; the scale stays.
func roundDecimal(x types.Int128, scale, digits int, half bool) (types.Int128, bool) {
	drop := scale - digits
	switch {
	case drop <= 0:
		return x, true
	case drop > types.MaxPrecision:
		return types.Int128{}, true
	case half:
		r, _ := x.Rescale(drop, 0)
		return r.Mul(types.Pow10(drop))
	}
	q, _ := x.QuoRem(types.Pow10(drop))
	return q.Mul(types.Pow10(drop))
}

// domain judges an argument of a real function; a message says what is wrong with it.
type domain func(x float64) (code, msg string)

func nonNegative(x float64) (code, msg string) {
	if x < 0 {
		return "2201F", "cannot take square root of a negative number"
	}
	return "", ""
}

func positive(x float64) (code, msg string) {
	switch {
	case x == 0:
		return "2201E", "cannot take logarithm of zero"
	case x < 0:
		return "2201E", "cannot take logarithm of a negative number"
	}
	return "", ""
}

func finite(x float64) (code, msg string) {
	if math.IsInf(x, 0) {
		return sqlerr.CodeNumericOutOfRange, "input is out of range"
	}
	return "", ""
}

// floatFunc is a function of one DOUBLE. PostgreSQL computes some of them exactly for
// numeric arguments; here the result is always DOUBLE.
func floatFunc(name string, aliases []string, doc, example, result string, f func(float64) float64, ok domain) Func {
	pg := strings.ReplaceAll(example, "::DOUBLE", "::DOUBLE PRECISION")
	if name == "log2" {
		pg = "LOG(2, 8)::DOUBLE PRECISION"
	}
	return Func{Name: name, Aliases: aliases, Doc: doc + " The result is DOUBLE.", Strict: true,
		Example: example, ExampleResult: result, PG: pg,
		Sigs: []Sig{{Args: []types.Kind{types.Double}, Ret: types.TDouble, kernel: func([]Arg, types.Type) impl {
			return impl{run: rowFloat(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (float64, bool) {
				x := a[0].F64[i]
				if ok != nil {
					if code, msg := ok(x); msg != "" {
						k.fail(out, i, code, msg)
						return 0, false
					}
				}
				r := f(x)
				return r, checkFloat(k, out, i, r, x, 1, name == "exp" && !math.IsInf(x, -1))
			}), raises: true, cost: 15}
		}}},
	}
}

func logFunc() Func {
	f := floatFunc("log", []string{"log10"}, "Logarithm to base 10, or of the second argument to the base of the first.",
		"LOG(100::DOUBLE)", "2", math.Log10, positive)
	f.Differs = "Flink's LOG with one argument is the natural logarithm."
	f.Sigs = append(f.Sigs, Sig{Args: []types.Kind{types.Double, types.Double}, Ret: types.TDouble, kernel: func([]Arg, types.Type) impl {
		return impl{run: rowFloat(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (float64, bool) {
			b, x := a[0].F64[i], a[1].F64[i]
			for _, v := range [2]float64{b, x} {
				if code, msg := positive(v); msg != "" {
					k.fail(out, i, code, msg)
					return 0, false
				}
			}
			if b == 1 {
				divisionByZero(k, out, i)
				return 0, false
			}
			return math.Log(x) / math.Log(b), true
		}), raises: true, cost: 30}
	}})
	return f
}

func power() Func {
	return Func{
		Name: "power", Aliases: []string{"pow"}, Doc: "The first argument raised to the second. The result is DOUBLE.", Strict: true,
		Example: "POWER(2::DOUBLE, 10)", ExampleResult: "1024", PG: "POWER(2::DOUBLE PRECISION, 10)",
		Sigs: []Sig{{Args: []types.Kind{types.Double, types.Double}, Ret: types.TDouble, kernel: func([]Arg, types.Type) impl {
			return impl{run: rowFloat(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (float64, bool) {
				x, y := a[0].F64[i], a[1].F64[i]
				r := math.Pow(x, y)
				switch {
				case x == 0 && y < 0:
					k.fail(out, i, "2201F", "zero raised to a negative power is undefined")
					return 0, false
				case x < 0 && r != r:
					k.fail(out, i, "2201F", "a negative number raised to a non-integer power yields a complex result")
					return 0, false
				}
				return r, checkFloat(k, out, i, r, x, y, x != 0 && math.Abs(x) != 1 && !math.IsInf(y, 0) && !math.IsInf(x, 0))
			}), raises: true, cost: 40}
		}}},
	}
}
