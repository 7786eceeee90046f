// Package runtime runs a plan: tasks joined by bounded ports, aligned barriers, sources
// and sinks, and the driver of the epoch protocol.
//
// A task's core is a non-blocking, resumable step; a goroutine is a loop around it,
// and the simulator (package sim) calls step directly. All that waits — reading, decoding,
// encoding state, talking to the store and to targets — goes through an executor,
// which the simulator replaces too.
package runtime
