package postgres

import (
	"encoding/binary"
	"math"

	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// Element types of the arrays that are sent, by PostgreSQL's pg_type.dat.
const (
	oidBool        = 16
	oidBytea       = 17
	oidInt8        = 20
	oidText        = 25
	oidFloat8      = 701
	oidDate        = 1082
	oidTime        = 1083
	oidTimestamp   = 1114
	oidTimestampTZ = 1184
	oidInterval    = 1186
)

// PostgreSQL counts dates and times from 2000-01-01.
const (
	pgEpochDays   = 10957
	pgEpochMicros = pgEpochDays * 86400 * 1_000_000
)

func elementOID(t types.Type) uint32 {
	switch t.Kind {
	case types.Bool:
		return oidBool
	case types.SmallInt, types.Int, types.BigInt:
		return oidInt8
	case types.Real, types.Double:
		return oidFloat8
	case types.Date:
		return oidDate
	case types.Time:
		return oidTime
	case types.Timestamp:
		return oidTimestamp
	case types.TimestampTZ:
		return oidTimestampTZ
	case types.Interval:
		return oidInterval
	case types.Bytes:
		return oidBytea
	}
	return oidText
}

// appendArray appends rows rows of v as a one-dimensional array in PostgreSQL's binary
// form (array_send): dimensions, null flag, element type, length, lower bound, then
// each element behind its length, -1 for NULL.
func appendArray(dst []byte, v *vec.Vector, rows []int32) []byte {
	flags := uint32(0)
	if v.Valid != nil {
		flags = 1
	}
	be := binary.BigEndian
	dst = be.AppendUint32(dst, 1)
	dst = be.AppendUint32(dst, flags)
	dst = be.AppendUint32(dst, elementOID(v.Type))
	dst = be.AppendUint32(dst, uint32(len(rows)))
	dst = be.AppendUint32(dst, 1)
	for _, r := range rows {
		i := int(r)
		if v.IsNull(i) {
			dst = append(dst, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		dst = appendElement(dst, v, i)
	}
	return dst
}

func appendElement(dst []byte, v *vec.Vector, i int) []byte {
	be := binary.BigEndian
	switch v.Type.Kind {
	case types.Bool:
		b := byte(0)
		if v.Bits.Get(i) {
			b = 1
		}
		return append(dst, 0, 0, 0, 1, b)
	case types.SmallInt, types.Int, types.BigInt, types.Time:
		return be.AppendUint64(be.AppendUint32(dst, 8), uint64(v.I64[i]))
	case types.Timestamp, types.TimestampTZ:
		return be.AppendUint64(be.AppendUint32(dst, 8), uint64(v.I64[i]-pgEpochMicros))
	case types.Date:
		return be.AppendUint32(be.AppendUint32(dst, 4), uint32(int32(v.I64[i]-pgEpochDays)))
	case types.Real, types.Double:
		return be.AppendUint64(be.AppendUint32(dst, 8), math.Float64bits(v.F64[i]))
	case types.Interval:
		iv := v.Iv[i]
		dst = be.AppendUint64(be.AppendUint32(dst, 16), uint64(iv.Micros))
		return be.AppendUint32(be.AppendUint32(dst, uint32(iv.Days)), uint32(iv.Months))
	case types.Decimal:
		at := len(dst)
		dst = v.I128[i].AppendDecimal(append(dst, 0, 0, 0, 0), int(v.Type.Scale))
		be.PutUint32(dst[at:], uint32(len(dst)-at-4))
		return dst
	}
	b := v.Bytes(i)
	return append(be.AppendUint32(dst, uint32(len(b))), b...)
}
