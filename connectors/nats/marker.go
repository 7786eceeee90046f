package nats

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
)

// marker is the last message of every epoch's batch and the fence of the stream: who
// may commit, and what was committed last. It is published by compare-and-set on its
// subject, so that a writer who has not seen the newest one changes nothing.
type marker struct {
	Job      string       `json:"job"`
	Attempt  uint64       `json:"attempt"`
	Epoch    stream.Epoch `json:"epoch"`
	Checksum string       `json:"checksum,omitempty"`
	// Partial is an epoch of which a first part is in the stream, because it is larger
	// than a batch may be.
	Partial *partial `json:"partial,omitempty"`
	// Claim is set when an attempt took the stream over and committed nothing yet.
	Claim bool `json:"claim,omitempty"`
	// Released is set by a job that has ended well: another one may claim the stream.
	Released bool `json:"released,omitempty"`
	// Before is the marker of another job that this one replaced and has committed nothing
	// behind: should it never do so, nothing has changed.
	Before *marker `json:"before,omitempty"`
}

// of is what the stream remembers of a job, nil when that counts no longer.
func (m *marker) of(job string) *marker {
	for m != nil && m.Job != job && m.Epoch == 0 && m.Partial == nil {
		m = m.Before
	}
	if m == nil || m.Job != job {
		return nil
	}
	return m
}

type partial struct {
	Epoch    stream.Epoch `json:"epoch"`
	Checksum string       `json:"checksum,omitempty"`
	// Rows of the epoch, counted from its first, that are in the stream.
	Rows int64 `json:"rows"`
}

// headers for publishing the marker when the newest has sequence last.
func (m *marker) headers(last uint64, ttl bool) natsgo.Header {
	h := natsgo.Header{
		markerHeader:                        []string{"1"},
		jetstream.ExpectedLastSubjSeqHeader: []string{strconv.FormatUint(last, 10)},
	}
	if ttl {
		h[jetstream.MsgTTLHeader] = []string{"never"}
	}
	return h
}

// readMarker reads the newest marker from the leader of the stream; seq is 0 when there
// is none.
func (k *sink) readMarker(ctx context.Context) (m marker, seq uint64, err error) {
	type request struct {
		Last string `json:"last_by_subj"`
	}
	type response struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Seq  uint64 `json:"seq"`
			Data []byte `json:"data"`
		} `json:"message"`
	}
	req, err := json.Marshal(request{k.marker})
	if err != nil {
		return m, 0, sqlerr.Internalf("encode a request: %v", err)
	}
	var r response
	err = k.s.call(ctx, "read the commit marker \""+k.marker+"\" of", func(ctx context.Context) error {
		msg, err := k.s.nc.RequestWithContext(ctx, k.s.api+"STREAM.MSG.GET."+k.stream, req)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(msg.Data, &r); err != nil {
			return err
		}
		if r.Error != nil && r.Error.ErrorCode != jetstream.JSErrCodeMessageNotFound {
			return r.Error
		}
		return nil
	})
	if err != nil {
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return m, 0, sqlerr.New(sqlerr.CodeSchema, 0, "stream %q is gone", k.stream)
		}
		return m, 0, err
	}
	if r.Error != nil {
		return m, 0, nil
	}
	if err := json.Unmarshal(r.Message.Data, &m); err != nil || m.Job == "" {
		return m, 0, sqlerr.New(sqlerr.CodeFenced, 0, "subject %q holds a message that is no commit marker", k.marker).
			WithHint("Set \"marker.subject\" to a subject of its own.")
	}
	return m, r.Message.Seq, nil
}

// forget deletes a marker that a newer one has replaced; one that stays does no harm.
func (k *sink) forget(seq uint64) {
	if seq > 0 {
		_ = k.s.nc.Publish(k.s.api+"STREAM.MSG.DELETE."+k.stream, []byte(`{"seq":`+strconv.FormatUint(seq, 10)+`,"no_erase":true}`))
	}
}
