// Package vec holds columns of values and batches of rows: what flows on every
// edge. A vector's memory is laid out as Arrow's (validity bitmap; values; offsets
// and bytes), so handing it to Arrow or Parquet copies nothing but narrow types.
package vec

import (
	"sync/atomic"

	"github.com/streamsql/streamsql/internal/types"
)

// Vector is one column of a batch: Len values of one type.
//
// Exactly one value field is in use, chosen by Type.Phys(). A NULL has its bit in
// Valid clear and an unspecified (but addressable) value. A vector is built by one
// goroutine and immutable from the moment its batch is emitted; then any number of
// goroutines may read it.
type Vector struct {
	Type types.Type
	Len  int
	// Valid has a set bit for every non-NULL value; nil means no NULLs.
	Valid Bitmap

	Bits Bitmap                // PBool
	I64  []int64               // PInt64
	F64  []float64             // PFloat64
	I128 []types.Int128        // PInt128, scaled by Type.Scale
	Off  []int32               // PBytes: value i is Data[Off[i]:Off[i+1]]; len Len+1
	Data []byte                // PBytes
	Iv   []types.IntervalValue // PInterval

	refs  atomic.Int32 // further holders beyond the first
	owner *Vector      // whose memory this is, nil for its own
}

// New returns an empty vector of type t with room for n values.
func New(t types.Type, n int) *Vector {
	v := get(t.Phys())
	v.Type = t
	v.reserve(n)
	return v
}

// reserve makes room for n values in all without changing Len.
func (v *Vector) reserve(n int) {
	switch v.Type.Phys() {
	case types.PBool:
		v.Bits = v.Bits.grow(n)
	case types.PInt64:
		v.I64 = room(v.I64, n)
	case types.PFloat64:
		v.F64 = room(v.F64, n)
	case types.PInt128:
		v.I128 = room(v.I128, n)
	case types.PBytes:
		v.Off = room(v.Off, n+1)
		if len(v.Off) == 0 {
			v.Off = append(v.Off, 0)
		}
	case types.PInterval:
		v.Iv = room(v.Iv, n)
	}
}

func room[T any](s []T, n int) []T {
	if cap(s) >= n {
		return s
	}
	ns := make([]T, len(s), max(n, 2*cap(s)))
	copy(ns, s)
	return ns
}

// Resize sets Len to n for a fixed-width vector whose values a kernel is about to
// fill by index: values are unspecified, all rows valid. A PBytes vector is
// emptied instead and must be filled by appending.
func (v *Vector) Resize(n int) {
	v.Valid = nil
	switch v.Type.Phys() {
	case types.PBool:
		v.Bits = v.Bits.grow(n)
		clear(v.Bits)
	case types.PInt64:
		v.I64 = room(v.I64[:0], n)[:n]
	case types.PFloat64:
		v.F64 = room(v.F64[:0], n)[:n]
	case types.PInt128:
		v.I128 = room(v.I128[:0], n)[:n]
	case types.PBytes:
		v.Off = append(room(v.Off[:0], n+1), 0)
		v.Data = v.Data[:0]
		v.Len = 0
		return
	case types.PInterval:
		v.Iv = room(v.Iv[:0], n)[:n]
	}
	v.Len = n
}

// IsNull reports whether value i is NULL.
func (v *Vector) IsNull(i int) bool { return v.Valid != nil && !v.Valid.Get(i) }

// NullCount counts the NULLs.
func (v *Vector) NullCount() int {
	if v.Valid == nil {
		return 0
	}
	return v.Len - v.Valid.Count(v.Len)
}

// Bytes returns value i of a PBytes vector; the slice is the vector's memory.
func (v *Vector) Bytes(i int) []byte { return v.Data[v.Off[i]:v.Off[i+1]:v.Off[i+1]] }

// Bool returns value i of a PBool vector.
func (v *Vector) Bool(i int) bool { return v.Bits.Get(i) }

// SetNull marks value i, already present, as NULL.
func (v *Vector) SetNull(i int) {
	v.needValid(v.Len)
	v.Valid.Clear(i)
}

// needValid materialises the validity bitmap for the first n values.
func (v *Vector) needValid(n int) {
	if v.Valid == nil {
		v.Valid = NewBitmap(max(n, 64))
		v.Valid.SetFirst(v.Len)
	}
	v.Valid = v.Valid.grow(n)
}

func (v *Vector) pushValid() {
	v.Len++
	if v.Valid != nil {
		v.Valid = v.Valid.grow(v.Len)
		v.Valid.Set(v.Len - 1)
	}
}

// AppendNull appends a NULL.
func (v *Vector) AppendNull() {
	v.needValid(v.Len + 1)
	switch v.Type.Phys() {
	case types.PBool:
		v.Bits = v.Bits.grow(v.Len + 1)
	case types.PInt64:
		v.I64 = append(v.I64, 0)
	case types.PFloat64:
		v.F64 = append(v.F64, 0)
	case types.PInt128:
		v.I128 = append(v.I128, types.Int128{})
	case types.PBytes:
		v.Off = append(v.Off, int32(len(v.Data)))
	case types.PInterval:
		v.Iv = append(v.Iv, types.IntervalValue{})
	}
	v.Len++
	v.Valid.Clear(v.Len - 1)
}

// AppendBool appends to a PBool vector.
func (v *Vector) AppendBool(b bool) {
	v.Bits = v.Bits.grow(v.Len + 1)
	v.Bits.SetTo(v.Len, b)
	v.pushValid()
}

// AppendInt64 appends to a PInt64 vector.
func (v *Vector) AppendInt64(x int64) {
	v.I64 = append(v.I64, x)
	v.pushValid()
}

// AppendInt64s appends n values to a PInt64 vector, for the caller to fill.
func (v *Vector) AppendInt64s(n int) []int64 {
	base := v.Len
	v.reserve(base + n)
	v.Len += n
	v.I64 = v.I64[:v.Len]
	if v.Valid != nil {
		v.Valid = v.Valid.grow(v.Len)
		for i := base; i < v.Len; i++ {
			v.Valid.Set(i)
		}
	}
	return v.I64[base:]
}

// AppendFloat64 appends to a PFloat64 vector.
func (v *Vector) AppendFloat64(x float64) {
	v.F64 = append(v.F64, x)
	v.pushValid()
}

// AppendInt128 appends to a PInt128 vector.
func (v *Vector) AppendInt128(x types.Int128) {
	v.I128 = append(v.I128, x)
	v.pushValid()
}

// AppendBytes appends a copy of b to a PBytes vector.
func (v *Vector) AppendBytes(b []byte) {
	v.Data = append(v.Data, b...)
	v.Off = append(v.Off, int32(len(v.Data)))
	v.pushValid()
}

// AppendString appends s to a PBytes vector.
func (v *Vector) AppendString(s string) {
	v.Data = append(v.Data, s...)
	v.Off = append(v.Off, int32(len(v.Data)))
	v.pushValid()
}

// EndBytes closes a value whose bytes were appended to Data directly.
func (v *Vector) EndBytes() {
	v.Off = append(v.Off, int32(len(v.Data)))
	v.pushValid()
}

// AppendInterval appends to a PInterval vector.
func (v *Vector) AppendInterval(x types.IntervalValue) {
	v.Iv = append(v.Iv, x)
	v.pushValid()
}

// AppendValue appends a single value of the same layout; for tests and constants.
func (v *Vector) AppendValue(x types.Value) {
	if x.Null {
		v.AppendNull()
		return
	}
	switch v.Type.Phys() {
	case types.PBool:
		v.AppendBool(x.I != 0)
	case types.PInt64:
		v.AppendInt64(x.I)
	case types.PFloat64:
		v.AppendFloat64(x.F)
	case types.PInt128:
		v.AppendInt128(x.Dec)
	case types.PBytes:
		v.AppendString(x.S)
	case types.PInterval:
		v.AppendInterval(x.Iv)
	}
}

// Value copies value i out; for tests, errors and printing.
func (v *Vector) Value(i int) types.Value {
	if v.IsNull(i) {
		return types.Null(v.Type)
	}
	x := types.Value{Type: v.Type}
	switch v.Type.Phys() {
	case types.PBool:
		if v.Bits.Get(i) {
			x.I = 1
		}
	case types.PInt64:
		x.I = v.I64[i]
	case types.PFloat64:
		x.F = v.F64[i]
	case types.PInt128:
		x.Dec = v.I128[i]
	case types.PBytes:
		x.S = string(v.Bytes(i))
	case types.PInterval:
		x.Iv = v.Iv[i]
	}
	return x
}

// AppendFrom appends value i of src, which has the same layout.
func (v *Vector) AppendFrom(src *Vector, i int) {
	if src.IsNull(i) {
		v.AppendNull()
		return
	}
	switch v.Type.Phys() {
	case types.PBool:
		v.AppendBool(src.Bits.Get(i))
	case types.PInt64:
		v.AppendInt64(src.I64[i])
	case types.PFloat64:
		v.AppendFloat64(src.F64[i])
	case types.PInt128:
		v.AppendInt128(src.I128[i])
	case types.PBytes:
		v.AppendBytes(src.Bytes(i))
	case types.PInterval:
		v.AppendInterval(src.Iv[i])
	}
}

// AppendSel appends the values of src at the positions sel, in that order.
func (v *Vector) AppendSel(src *Vector, sel []int32) {
	base, n := v.Len, len(sel)
	v.reserve(base + n)
	switch v.Type.Phys() {
	case types.PBool:
		for k, i := range sel {
			v.Bits.SetTo(base+k, src.Bits.Get(int(i)))
		}
	case types.PInt64:
		d := v.I64[:base+n]
		for k, i := range sel {
			d[base+k] = src.I64[i]
		}
		v.I64 = d
	case types.PFloat64:
		d := v.F64[:base+n]
		for k, i := range sel {
			d[base+k] = src.F64[i]
		}
		v.F64 = d
	case types.PInt128:
		d := v.I128[:base+n]
		for k, i := range sel {
			d[base+k] = src.I128[i]
		}
		v.I128 = d
	case types.PBytes:
		for _, i := range sel {
			v.Data = append(v.Data, src.Data[src.Off[i]:src.Off[i+1]]...)
			v.Off = append(v.Off, int32(len(v.Data)))
		}
	case types.PInterval:
		for _, i := range sel {
			v.Iv = append(v.Iv, src.Iv[i])
		}
	}
	if src.Valid == nil {
		v.Len += n
		if v.Valid != nil {
			v.Valid = v.Valid.grow(v.Len)
			for i := base; i < v.Len; i++ {
				v.Valid.Set(i)
			}
		}
		return
	}
	v.needValid(base + n)
	v.Len += n
	for k, i := range sel {
		v.Valid.SetTo(base+k, src.Valid.Get(int(i)))
	}
}

// Take returns a new vector with the values at the positions sel.
func (v *Vector) Take(sel []int32) *Vector {
	out := New(v.Type, len(sel))
	out.AppendSel(v, sel)
	return out
}

// AsType returns v under another type of the same layout, sharing its memory. The
// result is a holder of v: its last Release gives that hold up.
func (v *Vector) AsType(t types.Type) *Vector {
	return &Vector{Type: t, Len: v.Len, Valid: v.Valid, Bits: v.Bits, I64: v.I64, F64: v.F64,
		I128: v.I128, Off: v.Off, Data: v.Data, Iv: v.Iv, owner: v.Retain()}
}

// Grow makes room for n values in all without changing Len, so that the value field
// can be resliced up to n.
func (v *Vector) Grow(n int) { v.reserve(n) }

// Truncate drops the values from n on.
func (v *Vector) Truncate(n int) {
	if n >= v.Len {
		return
	}
	if v.Valid != nil {
		v.Valid.clearFrom(n)
	}
	switch v.Type.Phys() {
	case types.PBool:
		v.Bits.clearFrom(n)
	case types.PInt64:
		v.I64 = v.I64[:n]
	case types.PFloat64:
		v.F64 = v.F64[:n]
	case types.PInt128:
		v.I128 = v.I128[:n]
	case types.PBytes:
		v.Data = v.Data[:v.Off[n]]
		v.Off = v.Off[:n+1]
	case types.PInterval:
		v.Iv = v.Iv[:n]
	}
	v.Len = n
}

// Size is the memory the values take, in bytes.
func (v *Vector) Size() int {
	return 8*len(v.Valid) + 8*len(v.Bits) + 8*len(v.I64) + 8*len(v.F64) + 16*len(v.I128) +
		4*len(v.Off) + len(v.Data) + 16*len(v.Iv)
}
