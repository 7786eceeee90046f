package expr

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// castExists reports whether CAST from one type to the other is in the language.
func castExists(from, to types.Type) bool {
	_, ok := castImpl(from, to, false)
	return ok
}

// castImpl gives the kernel of a cast; a nil run means that the values are the same
// in both types. assign is the stricter cast of INSERT: a text longer than VARCHAR(n)
// is an error and not cut.
func castImpl(from, to types.Type, assign bool) (impl, bool) {
	if from == to {
		return impl{}, true
	}
	switch {
	case from.Kind == types.Text || from.Kind == types.Unknown:
		return castText(from, to, assign)
	case to.Kind == types.Text:
		return castToText(from, to, assign), true
	case from.IsNumeric() && to.IsNumeric():
		return castNumber(from, to), true
	case from.Kind == types.Bool && to.Kind == types.Int:
		return impl{run: rowInt(func(_ *kctx, a []*vec.Vector, i int, _ *vec.Vector) (int64, bool) {
			return int64(bit(a[0].Bits.Get(i))), true
		}), cost: 2}, true
	case from.Kind == types.Int && to.Kind == types.Bool:
		return impl{run: func(k *kctx, a []*vec.Vector, out *vec.Vector) {
			x := a[0].I64
			fillBits(k, out.Bits, func(i int) bool { return x[i] != 0 })
		}, cost: 2}, true
	}
	return castTime(from, to)
}

func castText(from, to types.Type, assign bool) (impl, bool) {
	limit := int(to.Length)
	switch to.Kind {
	case types.Text:
		switch {
		case limit == 0 || from.Length > 0 && int(from.Length) <= limit:
			return impl{}, true
		case assign:
			return impl{run: checkLength(limit), raises: true, cost: 8}, true
		}
		return impl{run: rowBytes(func(_ *kctx, a []*vec.Vector, i int, dst []byte, _ *vec.Vector) ([]byte, bool) {
			return append(dst, prefixChars(a[0].Bytes(i), limit)...), true
		}), cost: 8}, true
	case types.SmallInt, types.Int, types.BigInt, types.Date, types.Time, types.Timestamp, types.TimestampTZ:
		return impl{run: textToInt64(to), raises: true, cost: 20}, true
	case types.Real, types.Double:
		size := 64
		if to.Kind == types.Real {
			size = 32
		}
		return impl{run: rowFloat(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (float64, bool) {
			x, f := vec.ParseFloat(a[0].Bytes(i), size)
			return x, textFault(k, a, i, out, f)
		}), raises: true, cost: 25}, true
	case types.Decimal:
		p, s := int(to.Precision), int(to.Scale)
		return impl{run: rowDec(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (types.Int128, bool) {
			x, f := vec.ParseDecimal(a[0].Bytes(i), p, s)
			return x, textFault(k, a, i, out, f)
		}), raises: true, cost: 25}, true
	case types.Bool:
		return impl{run: rowBool(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (bool, bool) {
			x, f := vec.ParseBool(a[0].Bytes(i))
			return x, textFault(k, a, i, out, f)
		}), raises: true, cost: 10}, true
	case types.Interval:
		return impl{run: rowInterval(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (types.IntervalValue, bool) {
			x, f := vec.ParseInterval(a[0].Bytes(i))
			return x, textFault(k, a, i, out, f)
		}), raises: true, cost: 40}, true
	case types.UUID:
		return impl{run: rowBytes(func(k *kctx, a []*vec.Vector, i int, dst []byte, out *vec.Vector) ([]byte, bool) {
			u, f := vec.ParseUUID(a[0].Bytes(i))
			return append(dst, u[:]...), textFault(k, a, i, out, f)
		}), raises: true, cost: 40}, true
	case types.Bytes:
		return impl{run: rowBytes(func(k *kctx, a []*vec.Vector, i int, dst []byte, out *vec.Vector) ([]byte, bool) {
			d, f := vec.AppendParsedBytes(dst, a[0].Bytes(i))
			return d, textFault(k, a, i, out, f)
		}), raises: true, cost: 20}, true
	case types.JSON:
		return impl{run: rowBytes(func(k *kctx, a []*vec.Vector, i int, dst []byte, out *vec.Vector) ([]byte, bool) {
			x := a[0].Bytes(i)
			f := vec.Fine
			if !json.Valid(x) {
				f = vec.BadSyntax
			}
			return append(dst, x...), textFault(k, a, i, out, f)
		}), raises: true, cost: 60}, true
	}
	return impl{}, false
}

// textFault reports a text that is no value of out's type and says whether it is one.
func textFault(k *kctx, a []*vec.Vector, i int, out *vec.Vector, f vec.Fault) bool {
	if f == vec.Fine {
		return true
	}
	if k.node.quiet {
		k.null(out, i)
	} else {
		k.failErr(out, i, vec.TextError(out.Type, a[0].Bytes(i), f))
	}
	return false
}

func textToInt64(to types.Type) kernel {
	tick := to.Tick()
	return rowInt(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (int64, bool) {
		s := a[0].Bytes(i)
		var x int64
		var f vec.Fault
		switch to.Kind {
		case types.Date:
			x, f = vec.ParseDate(s)
		case types.Time:
			x, f = vec.ParseTime(s)
			x = vec.TruncateTick(x, tick)
		case types.Timestamp, types.TimestampTZ:
			x, _, f = vec.ParseTimestamp(s)
			x = vec.TruncateTick(x, tick)
		default:
			if x, f = vec.ParseInt64(s); f == vec.Fine && !vec.IntFits(to, x) {
				f = vec.OutOfRange
			}
		}
		return x, textFault(k, a, i, out, f)
	})
}

// checkLength refuses a text of more than limit characters, unless only blanks are
// beyond, which are cut off as SQL asks.
func checkLength(limit int) kernel {
	return rowBytes(func(k *kctx, a []*vec.Vector, i int, dst []byte, out *vec.Vector) ([]byte, bool) {
		s := a[0].Bytes(i)
		head := prefixChars(s, limit)
		for _, c := range s[len(head):] {
			if c != ' ' {
				return dst, textFault(k, a, i, out, vec.TooLong)
			}
		}
		return append(dst, head...), true
	})
}

// castToText prints a value as CAST does: as COPY, but booleans in full.
func castToText(from, to types.Type, assign bool) impl {
	limit := int(to.Length)
	if limit == 0 && (from.Kind == types.JSON || from.Kind == types.UUID) {
		return impl{}
	}
	return impl{run: rowBytes(func(k *kctx, a []*vec.Vector, i int, dst []byte, out *vec.Vector) ([]byte, bool) {
		start := len(dst)
		if from.Kind == types.Bool {
			dst = strconv.AppendBool(dst, a[0].Bits.Get(i))
		} else {
			dst = vec.AppendText(dst, a[0], i)
		}
		if limit > 0 && len(dst)-start > limit {
			head := prefixChars(dst[start:], limit)
			if assign && len(head) < len(dst)-start {
				k.failErr(out, i, vec.TextError(out.Type, nil, vec.TooLong))
				return dst[:start], false
			}
			dst = dst[:start+len(head)]
		}
		return dst, true
	}), raises: assign && limit > 0, cost: 20}
}

func castNumber(from, to types.Type) impl {
	switch {
	case from.IsInteger() && to.IsInteger():
		if to.Kind > from.Kind {
			return impl{}
		}
		return impl{run: rowInt(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (int64, bool) {
			x := a[0].I64[i]
			if !vec.IntFits(to, x) {
				k.overflow(out, i)
				return 0, false
			}
			return x, true
		}), raises: true, cost: 2}
	case from.IsInteger() && to.IsFloat():
		return impl{run: rowFloat(func(_ *kctx, a []*vec.Vector, i int, out *vec.Vector) (float64, bool) {
			return roundReal(out.Type, float64(a[0].I64[i])), true
		}), cost: 2}
	case from.IsFloat() && to.IsFloat():
		if to.Kind == types.Double {
			return impl{}
		}
		return impl{run: rowFloat(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (float64, bool) {
			x := a[0].F64[i]
			r := float64(float32(x))
			return r, checkFloat(k, out, i, r, x, 1, x != 0)
		}), raises: true, cost: 2}
	case from.IsFloat() && to.IsInteger():
		return impl{run: rowInt(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (int64, bool) {
			x := math.RoundToEven(a[0].F64[i])
			if !(x >= -(1<<63) && x < 1<<63) || !vec.IntFits(to, int64(x)) {
				k.overflow(out, i)
				return 0, false
			}
			return int64(x), true
		}), raises: true, cost: 3}
	case from.IsFloat():
		return castFloatDecimal(from, to)
	case to.IsFloat():
		scale := int(from.Scale)
		return impl{run: rowFloat(func(_ *kctx, a []*vec.Vector, i int, out *vec.Vector) (float64, bool) {
			return roundReal(out.Type, a[0].I128[i].Float64(scale)), true
		}), cost: 5}
	case to.IsInteger():
		scale := int(from.Scale)
		return impl{run: rowInt(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (int64, bool) {
			d, _ := a[0].I128[i].Rescale(scale, 0)
			x, ok := d.Int64()
			if !ok || !vec.IntFits(to, x) {
				k.overflow(out, i)
				return 0, false
			}
			return x, true
		}), raises: true, cost: 8}
	}
	return castDecimal(from, to)
}

func roundReal(t types.Type, x float64) float64 {
	if t.Kind == types.Real {
		return float64(float32(x))
	}
	return x
}

// castDecimal brings an integer or DECIMAL to another DECIMAL, rounding half away from
// zero.
func castDecimal(from, to types.Type) impl {
	pf, sf := asDecimal(from)
	pt, st := asDecimal(to)
	if from.Kind == types.Decimal && sf == st && pt >= pf {
		return impl{}
	}
	safe := pt-st >= pf-sf && st >= sf
	return impl{run: rowDec(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (types.Int128, bool) {
		r, ok := decAt(a[0], i).Rescale(sf, st)
		if !safe && (!ok || !r.FitsPrecision(pt)) {
			k.overflow(out, i)
			return r, false
		}
		return r, true
	}), raises: !safe, cost: 4}
}

// castFloatDecimal takes 15 significant digits of a DOUBLE and 6 of a REAL, as
// PostgreSQL does.
func castFloatDecimal(from, to types.Type) impl {
	digits, size := 15, 64
	if from.Kind == types.Real {
		digits, size = 6, 32
	}
	p, s := asDecimal(to)
	return impl{run: rowDec(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (types.Int128, bool) {
		x := a[0].F64[i]
		if math.IsNaN(x) || math.IsInf(x, 0) {
			k.fail(out, i, sqlerr.CodeNumericOutOfRange, "cannot convert NaN or infinity to "+to.String())
			return types.Int128{}, false
		}
		k.buf = strconv.AppendFloat(k.buf[:0], x, 'e', digits-1, size)
		r, f := vec.ParseDecimal(k.buf, p, s)
		if f != vec.Fine {
			k.overflow(out, i)
			return r, false
		}
		return r, true
	}), raises: true, cost: 60}
}

// castTime casts among DATE, TIME, TIMESTAMP, TIMESTAMPTZ and INTERVAL. The session's
// time zone is UTC.
func castTime(from, to types.Type) (impl, bool) {
	tick := to.Tick()
	one := func(f func(int64) int64) (impl, bool) { return impl{run: intInt(f), cost: 3}, true }
	switch {
	case from.IsTimestamp() && to.IsTimestamp(), from.Kind == types.Time && to.Kind == types.Time:
		if to.Precision >= from.Precision {
			return impl{}, true
		}
		return one(func(x int64) int64 { return vec.TruncateTick(x, tick) })
	case from.Kind == types.Date && to.IsTimestamp():
		return one(func(x int64) int64 { return x * vec.MicrosPerDay })
	case from.IsTimestamp() && to.Kind == types.Date:
		return one(func(x int64) int64 { d, _ := vec.SplitMicros(x); return d })
	case from.IsTimestamp() && to.Kind == types.Time:
		return one(func(x int64) int64 { _, us := vec.SplitMicros(x); return vec.TruncateTick(us, tick) })
	case from.Kind == types.Time && to.Kind == types.Interval:
		return impl{run: rowInterval(func(_ *kctx, a []*vec.Vector, i int, _ *vec.Vector) (types.IntervalValue, bool) {
			return types.IntervalValue{Micros: a[0].I64[i]}, true
		}), cost: 2}, true
	case from.Kind == types.Interval && to.Kind == types.Time:
		return impl{run: rowInt(func(_ *kctx, a []*vec.Vector, i int, _ *vec.Vector) (int64, bool) {
			_, us := vec.SplitMicros(a[0].Iv[i].Micros)
			return vec.TruncateTick(us, tick), true
		}), cost: 2}, true
	}
	return impl{}, false
}
