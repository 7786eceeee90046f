package runtime

import "testing"

// TestStalls: what no longer waits takes its own word away and no other's.
func TestStalls(t *testing.T) {
	var s driverStatus
	for _, c := range []struct{ group, why, shown string }{
		{"a", "a is away", "a is away"},
		{"", "the store is away", "the store is away"},
		{"b", "b is away", "the store is away"},
		{"", "", "a is away"},
		{"", "", "a is away"},
		{"a", "", "b is away"},
		{"b", "b is still away", "b is still away"},
		{"a", "", "b is still away"},
		{"b", "", ""},
	} {
		s.stalled(c.group, c.why)
		if got := s.get().stall; got != c.shown {
			t.Errorf("after %q of %q: %q, want %q", c.why, c.group, got, c.shown)
		}
	}
}
