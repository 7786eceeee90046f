package types

import "strconv"

// Unit is a field of an interval, from small to large.
type Unit uint8

const (
	NoUnit Unit = iota
	Microsecond
	Millisecond
	Second
	Minute
	Hour
	Day
	Week
	Month
	Quarter
	Year
	Decade
	Century
	Millennium
)

const (
	usecSecond = int64(1e6)
	usecMinute = 60 * usecSecond
	usecHour   = 60 * usecMinute
	usecDay    = 24 * usecHour
)

// unitNames has PostgreSQL's names of the units, in lower case.
var unitNames = map[string]Unit{
	"us": Microsecond, "usec": Microsecond, "usecs": Microsecond, "usecond": Microsecond, "useconds": Microsecond,
	"microsecond": Microsecond, "microseconds": Microsecond,
	"ms": Millisecond, "msec": Millisecond, "msecs": Millisecond, "msecond": Millisecond, "mseconds": Millisecond,
	"millisecond": Millisecond, "milliseconds": Millisecond,
	"s": Second, "sec": Second, "secs": Second, "second": Second, "seconds": Second,
	"m": Minute, "min": Minute, "mins": Minute, "minute": Minute, "minutes": Minute,
	"h": Hour, "hr": Hour, "hrs": Hour, "hour": Hour, "hours": Hour,
	"d": Day, "day": Day, "days": Day,
	"w": Week, "week": Week, "weeks": Week,
	"mon": Month, "mons": Month, "month": Month, "months": Month,
	"qtr": Quarter, "quarter": Quarter, "quarters": Quarter,
	"y": Year, "yr": Year, "yrs": Year, "year": Year, "years": Year,
	"dec": Decade, "decs": Decade, "decade": Decade, "decades": Decade,
	"c": Century, "cent": Century, "century": Century, "centuries": Century,
	"mil": Millennium, "mils": Millennium, "millennium": Millennium, "millenniums": Millennium, "millennia": Millennium,
}

// UnitNamed finds a unit by a name in lower case, in the singular or plural or short.
func UnitNamed(name string) (Unit, bool) {
	u, ok := unitNames[name]
	return u, ok
}

// AppendInterval appends an interval in PostgreSQL's default style: 1 year 2 mons 3 days
// 04:05:06.789.
func AppendInterval(dst []byte, v IntervalValue) []byte {
	start, negative := len(dst), false
	part := func(n int64, one string) {
		if n == 0 {
			return
		}
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		if n > 0 && negative {
			dst = append(dst, '+')
		}
		negative = n < 0
		dst = append(append(strconv.AppendInt(dst, n, 10), ' '), one...)
		if n != 1 {
			dst = append(dst, 's')
		}
	}
	part(int64(v.Months/12), "year")
	part(int64(v.Months%12), "mon")
	part(int64(v.Days), "day")
	if v.Micros == 0 && len(dst) > start {
		return dst
	}
	if len(dst) > start {
		dst = append(dst, ' ')
	}
	us := uint64(v.Micros)
	if v.Micros < 0 {
		us = -us
		dst = append(dst, '-')
	} else if negative {
		dst = append(dst, '+')
	}
	sec := us / 1e6
	dst = append(twoDigits(dst, sec/3600), ':')
	dst = append(twoDigits(dst, sec/60%60), ':')
	dst = twoDigits(dst, sec%60)
	frac := us % 1e6
	if frac == 0 {
		return dst
	}
	at := len(dst)
	dst = strconv.AppendUint(dst, 1e6+frac, 10)
	dst[at] = '.'
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

func twoDigits(dst []byte, n uint64) []byte {
	if n < 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendUint(dst, n, 10)
}
