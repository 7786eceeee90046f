package engine

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// parseDuration reads Go's form ("1m30s") and words ("5 seconds", "1 min").
func parseDuration(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return d, nil
	}
	num, unit, ok := strings.Cut(s, " ")
	if !ok {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseFloat(num, 64)
	if err != nil {
		return 0, strconv.ErrSyntax
	}
	one, ok := durationUnit(strings.ToLower(strings.TrimSpace(unit)))
	if d := n * float64(one); ok && d >= 0 && d < math.MaxInt64 {
		return time.Duration(d), nil
	}
	return 0, strconv.ErrSyntax
}

func durationUnit(word string) (time.Duration, bool) {
	switch word {
	case "ms", "millisecond", "milliseconds":
		return time.Millisecond, true
	case "s", "sec", "secs", "second", "seconds":
		return time.Second, true
	case "min", "mins", "minute", "minutes":
		return time.Minute, true
	case "h", "hour", "hours":
		return time.Hour, true
	case "d", "day", "days":
		return 24 * time.Hour, true
	}
	return 0, false
}
