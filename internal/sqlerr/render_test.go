package sqlerr

import "testing"

func TestNearest(t *testing.T) {
	for _, c := range []struct {
		name       string
		candidates []string
		want       string
	}{
		{"s", []string{"t", "a"}, ""},
		{"s", []string{"t", "S"}, "S"},
		{"id", []string{"xy", "ix"}, "ix"},
		{"tt", []string{"cd", "t"}, "t"},
		{"bids", []string{"asks", "bid"}, "bid"},
		{"orders", []string{"order", "borders", "odor"}, "order"},
		{"orders", nil, ""},
	} {
		if got := Nearest(c.name, c.candidates); got != c.want {
			t.Errorf("%q among %q: %q, want %q", c.name, c.candidates, got, c.want)
		}
	}
}
