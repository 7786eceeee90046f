package expr

import (
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// fieldOf gives the function that reads a field of a timestamp; second, milliseconds
// and epoch are in microseconds.
func fieldOf(u string) func(int64) int64 {
	civil := func(f func(y, m, d int) int64) func(int64) int64 {
		return func(t int64) int64 {
			days, _ := vec.SplitMicros(t)
			return f(vec.CivilFromDays(days))
		}
	}
	ofDay := func(f func(us int64) int64) func(int64) int64 {
		return func(t int64) int64 {
			_, us := vec.SplitMicros(t)
			return f(us)
		}
	}
	switch u {
	case "epoch":
		return func(t int64) int64 { return t }
	case "hour":
		return ofDay(func(us int64) int64 { return us / hour })
	case "minute":
		return ofDay(func(us int64) int64 { return us / minute % 60 })
	case "second", "milliseconds", "microseconds":
		return ofDay(func(us int64) int64 { return us % minute })
	case "year":
		return civil(func(y, _, _ int) int64 { return int64(shownYear(y)) })
	case "month":
		return civil(func(_, m, _ int) int64 { return int64(m) })
	case "day":
		return civil(func(_, _, d int) int64 { return int64(d) })
	case "quarter":
		return civil(func(_, m, _ int) int64 { return int64(m+2) / 3 })
	case "decade":
		return civil(func(y, _, _ int) int64 { return floorTo(int64(y), 10) })
	case "century":
		return civil(func(y, _, _ int) int64 { return era(int64(y), 100) })
	case "millennium":
		return civil(func(y, _, _ int) int64 { return era(int64(y), 1000) })
	case "doy":
		return func(t int64) int64 {
			days, _ := vec.SplitMicros(t)
			y, _, _ := vec.CivilFromDays(days)
			return days - vec.DaysFromCivil(y, 1, 1) + 1
		}
	case "dow":
		return func(t int64) int64 { return weekday(t) % 7 }
	case "isodow":
		return weekday
	case "week":
		return func(t int64) int64 { _, w := isoWeek(t); return w }
	}
	return func(t int64) int64 { y, _ := isoWeek(t); return int64(shownYear(int(y))) }
}

// shownYear is the year as PostgreSQL prints it: there is no year 0.
func shownYear(y int) int {
	if y <= 0 {
		return y - 1
	}
	return y
}

func floorTo(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// era is the century or millennium, counted from 1, of a year; before Christ from -1.
func era(y, length int64) int64 {
	if y > 0 {
		return (y + length - 1) / length
	}
	return -((length - 1 - (y - 1)) / length)
}

// weekday is 1 for Monday to 7 for Sunday.
func weekday(t int64) int64 {
	days, _ := vec.SplitMicros(t)
	w := (days + 3) % 7
	if w < 0 {
		w += 7
	}
	return w + 1
}

// isoWeek is the week by ISO 8601 and the year it belongs to.
func isoWeek(t int64) (year, week int64) {
	days, _ := vec.SplitMicros(t)
	thursday := days - weekday(t) + 4
	y, _, _ := vec.CivilFromDays(thursday)
	return int64(y), (thursday-vec.DaysFromCivil(y, 1, 1))/7 + 1
}

// intervalField reads a field of an interval; second, milliseconds and epoch are in
// microseconds.
func intervalField(u string, iv types.IntervalValue) (int64, bool) {
	years, months := int64(iv.Months/12), int64(iv.Months%12)
	switch u {
	case "epoch":
		return (years*36525*864+months*30*86400)*second + int64(iv.Days)*day + iv.Micros, true
	case "millennium":
		return years / 1000, true
	case "century":
		return years / 100, true
	case "decade":
		return years / 10, true
	case "year":
		return years, true
	case "quarter":
		return months/3 + 1, true
	case "month":
		return months, true
	case "day":
		return int64(iv.Days), true
	case "hour":
		return iv.Micros / hour, true
	case "minute":
		return iv.Micros / minute % 60, true
	case "second", "milliseconds", "microseconds":
		return iv.Micros % minute, true
	}
	return 0, false
}
