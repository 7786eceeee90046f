// Package jsonb is the equality and the order of PostgreSQL's jsonb over JSON texts: the
// order of an object's keys, repeated keys but the last, blanks, escapes and the form of
// numbers do not matter.
package jsonb

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
)

// Kinds of a value in the canonical form, in jsonb's order.
const (
	kindNull = iota
	kindString
	kindNumber
	kindBool
	kindArray
	kindObject
	kindText // no JSON: the text as it is
)

// Encoder makes canonical forms. Its memory is used again; one goroutine owns it.
//
// The canonical form of a value is a byte for its kind and
//   - string: length in 4 bytes, bytes
//   - number: 0, 1 or 2 for negative, zero and positive, then the place of the point
//     before the first digit that is not 0, in 8 bytes with the sign bit turned, the
//     number of digits in 4, the digits without zeros at the ends
//   - boolean: 0 or 1
//   - array: number of elements in 4 bytes, elements
//   - object: number of pairs in 4 bytes, pairs of key (as a string's) and value by length
//     and bytes of the keys
//
// Lengths are big-endian. The form stands in key hashes and must not change.
type Encoder struct {
	pairs []pair
	spare []byte
}

// pair is where a key and its value lie.
type pair struct{ start, key, value, end int }

// Append appends the canonical form of a JSON text. Texts have equal forms exactly when
// PostgreSQL finds them equal as jsonb. Exponents beyond 10^15 count as that; PostgreSQL
// has no such numbers. A text that is no JSON equals itself only.
func (e *Encoder) Append(dst, text []byte) []byte {
	r := reader{b: text}
	e.pairs = e.pairs[:0]
	out := e.value(dst, &r)
	r.blanks()
	if r.bad || r.at < len(text) {
		return append(append(dst, kindText), text...)
	}
	return out
}

func (e *Encoder) value(dst []byte, r *reader) []byte {
	r.blanks()
	switch c := r.peek(); c {
	case '{':
		return e.object(dst, r)
	case '[':
		return e.array(dst, r)
	case '"':
		return r.string(append(dst, kindString))
	case 't', 'f', 'n':
		for _, w := range []struct {
			word string
			form []byte
		}{{"true", []byte{kindBool, 1}}, {"false", []byte{kindBool, 0}}, {"null", []byte{kindNull}}} {
			if r.take(w.word) {
				return append(dst, w.form...)
			}
		}
	default:
		if c == '-' || digit(c) {
			return r.number(append(dst, kindNumber))
		}
	}
	r.bad = true
	return dst
}

func (e *Encoder) array(dst []byte, r *reader) []byte {
	r.at++
	dst = append(dst, kindArray, 0, 0, 0, 0)
	count, n := len(dst)-4, uint32(0)
	for r.more(n == 0, ']') {
		dst = e.value(dst, r)
		n++
	}
	binary.BigEndian.PutUint32(dst[count:], n)
	return dst
}

func (e *Encoder) object(dst []byte, r *reader) []byte {
	r.at++
	dst = append(dst, kindObject, 0, 0, 0, 0)
	body, first := len(dst), len(e.pairs)
	for r.more(len(e.pairs) == first, '}') {
		p := pair{start: len(dst), key: len(dst) + 4}
		if r.blanks(); r.peek() != '"' {
			r.bad = true
			break
		}
		dst = r.string(dst)
		p.value = len(dst)
		if r.blanks(); !r.take(":") {
			r.bad = true
			break
		}
		// Pairs of the value are put behind this one and taken away again.
		e.pairs = append(e.pairs, p)
		at := len(e.pairs) - 1
		dst = e.value(dst, r)
		e.pairs[at].end = len(dst)
	}
	pairs := e.pairs[first:]
	if !ascending(dst, pairs) {
		dst, pairs = e.sort(dst, body, pairs)
	}
	binary.BigEndian.PutUint32(dst[body-4:], uint32(len(pairs)))
	e.pairs = e.pairs[:first]
	return dst
}

func compareKeys(b []byte, x, y pair) int {
	if c := cmp.Compare(x.value-x.key, y.value-y.key); c != 0 {
		return c
	}
	return bytes.Compare(b[x.key:x.value], b[y.key:y.value])
}

func ascending(b []byte, pairs []pair) bool {
	for i := 1; i < len(pairs); i++ {
		if compareKeys(b, pairs[i-1], pairs[i]) >= 0 {
			return false
		}
	}
	return true
}

// sort puts the pairs of an object in order, of equal keys the last one.
func (e *Encoder) sort(dst []byte, body int, pairs []pair) ([]byte, []pair) {
	slices.SortStableFunc(pairs, func(x, y pair) int { return compareKeys(dst, x, y) })
	kept := pairs[:0]
	for i, p := range pairs {
		if i+1 < len(pairs) && compareKeys(dst, p, pairs[i+1]) == 0 {
			continue
		}
		kept = append(kept, p)
	}
	e.spare = append(e.spare[:0], dst[body:]...)
	dst = dst[:body]
	for _, p := range kept {
		dst = append(dst, e.spare[p.start-body:p.end-body]...)
	}
	return dst, kept
}

var encoders = sync.Pool{New: func() any { return new(comparer) }}

type comparer struct {
	Encoder
	a, b []byte
}

// Equal reports whether two JSON texts are equal as jsonb.
func Equal(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	c := encoders.Get().(*comparer)
	defer encoders.Put(c)
	c.a, c.b = c.Append(c.a[:0], a), c.Append(c.b[:0], b)
	return bytes.Equal(c.a, c.b)
}

// Compare orders two JSON texts as jsonb: objects above arrays above booleans, numbers,
// strings and null; by number of elements or pairs first. Strings compare by byte.
func Compare(a, b []byte) int {
	c := encoders.Get().(*comparer)
	defer encoders.Put(c)
	c.a, c.b = c.Append(c.a[:0], a), c.Append(c.b[:0], b)
	return CompareForms(c.a, c.b)
}
