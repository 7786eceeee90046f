package nats

import (
	"encoding/json"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// position is the place in a stream from which reading goes on, as it stands in
// manifests. Stream and Created identify the stream; a stream that was deleted and made
// again has another Created.
type position struct {
	Stream  string    `json:"stream"`
	Created time.Time `json:"created"`
	// Seq is the sequence of the last message read, Time its server time; a zero Time
	// means that none was read yet.
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time,omitzero"`
	// Seen is the sequence up to which the filter is known to match nothing more.
	Seen uint64 `json:"seen,omitempty"`
	// Consumer is how the names of the consumers begin that keep what comes behind Seq, of a
	// stream that forgets what they have acknowledged.
	Consumer string `json:"consumer,omitempty"`
	// From leaves out messages older than it: start = time: in the future.
	From time.Time `json:"from,omitzero"`
	// End is the last sequence of a bounded read; with EndTime it ends before the first
	// message of that time or later.
	Bounded bool      `json:"bounded,omitempty"`
	End     uint64    `json:"end,omitempty"`
	EndTime time.Time `json:"end_time,omitzero"`
}

func (p position) encode() connectors.Position {
	b, err := json.Marshal(p)
	if err != nil {
		return nil
	}
	return b
}

func decodePosition(b connectors.Position) (position, error) {
	var p position
	if err := json.Unmarshal(b, &p); err != nil || p.Stream == "" {
		return p, sqlerr.New(sqlerr.CodeCheckpoint, 0, "the stored position of a stream cannot be read").
			WithDetail("It is %q.", string(b))
	}
	return p, nil
}

// through is the sequence up to which nothing is needed any more.
func (p position) through() uint64 { return max(p.Seq, p.Seen) }
