package expr

import (
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

const (
	second = int64(1_000_000)
	minute = 60 * second
	hour   = 60 * minute
	day    = vec.MicrosPerDay
)

const (
	kTS   = types.Timestamp
	kTSTZ = types.TimestampTZ
)

func timeFuncs() []Func {
	return []Func{
		{
			Name: "extract", Forms: []string{"extract(field FROM time)", "extract(field FROM interval)"}, Aliases: []string{"date_part"}, Strict: true,
			Doc:     "A field of a time or interval: century, day, decade, dow, doy, epoch, hour, isodow, isoyear, microseconds, millennium, milliseconds, minute, month, quarter, second, week, year. The result is DECIMAL.",
			Differs: "Flink gives BIGINT.",
			Example: "EXTRACT('dow', TIMESTAMP '2024-02-29 12:34:56.789')", ExampleResult: "4",
			PG:      "EXTRACT(dow FROM TIMESTAMP '2024-02-29 12:34:56.789')",
			resolve: resolveExtract, kernel: extractField,
		},
		fieldFunc("year", "Year.", "2024", nil),
		fieldFunc("quarter", "Quarter, 1 to 4.", "1", nil),
		fieldFunc("month", "Month, 1 to 12.", "2", nil),
		fieldFunc("week", "Week of the year by ISO 8601.", "9", nil),
		fieldFunc("day", "Day of the month.", "29", []string{"dayofmonth"}),
		fieldFunc("doy", "Day of the year.", "60", []string{"dayofyear"}),
		dayOfWeek(),
		fieldFunc("hour", "Hour, 0 to 23.", "12", nil),
		fieldFunc("minute", "Minute.", "34", nil),
		secondFunc(),
		{
			Name: "date_trunc", Forms: []string{"date_trunc(unit, timestamp)"}, Strict: true,
			Doc:     "A time cut to microseconds, milliseconds, second, minute, hour, day, week (Monday), month, quarter, year, decade, century or millennium.",
			Example: "DATE_TRUNC('week', TIMESTAMP '2024-02-29 12:34:56')", ExampleResult: "2024-02-26 00:00:00",
			PG:      "DATE_TRUNC('week', TIMESTAMP '2024-02-29 12:34:56')",
			resolve: resolveTrunc, kernel: truncKernel,
		},
		{
			Name: "timestampadd", Forms: []string{"timestampadd(unit, int, timestamp)"}, Strict: true, Doc: "A time moved by n units: SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, QUARTER, YEAR.",
			Example: "TIMESTAMPADD('MONTH', 1, TIMESTAMP '2024-01-31')", ExampleResult: "2024-02-29 00:00:00",
			PG:    "TIMESTAMP '2024-01-31' + 1 * INTERVAL '1 month'",
			lower: lowerTimestampAdd,
		},
		{
			Name: "timestampdiff", Forms: []string{"timestampdiff(unit, timestamp, timestamp)"}, Strict: true, Doc: "Whole units from the first time to the second.",
			Example: "TIMESTAMPDIFF('HOUR', TIMESTAMP '2024-01-01', TIMESTAMP '2024-01-02 01:59:59')", ExampleResult: "25",
			PG:      "TRUNC(EXTRACT(epoch FROM TIMESTAMP '2024-01-02 01:59:59' - TIMESTAMP '2024-01-01') / 3600)::BIGINT",
			resolve: resolveTimestampDiff, kernel: timestampDiff,
		},
		dateFormat(), toChar(), timeZone(),
		{
			Name: "to_timestamp", Strict: true, Doc: "A time from seconds since 1970 or, with one argument, from ISO text.",
			Example: "TO_TIMESTAMP(1284352323.5)", ExampleResult: "2010-09-13 04:32:03.5+00", PG: "TO_TIMESTAMP(1284352323.5)",
			Differs: "Flink's takes text only and gives TIMESTAMP(3); so does the form with text here.",
			resolve: resolveToTimestamp,
			Sigs: []Sig{
				{Args: []types.Kind{types.Double}, Ret: types.TTimestampTZ(6), kernel: epochToTimestamp},
				{Args: []types.Kind{kText}, Ret: types.TTimestamp(3), kernel: func(args []Arg, t types.Type) impl {
					im, _ := castText(args[0].Type, t, false)
					return im
				}},
			},
		},
		{
			Name: "to_timestamp_ltz", Strict: true, Doc: "A time from a number since 1970: seconds for precision 0, milliseconds for 3 (default).",
			Example: "TO_TIMESTAMP_LTZ(4001, 3)", ExampleResult: "1970-01-01 00:00:04.001+00", PG: "TO_TIMESTAMP(4.001)",
			Sigs: []Sig{{Args: []types.Kind{types.BigInt, kInt}, Optional: 1, Ret: types.TTimestampTZ(3)}}, kernel: ltzKernel,
		},
	}
}

// fields are the parts of a time that EXTRACT knows.
var fields = []string{"century", "day", "decade", "dow", "doy", "epoch", "hour", "isodow", "isoyear",
	"microseconds", "millennium", "milliseconds", "minute", "month", "quarter", "second", "week", "year"}

// unitName brings a unit's name to the singular, in lower case, as in fields.
func unitName(s string) string {
	s = strings.ToLower(s)
	switch s {
	case "microsecond", "millisecond":
		return s + "s"
	case "centuries":
		return "century"
	case "millennia":
		return "millennium"
	case "microseconds", "milliseconds", "century":
		return s
	}
	return strings.TrimSuffix(s, "s")
}

// unitArg reads a constant unit.
func unitArg(e *Expr, known []string) (string, error) {
	if e.Kind != Literal || e.Val.Null || e.Type.Kind != types.Unknown && e.Type.Kind != types.Text {
		return "", sqlerr.NotSupported(e.Pos, "a unit that is not a constant")
	}
	u := unitName(e.Val.S)
	for _, k := range known {
		if k == u {
			return u, nil
		}
	}
	err := sqlerr.New(sqlerr.CodeInvalidParameter, e.Pos, "unit %q not recognized", e.Val.S)
	if near := sqlerr.Nearest(u, known); near != "" {
		err.WithHint("did you mean %q?", near)
	}
	return "", err
}

// resolveExtract settles EXTRACT(unit, x) with the unit as a constant of its own.
func resolveExtract(args []*Expr) ([]*Expr, types.Type, error) {
	if len(args) != 2 {
		return nil, types.Type{}, errNoSignature
	}
	u, err := unitArg(args[0], fields)
	if err != nil {
		return nil, types.Type{}, err
	}
	x := args[1]
	if x.Type.Kind == types.Unknown {
		if x, err = CoerceTo(x, types.TTimestamp(6)); err != nil {
			return nil, types.Type{}, err
		}
	}
	clock := u == "hour" || u == "minute" || u == "second" || u == "milliseconds" || u == "microseconds" || u == "epoch"
	switch x.Type.Kind {
	case types.Date:
		if clock && u != "epoch" {
			return nil, types.Type{}, sqlerr.New(sqlerr.CodeNotSupported, args[0].Pos, "unit %q is not supported for type DATE", u)
		}
	case types.Time:
		if !clock {
			return nil, types.Type{}, sqlerr.New(sqlerr.CodeNotSupported, args[0].Pos, "unit %q is not supported for type TIME", u)
		}
	case types.Interval:
		if _, ok := intervalField(u, types.IntervalValue{}); !ok {
			return nil, types.Type{}, sqlerr.New(sqlerr.CodeNotSupported, args[0].Pos, "unit %q is not supported for type INTERVAL", u)
		}
	case types.Timestamp, types.TimestampTZ:
	default:
		return nil, types.Type{}, errNoSignature
	}
	t := types.TDecimal(10, 0)
	switch u {
	case "second":
		t = types.TDecimal(8, 6)
	case "milliseconds":
		t = types.TDecimal(8, 3)
	case "epoch":
		t = types.TDecimal(20, 6)
	}
	return []*Expr{LitAt(types.TextValue(u), args[0].Pos), x}, t, nil
}

func extractField(args []Arg, result types.Type) impl {
	u := args[0].Const.S
	if args[1].Type.Kind == types.Interval {
		return impl{run: rowDec(func(_ *kctx, a []*vec.Vector, i int, _ *vec.Vector) (types.Int128, bool) {
			x, _ := intervalField(u, a[1].Iv[i])
			return types.I128(x), true
		}), cost: 10}
	}
	f := fieldOf(u)
	scale := int64(1)
	if args[1].Type.Kind == types.Date {
		scale = day
	}
	return impl{run: rowDec(func(_ *kctx, a []*vec.Vector, i int, _ *vec.Vector) (types.Int128, bool) {
		return types.I128(f(a[1].I64[i] * scale)), true
	}), cost: 12}
}

// fieldFunc is Flink's function for one field, with a BIGINT result.
func fieldFunc(name, doc, result string, aliases []string) Func {
	return Func{Name: name, Aliases: aliases, Doc: doc, Strict: true,
		Example: strings.ToUpper(name) + "(TIMESTAMP '2024-02-29 12:34:56')", ExampleResult: result,
		PG:   "EXTRACT(" + name + " FROM TIMESTAMP '2024-02-29 12:34:56')",
		Sigs: fieldSigs(fieldOf(name), name == "hour" || name == "minute" || name == "second"),
	}
}

func fieldSigs(f func(int64) int64, clock bool) []Sig {
	kernel := func([]Arg, types.Type) impl { return impl{run: intInt(f), cost: 4} }
	sigs := []Sig{
		{Args: []types.Kind{kTS}, Ret: types.TBigInt, kernel: kernel},
		{Args: []types.Kind{kTSTZ}, Ret: types.TBigInt, kernel: kernel},
	}
	if clock {
		return append(sigs, Sig{Args: []types.Kind{types.Time}, Ret: types.TBigInt, kernel: kernel})
	}
	return append(sigs, Sig{Args: []types.Kind{types.Date}, Ret: types.TBigInt, kernel: func([]Arg, types.Type) impl {
		return impl{run: intInt(func(d int64) int64 { return f(d * day) }), cost: 8}
	}})
}

func dayOfWeek() Func {
	f := fieldFunc("dow", "Day of the week, 1 for Sunday to 7 for Saturday.", "5", nil)
	f.Name, f.Example = "dayofweek", "DAYOFWEEK(TIMESTAMP '2024-02-29 12:34:56')"
	f.PG = "EXTRACT(dow FROM TIMESTAMP '2024-02-29 12:34:56') + 1"
	f.Sigs = fieldSigs(func(t int64) int64 { return weekday(t)%7 + 1 }, false)
	return f
}

func secondFunc() Func {
	f := fieldFunc("second", "Second, without its fraction.", "56", nil)
	f.PG = "TRUNC(EXTRACT(second FROM TIMESTAMP '2024-02-29 12:34:56'))"
	f.Sigs = fieldSigs(func(t int64) int64 { _, us := vec.SplitMicros(t); return us / second % 60 }, true)
	return f
}

var truncUnits = []string{"microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month",
	"quarter", "year", "decade", "century", "millennium"}

func resolveTrunc(args []*Expr) ([]*Expr, types.Type, error) {
	if len(args) != 2 {
		return nil, types.Type{}, errNoSignature
	}
	u, err := unitArg(args[0], truncUnits)
	if err != nil {
		return nil, types.Type{}, err
	}
	x := args[1]
	switch x.Type.Kind {
	case types.Date, types.Unknown:
		if x, err = CoerceTo(x, types.TTimestampTZ(6)); err != nil {
			return nil, types.Type{}, err
		}
	case types.Timestamp, types.TimestampTZ:
	default:
		return nil, types.Type{}, errNoSignature
	}
	return []*Expr{LitAt(types.TextValue(u), args[0].Pos), x}, x.Type, nil
}

func truncKernel(args []Arg, _ types.Type) impl {
	f := truncOf(args[0].Const.S)
	return impl{run: func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		intInt(f)(k, a[1:], out)
	}, cost: 6}
}

// truncOf gives the function that cuts a timestamp to a unit.
func truncOf(u string) func(int64) int64 {
	step := func(n int64) func(int64) int64 { return func(t int64) int64 { return vec.TruncateTick(t, n) } }
	civil := func(f func(y, m int) (int, int)) func(int64) int64 {
		return func(t int64) int64 {
			days, _ := vec.SplitMicros(t)
			y, m, _ := vec.CivilFromDays(days)
			y, m = f(y, m)
			return vec.DaysFromCivil(y, m, 1) * day
		}
	}
	switch u {
	case "microseconds":
		return step(1)
	case "milliseconds":
		return step(1000)
	case "second":
		return step(second)
	case "minute":
		return step(minute)
	case "hour":
		return step(hour)
	case "day":
		return step(day)
	case "week":
		return func(t int64) int64 { return vec.TruncateTick(t, day) - (weekday(t)-1)*day }
	case "month":
		return civil(func(y, m int) (int, int) { return y, m })
	case "quarter":
		return civil(func(y, m int) (int, int) { return y, (m-1)/3*3 + 1 })
	case "year":
		return civil(func(y, _ int) (int, int) { return y, 1 })
	case "decade":
		return civil(func(y, _ int) (int, int) { return int(floorTo(int64(y), 10)) * 10, 1 })
	case "century":
		return civil(func(y, _ int) (int, int) { return int(floorTo(int64(y-1), 100))*100 + 1, 1 })
	}
	return civil(func(y, _ int) (int, int) { return int(floorTo(int64(y-1), 1000))*1000 + 1, 1 })
}

// resolveToTimestamp tells the form with a number from the one with text.
func resolveToTimestamp(args []*Expr) ([]*Expr, types.Type, error) {
	switch {
	case len(args) == 2:
		return nil, types.Type{}, sqlerr.NotSupported(args[1].Pos, "TO_TIMESTAMP with a format")
	case len(args) != 1:
		return nil, types.Type{}, errNoSignature
	}
	x, t := args[0], types.TTimestamp(3)
	kind := types.Text
	if x.Type.IsNumeric() {
		kind, t = types.Double, types.TTimestampTZ(6)
	}
	x, err := coerceKind(x, kind)
	if err != nil {
		return nil, types.Type{}, errNoSignature
	}
	return []*Expr{x}, t, nil
}

func epochToTimestamp([]Arg, types.Type) impl {
	return impl{run: rowInt(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (int64, bool) {
		us := a[0].F64[i] * 1e6
		if !(us > -9e18 && us < 9e18) || !vec.TimestampInRange(int64(us)) {
			timestampOverflow(k, out, i)
			return 0, false
		}
		return roundHalfEven(us), true
	}), raises: true, cost: 6}
}

func ltzKernel(args []Arg, _ types.Type) impl {
	return impl{run: rowInt(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (int64, bool) {
		unit := int64(1000)
		if len(a) == 2 {
			switch a[1].I64[i] {
			case 0:
				unit = second
			case 3:
			default:
				k.fail(out, i, sqlerr.CodeInvalidParameter, "the precision of to_timestamp_ltz must be 0 or 3")
				return 0, false
			}
		}
		t, over := intOp('*', a[0].I64[i], unit)
		if over != 0 || !vec.TimestampInRange(t) {
			timestampOverflow(k, out, i)
			return 0, false
		}
		return t, true
	}), raises: true, cost: 4}
}
