package types

import (
	"math"
	"strconv"
	"strings"
)

// intervalSum adds up fields; ok turns false when one does not fit.
type intervalSum struct {
	months, days, micros int64
	ok                   bool
	// seen has a bit for each unit given so far.
	seen uint32
}

// once notes units; it is false when one of them was given before.
func (a *intervalSum) once(units ...Unit) bool {
	for _, u := range units {
		if a.seen&(1<<u) != 0 {
			return false
		}
		a.seen |= 1 << u
	}
	return true
}

// onceNumber notes the unit of a number; seconds with a fraction cover the smaller
// units too.
func (a *intervalSum) onceNumber(s string, u Unit) bool {
	if u == Second && strings.Contains(s, ".") {
		return a.once(Second, Millisecond, Microsecond)
	}
	return a.once(u)
}

func (a *intervalSum) add(to *int64, n, by int64) {
	r := n * by
	if n != 0 && (r/n != by || n == -1 && by == math.MinInt64) {
		a.ok = false
	}
	s := *to + r
	if (*to > 0) == (r > 0) && r != 0 && (s > 0) != (r > 0) {
		a.ok = false
	}
	*to = s
}

// splitNumber cuts a signed decimal into sign, whole part and fraction.
func splitNumber(s string) (neg bool, whole int64, frac float64, ok bool) {
	neg, s = cutSign(s)
	w, f, dot := strings.Cut(s, ".")
	if w == "" && f == "" || strings.Trim(w+f, "0123456789") != "" {
		return false, 0, 0, false
	}
	if w != "" {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			n = math.MaxInt64
		}
		whole = n
	}
	if dot && f != "" {
		frac, _ = strconv.ParseFloat("0."+f, 64)
	}
	if neg {
		whole, frac = -whole, -frac
	}
	return neg, whole, frac, true
}

func (a *intervalSum) number(s string, u Unit) bool {
	_, n, frac, ok := splitNumber(s)
	if !ok {
		return false
	}
	switch u {
	case Microsecond:
		a.add(&a.micros, n, 1)
		a.addFrac(frac, 1)
	case Millisecond:
		a.add(&a.micros, n, 1000)
		a.addFrac(frac, 1000)
	case Second:
		a.add(&a.micros, n, usecSecond)
		a.addFrac(frac, usecSecond)
	case Minute:
		a.add(&a.micros, n, usecMinute)
		a.addFrac(frac, usecMinute)
	case Hour:
		a.add(&a.micros, n, usecHour)
		a.addFrac(frac, usecHour)
	case Day:
		a.add(&a.days, n, 1)
		a.addFrac(frac, usecDay)
	case Week:
		a.add(&a.days, n, 7)
		a.addDays(frac * 7)
	case Month:
		a.add(&a.months, n, 1)
		a.addDays(frac * 30)
	case Quarter:
		a.add(&a.months, n, 3)
		a.addMonths(frac * 3)
	case Year:
		a.add(&a.months, n, 12)
		a.addMonths(frac * 12)
	case Decade:
		a.add(&a.months, n, 120)
		a.addMonths(frac * 120)
	case Century:
		a.add(&a.months, n, 1200)
		a.addMonths(frac * 1200)
	case Millennium:
		a.add(&a.months, n, 12000)
		a.addMonths(frac * 12000)
	}
	return true
}

func (a *intervalSum) addFrac(frac float64, by int64) {
	a.add(&a.micros, int64(math.RoundToEven(frac*float64(by))), 1)
}

func (a *intervalSum) addDays(d float64) {
	whole := math.Trunc(d)
	a.add(&a.days, int64(whole), 1)
	a.addFrac(d-whole, usecDay)
}

func (a *intervalSum) addMonths(m float64) { a.add(&a.months, int64(math.RoundToEven(m)), 1) }

// clock reads [-]h:m[:s[.f]], or m:s with minuteSecond. It takes the place of the time
// that fractions of days left, as in PostgreSQL.
func (a *intervalSum) clock(s string, minuteSecond bool) bool {
	neg, s := cutSign(s)
	fields := strings.Count(s, ":") + 1
	if fields > 3 {
		return false
	}
	at := 0
	if fields == 2 && (minuteSecond || strings.Contains(s, ".")) {
		at = 1
	}
	total := intervalSum{ok: true}
	for ; fields > 0; fields, at = fields-1, at+1 {
		part, rest, _ := strings.Cut(s, ":")
		s = rest
		signed, n, frac, ok := splitNumber(part)
		if !ok || signed || part[0] == '+' || at < 2 && strings.Contains(part, ".") || at > 0 && n > 59 && !(at == 2 && n == 60) {
			return false
		}
		total.add(&total.micros, n, [...]int64{usecHour, usecMinute, usecSecond}[at])
		total.addFrac(frac, usecSecond)
	}
	if neg {
		total.micros = -total.micros
	}
	a.ok = a.ok && total.ok
	a.micros = total.micros
	return true
}

func cutSign(s string) (neg bool, rest string) {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		return s[0] == '-', s[1:]
	}
	return false, s
}

// yearMonth reads [-]y-m.
func (a *intervalSum) yearMonth(s string) bool {
	neg, s := cutSign(s)
	y, m, _ := strings.Cut(s, "-")
	yn, err1 := strconv.ParseUint(y, 10, 31)
	mn, err2 := strconv.ParseUint(m, 10, 31)
	if err1 != nil || err2 != nil || mn > 11 {
		return false
	}
	n := int64(yn*12 + mn)
	if neg {
		n = -n
	}
	a.add(&a.months, n, 1)
	return true
}

// iso reads ISO 8601's form after the P.
func (a *intervalSum) iso(s string) bool {
	clock, used := false, false
	for s != "" {
		if s[0] == 'T' {
			clock, s = true, s[1:]
			continue
		}
		n := 0
		for n < len(s) && (isDigit(s[n]) || strings.IndexByte("+-.", s[n]) >= 0) {
			n++
		}
		if n == 0 || n == len(s) {
			return false
		}
		u := isoUnit(s[n], clock)
		if u == NoUnit || !a.number(s[:n], u) {
			return false
		}
		used, s = true, s[n+1:]
	}
	return used
}

func isoUnit(c byte, clock bool) Unit {
	switch {
	case clock && c == 'H':
		return Hour
	case clock && c == 'M':
		return Minute
	case clock && c == 'S':
		return Second
	case clock:
	case c == 'Y':
		return Year
	case c == 'M':
		return Month
	case c == 'W':
		return Week
	case c == 'D':
		return Day
	}
	return NoUnit
}

// value checks the range and drops the fields below low, as PostgreSQL does.
func (a *intervalSum) value(low Unit) (IntervalValue, error) {
	if !a.ok || a.months > math.MaxInt32 || a.months < math.MinInt32 || a.days > math.MaxInt32 || a.days < math.MinInt32 {
		return IntervalValue{}, ErrIntervalRange
	}
	switch low {
	case Year:
		a.months = a.months / 12 * 12
		a.days, a.micros = 0, 0
	case Month, Quarter:
		a.days, a.micros = 0, 0
	case Day, Week:
		a.micros = 0
	case Hour:
		a.micros = a.micros / usecHour * usecHour
	case Minute:
		a.micros = a.micros / usecMinute * usecMinute
	}
	return IntervalValue{Months: int32(a.months), Days: int32(a.days), Micros: a.micros}, nil
}
