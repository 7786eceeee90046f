package vec

import (
	"math"
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"github.com/streamsql/streamsql/internal/jsonb"
	"github.com/streamsql/streamsql/internal/types"
)

// HashVersion names the key hash; it stands in every manifest, and a change of any
// golden vector needs a new name.
const HashVersion = "ssh1"

const (
	hashK0   = 0x9e3779b97f4a7c15
	hashK1   = 0xbf58476d1ce4e5b9
	hashK2   = 0x94d049bb133111eb
	hashNull = 0x6a09e667f3bcc909
	hashInit = 0x243f6a8885a308d3
)

// mix is the finaliser of splitmix64 (Steele, Lea, Flood: Fast Splittable
// Pseudorandom Number Generators, 2014).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= hashK1
	x ^= x >> 27
	x *= hashK2
	return x ^ x>>31
}

func hashInt(x int64) uint64 { return mix(uint64(x) + hashK0) }

func hashFloat(f float64) uint64 {
	switch {
	case f == 0:
		f = 0 // -0 = 0
	case f != f:
		return mix(0x7ff8000000000001)
	}
	return mix(math.Float64bits(f) ^ hashK1)
}

// hashDecimal hashes the value and not its spelling: 1.0 = 1.00 = BIGINT 1.
func hashDecimal(d types.Int128, scale int) uint64 {
	ten := types.I128(10)
	for scale > 0 {
		q, r := d.QuoRem(ten)
		if r.Sign() != 0 {
			break
		}
		d, scale = q, scale-1
	}
	if v, ok := d.Int64(); ok && scale == 0 {
		return hashInt(v)
	}
	return mix(d.Lo ^ mix(uint64(d.Hi)+uint64(scale)*hashK0))
}

func hashInterval(v types.IntervalValue) uint64 {
	hi, lo := span(v)
	return mix(lo ^ mix(hi+hashK2))
}

// span is an interval's length in microseconds as a signed 128-bit integer. As in
// PostgreSQL a month counts 30 days and a day 24 hours, and intervals of equal span
// are equal.
func span(v types.IntervalValue) (hi, lo uint64) {
	days := int64(v.Months)*30 + int64(v.Days)
	hi, lo = bits.Mul64(uint64(days), 86400e6)
	if days < 0 {
		hi -= 86400e6
	}
	lo, c := bits.Add64(lo, uint64(v.Micros), 0)
	return hi + uint64(v.Micros>>63) + c, lo
}

// HashColumns writes the key hash of each of n rows over cols into out. Values that
// SQL calls equal hash alike whatever their type or spelling: SMALLINT 1, BIGINT 1
// and DECIMAL 1.00; 0.0 and -0.0; NaN and NaN; NULL and NULL. Text and bytes hash
// by their bytes (XXH64), JSON by the bytes of its canonical form.
func HashColumns(cols []*Vector, n int, out []uint64) {
	out = out[:n]
	if len(cols) > 0 && plainInts(cols[0]) {
		seed := uint64(hashInit) // in a variable, where it may overflow
		seed = bits.RotateLeft64(seed, 23) * hashK0
		for i, x := range cols[0].I64[:n] {
			out[i] = mix(seed ^ hashInt(x)) // combine(hashInit, hashInt(x))
		}
		cols = cols[1:]
	} else {
		for i := range out {
			out[i] = hashInit
		}
	}
	for _, c := range cols {
		hashColumn(c, out)
	}
}

// combine folds the hash of one more column into a row's hash.
func combine(h, x uint64) uint64 { return mix(bits.RotateLeft64(h, 23)*hashK0 ^ x) }

func plainInts(c *Vector) bool { return c.Valid == nil && c.Type.Phys() == types.PInt64 }

func hashColumn(c *Vector, out []uint64) {
	if plainInts(c) {
		for i, x := range c.I64[:len(out)] {
			out[i] = combine(out[i], hashInt(x))
		}
		return
	}
	if c.Type.Kind == types.JSON {
		hashJSON(c, out)
		return
	}
	for i := range out {
		out[i] = combine(out[i], HashValue(c, i))
	}
}

// hashJSON hashes what jsonb compares.
func hashJSON(c *Vector, out []uint64) {
	var e jsonb.Encoder
	var form []byte
	for i := range out {
		h := uint64(hashNull)
		if !c.IsNull(i) {
			form = e.Append(form[:0], c.Bytes(i))
			h = xxhash.Sum64(form)
		}
		out[i] = combine(out[i], h)
	}
}

// HashValue is the hash of a single value before it is folded into a key.
func HashValue(c *Vector, i int) uint64 {
	if c.IsNull(i) {
		return hashNull
	}
	switch c.Type.Phys() {
	case types.PBool:
		if c.Bits.Get(i) {
			return hashInt(1)
		}
		return hashInt(0)
	case types.PInt64:
		return hashInt(c.I64[i])
	case types.PFloat64:
		return hashFloat(c.F64[i])
	case types.PInt128:
		return hashDecimal(c.I128[i], int(c.Type.Scale))
	case types.PInterval:
		return hashInterval(c.Iv[i])
	}
	if c.Type.Kind == types.JSON {
		var e jsonb.Encoder
		return xxhash.Sum64(e.Append(nil, c.Bytes(i)))
	}
	return xxhash.Sum64(c.Bytes(i))
}

// EqualValues reports whether two non-NULL values of the same layout are equal in
// SQL's sense, or both NULL: grouping equality.
func EqualValues(a *Vector, i int, b *Vector, j int) bool {
	if an, bn := a.IsNull(i), b.IsNull(j); an || bn {
		return an && bn
	}
	switch a.Type.Phys() {
	case types.PBool:
		return a.Bits.Get(i) == b.Bits.Get(j)
	case types.PInt64:
		return a.I64[i] == b.I64[j]
	case types.PFloat64:
		x, y := a.F64[i], b.F64[j]
		return x == y || x != x && y != y
	case types.PInt128:
		return types.CompareDecimal(a.I128[i], int(a.Type.Scale), b.I128[j], int(b.Type.Scale)) == 0
	case types.PInterval:
		return CompareIntervals(a.Iv[i], b.Iv[j]) == 0
	}
	if a.Type.Kind == types.JSON {
		return jsonb.Equal(a.Bytes(i), b.Bytes(j))
	}
	return string(a.Bytes(i)) == string(b.Bytes(j))
}
