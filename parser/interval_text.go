package parser

import (
	"math"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// ParseInterval reads PostgreSQL's text form of an interval ('1 day 02:03:04',
// '5 seconds', '1-2', 'P1DT2H', '3 hours ago') with a unit of seconds for a bare
// number. Its errors have no position.
func ParseInterval(text string) (types.IntervalValue, error) {
	v, bad := readInterval(text, noUnit, noUnit)
	switch bad {
	case "":
		return v, nil
	case outOfRange:
		return v, sqlerr.New(sqlerr.CodeIntervalOverflow, 0, `interval field value out of range: "%s"`, text)
	}
	return v, sqlerr.New(sqlerr.CodeDatetimeFormat, 0, `invalid input syntax for type interval: "%s"`, text)
}

const (
	badSyntax  = "syntax"
	outOfRange = "range"
)

// readInterval reads text in the way of PostgreSQL: fields from right to left, so
// that a number without unit takes it from what stands right of it, at the end from
// low. high and low are the units after the literal, low the smallest field kept.
func readInterval(text string, high, low unit) (types.IntervalValue, string) {
	acc := intervalSum{ok: true}
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "P") {
		if !acc.iso(text[1:]) {
			return types.IntervalValue{}, badSyntax
		}
		return acc.value(low)
	}
	fields, ok := intervalFields(text)
	if !ok || len(fields) == 0 {
		return types.IntervalValue{}, badSyntax
	}
	next := second
	if low != noUnit {
		next = low
	}
	used, ago := 0, false
	explicit := noUnit
	for i := len(fields) - 1; i >= 0; i-- {
		f := fields[i]
		switch {
		case f == "@" && i == 0:
		case f == "ago" && i == len(fields)-1:
			ago, next = true, noUnit
		case isAlpha(f[0]):
			u, known := unitNames[f]
			if !known || explicit != noUnit {
				return types.IntervalValue{}, badSyntax
			}
			explicit = u
		case strings.Contains(f, ":"):
			if explicit != noUnit || !acc.once(hour, minute, second, millisecond, microsecond) || !acc.clock(f, high == minute && low == second) {
				return types.IntervalValue{}, badSyntax
			}
			next = day
			used++
		case strings.Contains(f[1:], "-"):
			if explicit != noUnit || !acc.once(month) || !acc.yearMonth(f) {
				return types.IntervalValue{}, badSyntax
			}
			next = noUnit
			used++
		default:
			u := explicit
			if u == noUnit {
				u = next
			}
			next = noUnit
			if u == hour {
				next = day
			}
			if u == noUnit || !acc.onceNumber(f, u) || !acc.number(f, u) {
				return types.IntervalValue{}, badSyntax
			}
			explicit = noUnit
			used++
		}
	}
	if used == 0 || explicit != noUnit {
		return types.IntervalValue{}, badSyntax
	}
	if ago {
		acc.months, acc.days, acc.micros = -acc.months, -acc.days, -acc.micros
	}
	return acc.value(low)
}

// intervalFields cuts text into numbers, clock times and words.
func intervalFields(text string) ([]string, bool) {
	var out []string
	for i := 0; i < len(text); {
		c, start := text[i], i
		switch {
		case isSpace(c):
			i++
			continue
		case isAlpha(c):
			for i < len(text) && isAlpha(text[i]) {
				i++
			}
		case isDigit(c), c == '.', c == '+', c == '-':
			for i++; i < len(text) && (isDigit(text[i]) || strings.IndexByte(".:-", text[i]) >= 0); {
				i++
			}
		case c == '@':
			i++
		default:
			return nil, false
		}
		out = append(out, strings.ToLower(text[start:i]))
	}
	return out, true
}

func isAlpha(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// intervalSum adds up fields; ok turns false when one does not fit.
type intervalSum struct {
	months, days, micros int64
	ok                   bool
	// seen has a bit for each unit given so far.
	seen uint32
}

// once notes units; it is false when one of them was given before.
func (a *intervalSum) once(units ...unit) bool {
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
func (a *intervalSum) onceNumber(s string, u unit) bool {
	if u == second && strings.Contains(s, ".") {
		return a.once(second, millisecond, microsecond)
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
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg, s = s[0] == '-', s[1:]
	}
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

func (a *intervalSum) number(s string, u unit) bool {
	_, n, frac, ok := splitNumber(s)
	if !ok {
		return false
	}
	switch u {
	case microsecond:
		a.add(&a.micros, n, 1)
		a.addFrac(frac, 1)
	case millisecond:
		a.add(&a.micros, n, 1000)
		a.addFrac(frac, 1000)
	case second:
		a.add(&a.micros, n, usecSecond)
		a.addFrac(frac, usecSecond)
	case minute:
		a.add(&a.micros, n, usecMinute)
		a.addFrac(frac, usecMinute)
	case hour:
		a.add(&a.micros, n, usecHour)
		a.addFrac(frac, usecHour)
	case day:
		a.add(&a.days, n, 1)
		a.addFrac(frac, usecDay)
	case week:
		a.add(&a.days, n, 7)
		a.addDays(frac * 7)
	case month:
		a.add(&a.months, n, 1)
		a.addDays(frac * 30)
	case quarter:
		a.add(&a.months, n, 3)
		a.addMonths(frac * 3)
	case year:
		a.add(&a.months, n, 12)
		a.addMonths(frac * 12)
	case decade:
		a.add(&a.months, n, 120)
		a.addMonths(frac * 120)
	case century:
		a.add(&a.months, n, 1200)
		a.addMonths(frac * 1200)
	case millennium:
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

// clock reads [-]h:m[:s[.f]], or m:s with minuteSecond.
func (a *intervalSum) clock(s string, minuteSecond bool) bool {
	neg := s[0] == '-'
	parts := strings.Split(strings.TrimLeft(s, "+-"), ":")
	if len(parts) > 3 {
		return false
	}
	if len(parts) == 2 && (minuteSecond || strings.Contains(parts[1], ".")) {
		parts = append([]string{"0"}, parts...)
	}
	var total intervalSum
	total.ok = true
	for i, part := range parts {
		_, n, frac, ok := splitNumber(part)
		if !ok || i < 2 && strings.Contains(part, ".") || i > 0 && (n > 59 && !(i == 2 && n == 60)) || part[0] == '-' || part[0] == '+' {
			return false
		}
		total.add(&total.micros, n, [...]int64{usecHour, usecMinute, usecSecond}[i])
		total.addFrac(frac, usecSecond)
	}
	if neg {
		total.micros = -total.micros
	}
	a.ok = a.ok && total.ok
	a.add(&a.micros, total.micros, 1)
	return true
}

// yearMonth reads [-]y-m.
func (a *intervalSum) yearMonth(s string) bool {
	neg := s[0] == '-'
	y, m, _ := strings.Cut(strings.TrimLeft(s, "+-"), "-")
	yn, err1 := strconv.ParseInt(y, 10, 32)
	mn, err2 := strconv.ParseInt(m, 10, 32)
	if err1 != nil || err2 != nil || mn > 11 || mn < 0 {
		return false
	}
	n := yn*12 + mn
	if neg {
		n = -n
	}
	a.add(&a.months, n, 1)
	return true
}

// iso reads ISO 8601's form after the P.
func (a *intervalSum) iso(s string) bool {
	date := map[byte]unit{'Y': year, 'M': month, 'W': week, 'D': day}
	clock := map[byte]unit{'H': hour, 'M': minute, 'S': second}
	units, used := date, false
	for s != "" {
		if s[0] == 'T' {
			units, s = clock, s[1:]
			continue
		}
		n := 0
		for n < len(s) && (isDigit(s[n]) || strings.IndexByte("+-.", s[n]) >= 0) {
			n++
		}
		if n == 0 || n == len(s) {
			return false
		}
		u, ok := units[s[n]]
		if !ok || !a.number(s[:n], u) {
			return false
		}
		used, s = true, s[n+1:]
	}
	return used
}

// value checks the range and drops the fields below low, as PostgreSQL does.
func (a *intervalSum) value(low unit) (types.IntervalValue, string) {
	if !a.ok || a.months > math.MaxInt32 || a.months < math.MinInt32 || a.days > math.MaxInt32 || a.days < math.MinInt32 {
		return types.IntervalValue{}, outOfRange
	}
	switch low {
	case year:
		a.months = a.months / 12 * 12
		a.days, a.micros = 0, 0
	case month, quarter:
		a.days, a.micros = 0, 0
	case day, week:
		a.micros = 0
	case hour:
		a.micros = a.micros / usecHour * usecHour
	case minute:
		a.micros = a.micros / usecMinute * usecMinute
	}
	return types.IntervalValue{Months: int32(a.months), Days: int32(a.days), Micros: a.micros}, ""
}

// FormatInterval prints an interval in PostgreSQL's default style: "1 day 02:03:04".
func FormatInterval(v types.IntervalValue) string {
	var parts []string
	negative := false
	part := func(n int64, one string) {
		if n == 0 {
			return
		}
		s := strconv.FormatInt(n, 10)
		if n > 0 && negative {
			s = "+" + s
		}
		negative = n < 0
		if n != 1 {
			one += "s"
		}
		parts = append(parts, s+" "+one)
	}
	part(int64(v.Months/12), "year")
	part(int64(v.Months%12), "mon")
	part(int64(v.Days), "day")
	if v.Micros != 0 || len(parts) == 0 {
		us, sign := uint64(v.Micros), ""
		if v.Micros < 0 {
			us, sign = -us, "-"
		} else if negative {
			sign = "+"
		}
		sec := us / 1e6
		s := sign + pad2(sec/3600) + ":" + pad2(sec/60%60) + ":" + pad2(sec%60)
		if frac := us % 1e6; frac != 0 {
			digits := strconv.FormatUint(1e6+frac, 10)[1:]
			s += "." + strings.TrimRight(digits, "0")
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

func pad2(n uint64) string {
	if n < 10 {
		return "0" + strconv.FormatUint(n, 10)
	}
	return strconv.FormatUint(n, 10)
}
