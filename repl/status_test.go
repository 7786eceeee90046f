package repl

import (
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{1400 * time.Millisecond, "1s"},
		{47*time.Hour + time.Minute, "47h1m0s"},
		{99744*time.Hour + 45*time.Minute, "4156 days"},
	} {
		if got := duration(c.d); got != c.want {
			t.Errorf("%d is shown as %q, want %q", c.d, got, c.want)
		}
	}
}
