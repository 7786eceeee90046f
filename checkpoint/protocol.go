package checkpoint

import (
	"github.com/streamsql/streamsql/internal/stream"
)

// TaskID names a task of a running job: the node at its head, and the subtask.
type TaskID struct{ Node, Subtask int }

// Event is something that happened, told to the Coordinator. An event may come late,
// twice, or for an epoch that is over.
type Event interface{ event() }

// Tick gives the time of the clock in microseconds. The coordinator knows no other.
type Tick struct{ Now int64 }

// TaskSealed says that all of a task's share of an epoch is in the store.
type TaskSealed struct {
	Task   TaskID
	Epoch  stream.Epoch
	States []TaskState
	Sinks  []SealedSink
	Counts []NodeCounts
	// Moved: the share differs from that of the epoch completed last.
	Moved bool
}

// SealedSink is one sink subtask's share of an epoch.
type SealedSink struct {
	Node, Subtask int
	Token         []byte // nil for none
	Rows          []Blob
	Count         int64
}

// SealFailed says that a task could not store its share; the epoch is aborted.
type SealFailed struct {
	Task  TaskID
	Epoch stream.Epoch
	Err   error
}

// Drained says that a source task has no more rows and waits for SendEnd.
type Drained struct{ Task TaskID }

// TaskEnded says that a task has passed on End. It lives on, takes barriers by
// Inject, and seals the same share every time.
type TaskEnded struct{ Task TaskID }

// ManifestCreated says that the manifest exists and no higher attempt was there
// after it was made.
type ManifestCreated struct {
	Epoch    stream.Epoch
	Checksum string
}

// ManifestFailed says that creating the manifest failed: it may exist or not.
type ManifestFailed struct {
	Epoch stream.Epoch
	Err   error
}

// ManifestRead answers ReadManifest.
type ManifestRead struct {
	Epoch    stream.Epoch
	Found    bool
	Attempt  uint64
	Checksum string
	Err      error // the read itself failed
}

// Committed says that the sinks of a group show the epoch.
type Committed struct {
	Group string
	Epoch stream.Epoch
}

// CommitFailed says that a commit failed; with Retry it is tried again.
type CommitFailed struct {
	Group string
	Epoch stream.Epoch
	Err   error
	Retry bool
}

// StopRequested asks for a last checkpoint and the end of the job, with a savepoint
// when Savepoint is set.
type StopRequested struct{ Savepoint string }

// SavepointRequested asks for a savepoint of the running job.
type SavepointRequested struct{ Path string }

// SavepointDone answers Savepoint.
type SavepointDone struct {
	Path string
	Err  error
}

// AttemptSuperseded says that a higher attempt of the job exists.
type AttemptSuperseded struct{ Attempt uint64 }

func (Tick) event()               {}
func (TaskSealed) event()         {}
func (SealFailed) event()         {}
func (Drained) event()            {}
func (TaskEnded) event()          {}
func (ManifestCreated) event()    {}
func (ManifestFailed) event()     {}
func (ManifestRead) event()       {}
func (Committed) event()          {}
func (CommitFailed) event()       {}
func (StopRequested) event()      {}
func (SavepointRequested) event() {}
func (SavepointDone) event()      {}
func (AttemptSuperseded) event()  {}

// Action is something to be done by whoever drives the Coordinator, in order.
type Action interface{ action() }

// Inject gives a barrier to source tasks, or to tasks that have ended.
type Inject struct {
	Barrier stream.Barrier
	Tasks   []TaskID
}

// SendEnd lets drained source tasks send End.
type SendEnd struct{ Tasks []TaskID }

// PutManifest creates the manifest; answered by ManifestCreated, ManifestFailed or
// AttemptSuperseded.
type PutManifest struct{ Manifest *Manifest }

// ReadManifest reads a manifest back; answered by ManifestRead.
type ReadManifest struct{ Epoch stream.Epoch }

// Complete tells every task that the epoch is complete.
type Complete struct{ Epoch stream.Epoch }

// Abort tells every task that the epoch will not be complete: its share joins the
// next one's.
type Abort struct{ Epoch stream.Epoch }

// Commit makes the epoch visible in the sinks of a group; answered by Committed or
// CommitFailed.
type Commit struct {
	Group    string
	Manifest *Manifest
	Checksum string
}

// Release lets the sources' other sides forget what lies before the manifest.
type Release struct{ Manifest *Manifest }

// Collect removes all manifests but those of Keep, and what only they need.
type Collect struct{ Keep []stream.Epoch }

// Savepoint copies the manifest and all it needs to Path; answered by SavepointDone.
type Savepoint struct {
	Manifest *Manifest
	Path     string
}

// Finish ends the job in success: Stopped on request, or its input has ended. Manifest is
// its last.
type Finish struct {
	Stopped  bool
	Manifest *Manifest
}

// Fail ends the attempt.
type Fail struct{ Err error }

func (Inject) action()       {}
func (SendEnd) action()      {}
func (PutManifest) action()  {}
func (ReadManifest) action() {}
func (Complete) action()     {}
func (Abort) action()        {}
func (Commit) action()       {}
func (Release) action()      {}
func (Collect) action()      {}
func (Savepoint) action()    {}
func (Finish) action()       {}
func (Fail) action()         {}
