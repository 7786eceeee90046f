package vec

// AppendDate appends days since 1970-01-01 as YYYY-MM-DD, with BC where needed.
func AppendDate(dst []byte, days int64) []byte {
	y, m, d := CivilFromDays(days)
	dst = appendCivil(dst, y, m, d)
	if y <= 0 {
		dst = append(dst, " BC"...)
	}
	return dst
}

func appendCivil(dst []byte, y, m, d int) []byte {
	if y <= 0 {
		y = 1 - y
	}
	if y < 10000 {
		dst = append(dst, byte('0'+y/1000), byte('0'+y/100%10), byte('0'+y/10%10), byte('0'+y%10))
	} else {
		dst = AppendInt(dst, int64(y))
	}
	return append(dst, '-', byte('0'+m/10), byte('0'+m%10), '-', byte('0'+d/10), byte('0'+d%10))
}

// AppendTime appends microseconds since midnight as HH:MM:SS[.ffffff].
func AppendTime(dst []byte, micros int64) []byte {
	s := micros / microsPerSecond
	h, m, sec := s/3600, s/60%60, s%60
	dst = append(dst, byte('0'+h/10), byte('0'+h%10), ':', byte('0'+m/10), byte('0'+m%10), ':',
		byte('0'+sec/10), byte('0'+sec%10))
	return appendFraction(dst, micros%microsPerSecond)
}

func appendFraction(dst []byte, us int64) []byte {
	if us == 0 {
		return dst
	}
	dst = append(dst, '.')
	for div := int64(100_000); us > 0; div /= 10 {
		dst = append(dst, byte('0'+us/div))
		us %= div
	}
	return dst
}

// AppendTimestamp appends microseconds since the epoch as YYYY-MM-DD HH:MM:SS[.ffffff].
func AppendTimestamp(dst []byte, t int64) []byte {
	dst, bc := appendTimestampParts(dst, t)
	if bc {
		dst = append(dst, " BC"...)
	}
	return dst
}

// AppendTimestampTZ is AppendTimestamp with the zone, +00.
func AppendTimestampTZ(dst []byte, t int64) []byte {
	dst, bc := appendTimestampParts(dst, t)
	dst = append(dst, "+00"...)
	if bc {
		dst = append(dst, " BC"...)
	}
	return dst
}

func appendTimestampParts(dst []byte, t int64) (_ []byte, bc bool) {
	days, us := SplitMicros(t)
	y, m, d := CivilFromDays(days)
	dst = append(appendCivil(dst, y, m, d), ' ')
	return AppendTime(dst, us), y <= 0
}

// timeScanner reads the parts of a date and time text.
type timeScanner struct {
	s []byte
	i int
}

func (p *timeScanner) peek() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func (p *timeScanner) done() bool { return p.i == len(p.s) }

func (p *timeScanner) blanks() {
	for p.i < len(p.s) && isBlank(p.s[p.i]) {
		p.i++
	}
}

// number reads between lo and hi digits.
func (p *timeScanner) number(lo, hi int) (n int, ok bool) {
	start := p.i
	for p.i < len(p.s) && p.i-start < hi && isDigit(p.s[p.i]) {
		n = n*10 + int(p.s[p.i]-'0')
		p.i++
	}
	return n, p.i-start >= lo
}

// digits counts the digits that follow.
func (p *timeScanner) digits() int {
	n := 0
	for p.i+n < len(p.s) && isDigit(p.s[p.i+n]) {
		n++
	}
	return n
}

// date reads YYYY-MM-DD, YYYY/MM/DD or YYYYMMDD.
func (p *timeScanner) date() (y, m, d int, f Fault) {
	var ok bool
	switch n := p.digits(); {
	case n == 8 && p.separator(8) == 0:
		y, _ = p.number(4, 4)
		m, _ = p.number(2, 2)
		d, _ = p.number(2, 2)
	case n >= 4 && n <= 6:
		y, _ = p.number(4, 6)
		sep := p.peek()
		if sep != '-' && sep != '/' {
			return 0, 0, 0, BadSyntax
		}
		p.i++
		if m, ok = p.number(1, 2); !ok || p.peek() != sep {
			return 0, 0, 0, BadSyntax
		}
		p.i++
		if d, ok = p.number(1, 2); !ok {
			return 0, 0, 0, BadSyntax
		}
	default:
		return 0, 0, 0, BadSyntax
	}
	if y == 0 || m < 1 || m > 12 || d < 1 || d > DaysInMonth(y, m) {
		return 0, 0, 0, OutOfRange
	}
	return y, m, d, Fine
}

// separator returns the date separator that stands n bytes on, or 0.
func (p *timeScanner) separator(n int) byte {
	if p.i+n < len(p.s) && (p.s[p.i+n] == '-' || p.s[p.i+n] == '/') {
		return p.s[p.i+n]
	}
	return 0
}

// clock reads HH:MM[:SS[.f…]] or HHMM[SS[.f…]]; 24:00:00 and second 60 are taken.
func (p *timeScanner) clock() (micros int64, f Fault) {
	n := p.digits()
	h, ok := p.number(1, 2)
	if !ok {
		return 0, BadSyntax
	}
	var m, s int
	switch {
	case n == 4 || n == 6:
		m, _ = p.number(2, 2)
		if n == 6 {
			s, _ = p.number(2, 2)
		}
	case p.peek() == ':':
		p.i++
		if m, ok = p.number(1, 2); !ok {
			return 0, BadSyntax
		}
		if p.peek() == ':' {
			p.i++
			if s, ok = p.number(1, 2); !ok {
				return 0, BadSyntax
			}
		}
	default:
		return 0, BadSyntax
	}
	us := int64(0)
	if p.peek() == '.' {
		p.i++
		us = p.fraction()
	}
	if isDigit(p.peek()) {
		return 0, BadSyntax
	}
	micros = int64(h)*microsPerHour + int64(m)*microsPerMinute + int64(s)*microsPerSecond + us
	if m > 59 || s > 60 || micros > MicrosPerDay {
		return 0, OutOfRange
	}
	return micros, Fine
}

// fraction reads the digits after the point of seconds; those beyond microseconds
// are cut off.
func (p *timeScanner) fraction() (us int64) {
	for unit := int64(100_000); isDigit(p.peek()); p.i++ {
		us += unit * int64(p.peek()-'0')
		unit /= 10
	}
	return us
}

// zone reads Z, UTC, GMT or ±HH[[:]MM[:SS]] and returns the offset east of UTC.
func (p *timeScanner) zone() (micros int64, f Fault) {
	sign := int64(1)
	switch c := p.peek(); c {
	case '+':
	case '-':
		sign = -1
	default:
		return p.zoneName()
	}
	p.i++
	n := p.digits()
	var h, m, s int
	switch {
	case n == 1 || n == 2:
		h, _ = p.number(1, 2)
		if p.peek() == ':' {
			var ok bool
			p.i++
			if m, ok = p.number(2, 2); !ok {
				return 0, BadSyntax
			}
			if p.peek() == ':' {
				p.i++
				if s, ok = p.number(2, 2); !ok {
					return 0, BadSyntax
				}
			}
		}
	case n == 4:
		h, _ = p.number(2, 2)
		m, _ = p.number(2, 2)
	default:
		return 0, BadSyntax
	}
	if h > 15 || m > 59 || s > 59 {
		return 0, OutOfRange
	}
	return sign * (int64(h)*microsPerHour + int64(m)*microsPerMinute + int64(s)*microsPerSecond), Fine
}

func (p *timeScanner) zoneName() (int64, Fault) {
	for _, name := range [...]string{"utc", "gmt", "zulu", "z"} {
		if p.word(name) {
			return 0, Fine
		}
	}
	return 0, BadSyntax
}

// word takes the word w, given in lower case, if it stands here in any case.
func (p *timeScanner) word(w string) bool {
	if len(p.s)-p.i < len(w) {
		return false
	}
	for k := range len(w) {
		if lowerByte(p.s[p.i+k]) != w[k] {
			return false
		}
	}
	p.i += len(w)
	return true
}

// ParseTimestamp reads a date with an optional time and zone in the forms of ISO 8601
// and PostgreSQL: T, t or blanks between date and time, seconds optional, Z, UTC or
// ±HH[[:]MM[:SS]]. The result is in UTC when the text has a zone (hasZone), so an
// offset is always applied. Digits beyond microseconds are cut off. Named zones other
// than UTC, GMT and Z are BadSyntax.
func ParseTimestamp(s []byte) (micros int64, hasZone bool, f Fault) {
	if t, ok := parsePlainTimestamp(s); ok {
		return t, false, Fine
	}
	p := timeScanner{s: trimBlanks(s)}
	y, m, d, f := p.date()
	if f != Fine {
		return 0, false, f
	}
	var clock, offset int64
	if c := p.peek(); c == 'T' || c == 't' || isBlank(c) {
		p.i++
		p.blanks()
		if isDigit(p.peek()) {
			if clock, f = p.clock(); f != Fine {
				return 0, false, f
			}
		} else if !isBlank(c) {
			return 0, false, BadSyntax
		}
	}
	p.blanks()
	if !p.done() && !p.atBC() {
		if offset, f = p.zone(); f != Fine {
			return 0, false, f
		}
		hasZone = true
		p.blanks()
	}
	if p.atBC() {
		p.i += 2
		y = 1 - y
	}
	if !p.done() {
		return 0, false, BadSyntax
	}
	if y < minYear || y > maxYear {
		return 0, false, OutOfRange
	}
	micros = DaysFromCivil(y, m, d)*MicrosPerDay + clock - offset
	if !TimestampInRange(micros) {
		return 0, false, OutOfRange
	}
	return micros, hasZone, Fine
}

func (p *timeScanner) atBC() bool {
	return p.i+2 == len(p.s) && lowerByte(p.s[p.i]) == 'b' && lowerByte(p.s[p.i+1]) == 'c'
}

// parsePlainTimestamp is the fast path for YYYY-MM-DD?HH:MM:SS with up to six digits
// of a fraction, without zone.
func parsePlainTimestamp(s []byte) (int64, bool) {
	if len(s) < 19 || len(s) > 26 || s[4] != '-' || s[7] != '-' || s[10] != ' ' && s[10] != 'T' ||
		s[13] != ':' || s[16] != ':' {
		return 0, false
	}
	y1, y2 := two(s, 0), two(s, 2)
	mo, d, h, mi, sec := two(s, 5), two(s, 8), two(s, 11), two(s, 14), two(s, 17)
	if (y1|y2|mo|d|h|mi|sec)&^127 != 0 {
		return 0, false
	}
	y := int(y1*100 + y2)
	if y == 0 || mo < 1 || mo > 12 || d < 1 || int(d) > DaysInMonth(y, int(mo)) || h > 23 || mi > 59 || sec > 59 {
		return 0, false
	}
	us, unit := int64(0), int64(100_000)
	for k := 19; k < len(s); k++ {
		if k == 19 {
			if s[k] != '.' {
				return 0, false
			}
			continue
		}
		if !isDigit(s[k]) {
			return 0, false
		}
		us += unit * int64(s[k]-'0')
		unit /= 10
	}
	return DaysFromCivil(y, int(mo), int(d))*MicrosPerDay + int64(h)*microsPerHour +
		int64(mi)*microsPerMinute + int64(sec)*microsPerSecond + us, true
}

// two reads two digits; a byte that is none makes the result larger than 127.
func two(s []byte, i int) uint32 {
	a, b := uint32(s[i])-'0', uint32(s[i+1])-'0'
	if a > 9 || b > 9 {
		return 1 << 10
	}
	return a*10 + b
}

// ParseDate reads a date as days since 1970-01-01; a time after it is dropped, as
// PostgreSQL does, and a zone with it.
func ParseDate(s []byte) (days int64, f Fault) {
	p := timeScanner{s: trimBlanks(s)}
	y, m, d, f := p.date()
	if f != Fine {
		return 0, f
	}
	if !p.done() {
		if _, _, f = ParseTimestamp(s); f != Fine {
			return 0, f
		}
		if last := len(p.s) - 2; lowerByte(p.s[last]) == 'b' && lowerByte(p.s[last+1]) == 'c' {
			y = 1 - y
		}
	}
	days = DaysFromCivil(y, m, d)
	if y < minYear || y > maxYear || !DateInRange(days) {
		return 0, OutOfRange
	}
	return days, Fine
}

// ParseTime reads HH:MM[:SS[.f…]] as microseconds since midnight; a zone is refused.
func ParseTime(s []byte) (micros int64, f Fault) {
	p := timeScanner{s: trimBlanks(s)}
	if micros, f = p.clock(); f == Fine && !p.done() {
		f = BadSyntax
	}
	return micros, f
}
