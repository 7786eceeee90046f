package nats

import (
	"context"
	"encoding/json"
	"errors"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/vec"
)

const (
	// A larger batch would hold up the readers of the stream for more than half a
	// second; what is beyond is committed in parts.
	maxBatch      = 100_000
	maxBatchBytes = 32 << 20
)

// committer publishes epochs as atomic batches that end in the marker.
type committer struct {
	k       *sink
	job     string
	attempt uint64

	known bool // m and seq are what the stream holds
	m     marker
	seq   uint64 // of m, 0 when there is no marker
	ttl   bool   // the stream lets single messages live for ever
	limit int    // messages of a batch

	// point is called at named places, for tests that stop there.
	point func(name string) error
}

// Committer implements connectors.Sink.
func (k *sink) Committer(ctx context.Context, job string, attempt uint64) (connectors.Committer, error) {
	if err := k.Check(ctx); err != nil {
		return nil, err
	}
	info, err := k.s.info(ctx, k.stream)
	if err != nil {
		return nil, err
	}
	c := &committer{k: k, job: job, attempt: attempt, ttl: info.Config.AllowMsgTTL, point: func(string) error { return nil }}
	limit, err := k.s.batchLimit(ctx, k.marker)
	if err != nil {
		return nil, k.s.classify(err, "write to")
	}
	c.limit = min(limit, maxBatch)
	return c, nil
}

// refresh reads the marker.
func (c *committer) refresh(ctx context.Context) error {
	m, seq, err := c.k.readMarker(ctx)
	if err != nil {
		return err
	}
	c.m, c.seq, c.known = m, seq, true
	return nil
}

// Fence implements connectors.Committer. A marker of another job is returned as it is,
// unless that one has replaced ours and committed nothing.
func (c *committer) Fence(ctx context.Context) (connectors.Fence, error) {
	if err := c.refresh(ctx); err != nil {
		return connectors.Fence{}, err
	}
	m := &c.m
	if own := m.of(c.job); own != nil {
		m = own
	}
	return connectors.Fence{Known: c.seq > 0, Job: m.Job, Attempt: m.Attempt, Epoch: m.Epoch, Checksum: m.Checksum}, nil
}

// Acquire implements connectors.Committer: it replaces the marker by one that carries
// this attempt, so that every earlier attempt compares with a sequence that is gone.
func (c *committer) Acquire(ctx context.Context, _ []connectors.Sink, takeOver bool) error {
	for {
		if err := c.refresh(ctx); err != nil {
			return err
		}
		claim, found := marker{Job: c.job}, c.m
		own := found.of(c.job)
		switch {
		case c.seq == 0:
		case c.m.Job != c.job && !takeOver && !c.m.Released:
			return sqlerr.New(sqlerr.CodeFenced, 0, "stream %q is written by another job, whose commit marker is on %q", c.k.stream, c.k.marker).
				WithDetail("That job is %q, it committed epoch %d.", c.m.Job, c.m.Epoch).
				WithHint("Take the stream over with --take-over, or set \"marker.subject\" to write beside the other job.")
		case own != nil && own.Attempt > c.attempt:
			return c.fenced()
		case c.m.Job == c.job && c.m.Attempt == c.attempt:
			return nil
		}
		if own != nil {
			claim = *own
		} else if c.seq > 0 {
			claim.Before = &found
		}
		claim.Attempt, claim.Claim, claim.Released = c.attempt, true, false
		err := c.publish(ctx, claim)
		var api *jetstream.APIError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &api) && wrongLast(api):
			// Somebody else has moved the marker: look again.
		default:
			return c.failed(err)
		}
	}
}

// Relinquish implements connectors.Relinquisher: the marker stays, and another job may
// replace it; one that has committed nothing makes room for the marker it replaced.
func (c *committer) Relinquish(ctx context.Context) error {
	if err := c.refresh(ctx); err != nil {
		return err
	}
	if c.seq == 0 || c.m.Job != c.job || c.m.Attempt != c.attempt || c.m.Released {
		return nil // somebody else's by now, or nobody's
	}
	m := c.m
	m.Released = true
	if m.Epoch == 0 && m.Partial == nil && m.Before != nil {
		m = *m.Before
	}
	if err := c.publish(ctx, m); err != nil {
		return c.failed(err)
	}
	return nil
}

func wrongLast(e *jetstream.APIError) bool {
	return e.ErrorCode == errWrongLast || e.ErrorCode == errWrongLastOther
}

func (c *committer) fenced() error {
	c.known = false
	return &sqlerr.Error{Class: sqlerr.External, Code: sqlerr.CodeFenced,
		Msg:    "another attempt of the job writes stream \"" + c.k.stream + "\"",
		Detail: "Its commit marker is on \"" + c.k.marker + "\"."}
}

// publish stores m alone.
func (c *committer) publish(ctx context.Context, m marker) error {
	s := c.k.s
	text, err := json.Marshal(m)
	if err != nil {
		return sqlerr.Internalf("encode a marker: %v", err)
	}
	_, connected, epoch := s.state()
	if !connected {
		return sqlerr.Externalf(sqlerr.CodeConnection, nil, "%s", s.outage())
	}
	in := make(chan *natsgo.Msg, 1)
	inbox := s.nc.NewInbox()
	sub, err := s.nc.ChanSubscribe(inbox, in)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	msg := natsgo.Msg{Subject: c.k.marker, Header: m.headers(c.seq, c.ttl), Data: text, Reply: inbox}
	if err := s.nc.PublishMsg(&msg); err != nil {
		return err
	}
	a, err := s.await(ctx, in, epoch)
	if err != nil {
		return &outcomeUnknown{err.Error()}
	}
	if a.Error != nil {
		return a.Error
	}
	return c.moved(m, a.Sequence)
}

// moved takes note of the marker just stored.
func (c *committer) moved(m marker, seq uint64) error {
	if err := c.point("stored"); err != nil {
		return err
	}
	c.k.forget(c.seq)
	c.m, c.seq, c.known = m, seq, true
	return nil
}

// failed makes the error of a publish ours; afterwards the marker is read anew.
func (c *committer) failed(err error) error {
	c.known = false
	if e := sqlerr.As(err); e != nil {
		return e
	}
	var api *jetstream.APIError
	var unknown *outcomeUnknown
	switch {
	case errors.As(err, &unknown):
		return sqlerr.Externalf(sqlerr.CodeConnection, err, "cannot commit to stream %q", c.k.stream)
	case errors.As(err, &api):
		e := sqlerr.Externalf(sqlerr.CodeNotReady, api, "cannot commit to stream %q", c.k.stream)
		e.Retry = mayPass(api)
		return e
	}
	return c.k.s.classify(err, "commit to")
}

// Commit implements connectors.Committer.
func (c *committer) Commit(ctx context.Context, id connectors.CommitID, parts []connectors.Part) error {
	for {
		if !c.known {
			if err := c.refresh(ctx); err != nil {
				return err
			}
		}
		done, err := c.standing(id)
		if done || err != nil {
			return err
		}
		again, err := c.try(ctx, id, parts)
		if err != nil || !again {
			return err
		}
	}
}

// standing compares the marker with what is to be committed.
func (c *committer) standing(id connectors.CommitID) (done bool, err error) {
	switch {
	case c.seq == 0:
		return false, sqlerr.New(sqlerr.CodeGap, 0, "the commit marker %q of stream %q is gone", c.k.marker, c.k.stream).
			WithDetail("The stream was purged, its limits dropped the marker, or it was made anew; whether epoch %d is in it cannot be told.", id.Epoch).
			WithHint("Look at the stream, then start the job anew with --fresh.")
	case c.m.Job != c.job || c.m.Attempt != c.attempt:
		return false, c.fenced()
	case c.m.Epoch == id.Epoch:
		return true, nil
	case c.m.Epoch > id.Epoch:
		return false, sqlerr.New(sqlerr.CodeFenced, 0, "stream %q already holds epoch %d, epoch %d cannot be committed behind it", c.k.stream, c.m.Epoch, id.Epoch)
	case c.m.Partial != nil && (c.m.Partial.Epoch != id.Epoch || c.m.Partial.Checksum != id.Checksum):
		return false, sqlerr.New(sqlerr.CodeFenced, 0, "stream %q holds a part of epoch %d, which has to be completed before epoch %d", c.k.stream, c.m.Partial.Epoch, id.Epoch)
	}
	return false, nil
}

// try publishes the epoch's rows behind those that are there already; again says that
// the marker or the limit has to be looked at anew.
func (c *committer) try(ctx context.Context, id connectors.CommitID, parts []connectors.Part) (again bool, err error) {
	t := &transaction{c: c, ctx: ctx, id: id}
	if c.m.Partial != nil {
		t.skip = c.m.Partial.Rows
	}
	defer t.end()
	for _, p := range parts {
		if err = t.part(p); err != nil {
			break
		}
	}
	if err == nil {
		err = t.finish()
	}
	var api *jetstream.APIError
	switch {
	case err == nil:
		return false, nil
	case ctx.Err() != nil:
		c.known = false
		return false, ctx.Err()
	case errors.As(err, &api) && wrongLast(api):
		c.known = false
		if err := c.refresh(ctx); err != nil {
			return false, err
		}
		if c.m.Job != c.job || c.m.Attempt != c.attempt || c.seq == 0 {
			_, err := c.standing(id)
			return false, err
		}
		return true, nil
	case errors.As(err, &api) && api.ErrorCode == errBatchTooLarge && c.limit > 1:
		c.limit = min(c.limit/2, limitIn(api.Description))
		c.known = false
		return true, nil
	}
	return false, c.failed(err)
}

// transaction is one try at an epoch.
type transaction struct {
	c    *committer
	ctx  context.Context
	id   connectors.CommitID
	b    *batch // under way, nil when nothing was sent
	rows int64  // of the epoch, so far
	skip int64  // of these are in the stream
	p    *packer
}

// part sends the rows of one sink.
func (t *transaction) part(p connectors.Part) error {
	k, ok := p.Sink.(*sink)
	if !ok {
		return sqlerr.Internalf("a part of another connector in a commit of nats")
	}
	var err error
	if t.p, err = k.packer(t.emit); err != nil {
		return err
	}
	err = p.Rows(t.ctx, func(b *vec.Batch) error {
		for i := range b.N {
			refused, err := t.p.row(b, i)
			if err == nil && refused != nil {
				if p.Refused == nil {
					return refused
				}
				err = p.Refused(b, i, refused)
			}
			if err != nil {
				return err
			}
			t.rows++
			if t.rows == t.skip {
				t.p.reset()
			}
			if err := t.cut(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.p.flush()
}

// emit sends a message unless its rows are in the stream already.
func (t *transaction) emit(subject string, h natsgo.Header, data []byte) error {
	if t.rows < t.skip {
		return nil
	}
	if t.b == nil {
		var err error
		if t.b, err = t.c.k.s.newBatch(); err != nil {
			return err
		}
	}
	return t.b.add(t.ctx, subject, h, data)
}

// cut commits a first part when the batch has no room for more.
func (t *transaction) cut() error {
	if t.b == nil || t.b.n+t.p.pending()+2 < t.c.limit && t.b.bytes < maxBatchBytes {
		return nil
	}
	if err := t.p.flush(); err != nil {
		return err
	}
	m := t.c.m
	m.Claim, m.Before = false, nil
	m.Partial = &partial{Epoch: t.id.Epoch, Checksum: t.id.Checksum, Rows: t.rows}
	return t.commit(m)
}

// finish commits the rest together with the marker of the epoch.
func (t *transaction) finish() error {
	m := marker{Job: t.c.job, Attempt: t.c.attempt, Epoch: t.id.Epoch, Checksum: t.id.Checksum}
	if t.b == nil {
		return t.c.publish(t.ctx, m)
	}
	return t.commit(m)
}

func (t *transaction) commit(m marker) error {
	text, err := json.Marshal(m)
	if err != nil {
		return sqlerr.Internalf("encode a marker: %v", err)
	}
	b := t.b
	t.b = nil
	if err := t.c.point("commit"); err != nil {
		b.drop()
		return err
	}
	seq, err := b.commit(t.ctx, t.c.k.marker, m.headers(t.c.seq, t.c.ttl), text)
	if err != nil {
		return err
	}
	return t.c.moved(m, seq)
}

// end drops a batch that was not committed; the server forgets it.
func (t *transaction) end() {
	if t.b != nil {
		t.b.drop()
	}
}

// Close implements connectors.Committer.
func (c *committer) Close() error { return nil }
