package format

import (
	"encoding/binary"
	"math/bits"
)

// Eight bytes at a time: the first character lies in the lowest byte. Every test
// below marks a byte with its top bit, and a borrow or carry only ever comes out of a
// byte that is marked itself, so the lowest mark is exact.
const (
	each = 0x0101010101010101
	tops = 0x80 * each
)

func load64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// special marks quotes, backslashes, control characters and bytes beyond ASCII.
func special(x uint64) uint64 {
	return (((x ^ '"'*each) - each) | ((x ^ '\\'*each) - each) | (x - 0x20*each) | x) & tops
}

// nonDigits marks what is not '0' to '9', given the characters xor "00000000".
func nonDigits(t uint64) uint64 { return (t + 0x76*each | t) & tops }

// firstMark gives the index of the lowest marked byte, 8 when there is none.
func firstMark(m uint64) int { return bits.TrailingZeros64(m) >> 3 }

// eightDigits gives the number that eight digit values, the first lowest, spell.
func eightDigits(t uint64) uint64 {
	t = t*10 + t>>8
	return ((t&0x000000ff000000ff)*(100+1000000<<32) + (t>>16&0x000000ff000000ff)*(1+10000<<32)) >> 32
}

var pow10u = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
	1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

func store64(b []byte, x uint64) { binary.LittleEndian.PutUint64(b, x) }
