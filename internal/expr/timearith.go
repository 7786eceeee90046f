package expr

import (
	"math"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// resolveTimeArith settles + and - with a time or an interval among the operands; ok
// is false when there is none.
func resolveTimeArith(op byte, args []*Expr) (out []*Expr, t types.Type, ok bool, err error) {
	if len(args) != 2 {
		return nil, t, false, nil
	}
	a, b := args[0], args[1]
	if op == '+' && (b.Type.IsTimestamp() || b.Type.Kind == types.Date || b.Type.Kind == types.Time) {
		a, b = b, a
	}
	if a.Type.Kind == types.Interval && b.Type.Kind == types.Unknown || b.Type.Kind == types.Interval && a.Type.Kind == types.Unknown {
		args, err = settleOpen([]*Expr{a, b})
		return args, types.TInterval, true, err
	}
	want := types.Type{}
	switch a.Type.Kind {
	case types.Timestamp, types.TimestampTZ:
		switch {
		case b.Type.Kind == types.Interval, op == '+' && b.Type.Kind == types.Unknown:
			if b, err = CoerceTo(b, types.TInterval); err != nil {
				return nil, t, true, err
			}
			return []*Expr{a, b}, shifted(a.Type, b), true, nil
		case op == '-' && (timeRank(b.Type.Kind) > 0 || b.Type.Kind == types.Unknown):
			want, _ = CommonOf([]*Expr{a, b})
			t = types.TInterval
			if a, err = CoerceTo(a, want); err != nil {
				return nil, t, true, err
			}
		}
	case types.Date:
		switch {
		case b.Type.Kind == types.Interval:
			want, t = types.TInterval, types.TTimestamp(6)
			a, err = CoerceTo(a, t)
		case b.Type.IsInteger() && b.Type.Kind != types.BigInt:
			want, t = types.TInt, types.TDate
		case op == '-' && (b.Type.Kind == types.Date || b.Type.Kind == types.Unknown):
			want, t = types.TDate, types.TInt
		case op == '-' && b.Type.IsTimestamp():
			want, t = b.Type, types.TInterval
			a, err = CoerceTo(a, b.Type)
		}
	case types.Time:
		switch {
		case b.Type.Kind == types.Interval, op == '+' && b.Type.Kind == types.Unknown:
			want, t = types.TInterval, types.TTime
		case op == '-' && (b.Type.Kind == types.Time || b.Type.Kind == types.Unknown):
			want, t = types.TTime, types.TInterval
		}
	case types.Interval:
		if b.Type.Kind == types.Interval {
			want, t = types.TInterval, types.TInterval
		}
	}
	if want.Kind == types.Unknown || err != nil {
		return nil, t, err != nil, err
	}
	b, err = CoerceTo(b, want)
	return []*Expr{a, b}, t, true, err
}

// shifted is the type of a timestamp and an interval together: it has the digits of both,
// those of an interval that is not written out being all.
func shifted(t types.Type, by *Expr) types.Type {
	switch {
	case by.Kind != Literal:
		t.Precision = 6
	case !by.Val.Null:
		t = withTick(t, by.Val.Iv.Micros)
	}
	return t
}

// timeArithKernel gives the kernel for operands that resolveTimeArith settled, or the
// product and quotient of an interval.
func timeArithKernel(op byte, args []Arg, result types.Type) (impl, bool) {
	a, b := args[0].Type.Kind, args[1].Type.Kind
	sign := int64(1)
	if op == '-' {
		sign = -1
	}
	switch {
	case a == types.Interval && b == types.Double:
		return impl{run: scaleInterval(op), raises: true, cost: 10}, true
	case a == types.Interval && b == types.Interval:
		return impl{run: addIntervals(sign), raises: true, cost: 5}, true
	case (a == types.Timestamp || a == types.TimestampTZ) && b == types.Interval:
		if c := args[1].Const; c != nil && c.Iv.Months == 0 {
			days, us := int64(c.Iv.Days), c.Iv.Micros
			if max(days, -days) < maxStep/2/vec.MicrosPerDay && us < maxStep/2 && us > -maxStep/2 {
				return impl{run: shiftTimestamp(sign * (days*vec.MicrosPerDay + us)), raises: true, cost: 2}, true
			}
		}
		return impl{run: addToTimestamp(sign), raises: true, cost: 15}, true
	case a == types.Time && b == types.Interval:
		return impl{run: rowInt(func(_ *kctx, v []*vec.Vector, i int, _ *vec.Vector) (int64, bool) {
			_, r := vec.SplitMicros(v[0].I64[i] + sign*(v[1].Iv[i].Micros%vec.MicrosPerDay))
			return r, true
		}), cost: 4}, true
	case a == types.Date && b == types.Int:
		return impl{run: rowInt(func(k *kctx, v []*vec.Vector, i int, out *vec.Vector) (int64, bool) {
			d := v[0].I64[i] + sign*v[1].I64[i]
			if !vec.DateInRange(d) {
				k.fail(out, i, sqlerr.CodeDatetimeOverflow, "date out of range")
				return 0, false
			}
			return d, true
		}), raises: true, cost: 3}, true
	case a == types.Date && b == types.Date:
		return impl{run: rowInt(func(_ *kctx, v []*vec.Vector, i int, _ *vec.Vector) (int64, bool) {
			return v[0].I64[i] - v[1].I64[i], true
		}), cost: 2}, true
	case result.Kind == types.Interval && a == types.Time:
		return impl{run: rowInterval(func(_ *kctx, v []*vec.Vector, i int, _ *vec.Vector) (types.IntervalValue, bool) {
			return types.IntervalValue{Micros: v[0].I64[i] - v[1].I64[i]}, true
		}), cost: 2}, true
	case result.Kind == types.Interval:
		return impl{run: rowInterval(func(_ *kctx, v []*vec.Vector, i int, _ *vec.Vector) (types.IntervalValue, bool) {
			d := v[0].I64[i] - v[1].I64[i]
			return types.IntervalValue{Days: int32(d / vec.MicrosPerDay), Micros: d % vec.MicrosPerDay}, true
		}), cost: 3}, true
	}
	return impl{}, false
}

// maxStep is a step below which no sum with a timestamp comes round into the range of
// timestamps again.
const maxStep = 9_000_000_000_000_000_000

// shiftTimestamp moves by a constant number of microseconds, less than maxStep.
func shiftTimestamp(step int64) kernel {
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		x, d := a[0].I64[:k.n], out.I64[:k.n]
		tick := out.Type.Tick()
		bad := false
		one := func(i int) {
			r := x[i] + step
			d[i] = vec.TruncateTick(r, tick)
			bad = bad || !vec.TimestampInRange(r)
		}
		if k.sel == nil {
			if tick == 1 || step%tick == 0 {
				for i, v := range x {
					r := v + step
					d[i] = r
					bad = bad || !vec.TimestampInRange(r)
				}
			} else {
				for i := range x {
					one(i)
				}
			}
		} else {
			for _, i := range k.sel {
				one(int(i))
			}
		}
		if bad {
			k.each(out, func(i int) {
				if r, o := intOp('+', x[i], step); o != 0 || !vec.TimestampInRange(r) {
					timestampOverflow(k, out, i)
				}
			})
		}
	}
}

func timestampOverflow(k *kctx, out *vec.Vector, i int) {
	k.fail(out, i, sqlerr.CodeDatetimeOverflow, "timestamp out of range")
}

func addToTimestamp(sign int64) kernel {
	return rowInt(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (int64, bool) {
		r, ok := AddInterval(a[0].I64[i], a[1].Iv[i], sign)
		if !ok {
			timestampOverflow(k, out, i)
		}
		return vec.TruncateTick(r, out.Type.Tick()), ok
	})
}

// AddInterval moves timestamp t (microseconds since the epoch) by sign × iv as
// PostgreSQL does: first the months, falling back to the last day of a shorter month,
// then the days, then the microseconds. ok is false when the result is out of range.
func AddInterval(t int64, iv types.IntervalValue, sign int64) (r int64, ok bool) {
	if iv.Months != 0 {
		day, us := vec.SplitMicros(t)
		y, m, d := vec.CivilFromDays(day)
		months := int64(y)*12 + int64(m-1) + sign*int64(iv.Months)
		year := months / 12
		if months%12 < 0 {
			year--
		}
		month := int(months-year*12) + 1
		if year < -4800 || year > 300000 {
			return 0, false
		}
		d = min(d, vec.DaysInMonth(int(year), month))
		t = vec.DaysFromCivil(int(year), month, d)*vec.MicrosPerDay + us
		if !vec.TimestampInRange(t) {
			return 0, false
		}
	}
	days, o1 := intOp('*', sign*int64(iv.Days), vec.MicrosPerDay)
	t, o2 := intOp('+', t, days)
	micros, o3 := intOp('*', sign, iv.Micros)
	r, o4 := intOp('+', t, micros)
	return r, o1|o2|o3|o4 == 0 && vec.TimestampInRange(t) && vec.TimestampInRange(r)
}

func addIntervals(sign int64) kernel {
	return rowInterval(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (types.IntervalValue, bool) {
		x, y := a[0].Iv[i], a[1].Iv[i]
		m, d := int64(x.Months)+sign*int64(y.Months), int64(x.Days)+sign*int64(y.Days)
		by, o := intOp('*', sign, y.Micros)
		us, o2 := intOp('+', x.Micros, by)
		if o|o2 != 0 || m != int64(int32(m)) || d != int64(int32(d)) {
			k.fail(out, i, sqlerr.CodeDatetimeOverflow, "interval out of range")
			return x, false
		}
		return types.IntervalValue{Months: int32(m), Days: int32(d), Micros: us}, true
	})
}

// scaleInterval multiplies or divides an interval by a number; what is left of a month
// becomes days and what is left of a day microseconds.
func scaleInterval(op byte) kernel {
	return rowInterval(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (types.IntervalValue, bool) {
		f := a[1].F64[i]
		if op == '/' && f == 0 {
			divisionByZero(k, out, i)
			return types.IntervalValue{}, false
		}
		scale := func(v float64) float64 {
			if op == '/' {
				return v / f
			}
			return v * f
		}
		x := a[0].Iv[i]
		m, d := scale(float64(x.Months)), scale(float64(x.Days))
		months, days := math.Trunc(m), math.Trunc(d)
		fromMonths := roundMicro((m - months) * 30)
		more := math.Trunc(fromMonths)
		seconds := roundMicro((d - days + fromMonths - more) * float64(vec.MicrosPerDay) / 1e6)
		us := scale(float64(x.Micros)) + seconds*1e6
		days += more
		if math.Abs(months) > math.MaxInt32 || math.Abs(days) > math.MaxInt32 || !(math.Abs(us) < 9e18) {
			k.fail(out, i, sqlerr.CodeDatetimeOverflow, "interval out of range")
			return x, false
		}
		return types.IntervalValue{Months: int32(months), Days: int32(days), Micros: int64(math.RoundToEven(us))}, true
	})
}

// roundMicro rounds to a millionth, as PostgreSQL does between the parts.
func roundMicro(x float64) float64 { return math.RoundToEven(x*1e6) / 1e6 }
