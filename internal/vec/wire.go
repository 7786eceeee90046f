package vec

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/cespare/xxhash/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// WireVersion is the first byte of a batch's wire form.
const WireVersion = 1

// Wire form, all integers little-endian:
//
//	byte    WireVersion
//	uint32  length of body
//	body    rows uint32, columns uint32, flags byte, WM int64,
//	        ops (one byte a row, flagOps), carried watermarks (int64 a row, flagRowWM),
//	        then the columns: kind, precision, scale byte, length int32, flagValid byte,
//	        validity words (flagValid), values
//	uint64  XXH64 of everything before it
//
// Values are the vector's own memory: words of bits, 8, 8 or 16 bytes a value,
// months int32 + days int32 + micros int64, or for bytes rows+1 offsets and the data.
const (
	wireHeader = 5
	wireSum    = 8

	flagOps   = 1
	flagRowWM = 2
	flagValid = 1
)

// AppendWire appends the wire form of b. It is self-delimiting: forms may follow one
// another.
func AppendWire(dst []byte, b *Batch) []byte {
	start := len(dst)
	le := binary.LittleEndian
	dst = append(dst, WireVersion, 0, 0, 0, 0)
	dst = le.AppendUint32(dst, uint32(b.N))
	dst = le.AppendUint32(dst, uint32(len(b.Cols)))
	var flags byte
	if b.Ops != nil {
		flags |= flagOps
	}
	if b.RowWM != nil {
		flags |= flagRowWM
	}
	dst = append(dst, flags)
	dst = le.AppendUint64(dst, uint64(b.WM))
	if b.Ops != nil {
		for _, op := range b.Ops[:b.N] {
			dst = append(dst, byte(op))
		}
	}
	if b.RowWM != nil {
		dst = appendInt64s(dst, b.RowWM[:b.N])
	}
	for _, c := range b.Cols {
		dst = appendVector(dst, c, b.N)
	}
	le.PutUint32(dst[start+1:], uint32(len(dst)-start-wireHeader))
	return le.AppendUint64(dst, xxhash.Sum64(dst[start:]))
}

func appendInt64s(dst []byte, xs []int64) []byte {
	for _, x := range xs {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(x))
	}
	return dst
}

func appendBits(dst []byte, m Bitmap, n int) []byte {
	for w := range Words(n) {
		x := m[w]
		if r := n - w<<6; r < 64 {
			x &= 1<<uint(r) - 1
		}
		dst = binary.LittleEndian.AppendUint64(dst, x)
	}
	return dst
}

func appendVector(dst []byte, v *Vector, n int) []byte {
	le := binary.LittleEndian
	dst = append(dst, byte(v.Type.Kind), v.Type.Precision, v.Type.Scale)
	dst = le.AppendUint32(dst, uint32(v.Type.Length))
	if v.Valid == nil {
		dst = append(dst, 0)
	} else {
		dst = appendBits(append(dst, flagValid), v.Valid, n)
	}
	switch v.Type.Phys() {
	case types.PBool:
		dst = appendBits(dst, v.Bits, n)
	case types.PInt64:
		dst = appendInt64s(dst, v.I64[:n])
	case types.PFloat64:
		for _, x := range v.F64[:n] {
			dst = le.AppendUint64(dst, math.Float64bits(x))
		}
	case types.PInt128:
		for _, x := range v.I128[:n] {
			dst = le.AppendUint64(le.AppendUint64(dst, x.Lo), uint64(x.Hi))
		}
	case types.PInterval:
		for _, x := range v.Iv[:n] {
			dst = le.AppendUint32(le.AppendUint32(dst, uint32(x.Months)), uint32(x.Days))
			dst = le.AppendUint64(dst, uint64(x.Micros))
		}
	case types.PBytes:
		for _, o := range v.Off[:n+1] {
			dst = le.AppendUint32(dst, uint32(o))
		}
		dst = append(dst, v.Data[:v.Off[n]]...)
	}
	return dst
}

// wireReader walks a body. The first thing missing or wrong sets err; every later
// read gives zeros or nil.
type wireReader struct {
	b   []byte
	err error
}

func (r *wireReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = wireError(format, args...)
	}
}

func wireError(format string, args ...any) error {
	return &sqlerr.Error{Class: sqlerr.External, Code: sqlerr.CodeCheckpoint,
		Msg: "damaged batch: " + fmt.Sprintf(format, args...)}
}

// take returns the next n items of size bytes each.
func (r *wireReader) take(n, size int) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 || n > len(r.b)/size {
		r.fail("%d bytes left where %d of %d bytes are due", len(r.b), n, size)
		return nil
	}
	out := r.b[:n*size]
	r.b = r.b[n*size:]
	return out
}

func (r *wireReader) byte() byte {
	if b := r.take(1, 1); b != nil {
		return b[0]
	}
	return 0
}

func (r *wireReader) uint32() uint32 {
	if b := r.take(1, 4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *wireReader) uint64() uint64 {
	if b := r.take(1, 8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// bits reads n bits into dst, which may be memory to use again.
func (r *wireReader) bits(dst Bitmap, n int) Bitmap {
	src := r.take(Words(n), 8)
	if r.err != nil {
		return dst
	}
	dst = dst[:0].grow(n)
	for w := range dst[:Words(n)] {
		dst[w] = binary.LittleEndian.Uint64(src[8*w:])
	}
	if u := uint(n) & 63; u != 0 && dst[n>>6]>>u != 0 {
		r.fail("bits beyond the last row")
	}
	return dst
}

// ReadWire reads one batch of columns of types ts from the front of src and returns
// what follows it. Everything is copied. A form that is cut, altered or of other types is
// an error with CodeCheckpoint, one of another version with CodeVersion.
func ReadWire(src []byte, ts []types.Type) (b *Batch, rest []byte, err error) {
	if len(src) < wireHeader+wireSum {
		return nil, nil, wireError("%d bytes are too few", len(src))
	}
	size := uint64(binary.LittleEndian.Uint32(src[1:]))
	if size > uint64(len(src)-wireHeader-wireSum) {
		return nil, nil, wireError("cut short: %d of %d bytes", len(src), size+wireHeader+wireSum)
	}
	end := wireHeader + int(size)
	if sum := binary.LittleEndian.Uint64(src[end:]); sum != xxhash.Sum64(src[:end]) {
		return nil, nil, wireError("checksum does not match")
	}
	if src[0] != WireVersion {
		return nil, nil, sqlerr.New(sqlerr.CodeVersion, 0, "kept rows have format version %d, this program reads version %d", src[0], WireVersion)
	}
	b, err = readBody(src[wireHeader:end], ts)
	if err != nil {
		return nil, nil, err
	}
	return b, src[end+wireSum:], nil
}

func readBody(body []byte, ts []types.Type) (*Batch, error) {
	r := &wireReader{b: body}
	rows, cols, flags := r.uint32(), r.uint32(), r.byte()
	wm := int64(r.uint64())
	switch {
	case r.err != nil:
		return nil, r.err
	case rows > math.MaxInt32:
		return nil, wireError("%d rows", rows)
	case int64(cols) != int64(len(ts)):
		return nil, wireError("%d columns where %d are due", cols, len(ts))
	case flags&^(flagOps|flagRowWM) != 0:
		return nil, wireError("unknown flags %#x", flags)
	}
	n := int(rows)
	b := &Batch{Cols: make([]*Vector, 0, len(ts)), N: n, WM: wm}
	if flags&flagOps != 0 {
		raw := r.take(n, 1)
		b.Ops = make([]Op, len(raw))
		for i, x := range raw {
			if x > byte(UpdateAfter) {
				return nil, wireError("unknown op %d", x)
			}
			b.Ops[i] = Op(x)
		}
	}
	if flags&flagRowWM != 0 {
		raw := r.take(n, 8)
		b.RowWM = make([]int64, len(raw)/8)
		for i := range b.RowWM {
			b.RowWM[i] = int64(binary.LittleEndian.Uint64(raw[8*i:]))
		}
	}
	for _, t := range ts {
		v := r.vector(t, n)
		if r.err != nil {
			return nil, r.err
		}
		b.Cols = append(b.Cols, v)
	}
	if r.err == nil && len(r.b) != 0 {
		r.fail("%d bytes after the last column", len(r.b))
	}
	if r.err != nil {
		return nil, r.err
	}
	return b, nil
}

func (r *wireReader) vector(t types.Type, n int) *Vector {
	got := types.Type{Kind: types.Kind(r.byte()), Precision: r.byte(), Scale: r.byte(), Length: int32(r.uint32())}
	if r.err == nil && got != t {
		r.fail("a column of type %s where %s is due", got, t)
	}
	valid := r.byte()
	if valid > flagValid {
		r.fail("unknown column flags %#x", valid)
	}
	if r.err != nil {
		return nil
	}
	v := New(t, 0)
	if valid == flagValid {
		v.Valid = r.bits(nil, n)
	}
	le := binary.LittleEndian
	switch t.Phys() {
	case types.PBool:
		v.Bits = r.bits(v.Bits, n)
	case types.PInt64:
		raw := r.take(n, 8)
		v.I64 = room(v.I64[:0], len(raw)/8)[:len(raw)/8]
		for i := range v.I64 {
			v.I64[i] = int64(le.Uint64(raw[8*i:]))
		}
	case types.PFloat64:
		raw := r.take(n, 8)
		v.F64 = room(v.F64[:0], len(raw)/8)[:len(raw)/8]
		for i := range v.F64 {
			v.F64[i] = math.Float64frombits(le.Uint64(raw[8*i:]))
		}
	case types.PInt128:
		raw := r.take(n, 16)
		v.I128 = room(v.I128[:0], len(raw)/16)[:len(raw)/16]
		for i := range v.I128 {
			v.I128[i] = types.Int128{Lo: le.Uint64(raw[16*i:]), Hi: int64(le.Uint64(raw[16*i+8:]))}
		}
	case types.PInterval:
		raw := r.take(n, 16)
		v.Iv = room(v.Iv[:0], len(raw)/16)[:len(raw)/16]
		for i := range v.Iv {
			x := raw[16*i : 16*i+16]
			v.Iv[i] = types.IntervalValue{Months: int32(le.Uint32(x)), Days: int32(le.Uint32(x[4:])), Micros: int64(le.Uint64(x[8:]))}
		}
	case types.PBytes:
		r.bytes(v, n)
	}
	v.Len = n
	return v
}

// bytes reads the offsets and data of n values.
func (r *wireReader) bytes(v *Vector, n int) {
	raw := r.take(n+1, 4)
	if r.err != nil {
		return
	}
	v.Off = room(v.Off[:0], n+1)[:n+1]
	prev := uint32(0)
	for i := range v.Off {
		o := binary.LittleEndian.Uint32(raw[4*i:])
		if o < prev || o > math.MaxInt32 || i == 0 && o != 0 {
			r.fail("offsets out of order")
			v.Off = append(v.Off[:0], 0)
			return
		}
		v.Off[i], prev = int32(o), o
	}
	v.Data = append(v.Data[:0], r.take(int(prev), 1)...)
}
