package expr

import (
	"math"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// kernel computes one function for the rows k asks for. Each argument holds a value
// for every row asked for, at the row's own position. out has been sized to k.n rows
// (a PBytes vector is empty and is filled by appending, a value for every one of the
// k.n rows) and, for a strict function, its Valid is the conjunction of the
// arguments'. A kernel may read the unspecified values under NULLs, but must not raise
// for them.
type kernel func(k *kctx, args []*vec.Vector, out *vec.Vector)

// kctx is what a kernel is told about the rows it works on.
type kctx struct {
	n   int
	sel []int32 // the rows asked for, ascending; nil for all n

	node  *node
	frame *frame
	errs  *RowErrors
	buf   []byte // scratch for text
}

// fail reports row i as failed, or makes it NULL in a TRY_CAST.
func (k *kctx) fail(out *vec.Vector, i int, code, msg string) {
	k.null(out, i)
	if k.node.quiet {
		return
	}
	row := int32(i)
	if k.frame.rows != nil {
		row = k.frame.rows[i]
	}
	k.errs.Add(row, code, msg, k.node.pos)
}

func (k *kctx) failErr(out *vec.Vector, i int, err *sqlerr.Error) {
	k.fail(out, i, err.Code, err.Msg)
}

// overflow reports a number out of range for the result's type.
func (k *kctx) overflow(out *vec.Vector, i int) {
	k.fail(out, i, sqlerr.CodeNumericOutOfRange, rangeMessage(out.Type))
}

func rangeMessage(t types.Type) string {
	switch t.Kind {
	case types.SmallInt:
		return "smallint out of range"
	case types.Int:
		return "integer out of range"
	case types.BigInt:
		return "bigint out of range"
	case types.Decimal:
		return "numeric field overflow: the value does not fit " + t.String()
	case types.Timestamp, types.TimestampTZ:
		return "timestamp out of range"
	case types.Date:
		return "date out of range"
	case types.Interval:
		return "interval out of range"
	}
	return "value out of range"
}

// null makes row i of out NULL.
func (k *kctx) null(out *vec.Vector, i int) {
	if out.Valid == nil {
		out.Valid = k.node.state(k.frame).validity(k.n, true)
	}
	out.Valid.Clear(i)
}

// live reports whether row i was asked for a value, that is, is not NULL.
func live(out *vec.Vector, i int) bool { return out.Valid == nil || out.Valid.Get(i) }

// rowBytes appends a value for every row: f appends the bytes of row i to dst and
// reports whether it is not NULL.
func rowBytes(f func(k *kctx, a []*vec.Vector, i int, dst []byte, out *vec.Vector) ([]byte, bool)) kernel {
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		data, off := out.Data[:0], out.Off[:1]
		if k.sel == nil {
			strict := out.Valid
			for i := range k.n {
				if strict == nil || strict.Get(i) {
					if d, ok := f(k, a, i, data, out); ok && k.fits(d, out, i) {
						data = d
					} else {
						k.null(out, i)
					}
				}
				off = append(off, int32(len(data)))
			}
		} else {
			next := 0
			for _, r := range k.sel {
				i := int(r)
				for ; next <= i; next++ {
					off = append(off, int32(len(data)))
				}
				if !live(out, i) {
					continue
				}
				if d, ok := f(k, a, i, data, out); ok && k.fits(d, out, i) {
					data = d
				} else {
					k.null(out, i)
				}
				off[i+1] = int32(len(data))
			}
			for ; next < k.n; next++ {
				off = append(off, int32(len(data)))
			}
		}
		out.Data, out.Off, out.Len = data, off, k.n
	}
}

// fits reports whether a column's bytes can be addressed; a row that takes them beyond
// fails.
func (k *kctx) fits(data []byte, out *vec.Vector, i int) bool {
	if len(data) <= math.MaxInt32 {
		return true
	}
	k.fail(out, i, sqlerr.CodeTooComplex, "text too long")
	return false
}

// rowInt fills a PInt64 column row by row; f reports whether the value is not NULL.
func rowInt(f func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (int64, bool)) kernel {
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		k.each(out, func(i int) {
			x, ok := f(k, a, i, out)
			if !ok {
				k.null(out, i)
			}
			out.I64[i] = x
		})
	}
}

// rowBool is rowInt for PBool.
func rowBool(f func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (bool, bool)) kernel {
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		k.each(out, func(i int) {
			x, ok := f(k, a, i, out)
			if !ok {
				k.null(out, i)
			}
			out.Bits.SetTo(i, x)
		})
	}
}

// rowFloat is rowInt for PFloat64.
func rowFloat(f func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (float64, bool)) kernel {
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		k.each(out, func(i int) {
			x, ok := f(k, a, i, out)
			if !ok {
				k.null(out, i)
			}
			out.F64[i] = x
		})
	}
}

// rowDec is rowInt for PInt128.
func rowDec(f func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (types.Int128, bool)) kernel {
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		k.each(out, func(i int) {
			x, ok := f(k, a, i, out)
			if !ok {
				k.null(out, i)
			}
			out.I128[i] = x
		})
	}
}

// rowInterval is rowInt for PInterval.
func rowInterval(f func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (types.IntervalValue, bool)) kernel {
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		k.each(out, func(i int) {
			x, ok := f(k, a, i, out)
			if !ok {
				k.null(out, i)
			}
			out.Iv[i] = x
		})
	}
}

// each calls f for the rows asked for that are not NULL yet.
func (k *kctx) each(out *vec.Vector, f func(i int)) {
	if k.sel == nil {
		for i := range k.n {
			if live(out, i) {
				f(i)
			}
		}
		return
	}
	for _, i := range k.sel {
		if live(out, int(i)) {
			f(int(i))
		}
	}
}

// intInt fills a PInt64 column from one, in a plain loop.
func intInt(f func(int64) int64) kernel {
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		src, dst := a[0].I64[:k.n], out.I64[:k.n]
		if k.sel == nil {
			for i, x := range src {
				dst[i] = f(x)
			}
			return
		}
		for _, i := range k.sel {
			dst[i] = f(src[i])
		}
	}
}

// floatFloat fills a PFloat64 column from one, in a plain loop.
func floatFloat(f func(float64) float64) kernel {
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		src, dst := a[0].F64[:k.n], out.F64[:k.n]
		if k.sel == nil {
			for i, x := range src {
				dst[i] = f(x)
			}
			return
		}
		for _, i := range k.sel {
			dst[i] = f(src[i])
		}
	}
}
