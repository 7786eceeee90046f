package expr

import (
	"math"
	"slices"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

var addUnits = []string{"microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter", "year"}

// unitInterval is one unit as an interval.
func unitInterval(u string) types.IntervalValue {
	switch u {
	case "microseconds":
		return types.IntervalValue{Micros: 1}
	case "milliseconds":
		return types.IntervalValue{Micros: 1000}
	case "second":
		return types.IntervalValue{Micros: second}
	case "minute":
		return types.IntervalValue{Micros: minute}
	case "hour":
		return types.IntervalValue{Micros: hour}
	case "day":
		return types.IntervalValue{Days: 1}
	case "week":
		return types.IntervalValue{Days: 7}
	case "month":
		return types.IntervalValue{Months: 1}
	case "quarter":
		return types.IntervalValue{Months: 3}
	}
	return types.IntervalValue{Months: 12}
}

// lowerTimestampAdd turns TIMESTAMPADD(unit, n, t) into t + one unit × n.
func lowerTimestampAdd(args []*Expr) (*Expr, error) {
	if len(args) != 3 {
		return nil, errNoSignature
	}
	u, err := unitArg(args[0], addUnits)
	if err != nil {
		return nil, err
	}
	t := args[2]
	if t.Type.Kind == types.Unknown {
		if t, err = CoerceTo(t, types.TTimestamp(6)); err != nil {
			return nil, err
		}
	}
	if timeRank(t.Type.Kind) == 0 {
		return nil, errNoSignature
	}
	one := types.Value{Type: types.TInterval, Iv: unitInterval(u)}
	step, err := ResolveCall("*", []*Expr{LitAt(one, args[0].Pos), args[1]}, args[1].Pos)
	if err != nil {
		return nil, err
	}
	if step.Type.Kind != types.Interval {
		return nil, errNoSignature
	}
	return ResolveCall("+", []*Expr{t, step}, t.Pos)
}

func resolveTimestampDiff(args []*Expr) ([]*Expr, types.Type, error) {
	if len(args) != 3 {
		return nil, types.Type{}, errNoSignature
	}
	u, err := unitArg(args[0], addUnits)
	if err != nil {
		return nil, types.Type{}, err
	}
	t, ok := CommonType(args[1].Type, args[2].Type)
	if !ok || timeRank(t.Kind) == 0 && t.Kind != types.Text {
		return nil, types.Type{}, errNoSignature
	}
	if t.Kind != types.TimestampTZ {
		t = types.TTimestamp(max(6, int(t.Precision)))
	}
	out := []*Expr{LitAt(types.TextValue(u), args[0].Pos), nil, nil}
	for i := 1; i < 3; i++ {
		if out[i], err = CoerceTo(args[i], t); err != nil {
			return nil, t, err
		}
	}
	return out, types.TBigInt, nil
}

func timestampDiff(args []Arg, _ types.Type) impl {
	one := unitInterval(args[0].Const.S)
	if one.Months == 0 {
		unit := one.Micros + int64(one.Days)*day
		return impl{run: rowInt(func(_ *kctx, a []*vec.Vector, i int, _ *vec.Vector) (int64, bool) {
			return (a[2].I64[i] - a[1].I64[i]) / unit, true
		}), cost: 4}
	}
	return impl{run: rowInt(func(_ *kctx, a []*vec.Vector, i int, _ *vec.Vector) (int64, bool) {
		return wholeMonths(a[1].I64[i], a[2].I64[i]) / int64(one.Months), true
	}), cost: 20}
}

// wholeMonths counts the months from a to b, cut towards zero.
func wholeMonths(a, b int64) int64 {
	if b < a {
		return -wholeMonths(b, a)
	}
	da, ua := vec.SplitMicros(a)
	db, ub := vec.SplitMicros(b)
	ya, ma, dayA := vec.CivilFromDays(da)
	yb, mb, dayB := vec.CivilFromDays(db)
	n := int64(yb-ya)*12 + int64(mb-ma)
	if dayB < dayA || dayB == dayA && ub < ua {
		n--
	}
	return n
}

func roundHalfEven(x float64) int64 { return int64(math.RoundToEven(x)) }

func dateFormat() Func {
	return Func{
		Name: "date_format", Forms: []string{"date_format(timestamp, pattern)"}, Strict: true,
		Doc:     "A time as text by a pattern: Flink's (yyyy-MM-dd HH:mm:ss.SSS) or, when it has a %, MySQL's (%Y-%m-%d).",
		Example: "DATE_FORMAT(TIMESTAMP '2024-02-29 12:34:56.789', 'yyyy-MM-dd HH:mm:ss.SSS')", ExampleResult: "2024-02-29 12:34:56.789",
		PG:      "TO_CHAR(TIMESTAMP '2024-02-29 12:34:56.789', 'YYYY-MM-DD HH24:MI:SS.MS')",
		resolve: resolveFormat, check: checkFormat(compileDateFormat), kernel: formatKernel(compileDateFormat),
	}
}

func toChar() Func {
	return Func{
		Name: "to_char", Forms: []string{"to_char(timestamp, pattern)"}, Strict: true,
		Doc:     "A time as text by PostgreSQL's pattern: YYYY MM DD HH24 HH12 MI SS MS US Mon Month Dy Day D DDD ID IW Q AM, with FM and \"quoted text\".",
		Example: "TO_CHAR(TIMESTAMP '2024-02-29 12:34:56', 'YYYY-MM-DD HH12:MI:SS AM')", ExampleResult: "2024-02-29 12:34:56 PM",
		PG:      "TO_CHAR(TIMESTAMP '2024-02-29 12:34:56', 'YYYY-MM-DD HH12:MI:SS AM')",
		resolve: resolveFormat, check: checkFormat(compileToChar), kernel: formatKernel(compileToChar),
	}
}

func resolveFormat(args []*Expr) ([]*Expr, types.Type, error) {
	if len(args) != 2 {
		return nil, types.Type{}, errNoSignature
	}
	x, err := args[0], error(nil)
	switch x.Type.Kind {
	case types.Date, types.Unknown, types.Text:
		if x.Type.Kind == types.Text {
			x, err = ExplicitCast(x, types.TTimestamp(6), false)
		} else {
			x, err = CoerceTo(x, types.TTimestamp(6))
		}
	case types.Timestamp, types.TimestampTZ:
	default:
		return nil, types.Type{}, errNoSignature
	}
	if err != nil {
		return nil, types.Type{}, err
	}
	p, err := coerceKind(args[1], types.Text)
	if err != nil {
		return nil, types.Type{}, errNoSignature
	}
	return []*Expr{x, p}, types.TText, nil
}

func checkFormat(compile func(string) (timePattern, error)) func([]*Expr) error {
	return checkText(1, sqlerr.CodeInvalidParameter, func(s string) error {
		_, err := compile(s)
		return err
	})
}

// formatKernel prints times by a compiled pattern. A constant pattern prints again
// what it printed last while the time stays within the pattern's smallest unit.
func formatKernel(compile func(string) (timePattern, error)) func([]Arg, types.Type) impl {
	return func(args []Arg, _ types.Type) impl {
		if c := args[1].Const; c != nil {
			if p, err := compile(c.S); err == nil {
				return impl{run: formatColumn(p), cost: 12}
			}
		}
		var last string
		var p timePattern
		var err error
		return impl{run: rowBytes(func(k *kctx, a []*vec.Vector, i int, dst []byte, out *vec.Vector) ([]byte, bool) {
			if s := a[1].Bytes(i); p.parts == nil || string(s) != last {
				last = string(s)
				p, err = compile(last)
			}
			if err != nil {
				k.fail(out, i, sqlerr.CodeInvalidParameter, err.Error())
				return dst, false
			}
			return p.append(dst, a[0].I64[i]), true
		}), raises: true, cost: 200}
	}
}

func formatColumn(p timePattern) kernel {
	var text []byte
	lo, hi := int64(1), int64(0) // the times that print as text
	reprint := func(t int64) {
		text = p.append(text[:0], t)
		lo = vec.TruncateTick(t, p.unit)
		hi = lo + p.unit
	}
	rows := rowBytes(func(_ *kctx, a []*vec.Vector, i int, dst []byte, _ *vec.Vector) ([]byte, bool) {
		if t := a[0].I64[i]; t < lo || t >= hi {
			reprint(t)
		}
		return append(dst, text...), true
	})
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		if k.sel != nil || out.Valid != nil {
			rows(k, a, out)
			return
		}
		data, off := out.Data[:0], slices.Grow(out.Off[:1], k.n)[:k.n+1]
		for i, t := range a[0].I64[:k.n] {
			if t < lo || t >= hi {
				reprint(t)
			}
			data = append(data, text...)
			off[i+1] = int32(len(data))
		}
		out.Data, out.Off, out.Len = data, off, k.n
	}
}
