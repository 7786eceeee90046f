package clock

import (
	"testing"
	"time"
)

func TestManual(t *testing.T) {
	m := At(1_000_000)
	var c Clock = m
	if got := c.Now(); got != 1_000_000 {
		t.Fatalf("Now = %d", got)
	}
	if got := m.Advance(1500 * time.Millisecond); got != 2_500_000 || c.Now() != got {
		t.Fatalf("after Advance: %d, Now = %d", got, c.Now())
	}
	m.Set(-1)
	if got := c.Now(); got != -1 {
		t.Fatalf("after Set: %d", got)
	}
}

func TestSystemIsMicroseconds(t *testing.T) {
	before := time.Now()
	got := System.Now()
	after := time.Now()
	if got < before.UnixMicro() || got > after.UnixMicro() {
		t.Fatalf("Now = %d, not between %d and %d", got, before.UnixMicro(), after.UnixMicro())
	}
}
