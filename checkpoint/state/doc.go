// Package state holds the typed keyed tables that operators declare and the runtime
// snapshots.
package state

// Backend is the keyed state of one subtask: the tables its operator declared.
type Backend struct{}
