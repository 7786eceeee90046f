package expr

import (
	"fmt"
	"strings"
)

// charField is one template of to_char; fm is the prefix FM, which drops padding.
type charField struct {
	name string
	add  func(p *timePattern, fm bool)
	fold bool // lower case is the same template
}

func charNumber(name string, unit int64, width int, f func(*brokenTime) int64) charField {
	return charField{name, func(p *timePattern, fm bool) {
		if fm {
			p.number(unit, 1, f)
		} else {
			p.number(unit, width, f)
		}
	}, true}
}

// charName pads a full name to nine characters, as PostgreSQL does without FM.
func charName(name string, weekday bool, change func(string) string) charField {
	return charField{name, func(p *timePattern, fm bool) {
		padded := func(s string) string {
			if change != nil {
				s = change(s)
			}
			if !fm {
				s += strings.Repeat(" ", 9-len(s))
			}
			return s
		}
		if weekday {
			p.weekday(false, padded)
		} else {
			p.month(false, padded)
		}
	}, false}
}

// charFields is in the order in which templates are tried: longer before shorter.
func charFields() []charField {
	short := func(name string, weekday bool, change func(string) string) charField {
		return charField{name, func(p *timePattern, _ bool) {
			if weekday {
				p.weekday(true, change)
			} else {
				p.month(true, change)
			}
		}, false}
	}
	half := func(name string, lower bool) charField {
		return charField{name, func(p *timePattern, _ bool) { p.half(lower) }, false}
	}
	shown := func(t *brokenTime) int64 {
		if t.year <= 0 {
			return int64(1 - t.year)
		}
		return int64(t.year)
	}
	week := func(t *brokenTime) int64 { _, w := isoWeek(t.t); return w }
	return []charField{
		charNumber("HH24", hour, 2, hour24), charNumber("HH12", hour, 2, hour12), charNumber("HH", hour, 2, hour12),
		charNumber("MI", minute, 2, minOf), charNumber("SS", second, 2, secOf),
		{"MS", func(p *timePattern, _ bool) { p.fraction(3) }, true}, {"US", func(p *timePattern, _ bool) { p.fraction(6) }, true},
		charNumber("IYYY", day, 4, func(t *brokenTime) int64 { y, _ := isoWeek(t.t); return y }),
		charNumber("YYYY", day, 4, shown), charNumber("YY", day, 2, func(t *brokenTime) int64 { return shown(t) % 100 }),
		charName("MONTH", false, strings.ToUpper), charName("Month", false, nil), charName("month", false, strings.ToLower),
		short("MON", false, strings.ToUpper), short("Mon", false, nil), short("mon", false, strings.ToLower),
		charNumber("MM", day, 2, monthOf),
		charName("DAY", true, strings.ToUpper), charName("Day", true, nil), charName("day", true, strings.ToLower),
		short("DY", true, strings.ToUpper), short("Dy", true, nil), short("dy", true, strings.ToLower),
		charNumber("DDD", day, 3, doyOf), charNumber("DD", day, 2, dayOf),
		charNumber("D", day, 1, func(t *brokenTime) int64 { return weekday(t.t)%7 + 1 }),
		charNumber("IW", day, 2, week), charNumber("ID", day, 1, func(t *brokenTime) int64 { return weekday(t.t) }),
		charNumber("WW", day, 2, func(t *brokenTime) int64 { return (doyOf(t)-1)/7 + 1 }),
		charNumber("Q", day, 1, func(t *brokenTime) int64 { return (monthOf(t) + 2) / 3 }),
		half("AM", false), half("PM", false), half("am", true), half("pm", true),
	}
}

// compileToChar reads a pattern of to_char. A letter that starts no template is printed
// as it is, as in PostgreSQL; templates that PostgreSQL has beyond the list are refused.
func compileToChar(s string) (timePattern, error) {
	p := timePattern{unit: day}
	fields := charFields()
next:
	for i := 0; i < len(s); {
		if s[i] == '"' {
			end := strings.IndexByte(s[i+1:], '"')
			if end < 0 {
				end = len(s) - i - 1
			}
			p.literal(s[i+1 : i+1+end])
			i = min(i+end+2, len(s))
			continue
		}
		rest := s[i:]
		fm := strings.HasPrefix(rest, "FM")
		if fm {
			rest = rest[2:]
		}
		for _, f := range fields {
			if strings.HasPrefix(rest, f.name) || f.fold && strings.HasPrefix(strings.ToUpper(rest), f.name) {
				f.add(&p, fm)
				i = len(s) - len(rest) + len(f.name)
				continue next
			}
		}
		if fm || unsupportedTemplate(rest) {
			return p, fmt.Errorf("pattern %q of %q is not supported", s[i:min(i+4, len(s))], s)
		}
		p.literal(s[i : i+1])
		i++
	}
	return p, nil
}

// unsupportedTemplate reports a template of PostgreSQL's that is not in the list.
func unsupportedTemplate(s string) bool {
	up := strings.ToUpper(s)
	for _, t := range []string{"Y", "CC", "RM", "TZ", "OF", "J", "I", "W", "A.M.", "P.M.", "BC", "AD", "B.C.", "A.D.", "SSSS", "FF", "TH"} {
		if strings.HasPrefix(up, t) {
			return true
		}
	}
	return false
}
