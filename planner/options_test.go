package planner

import (
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "0 s": 0, "500 ms": 500 * time.Millisecond, "10 s": 10 * time.Second, "10 SEC": 10 * time.Second,
		"1 min": time.Minute, "1m30s": 90 * time.Second, "2 hours": 2 * time.Hour, "1 d": 24 * time.Hour, "1.5s": 1500 * time.Millisecond,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "10", "soon", "1 fortnight", "s", "1.5 d"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}

func TestExpand(t *testing.T) {
	vars := func(n string) (string, bool) { return "<" + n + ">", n != "C" }
	for in, want := range map[string]string{
		"": "", "x": "x", "${A}": "<A>", "a${A}b${B}c": "a<A>b<B>c", "${C}${A}": "${C}<A>", "${": "${", "$A": "$A",
	} {
		if got := expand(in, vars); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
