package types

import (
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "0 s": 0, "500ms": 500 * time.Millisecond, "250 ms": 250 * time.Millisecond, "10 SEC": 10 * time.Second,
		" 5 seconds ": 5 * time.Second, "1 min": time.Minute, "1min": time.Minute, "1m30s": 90 * time.Second,
		"1.5 HOURS": 90 * time.Minute, "2 days": 48 * time.Hour, "1 d": 24 * time.Hour, "1.5s": 1500 * time.Millisecond,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "10", "soon", "1 fortnight", "s", "-1 s", "-5s", "1..5 s", "1e30 days", "99999999999999 days"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}
