// Package crashpoint names the moments at which a crash is most telling, and kills
// the process at one of them when told to. The crash harness runs the program once
// for every name.
package crashpoint

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Variable is the environment variable that arms a point: NAME or NAME:N. The process
// kills itself with SIGKILL when it comes to that point for the N-th time, 1 by
// default.
const Variable = "STREAMSQL_CRASH_AT"

// Names lists every point of the program, in the order of an epoch's life.
var Names = []string{
	"before-seal",     // the barrier has reached a task, nothing is frozen
	"before-store",    // sealed state is about to be stored
	"store-temporary", // an object's bytes are on disk under a temporary name
	"store-linked",    // the object has its name, its directory is not synced
	"after-seal",      // a task's state is stored, the coordinator does not know
	"before-manifest", // every task has sealed, the epoch is not committed
	"after-manifest",  // the epoch is committed, no sink knows
	"before-commit",   // a sink is about to commit the epoch
	"after-commit",    // a sink has committed, the coordinator does not know
	"before-release",  // sinks have confirmed, no source has released
	"before-collect",  // old checkpoints are about to be collected
	"before-finish",   // the job has ended, its sources have not released the last rows
}

var (
	armed, count = parse(os.Getenv(Variable))
	passed       atomic.Int64
)

// parse splits NAME:N; a count that is no positive number is 0, which Check refuses.
func parse(s string) (name string, n int64) {
	name, text, ok := strings.Cut(s, ":")
	if !ok {
		return name, 1
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return name, 0
	}
	return name, n
}

// Here marks a point. It costs a comparison unless a point is armed.
func Here(name string) {
	if armed == "" {
		return
	}
	if name == armed && passed.Add(1) == count {
		kill()
	}
}

// kill ends the process as the kernel would, and does not return.
func kill() {
	for {
		if self, err := os.FindProcess(os.Getpid()); err != nil || self.Kill() != nil {
			os.Exit(137)
		}
		select {}
	}
}

// Check returns an error when the environment arms a point that does not exist, so
// that a harness does not take a run without a crash for a survived one.
func Check() error { return check(armed, count) }

func check(name string, n int64) error {
	switch {
	case name == "" && n == 1:
		return nil
	case !slices.Contains(Names, name):
		return sqlerr.New(sqlerr.CodeInvalidParameter, 0, "%s names no crash point: %q", Variable, name).
			WithHint("The crash points are %s.", strings.Join(Names, ", "))
	case n < 1:
		return sqlerr.New(sqlerr.CodeInvalidParameter, 0, "%s has no positive count after %q", Variable, name)
	}
	return nil
}
