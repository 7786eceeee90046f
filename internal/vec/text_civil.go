package vec

// Units of the time types, in microseconds.
const (
	microsPerSecond = int64(1_000_000)
	microsPerMinute = 60 * microsPerSecond
	microsPerHour   = 60 * microsPerMinute
	// MicrosPerDay is the length of a civil day.
	MicrosPerDay = 24 * microsPerHour
)

// Limits of DATE and TIMESTAMP: from 24 November 4714 BC, as in PostgreSQL, to the end of
// 294246, the last whole year in 64 bits.
const (
	minYear      = -4713
	maxYear      = 294246
	minTimestamp = -2440588 * MicrosPerDay
	maxTimestamp = 9223371244799999999
)

// DaysFromCivil gives the days from 1970-01-01 to a date of the proleptic Gregorian
// calendar; year 0 is 1 BC. A month or day out of range carries over.
// The algorithm is Hinnant's days_from_civil.
func DaysFromCivil(year, month, day int) int64 {
	y := int64(year)
	if month <= 2 {
		y--
	}
	era := floorDiv(y, 400)
	yoe := y - era*400
	mp := int64(month+9) % 12
	doy := (153*mp+2)/5 + int64(day) - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe - 719468
}

// CivilFromDays is the inverse of DaysFromCivil.
func CivilFromDays(days int64) (year, month, day int) {
	z := days + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = int(doy - (153*mp+2)/5 + 1)
	month = int(mp + 3)
	if month > 12 {
		month -= 12
	}
	y := yoe + era*400
	if month <= 2 {
		y++
	}
	return int(y), month, day
}

// DaysInMonth gives the length of a month.
func DaysInMonth(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// SplitMicros splits a timestamp into days since the epoch and microseconds of the
// day, rounding the days down.
func SplitMicros(t int64) (days, micros int64) {
	days = floorDiv(t, MicrosPerDay)
	return days, t - days*MicrosPerDay
}

// TruncateTick rounds t down to a multiple of tick.
func TruncateTick(t, tick int64) int64 {
	if tick == 1 {
		return t
	}
	r := t % tick
	if r < 0 {
		r += tick
	}
	return t - r
}

// TimestampInRange reports whether t is a timestamp that can be printed and sent to
// PostgreSQL.
func TimestampInRange(t int64) bool { return t >= minTimestamp && t <= maxTimestamp }

// DateInRange reports whether midnight of that day is a timestamp in range.
func DateInRange(days int64) bool {
	return days >= minTimestamp/MicrosPerDay && days <= maxTimestamp/MicrosPerDay
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
