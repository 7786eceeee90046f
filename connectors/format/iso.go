package format

import "github.com/streamsql/streamsql/internal/vec"

const dayMicros = 86400 * 1000000

// isoClock reads the usual form of ISO 8601 times eight characters at a time. It
// remembers the last date, since rows close to each other mostly share it. Every
// other form is left to package vec.
type isoClock struct {
	head uint64 // "2024-01-"
	tail uint16 // "02"
	days int64
}

func newISOClock() isoClock { return isoClock{head: 0x2d31302d30373931, tail: 0x3130} }

// date reads "2024-01-02" from the front of b, at least ten bytes; ok is false for
// another form and for a day that does not exist.
func (k *isoClock) date(b []byte) (days int64, ok bool) {
	head, tail := load64(b), uint16(b[8])|uint16(b[9])<<8
	if head == k.head && tail == k.tail {
		return k.days, true
	}
	// Digits become 0 to 9, a right separator 0; adding marks whatever is above.
	t := head ^ 0x2d30302d30303030
	if (t+0x7f76767f76767676|t)&tops != 0 {
		return 0, false
	}
	d1, d2 := b[8]-'0', b[9]-'0'
	if d1 > 9 || d2 > 9 {
		return 0, false
	}
	y := int(t&15)*1000 + int(t>>8&15)*100 + int(t>>16&15)*10 + int(t>>24&15)
	m := int(t>>40&15)*10 + int(t>>48&15)
	d := int(d1)*10 + int(d2)
	if m < 1 || m > 12 || y < 1 || d < 1 || d > vec.DaysInMonth(y, m) {
		return 0, false
	}
	k.head, k.tail, k.days = head, tail, vec.DaysFromCivil(y, m, d)
	return k.days, true
}

// clock reads "12:34:56" from the front of b.
func clock(b []byte) (micros int64, ok bool) {
	t := load64(b) ^ 0x30303a30303a3030
	if (t+0x76767f76767f7676|t)&tops != 0 {
		return 0, false
	}
	h := int64(t&15)*10 + int64(t>>8&15)
	m := int64(t>>24&15)*10 + int64(t>>32&15)
	s := int64(t>>48&15)*10 + int64(t>>56&15)
	return ((h*60+m)*60 + s) * 1000000, h < 24 && m < 60 && s < 60
}

// fraction reads the one to nine digits after the point at b[i]; those beyond the
// microsecond are cut off.
func fraction(b []byte, i int) (micros int64, end int, ok bool) {
	i++
	start := i
	for i < len(b) && b[i]-'0' <= 9 {
		if i-start < 6 {
			micros = micros*10 + int64(b[i]-'0')
		}
		i++
	}
	n := i - start
	if n == 0 || n > 9 {
		return 0, i, false
	}
	return micros * int64(pow10u[6-min(n, 6)]), i, true
}

// quoted reads `2024-01-02T03:04:05.123Z"` at b[i:], fraction and zone optional, and
// gives the index after the quote, or 0 for every other form. b has at least 31 bytes
// from i on.
func (k *isoClock) quoted(b []byte, i int) (micros int64, end int) {
	days, ok := k.date(b[i:])
	if !ok || b[i+10] != 'T' && b[i+10] != ' ' {
		return 0, 0
	}
	micros, ok = clock(b[i+11:])
	if !ok {
		return 0, 0
	}
	micros += days * dayMicros
	i += 19
	if b[i] == '.' {
		f, e, ok := fraction(b, i)
		if !ok || e >= len(b)-1 {
			return 0, 0
		}
		micros, i = micros+f, e
	}
	if b[i] == 'Z' {
		i++
	}
	if b[i] != '"' {
		return 0, 0
	}
	return micros, i + 1
}
