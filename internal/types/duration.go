package types

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseDuration reads Go's form ("1m30s") and a number with a word ("5 seconds",
// "1 min", "500ms"). Negative durations are refused.
func ParseDuration(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return d, nil
	}
	end := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end <= 0 {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseFloat(s[:end], 64)
	if err != nil {
		return 0, strconv.ErrSyntax
	}
	one, ok := durationUnit(strings.ToLower(strings.TrimSpace(s[end:])))
	if d := n * float64(one); ok && d >= 0 && d < math.MaxInt64 {
		return time.Duration(d), nil
	}
	return 0, strconv.ErrSyntax
}

func durationUnit(word string) (time.Duration, bool) {
	switch word {
	case "ms", "millis", "millisecond", "milliseconds":
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
