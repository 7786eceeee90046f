package checkpoint

import (
	"encoding/json"
	"slices"

	"github.com/streamsql/streamsql/internal/stream"
)

// ManifestVersion is the version of the manifest's format. A reader refuses a newer
// one and names both.
const ManifestVersion = 1

// Manifest is the commit point of an epoch: the epoch happened if and only if its
// manifest exists. It is created atomically and never changed.
type Manifest struct {
	Version int          `json:"version"`
	Job     string       `json:"job"`  // random id, the identity
	Name    string       `json:"name"` // label
	Attempt uint64       `json:"attempt"`
	Epoch   stream.Epoch `json:"epoch"`
	Prev    stream.Epoch `json:"prev"` // epoch of the manifest before, 0 for none

	Program string          `json:"program"` // streamsql version that wrote it
	Hash    string          `json:"hash"`    // vec.HashVersion
	Groups  int             `json:"key_groups"`
	SQL     string          `json:"sql"`  // text, ${NAME} unresolved
	Plan    json.RawMessage `json:"plan"` // plan.Plan

	Tasks   []TaskState  `json:"tasks"`
	Sinks   []SinkState  `json:"sinks"`
	Counts  []NodeCounts `json:"counts,omitempty"`
	Stopped bool         `json:"stopped,omitempty"` // made by a stop barrier
	// Finished: bounded input ended and this is the last checkpoint of the job.
	Finished  bool  `json:"finished,omitempty"`
	Savepoint bool  `json:"savepoint,omitempty"`
	Created   int64 `json:"created"` // clock, microseconds; for people only
}

// Pending reports that m holds something for its sinks to commit.
func (m *Manifest) Pending() bool {
	return slices.ContainsFunc(m.Sinks, SinkState.Pending)
}

// TaskState is what one subtask of a plan node sealed.
type TaskState struct {
	Node        int               `json:"node"`
	Subtask     int               `json:"subtask"`
	Parallelism int               `json:"parallelism"`
	Groups      stream.GroupRange `json:"groups"`
	// Blobs rebuild the keyed state: an image, then deltas, in order.
	Blobs []Blob `json:"blobs,omitempty"`
	// Splits are the positions of a source.
	Splits []SplitState `json:"splits,omitempty"`
	// Watermark is the merged input watermark of an operator, by which restored
	// timers and lateness go on as if nothing had happened.
	Watermark int64 `json:"watermark"`
}

// SplitState is the position of one split and its watermark there.
type SplitState struct {
	ID        string          `json:"id"`
	Position  json.RawMessage `json:"position,omitempty"`
	Watermark int64           `json:"watermark"`
	Ended     bool            `json:"ended,omitempty"`
}

// Blob names one object of keyed state or kept rows.
type Blob struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Kind string `json:"kind"` // "image", "delta", "rows"
}

// SinkState is what a sink needs to commit the epoch from this manifest alone.
type SinkState struct {
	Node int    `json:"node"`
	Mode string `json:"mode"` // plan.SinkMode
	// Target is the system of the target (Sink.Group), Identity what tells it from others
	// there, "" when nothing does: another one is refused.
	Target   string   `json:"target"`
	Identity string   `json:"identity,omitempty"`
	Tokens   [][]byte `json:"tokens,omitempty"`
	Rows     []Blob   `json:"rows,omitempty"`
	Count    int64    `json:"count,omitempty"`
}

// Pending reports that the sink has something to commit.
func (s SinkState) Pending() bool { return len(s.Tokens) > 0 || len(s.Rows) > 0 }

// NodeCounts carries the counters that must survive a restart: a row dropped as late
// stays counted.
type NodeCounts struct {
	Node   int              `json:"node"`
	Values map[string]int64 `json:"values"`
}
