package types

import (
	"errors"
	"strings"
)

// What ParseInterval says of text that is no interval, and of one beyond the range.
var (
	ErrIntervalSyntax = errors.New("invalid input syntax for type interval")
	ErrIntervalRange  = errors.New("interval field value out of range")
)

// ParseInterval reads PostgreSQL's forms of an interval ('1 day 02:03:04', '5 seconds',
// '1-2', 'P1DT2H', '3 hours ago') in the way of PostgreSQL: fields from right to left, so
// that a number without unit takes it from what stands right of it, at the end from low.
// high and low are the units written after a literal, low the smallest field kept; with
// NoUnit a bare number counts seconds. Stray words, which PostgreSQL passes over, are
// refused. The error is ErrIntervalSyntax or ErrIntervalRange.
func ParseInterval(text string, high, low Unit) (IntervalValue, error) {
	acc := intervalSum{ok: true}
	text = strings.TrimLeft(text, intervalBlanks)
	if strings.HasPrefix(text, "P") {
		if !acc.iso(text[1:]) {
			return IntervalValue{}, ErrIntervalSyntax
		}
		return acc.value(low)
	}
	var room [8]string
	fields, ok := intervalFields(text, room[:0])
	if !ok {
		return IntervalValue{}, ErrIntervalSyntax
	}
	next := Second
	if low != NoUnit {
		next = low
	}
	used, ago := 0, false
	explicit := NoUnit
	for i := len(fields) - 1; i >= 0; i-- {
		f := fields[i]
		switch {
		case f == "@" && i == 0:
		case f == "ago" && i == len(fields)-1:
			ago, next = true, NoUnit
		case isLetter(f[0]):
			u, known := unitNames[f]
			if !known || explicit != NoUnit {
				return IntervalValue{}, ErrIntervalSyntax
			}
			explicit = u
		case strings.Contains(f, ":"):
			if explicit != NoUnit || !acc.once(Hour, Minute, Second, Millisecond, Microsecond) || !acc.clock(f, high == Minute && low == Second) {
				return IntervalValue{}, ErrIntervalSyntax
			}
			next = Day
			used++
		case strings.Contains(f[1:], "-"):
			if explicit != NoUnit || !acc.once(Month) || !acc.yearMonth(f) {
				return IntervalValue{}, ErrIntervalSyntax
			}
			next = NoUnit
			used++
		default:
			u := explicit
			if u == NoUnit {
				u = next
			}
			next = NoUnit
			if u == Hour {
				next = Day
			}
			if u == NoUnit || !acc.onceNumber(f, u) || !acc.number(f, u) {
				return IntervalValue{}, ErrIntervalSyntax
			}
			explicit = NoUnit
			used++
		}
	}
	if used == 0 || explicit != NoUnit {
		return IntervalValue{}, ErrIntervalSyntax
	}
	if ago {
		acc.months, acc.days, acc.micros = -acc.months, -acc.days, -acc.micros
	}
	return acc.value(low)
}

const intervalBlanks = " \t\n\v\f\r"

// intervalFields appends the numbers, clock times and words of text to dst, in lower case.
func intervalFields(text string, dst []string) ([]string, bool) {
	for i := 0; i < len(text); {
		c, start := text[i], i
		switch {
		case strings.IndexByte(intervalBlanks, c) >= 0:
			i++
			continue
		case isLetter(c):
			for i < len(text) && isLetter(text[i]) {
				i++
			}
			if i < len(text) && !endsWord(strings.ToLower(text[start:i]), text[i]) {
				return nil, false
			}
		case (c == '+' || c == '-') && (i+1 == len(text) || !isDigit(text[i+1])):
			return nil, false
		case isDigit(c), c == '.', c == '+', c == '-':
			for i++; i < len(text) && (isDigit(text[i]) || strings.IndexByte(".:-", text[i]) >= 0); {
				i++
			}
			if text[i-1] == '.' && i < len(text) && isLetter(text[i]) {
				return nil, false
			}
		case c == '@':
			i++
		default:
			return nil, false
		}
		dst = append(dst, strings.ToLower(text[start:i]))
	}
	return dst, true
}

// endsWord: a word goes on, as a part of a date, when c stands right behind it; the short
// names of units do not.
func endsWord(word string, c byte) bool {
	switch {
	case c == '-' || c == '/' || c == '.':
		return false
	case c == '+' || isDigit(c):
		return strings.Contains(" d h m s y mon dec ", " "+word+" ")
	}
	return true
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
