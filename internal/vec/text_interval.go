package vec

import (
	"bytes"
	"math"

	"github.com/streamsql/streamsql/internal/types"
)

// AppendInterval appends an interval in PostgreSQL's style: 1 year 2 mons 3 days
// 04:05:06.789.
func AppendInterval(dst []byte, iv types.IntervalValue) []byte {
	start := len(dst)
	before := false
	part := func(n int64, unit string) {
		if n == 0 {
			return
		}
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		if before && n > 0 {
			dst = append(dst, '+')
		}
		dst = append(append(AppendInt(dst, n), ' '), unit...)
		if n != 1 {
			dst = append(dst, 's')
		}
		before = n < 0
	}
	part(int64(iv.Months/12), "year")
	part(int64(iv.Months%12), "mon")
	part(int64(iv.Days), "day")
	if iv.Micros == 0 && len(dst) > start {
		return dst
	}
	if len(dst) > start {
		dst = append(dst, ' ')
	}
	us := uint64(iv.Micros)
	if iv.Micros < 0 {
		us = -us
		dst = append(dst, '-')
	} else if before {
		dst = append(dst, '+')
	}
	h := us / uint64(microsPerHour)
	if h < 10 {
		dst = append(dst, '0')
	}
	dst = append(AppendInt(dst, int64(h)), ':')
	rest := AppendTime(nil, int64(us%uint64(microsPerHour)))
	return append(dst, rest[3:]...)
}

// intervalUnit is one unit of an interval text.
type intervalUnit struct {
	names  []string
	months int64
	days   int64
	micros int64
}

var intervalUnits = []intervalUnit{
	{names: []string{"microsecond", "microseconds", "us", "usec", "usecs", "usecond", "useconds"}, micros: 1},
	{names: []string{"millisecond", "milliseconds", "ms", "msec", "msecs", "msecond", "mseconds"}, micros: 1000},
	{names: []string{"second", "seconds", "sec", "secs", "s"}, micros: microsPerSecond},
	{names: []string{"minute", "minutes", "min", "mins", "m"}, micros: microsPerMinute},
	{names: []string{"hour", "hours", "hr", "hrs", "h"}, micros: microsPerHour},
	{names: []string{"day", "days", "d"}, days: 1},
	{names: []string{"week", "weeks", "w"}, days: 7},
	{names: []string{"month", "months", "mon", "mons"}, months: 1},
	{names: []string{"year", "years", "yr", "yrs", "y"}, months: 12},
	{names: []string{"decade", "decades"}, months: 120},
	{names: []string{"century", "centuries"}, months: 1200},
	{names: []string{"millennium", "millennia", "millenniums"}, months: 12000},
}

func findUnit(units []intervalUnit, w []byte) *intervalUnit {
	for i := range units {
		for _, n := range units[i].names {
			if len(n) == len(w) && equalFold(w, n) {
				return &units[i]
			}
		}
	}
	return nil
}

func equalFold(b []byte, lower string) bool {
	for i := range b {
		if lowerByte(b[i]) != lower[i] {
			return false
		}
	}
	return true
}

// intervalSum adds up the parts of an interval.
type intervalSum struct {
	exact types.IntervalValue
	over  bool
}

// add adds whole + frac of a unit. What is left of a month becomes days, 30 of them to
// the month, and what is left of a day microseconds, as in PostgreSQL.
func (s *intervalSum) add(u *intervalUnit, whole int64, frac float64) {
	switch {
	case u.months != 0:
		m := frac * float64(u.months)
		full := math.Trunc(m)
		s.bump(whole*u.months+int64(full), 0, 0)
		if u.months == 1 {
			s.addDays((m - full) * 30)
		}
	case u.days != 0:
		s.bump(0, whole*u.days, 0)
		s.addDays(frac * float64(u.days))
	default:
		if hi := whole * u.micros; u.micros != 0 && hi/u.micros != whole {
			s.over = true
		}
		s.bump(0, 0, whole*u.micros+int64(math.RoundToEven(frac*float64(u.micros))))
	}
}

func (s *intervalSum) addDays(d float64) {
	full := math.Trunc(d)
	s.bump(0, int64(full), int64(math.RoundToEven((d-full)*float64(MicrosPerDay))))
}

func (s *intervalSum) bump(months, days, micros int64) {
	m, d := int64(s.exact.Months)+months, int64(s.exact.Days)+days
	us := s.exact.Micros + micros
	if m != int64(int32(m)) || d != int64(int32(d)) || (us < s.exact.Micros) != (micros < 0) {
		s.over = true
	}
	s.exact = types.IntervalValue{Months: int32(m), Days: int32(d), Micros: us}
}

// ParseInterval reads PostgreSQL's forms: "1 year 2 days 03:04:05.6", "1-2", "5
// seconds", "-1.5 hours", "3 days ago", a bare number of seconds, and ISO 8601's
// P1Y2M3DT4H5M6S.
func ParseInterval(s []byte) (types.IntervalValue, Fault) {
	p := timeScanner{s: trimBlanks(s)}
	if p.done() {
		return types.IntervalValue{}, BadSyntax
	}
	if p.peek() == 'P' {
		return p.isoInterval()
	}
	var sum intervalSum
	if p.peek() == '@' {
		p.i++
	}
	last, parts := false, 0
	for p.blanks(); !p.done(); p.blanks() {
		if parts > 0 && p.i+3 == len(p.s) && p.word("ago") {
			return negate(sum)
		}
		if last {
			return types.IntervalValue{}, BadSyntax
		}
		bare, f := p.intervalPart(&sum)
		if f != Fine {
			return types.IntervalValue{}, f
		}
		last = bare
		parts++
	}
	if parts == 0 {
		return types.IntervalValue{}, BadSyntax
	}
	return sum.result()
}

func (s *intervalSum) result() (types.IntervalValue, Fault) {
	if s.over {
		return types.IntervalValue{}, OutOfRange
	}
	return s.exact, Fine
}

func negate(s intervalSum) (types.IntervalValue, Fault) {
	s.exact = types.IntervalValue{Months: -s.exact.Months, Days: -s.exact.Days, Micros: -s.exact.Micros}
	return s.result()
}

// signed reads a sign and a number with fraction.
func (p *timeScanner) signed() (neg bool, whole int64, frac float64, f Fault) {
	if c := p.peek(); c == '-' || c == '+' {
		neg = c == '-'
		p.i++
	}
	n := p.digits()
	if n > 18 {
		return neg, 0, 0, OutOfRange
	}
	for range n {
		whole = whole*10 + int64(p.peek()-'0')
		p.i++
	}
	if p.peek() == '.' {
		p.i++
		k := p.digits()
		for unit := 0.1; isDigit(p.peek()); unit /= 10 {
			frac += unit * float64(p.peek()-'0')
			p.i++
		}
		n += k
	}
	if n == 0 {
		return neg, 0, 0, BadSyntax
	}
	if neg {
		whole, frac = -whole, -frac
	}
	return neg, whole, frac, Fine
}

// intervalPart reads "n unit", "HH:MM[:SS]" or "Y-M"; bare reports a number without a
// unit, which stands for days before a time of day, else for seconds and must be the
// last.
func (p *timeScanner) intervalPart(sum *intervalSum) (bare bool, f Fault) {
	neg, whole, frac, f := p.signed()
	if f != Fine {
		return false, f
	}
	sign := int64(1)
	if neg {
		sign = -1
	}
	switch {
	case p.peek() == ':':
		p.i++
		m, ok := p.number(1, 2)
		if !ok {
			return false, BadSyntax
		}
		if m > 59 {
			return false, OutOfRange
		}
		us := int64(m) * microsPerMinute
		if p.peek() == ':' {
			p.i++
			s, ok := p.number(1, 2)
			if !ok {
				return false, BadSyntax
			}
			if s > 59 {
				return false, OutOfRange
			}
			us += int64(s) * microsPerSecond
			if p.peek() == '.' {
				p.i++
				us += p.fraction()
			}
		}
		sum.add(&intervalUnits[4], whole, 0)
		sum.bump(0, 0, sign*us)
		return false, Fine
	case p.peek() == '-' && frac == 0 && p.i+1 < len(p.s) && isDigit(p.s[p.i+1]):
		p.i++
		m, _ := p.number(1, 2)
		if m > 11 {
			return false, OutOfRange
		}
		sum.bump(whole*12+sign*int64(m), 0, 0)
		return false, Fine
	}
	p.blanks()
	start := p.i
	for c := lowerByte(p.peek()); c >= 'a' && c <= 'z'; c = lowerByte(p.peek()) {
		p.i++
	}
	if start == p.i {
		if bytes.IndexByte(p.s[p.i:], ':') >= 0 {
			sum.add(&intervalUnits[5], whole, frac)
			return false, Fine
		}
		sum.add(&intervalUnits[2], whole, frac)
		return true, Fine
	}
	u := findUnit(intervalUnits, p.s[start:p.i])
	if u == nil {
		return false, BadSyntax
	}
	sum.add(u, whole, frac)
	return false, Fine
}

var isoDateUnits = []intervalUnit{
	{names: []string{"y"}, months: 12}, {names: []string{"m"}, months: 1},
	{names: []string{"w"}, days: 7}, {names: []string{"d"}, days: 1},
}

var isoTimeUnits = []intervalUnit{
	{names: []string{"h"}, micros: microsPerHour}, {names: []string{"m"}, micros: microsPerMinute},
	{names: []string{"s"}, micros: microsPerSecond},
}

// isoInterval reads P1Y2M3W4DT5H6M7.8S.
func (p *timeScanner) isoInterval() (types.IntervalValue, Fault) {
	p.i++
	units := isoDateUnits
	var sum intervalSum
	parts := 0
	for !p.done() {
		if p.peek() == 'T' {
			p.i++
			units = isoTimeUnits
			continue
		}
		_, whole, frac, f := p.signed()
		if f != Fine {
			return types.IntervalValue{}, f
		}
		if p.done() {
			return types.IntervalValue{}, BadSyntax
		}
		u := findUnit(units, p.s[p.i:p.i+1])
		if u == nil {
			return types.IntervalValue{}, BadSyntax
		}
		p.i++
		sum.add(u, whole, frac)
		parts++
	}
	if parts == 0 {
		return types.IntervalValue{}, BadSyntax
	}
	return sum.result()
}
