package vec

import "math/bits"

// Bitmap is one bit per row, least significant bit first, as in Arrow. Bits at and
// beyond the length of the column it belongs to are zero unless said otherwise.
type Bitmap []uint64

// Words gives the number of 64-bit words for n bits.
func Words(n int) int { return (n + 63) >> 6 }

// NewBitmap returns n zero bits.
func NewBitmap(n int) Bitmap { return make(Bitmap, Words(n)) }

// Get reads bit i.
func (b Bitmap) Get(i int) bool { return b[i>>6]>>(uint(i)&63)&1 != 0 }

// Set sets bit i.
func (b Bitmap) Set(i int) { b[i>>6] |= 1 << (uint(i) & 63) }

// Clear clears bit i.
func (b Bitmap) Clear(i int) { b[i>>6] &^= 1 << (uint(i) & 63) }

// SetTo sets bit i to v.
func (b Bitmap) SetTo(i int, v bool) {
	if v {
		b.Set(i)
	} else {
		b.Clear(i)
	}
}

// SetFirst sets bits 0 to n-1 and leaves the rest.
func (b Bitmap) SetFirst(n int) {
	for w := 0; w < n>>6; w++ {
		b[w] = ^uint64(0)
	}
	if r := uint(n) & 63; r != 0 {
		b[n>>6] |= 1<<r - 1
	}
}

// clearFrom clears bit n and all after it.
func (b Bitmap) clearFrom(n int) {
	w := n >> 6
	if w >= len(b) {
		return
	}
	b[w] &= 1<<(uint(n)&63) - 1
	clear(b[w+1:])
}

// Count counts the set bits among the first n.
func (b Bitmap) Count(n int) int {
	c := 0
	for w := 0; w < n>>6; w++ {
		c += bits.OnesCount64(b[w])
	}
	if r := uint(n) & 63; r != 0 {
		c += bits.OnesCount64(b[n>>6] & (1<<r - 1))
	}
	return c
}

// AppendIndexes appends the positions of the set bits among the first n.
func (b Bitmap) AppendIndexes(dst []int32, n int) []int32 {
	for w := range Words(n) {
		x := b[w]
		if r := n - w<<6; r < 64 {
			x &= 1<<uint(r) - 1
		}
		for x != 0 {
			dst = append(dst, int32(w<<6+bits.TrailingZeros64(x)))
			x &= x - 1
		}
	}
	return dst
}

// grow makes room for n bits, keeping the old ones; new bits are zero.
func (b Bitmap) grow(n int) Bitmap {
	w := Words(n)
	if w <= len(b) {
		return b
	}
	if w <= cap(b) {
		old := len(b)
		b = b[:w]
		clear(b[old:])
		return b
	}
	nb := make(Bitmap, w, max(w, 2*cap(b)))
	copy(nb, b)
	return nb
}
