package state

import (
	"math"

	"github.com/streamsql/streamsql/internal/cell"
	"github.com/streamsql/streamsql/internal/jsonb"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// hashBits are the bits of the hash word that come from the key hash.
const hashBits = ^uint64(0xff)

// parentMix spreads a parent's id over the bits of a hash word.
func parentMix(id uint32) uint64 {
	x := (uint64(id) + 1) * 0x9e3779b97f4a7c15
	x ^= x >> 29
	return x * 0xbf58476d1ce4e5b9 & hashBits
}

// key is the key of row i of some columns, under parent.
type key struct {
	cols   []*vec.Vector
	row    int
	parent uint32
}

// nullWord is the n-th further word of null flags.
func (k key) nullWord(n int) uint64 {
	f := uint64(0)
	from := 8 + 64*n
	for c, v := range k.cols[from:min(len(k.cols), from+64)] {
		if v.IsNull(k.row) {
			f |= 1 << c
		}
	}
	return f
}

// equal reports whether record id, whose hash word is already known to be that of
// the key, has the key.
func (l *layout) equal(p *cell.Page, rec []uint64, k key) bool {
	for n := range l.nulls {
		if rec[1+n] != k.nullWord(n) {
			return false
		}
	}
	if l.parent != 0 && rec[l.parent] != uint64(k.parent) {
		return false
	}
	for c := range l.cols {
		col, v := &l.cols[c], k.cols[c]
		if v.Valid != nil && v.IsNull(k.row) {
			continue
		}
		x := rec[col.word]
		switch col.phys {
		case types.PBool:
			if (x != 0) != v.Bits.Get(k.row) {
				return false
			}
		case types.PInt64:
			if x != uint64(v.I64[k.row]) {
				return false
			}
		case types.PFloat64:
			a, b := math.Float64frombits(x), v.F64[k.row]
			if a != b && (a == a || b == b) {
				return false
			}
		case types.PInt128:
			d := v.I128[k.row]
			if x != d.Lo || rec[col.word+1] != uint64(d.Hi) {
				return false
			}
		case types.PBytes:
			if a, b := p.Bytes(x), v.Bytes(k.row); string(a) != string(b) && !(col.typ.Kind == types.JSON && jsonb.Equal(a, b)) {
				return false
			}
		case types.PInterval:
			if vec.CompareIntervals(interval(x, rec[col.word+1]), v.Iv[k.row]) != 0 {
				return false
			}
		}
	}
	return true
}

func interval(a, b uint64) types.IntervalValue {
	return types.IntervalValue{Months: int32(a >> 32), Days: int32(uint32(a)), Micros: int64(b)}
}

// write stores the key in the new, zeroed record id.
func (l *layout) write(s *cell.Store, id uint32, w uint64, k key) {
	rec := s.Record(id)
	rec[0] = w
	for n := range l.nulls {
		rec[1+n] = k.nullWord(n)
	}
	if l.parent != 0 {
		rec[l.parent] = uint64(k.parent)
	}
	for c := range l.cols {
		col, v := &l.cols[c], k.cols[c]
		if v.IsNull(k.row) {
			continue
		}
		switch col.phys {
		case types.PBool:
			if v.Bits.Get(k.row) {
				rec[col.word] = 1
			}
		case types.PInt64:
			rec[col.word] = uint64(v.I64[k.row])
		case types.PFloat64:
			rec[col.word] = math.Float64bits(v.F64[k.row])
		case types.PInt128:
			d := v.I128[k.row]
			rec[col.word], rec[col.word+1] = d.Lo, uint64(d.Hi)
		case types.PBytes:
			s.SetBytes(id, col.word, v.Bytes(k.row))
		case types.PInterval:
			iv := v.Iv[k.row]
			rec[col.word], rec[col.word+1] = uint64(uint32(iv.Months))<<32|uint64(uint32(iv.Days)), uint64(iv.Micros)
		}
	}
}

// isNull reports whether key column c of a record is NULL.
func isNull(rec []uint64, c int) bool {
	if c < 8 {
		return rec[0]>>c&1 != 0
	}
	c -= 8
	return rec[1+c/64]>>(c%64)&1 != 0
}

// appendKey appends key column c of the records to out.
func (l *layout) appendKey(s *cell.Store, c int, ids []uint32, out *vec.Vector) {
	col := &l.cols[c]
	for _, id := range ids {
		rec := s.Record(id)
		if isNull(rec, c) {
			out.AppendNull()
			continue
		}
		x := rec[col.word]
		switch col.phys {
		case types.PBool:
			out.AppendBool(x != 0)
		case types.PInt64:
			out.AppendInt64(int64(x))
		case types.PFloat64:
			out.AppendFloat64(math.Float64frombits(x))
		case types.PInt128:
			out.AppendInt128(types.Int128{Lo: x, Hi: int64(rec[col.word+1])})
		case types.PBytes:
			out.AppendBytes(s.Bytes(id, col.word))
		case types.PInterval:
			out.AppendInterval(interval(x, rec[col.word+1]))
		}
	}
}
