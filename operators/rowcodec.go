package operators

import (
	"encoding/binary"
	"math"

	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// Rows that an operator keeps whole are kept as bytes: for each column a byte that is
// 0 for NULL and 1 otherwise, then the value: 8 or 16 bytes, little endian, or a
// length and bytes. Equal rows of a schema have equal bytes, as far as the values are
// spelled alike.

// appendRow appends row i of cols.
func appendRow(dst []byte, cols []*vec.Vector, i int) []byte {
	le := binary.LittleEndian
	for _, c := range cols {
		if c.IsNull(i) {
			dst = append(dst, 0)
			continue
		}
		dst = append(dst, 1)
		switch c.Type.Phys() {
		case types.PBool:
			b := byte(0)
			if c.Bool(i) {
				b = 1
			}
			dst = append(dst, b)
		case types.PInt64:
			dst = le.AppendUint64(dst, uint64(c.I64[i]))
		case types.PFloat64:
			dst = le.AppendUint64(dst, math.Float64bits(c.F64[i]))
		case types.PInt128:
			dst = le.AppendUint64(le.AppendUint64(dst, c.I128[i].Lo), uint64(c.I128[i].Hi))
		case types.PInterval:
			iv := c.Iv[i]
			dst = le.AppendUint32(le.AppendUint32(dst, uint32(iv.Months)), uint32(iv.Days))
			dst = le.AppendUint64(dst, uint64(iv.Micros))
		default:
			dst = binary.AppendUvarint(dst, uint64(len(c.Bytes(i))))
			dst = append(dst, c.Bytes(i)...)
		}
	}
	return dst
}

// readRow appends the row to cols, whose types are those it was written from.
func readRow(src []byte, cols []*vec.Vector) {
	le := binary.LittleEndian
	for _, c := range cols {
		null := src[0] == 0
		src = src[1:]
		if null {
			c.AppendNull()
			continue
		}
		switch c.Type.Phys() {
		case types.PBool:
			c.AppendBool(src[0] != 0)
			src = src[1:]
		case types.PInt64:
			c.AppendInt64(int64(le.Uint64(src)))
			src = src[8:]
		case types.PFloat64:
			c.AppendFloat64(math.Float64frombits(le.Uint64(src)))
			src = src[8:]
		case types.PInt128:
			c.AppendInt128(types.Int128{Lo: le.Uint64(src), Hi: int64(le.Uint64(src[8:]))})
			src = src[16:]
		case types.PInterval:
			c.AppendInterval(types.IntervalValue{Months: int32(le.Uint32(src)), Days: int32(le.Uint32(src[4:])),
				Micros: int64(le.Uint64(src[8:]))})
			src = src[16:]
		default:
			n, w := binary.Uvarint(src)
			c.AppendBytes(src[w : w+int(n)])
			src = src[w+int(n):]
		}
	}
}
