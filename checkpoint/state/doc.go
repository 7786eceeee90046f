// Package state holds the typed keyed tables that operators declare and the runtime
// snapshots.
//
// A Backend is the state of one subtask. Its operator declares tables, then reads and
// writes their records from one goroutine; the runtime, on the same goroutine and
// between the operator's calls, freezes the backend at a barrier, hands the Snapshot to
// any goroutine to be encoded, and later completes or aborts it. Encoded snapshots
// form a chain, an image and deltas, from which Restore rebuilds the tables, at the
// same parallelism or at another. docs/design/0004-state-and-key-groups.md has the
// format and the reasons.
package state
