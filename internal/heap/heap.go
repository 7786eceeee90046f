// Package heap sets how often the garbage collector of a program runs.
package heap

import (
	"math"
	"runtime/debug"
)

const spare = 32 << 20

// unused counts as memory in use, and takes none since nobody touches it.
var unused []byte

// Spare lets the heap grow by 32 MiB more between two collections. A job keeps little
// and reads messages that are garbage at once: the collector would run a hundred times a
// second, for a seventh of the job's time. Where the memory is limited by GOMEMLIMIT,
// against which the spare would count, it does nothing, and neither does a second call.
// The main function calls it.
func Spare() {
	if unused == nil && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		unused = make([]byte, spare)
	}
}
