package jsonb

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// reader goes over a JSON text. After bad it stays where it is.
type reader struct {
	b   []byte
	at  int
	bad bool
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// peek is the next byte, 0 at the end.
func (r *reader) peek() byte {
	if r.at < len(r.b) {
		return r.b[r.at]
	}
	return 0
}

func (r *reader) blanks() {
	for r.at < len(r.b) && (r.b[r.at] == ' ' || r.b[r.at] == '\t' || r.b[r.at] == '\n' || r.b[r.at] == '\r') {
		r.at++
	}
}

func (r *reader) take(word string) bool {
	if len(r.b)-r.at < len(word) || string(r.b[r.at:r.at+len(word)]) != word {
		return false
	}
	r.at += len(word)
	return true
}

// more steps to the next element of an array or object, or over its end.
func (r *reader) more(first bool, end byte) bool {
	r.blanks()
	switch c := r.peek(); {
	case r.bad:
		return false
	case c == end:
		r.at++
		return false
	case first:
		return true
	case c == ',':
		r.at++
		return true
	}
	r.bad = true
	return false
}

// string appends length and bytes of the string that starts here.
func (r *reader) string(dst []byte) []byte {
	dst = append(dst, 0, 0, 0, 0)
	start := len(dst)
	for r.at++; ; {
		switch c := r.peek(); {
		case r.at >= len(r.b):
			r.bad = true
			return dst
		case c == '"':
			r.at++
			binary.BigEndian.PutUint32(dst[start-4:], uint32(len(dst)-start))
			return dst
		case c == '\\':
			dst = r.escape(dst)
			if r.bad {
				return dst
			}
		default:
			dst = append(dst, c)
			r.at++
		}
	}
}

func (r *reader) escape(dst []byte) []byte {
	r.at++
	c := r.peek()
	r.at++
	switch c {
	case '"', '\\', '/':
		return append(dst, c)
	case 'b':
		return append(dst, '\b')
	case 'f':
		return append(dst, '\f')
	case 'n':
		return append(dst, '\n')
	case 'r':
		return append(dst, '\r')
	case 't':
		return append(dst, '\t')
	case 'u':
	default:
		r.bad = true
		return dst
	}
	u := r.unit()
	if u >= 0xd800 && u < 0xdc00 && r.take(`\u`) {
		if low := r.unit(); low >= 0xdc00 && low < 0xe000 {
			u = 0x10000 + (u-0xd800)<<10 + (low - 0xdc00)
		} else {
			dst, u = surrogate(dst, u), low
		}
	}
	if u >= 0xd800 && u < 0xe000 {
		return surrogate(dst, u)
	}
	return utf8.AppendRune(dst, u)
}

// surrogate writes half a pair as if it were a character, so that it equals itself only.
func surrogate(dst []byte, u rune) []byte {
	return append(dst, 0xe0|byte(u>>12), 0x80|byte(u>>6&0x3f), 0x80|byte(u&0x3f))
}

// unit reads four hexadecimal digits.
func (r *reader) unit() (u rune) {
	for range 4 {
		c := r.peek()
		switch {
		case digit(c):
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			r.bad = true
		}
		r.at++
		u = u<<4 | rune(c)
	}
	return u
}

// maxExponent is where exponents end.
const maxExponent = int64(1e15)

// number appends sign, place of the point and digits of the number that starts here.
func (r *reader) number(dst []byte) []byte {
	sign := byte(2)
	if r.take("-") {
		sign = 0
	}
	head := len(dst)
	dst = append(dst, make([]byte, 13)...)
	start := len(dst)
	dst = r.digits(dst)
	point := int64(len(dst) - start)
	if r.take(".") {
		dst = r.digits(dst)
	}
	point += r.exponent()
	end := len(dst)
	for end > start && dst[end-1] == '0' {
		end--
	}
	zeros := 0
	for start+zeros < end && dst[start+zeros] == '0' {
		zeros++
	}
	dst = slices.Delete(dst[:end], start, start+zeros)
	point -= int64(zeros)
	if len(dst) == start {
		sign, point = 1, 0
	}
	dst[head] = sign
	binary.BigEndian.PutUint64(dst[head+1:], uint64(point)^1<<63)
	binary.BigEndian.PutUint32(dst[head+9:], uint32(len(dst)-start))
	return dst
}

// digits appends one or more digits.
func (r *reader) digits(dst []byte) []byte {
	n := len(dst)
	for digit(r.peek()) {
		dst = append(dst, r.peek())
		r.at++
	}
	r.bad = r.bad || len(dst) == n
	return dst
}

func (r *reader) exponent() int64 {
	if !r.take("e") && !r.take("E") {
		return 0
	}
	minus := r.take("-")
	if !minus {
		r.take("+")
	}
	x := int64(0)
	r.bad = r.bad || !digit(r.peek())
	for ; digit(r.peek()); r.at++ {
		x = min(10*x+int64(r.peek()-'0'), maxExponent)
	}
	if minus {
		return -x
	}
	return x
}
