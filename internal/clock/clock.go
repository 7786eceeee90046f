// Package clock is the source of wall time. Only the runtime and the edges of the
// program read a clock; operators learn the time from ticks.
package clock

import (
	"sync/atomic"
	"time"
)

// Clock tells the time. Any goroutine may call it.
type Clock interface {
	// Now is the time in microseconds since 1970-01-01 00:00:00 UTC.
	Now() int64
}

// System is the clock of the machine. It may jump.
var System Clock = system{}

type system struct{}

func (system) Now() int64 { return time.Now().UnixMicro() }

// Manual is a clock that stands still until it is moved: for tests and the simulator.
// The zero Manual stands at 1970-01-01.
type Manual struct{ now atomic.Int64 }

// At returns a Manual that stands at now microseconds.
func At(now int64) *Manual {
	m := &Manual{}
	m.Set(now)
	return m
}

// Now implements Clock.
func (m *Manual) Now() int64 { return m.now.Load() }

// Set moves the clock to now microseconds, forwards or backwards.
func (m *Manual) Set(now int64) { m.now.Store(now) }

// Advance moves the clock by d and returns the new time.
func (m *Manual) Advance(d time.Duration) int64 { return m.now.Add(d.Microseconds()) }
