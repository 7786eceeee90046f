package expr

import (
	"fmt"
	"strings"

	"github.com/streamsql/streamsql/internal/vec"
)

// timePattern is a compiled pattern: literal texts and fields.
type timePattern struct {
	parts []timePart
	unit  int64 // microseconds within which the text does not change
}

// timePart is a literal text, or a field printed by print.
type timePart struct {
	text  string
	print func(dst []byte, t *brokenTime) []byte
}

// brokenTime is a timestamp in parts.
type brokenTime struct {
	t                int64
	year, month, day int
	us               int64 // of the day
}

func (p timePattern) append(dst []byte, t int64) []byte {
	days, us := vec.SplitMicros(t)
	y, m, d := vec.CivilFromDays(days)
	b := brokenTime{t: t, year: y, month: m, day: d, us: us}
	for i := range p.parts {
		if f := p.parts[i].print; f != nil {
			dst = f(dst, &b)
		} else {
			dst = append(dst, p.parts[i].text...)
		}
	}
	return dst
}

func (p *timePattern) literal(s string) { p.parts = append(p.parts, timePart{text: s}) }

func (p *timePattern) field(unit int64, f func(dst []byte, t *brokenTime) []byte) {
	p.unit = min(p.unit, unit)
	p.parts = append(p.parts, timePart{print: f})
}

// number adds a field printed with at least width digits.
func (p *timePattern) number(unit int64, width int, f func(t *brokenTime) int64) {
	p.field(unit, func(dst []byte, t *brokenTime) []byte { return appendPadded(dst, f(t), width) })
}

func appendPadded(dst []byte, n int64, width int) []byte {
	if n < 0 {
		dst = append(dst, '-')
		n = -n
	}
	limit := int64(1)
	for range width - 1 {
		limit *= 10
	}
	for ; n < limit && limit > 1; limit /= 10 {
		dst = append(dst, '0')
	}
	return vec.AppendInt(dst, n)
}

var (
	monthNames = [...]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
	dayNames   = [...]string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
)

func yearOf(t *brokenTime) int64  { return int64(t.year) }
func monthOf(t *brokenTime) int64 { return int64(t.month) }
func dayOf(t *brokenTime) int64   { return int64(t.day) }
func hour24(t *brokenTime) int64  { return t.us / hour }
func minOf(t *brokenTime) int64   { return t.us / minute % 60 }
func secOf(t *brokenTime) int64   { return t.us / second % 60 }
func doyOf(t *brokenTime) int64   { return fieldOf("doy")(t.t) }
func hour12(t *brokenTime) int64  { return (hour24(t)+11)%12 + 1 }

func (p *timePattern) month(short bool, change func(string) string) {
	p.field(day, func(dst []byte, t *brokenTime) []byte { return appendName(dst, monthNames[t.month-1], short, change) })
}

func (p *timePattern) weekday(short bool, change func(string) string) {
	p.field(day, func(dst []byte, t *brokenTime) []byte {
		return appendName(dst, dayNames[weekday(t.t)-1], short, change)
	})
}

func appendName(dst []byte, name string, short bool, change func(string) string) []byte {
	if short {
		name = name[:3]
	}
	if change != nil {
		name = change(name)
	}
	return append(dst, name...)
}

func (p *timePattern) half(lower bool) {
	p.field(hour, func(dst []byte, t *brokenTime) []byte {
		s := "AM"
		if t.us >= 12*hour {
			s = "PM"
		}
		if lower {
			s = strings.ToLower(s)
		}
		return append(dst, s...)
	})
}

// fraction adds n digits of the second's fraction.
func (p *timePattern) fraction(n int) {
	unit := second
	for range min(n, 6) {
		unit /= 10
	}
	p.field(unit, func(dst []byte, t *brokenTime) []byte {
		dst = appendPadded(dst, t.us%second/unit, min(n, 6))
		for range n - 6 {
			dst = append(dst, '0')
		}
		return dst
	})
}

// compileDateFormat reads a pattern of DATE_FORMAT.
func compileDateFormat(s string) (timePattern, error) {
	if strings.Contains(s, "%") {
		return compileMySQL(s)
	}
	return compileJava(s)
}

// compileJava reads the letters of Java's DateTimeFormatter that Flink's patterns use.
func compileJava(s string) (timePattern, error) {
	p := timePattern{unit: day}
	for i := 0; i < len(s); {
		c := s[i]
		if c == '\'' {
			text, n, ok := javaQuoted(s[i:])
			if !ok {
				return p, fmt.Errorf("pattern %q ends with an open quote", s)
			}
			p.literal(text)
			i += n
			continue
		}
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z') {
			p.literal(s[i : i+1])
			i++
			continue
		}
		n := 1
		for i+n < len(s) && s[i+n] == c {
			n++
		}
		if !p.javaField(c, n) {
			return p, fmt.Errorf("pattern letter %q of %q is not supported", s[i:i+n], s)
		}
		i += n
	}
	return p, nil
}

func javaQuoted(s string) (text string, n int, ok bool) {
	if strings.HasPrefix(s, "''") {
		return "'", 2, true
	}
	end := strings.IndexByte(s[1:], '\'')
	if end < 0 {
		return "", 0, false
	}
	return s[1 : 1+end], end + 2, true
}

func (p *timePattern) javaField(c byte, n int) bool {
	switch c {
	case 'y', 'u':
		if n == 2 {
			p.number(day, 2, func(t *brokenTime) int64 { return int64((t.year%100 + 100) % 100) })
		} else {
			p.number(day, n, yearOf)
		}
	case 'M', 'L':
		switch n {
		case 1, 2:
			p.number(day, n, monthOf)
		case 3, 4:
			p.month(n == 3, nil)
		default:
			return false
		}
	case 'd':
		p.number(day, n, dayOf)
	case 'D':
		p.number(day, n, doyOf)
	case 'E':
		p.weekday(n < 4, nil)
	case 'e':
		p.number(day, n, func(t *brokenTime) int64 { return weekday(t.t)%7 + 1 })
	case 'H':
		p.number(hour, n, hour24)
	case 'h':
		p.number(hour, n, hour12)
	case 'k':
		p.number(hour, n, func(t *brokenTime) int64 { return (hour24(t)+23)%24 + 1 })
	case 'K':
		p.number(hour, n, func(t *brokenTime) int64 { return hour24(t) % 12 })
	case 'm':
		p.number(minute, n, minOf)
	case 's':
		p.number(second, n, secOf)
	case 'S':
		p.fraction(n)
	case 'a':
		p.half(false)
	default:
		return false
	}
	return true
}

// compileMySQL reads MySQL's % letters.
func compileMySQL(s string) (timePattern, error) {
	p := timePattern{unit: day}
	for i := 0; i < len(s); i++ {
		if s[i] != '%' || i+1 == len(s) {
			p.literal(s[i : i+1])
			continue
		}
		i++
		switch s[i] {
		case 'Y':
			p.number(day, 4, yearOf)
		case 'y':
			p.number(day, 2, func(t *brokenTime) int64 { return int64((t.year%100 + 100) % 100) })
		case 'm':
			p.number(day, 2, monthOf)
		case 'c':
			p.number(day, 1, monthOf)
		case 'd':
			p.number(day, 2, dayOf)
		case 'e':
			p.number(day, 1, dayOf)
		case 'j':
			p.number(day, 3, doyOf)
		case 'M':
			p.month(false, nil)
		case 'b':
			p.month(true, nil)
		case 'W':
			p.weekday(false, nil)
		case 'a':
			p.weekday(true, nil)
		case 'w':
			p.number(day, 1, func(t *brokenTime) int64 { return weekday(t.t) % 7 })
		case 'v':
			p.number(day, 2, func(t *brokenTime) int64 { _, w := isoWeek(t.t); return w })
		case 'x':
			p.number(day, 4, func(t *brokenTime) int64 { y, _ := isoWeek(t.t); return y })
		case 'H':
			p.number(hour, 2, hour24)
		case 'k':
			p.number(hour, 1, hour24)
		case 'h', 'I':
			p.number(hour, 2, hour12)
		case 'l':
			p.number(hour, 1, hour12)
		case 'i':
			p.number(minute, 2, minOf)
		case 's', 'S':
			p.number(second, 2, secOf)
		case 'f':
			p.fraction(6)
		case 'p':
			p.half(false)
		case 'T':
			p.number(hour, 2, hour24)
			p.literal(":")
			p.number(minute, 2, minOf)
			p.literal(":")
			p.number(second, 2, secOf)
		case '%':
			p.literal("%")
		default:
			return p, fmt.Errorf("pattern %q of %q is not supported", s[i-1:i+1], s)
		}
	}
	return p, nil
}
