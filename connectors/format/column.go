package format

import (
	"math"

	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// column is a vector under construction: its memory laid open up to its capacity, so
// that row r is stored by index and a broken payload is undone by going back to an
// earlier row number.
type column struct {
	Column
	phys types.Phys
	tick int64 // of a TIMESTAMP

	i64   []int64
	f64   []float64
	i128  []types.Int128
	iv    []types.IntervalValue
	bits  vec.Bitmap
	off   []int32 // off[r] is the start of row r
	data  []byte  // all of the capacity; used is how much is in use
	used  int
	valid vec.Bitmap // nil while there is no NULL
}

// attach takes the memory of v, laid out for rows rows.
func (c *column) attach(v *vec.Vector, rows int) {
	v.Grow(rows)
	switch c.phys {
	case types.PBool:
		c.bits = v.Bits
	case types.PInt64:
		c.i64 = v.I64[:rows]
	case types.PFloat64:
		c.f64 = v.F64[:rows]
	case types.PInt128:
		c.i128 = v.I128[:rows]
	case types.PInterval:
		c.iv = v.Iv[:rows]
	case types.PBytes:
		c.off = v.Off[:rows+1]
		c.used = len(v.Data)
		c.data = v.Data[:cap(v.Data)]
	}
	c.valid = nil
	if v.Valid != nil {
		c.valid = extend(v.Valid, rows)
	}
}

// detach gives v its memory back, with rows rows.
func (c *column) detach(v *vec.Vector, rows int) {
	switch c.phys {
	case types.PBool:
		v.Bits = shorten(c.bits, rows)
	case types.PInt64:
		v.I64 = c.i64[:rows]
	case types.PFloat64:
		v.F64 = c.f64[:rows]
	case types.PInt128:
		v.I128 = c.i128[:rows]
	case types.PInterval:
		v.Iv = c.iv[:rows]
	case types.PBytes:
		v.Off = c.off[:rows+1]
		v.Data = c.data[:c.off[rows]]
	}
	v.Valid = nil
	if c.valid != nil {
		v.Valid = shorten(c.valid, rows)
	}
	v.Len = rows
	c.i64, c.f64, c.i128, c.iv, c.bits, c.off, c.data, c.valid = nil, nil, nil, nil, nil, nil, nil, nil
}

func extend(m vec.Bitmap, rows int) vec.Bitmap {
	w := vec.Words(rows)
	if w <= len(m) {
		return m
	}
	nm := make(vec.Bitmap, w)
	copy(nm, m)
	return nm
}

// shorten cuts m to rows bits and clears what is left of the last word.
func shorten(m vec.Bitmap, rows int) vec.Bitmap {
	m = m[:vec.Words(rows)]
	if r := uint(rows) & 63; r != 0 {
		m[len(m)-1] &= 1<<r - 1
	}
	return m
}

// setNull makes row r a NULL. rows is the capacity that the column is laid out for.
func (c *column) setNull(r, rows int) {
	if c.valid == nil {
		c.valid = vec.NewBitmap(rows)
		c.valid.SetFirst(r)
	}
	c.valid.Clear(r)
	switch c.phys {
	case types.PBool:
		c.bits.Clear(r)
	case types.PInt64:
		c.i64[r] = 0
	case types.PFloat64:
		c.f64[r] = 0
	case types.PInt128:
		c.i128[r] = types.Int128{}
	case types.PInterval:
		c.iv[r] = types.IntervalValue{}
	case types.PBytes:
		c.used = int(c.off[r])
		c.off[r+1] = c.off[r]
	}
}

// setValid marks row r as no NULL.
func (c *column) setValid(r int) {
	if c.valid != nil {
		c.valid.Set(r)
	}
}

// room makes room for n more bytes of data; it reports false where offsets would pass
// 31 bits.
func (c *column) room(n int) bool {
	need := c.used + n
	if need <= len(c.data) {
		return true
	}
	if need > math.MaxInt32 {
		return false
	}
	nd := make([]byte, min(max(need, 2*len(c.data)), math.MaxInt32))
	copy(nd, c.data[:c.used])
	c.data = nd
	return true
}

// setBytes makes b the value of row r; TooLong where a batch would pass 2 GiB of text.
func (c *column) setBytes(r int, b []byte) vec.Fault {
	if !c.room(len(b)) {
		return vec.TooLong
	}
	start := int(c.off[r])
	c.used = start + copy(c.data[start:], b)
	c.off[r+1] = int32(c.used)
	c.setValid(r)
	return vec.Fine
}

// builder is the columns of a batch under construction.
type builder struct {
	cols []column
	out  *vec.Batch
	row  int // rows finished
	rows int // rows there is room for
}

func newBuilder(cols []Column) builder {
	b := builder{cols: make([]column, len(cols))}
	for i, c := range cols {
		b.cols[i] = column{Column: c, phys: c.Type.Phys(), tick: c.Type.Tick()}
	}
	return b
}

// begin starts appending to out about n rows.
func (b *builder) begin(out *vec.Batch, n int) {
	b.out, b.row, b.rows = out, out.N, out.N+n
	for i := range b.cols {
		b.cols[i].attach(out.Cols[i], b.rows)
	}
}

// grow doubles the room.
func (b *builder) grow() {
	rows := max(64, 2*b.rows)
	for i := range b.cols {
		b.cols[i].detach(b.out.Cols[i], b.row)
		b.cols[i].attach(b.out.Cols[i], rows)
	}
	b.rows = rows
}

// undo forgets the rows from row on, and what is begun of the next.
func (b *builder) undo(row int) {
	b.row = row
	for i := range b.cols {
		if c := &b.cols[i]; c.phys == types.PBytes {
			c.used = int(c.off[row])
		}
	}
}

// end puts the rows into the batch.
func (b *builder) end() {
	for i := range b.cols {
		b.cols[i].detach(b.out.Cols[i], b.row)
	}
	n := b.row - b.out.N
	b.out.N = b.row
	if b.out.Ops != nil {
		b.out.Ops = append(b.out.Ops, make([]vec.Op, n)...)
	}
	b.out = nil
}
