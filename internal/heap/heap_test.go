package heap

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestSpare(t *testing.T) {
	defer func() { unused = nil }()
	before := goal()
	old := debug.SetMemoryLimit(1 << 30)
	Spare()
	debug.SetMemoryLimit(old)
	if got := goal(); got >= before+spare {
		t.Errorf("under a limit the next collection is at %d bytes, at %d before", got, before)
	}
	Spare()
	if got := goal(); got < before+spare {
		t.Errorf("the next collection is at %d bytes, at %d before", got, before)
	}
}

// goal is the size of the heap at which the next collection is due to end.
func goal() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.NextGC
}
