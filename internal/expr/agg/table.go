package agg

import (
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
)

// Aggregates is the one table of aggregate functions. The binder, SHOW FUNCTIONS,
// completion and the reference page read it.
//
// Result types are PostgreSQL's, with DECIMAL(38, s) for its unbounded NUMERIC. A
// quotient has the static scale max(16, s), so that an average of at least 1 has 16
// or more significant digits; it is exact and rounded half away from zero.
func Functions() []Func {
	return []Func{
		{
			Name: "count", Doc: "number of rows, or of rows whose argument is not NULL",
			Example: "COUNT(*)",
			Resolve: resolveCount, New: newCount,
		},
		{
			Name: "sum", Doc: "sum of the non-NULL arguments; NULL when there are none",
			Example: "SUM(price)",
			Resolve: resolveSum, New: newSum,
		},
		{
			Name: "avg", Doc: "mean of the non-NULL arguments; NULL when there are none",
			Example: "AVG(price)",
			Resolve: resolveAvg, New: newAvg,
		},
		{
			Name: "min", Doc: "least non-NULL argument; text compares by code point",
			Example: "MIN(price)",
			Resolve: resolveMinMax, New: newMin, Changing: newKept, Extreme: -1,
		},
		{
			Name: "max", Doc: "greatest non-NULL argument; text compares by code point",
			Example: "MAX(price)",
			Resolve: resolveMinMax, New: newMax, Changing: newKept, Extreme: 1,
		},
		{
			Name: "var_pop", Doc: "variance of the non-NULL arguments as the whole population",
			Example: "VAR_POP(price)",
			Resolve: resolveAvg, New: spread{sample: false, root: false}.make, Changing: spread{sample: false, root: false}.makeChanging,
		},
		{
			Name: "var_samp", Doc: "variance of the non-NULL arguments as a sample; NULL for one",
			Example: "VAR_SAMP(price)",
			Resolve: resolveAvg, New: spread{sample: true, root: false}.make, Changing: spread{sample: true, root: false}.makeChanging,
		},
		{
			Name: "variance", Doc: "variance of the non-NULL arguments as a sample; NULL for one",
			Example: "VARIANCE(price)",
			Resolve: resolveAvg, New: spread{sample: true, root: false}.make, Changing: spread{sample: true, root: false}.makeChanging,
		},
		{
			Name: "stddev_pop", Doc: "standard deviation of the non-NULL arguments as the whole population",
			Example: "STDDEV_POP(price)",
			Resolve: resolveAvg, New: spread{sample: false, root: true}.make, Changing: spread{sample: false, root: true}.makeChanging,
		},
		{
			Name: "stddev_samp", Doc: "standard deviation of the non-NULL arguments as a sample; NULL for one",
			Example: "STDDEV_SAMP(price)",
			Resolve: resolveAvg, New: spread{sample: true, root: true}.make, Changing: spread{sample: true, root: true}.makeChanging,
		},
		{
			Name: "stddev", Doc: "standard deviation of the non-NULL arguments as a sample; NULL for one",
			Example: "STDDEV(price)",
			Resolve: resolveAvg, New: spread{sample: true, root: true}.make, Changing: spread{sample: true, root: true}.makeChanging,
		},
		{
			Name: "bool_and", Doc: "true if every non-NULL argument is true",
			Example: "BOOL_AND(price > 0)",
			Resolve: resolveBool, New: newBoolAnd,
		},
		{
			Name: "every", Doc: "the same as bool_and",
			Example: "EVERY(price > 0)",
			Resolve: resolveBool, New: newBoolAnd,
		},
		{
			Name: "bool_or", Doc: "true if some argument is true",
			Example: "BOOL_OR(price > 100)",
			Resolve: resolveBool, New: newBoolOr,
		},
	}
}

// Find looks an aggregate up by its lower-case name.
func Find(name string) (Func, bool) {
	for _, f := range Functions() {
		if f.Name == name {
			return f, true
		}
	}
	return Func{}, false
}

func resolveCount(args []types.Type) ([]types.Type, types.Type, bool) {
	return args, types.TBigInt, len(args) <= 1
}

func resolveSum(args []types.Type) (want []types.Type, result types.Type, ok bool) {
	if len(args) != 1 {
		return nil, types.Type{}, false
	}
	switch t := args[0]; t.Kind {
	case types.SmallInt, types.Int:
		return args, types.TBigInt, true
	case types.BigInt:
		return args, types.TDecimal(types.MaxPrecision, 0), true
	case types.Decimal:
		return args, types.TDecimal(types.MaxPrecision, int(t.Scale)), true
	case types.Real, types.Double:
		return args, t, true
	}
	return nil, types.Type{}, false
}

func resolveAvg(args []types.Type) (want []types.Type, result types.Type, ok bool) {
	if len(args) != 1 {
		return nil, types.Type{}, false
	}
	switch t := args[0]; {
	case t.IsInteger():
		return args, types.TDecimal(types.MaxPrecision, expr.MinQuotientScale), true
	case t.Kind == types.Decimal:
		return args, types.TDecimal(types.MaxPrecision, max(expr.MinQuotientScale, int(t.Scale))), true
	case t.IsFloat():
		return args, types.TDouble, true
	}
	return nil, types.Type{}, false
}

func resolveMinMax(args []types.Type) (want []types.Type, result types.Type, ok bool) {
	if len(args) != 1 {
		return nil, types.Type{}, false
	}
	switch args[0].Kind {
	case types.Unknown:
		return []types.Type{types.TText}, types.TText, true
	case types.Bool, types.JSON:
		return nil, types.Type{}, false
	}
	return args, args[0], true
}

func resolveBool(args []types.Type) (want []types.Type, result types.Type, ok bool) {
	if len(args) != 1 || args[0].Kind != types.Bool && args[0].Kind != types.Unknown {
		return nil, types.Type{}, false
	}
	return []types.Type{types.TBool}, types.TBool, true
}
