package vec

import (
	"bytes"
	"cmp"

	"github.com/streamsql/streamsql/internal/jsonb"
	"github.com/streamsql/streamsql/internal/types"
)

// CompareValues orders two values of one type that are not NULL: -1, 0 or 1. Text and
// bytes compare by byte, JSON as jsonb, false is before true, decimals are of one scale.
func CompareValues(a *Vector, i int, b *Vector, j int) int {
	switch a.Type.Phys() {
	case types.PBool:
		return cmp.Compare(a.Bits[i>>6]>>(i&63)&1, b.Bits[j>>6]>>(j&63)&1)
	case types.PInt64:
		return cmp.Compare(a.I64[i], b.I64[j])
	case types.PFloat64:
		return CompareFloats(a.F64[i], b.F64[j])
	case types.PInt128:
		return a.I128[i].Cmp(b.I128[j])
	case types.PInterval:
		return CompareIntervals(a.Iv[i], b.Iv[j])
	}
	if a.Type.Kind == types.JSON {
		return jsonb.Compare(a.Bytes(i), b.Bytes(j))
	}
	return bytes.Compare(a.Bytes(i), b.Bytes(j))
}

// CompareFloats orders NaN after every number and equal to itself, as PostgreSQL does.
func CompareFloats(a, b float64) int {
	switch {
	case LessFloat(a, b):
		return -1
	case LessFloat(b, a):
		return 1
	}
	return 0
}

// LessFloat orders NaN after every number, as PostgreSQL does.
func LessFloat(a, b float64) bool { return a < b || b != b && a == a }

// CompareIntervals orders intervals by their length: as in PostgreSQL a month counts
// 30 days and a day 24 hours.
func CompareIntervals(a, b types.IntervalValue) int {
	ah, al := span(a)
	bh, bl := span(b)
	if ah == bh {
		return cmp.Compare(al, bl)
	}
	return cmp.Compare(int64(ah), int64(bh))
}
