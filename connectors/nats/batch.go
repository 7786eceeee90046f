package nats

import (
	"context"
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Headers of an atomic batch (NATS ADR-50).
const (
	headerBatch    = "Nats-Batch-Id"
	headerBatchSeq = "Nats-Batch-Sequence"
	headerCommit   = "Nats-Batch-Commit"
)

// Error codes of the server.
const (
	errWrongLast       = 10071
	errWrongLastOther  = 10164
	errBatchDisabled   = 10174
	errBatchIncomplete = 10176
	errBatchTooLarge   = 10199
)

const (
	// defaultBatch is the largest batch of a server that was not told otherwise.
	defaultBatch = 1000
	// ackEvery messages of a batch are acknowledged together, and ackAhead such groups
	// may be under way: the server's queue drops what does not fit without a word.
	ackEvery = 500
	ackAhead = 4
	// answerIn is how long an answer may take: a commit takes some 5 µs a message.
	answerIn = 60 * time.Second
)

// answer is what the server says to a publish.
type answer struct {
	Error    *jetstream.APIError `json:"error"`
	Stream   string              `json:"stream"`
	Sequence uint64              `json:"seq"`
	Batch    string              `json:"batch"`
}

// mayPass reports whether a refused publish may pass later: a stream that is full, or a
// batch whose server went away in its midst, does; a setting that forbids it does not.
func mayPass(e *jetstream.APIError) bool {
	return e.Code != 400 || e.ErrorCode == errBatchIncomplete || strings.Contains(e.Description, "maximum")
}

// outcomeUnknown is the error of a commit whose answer was lost.
type outcomeUnknown struct{ cause string }

func (e *outcomeUnknown) Error() string { return "the outcome is not known: " + e.cause }

// batch is one atomic batch under way. One goroutine uses it, and it ends with commit
// or drop.
type batch struct {
	s     *session
	id    string
	n     int // messages sent
	bytes int
	head  natsgo.Header // of messages without headers of their own
	inbox string
	sub   *natsgo.Subscription
	in    chan *natsgo.Msg
	asked int    // acknowledgements under way
	epoch uint64 // reconnects of the session at the start
}

func (s *session) newBatch() (*batch, error) {
	b := &batch{s: s, id: nuid.Next(), head: natsgo.Header{}, inbox: s.nc.NewInbox(), in: make(chan *natsgo.Msg, 64)}
	fatal, connected, n := s.state()
	if fatal != nil {
		return nil, fatal
	}
	if !connected {
		return nil, sqlerr.Externalf(sqlerr.CodeConnection, nil, "%s", s.outage())
	}
	b.epoch = n
	var err error
	if b.sub, err = s.nc.ChanSubscribe(b.inbox, b.in); err != nil {
		return nil, s.classify(err, "write to")
	}
	return b, nil
}

func (b *batch) drop() { _ = b.sub.Unsubscribe() }

// add sends a message that becomes visible with the commit. h may be nil.
func (b *batch) add(ctx context.Context, subject string, h natsgo.Header, data []byte) error {
	// The first message is acknowledged by itself: it tells of a stream that takes no
	// batches before the rest is sent.
	ask := b.n == 0 || b.n%ackEvery == 0
	if err := b.publish(subject, h, data, ask, false); err != nil {
		return err
	}
	if ask {
		b.asked++
	}
	for b.asked > ackAhead || b.n == 1 && b.asked > 0 {
		a, err := b.answer(ctx)
		if err != nil {
			return err
		}
		if a.Error != nil {
			return a.Error
		}
		b.asked--
	}
	return nil
}

func (b *batch) publish(subject string, h natsgo.Header, data []byte, ask, commit bool) error {
	b.n++
	if h == nil {
		h = b.head
	} else {
		h = maps.Clone(h)
	}
	setHeader(h, headerBatch, b.id)
	setHeader(h, headerBatchSeq, strconv.Itoa(b.n))
	if commit {
		setHeader(h, headerCommit, "1")
	}
	m := natsgo.Msg{Subject: subject, Header: h, Data: data}
	if ask || commit {
		m.Reply = b.inbox
	}
	b.bytes += len(data)
	if err := b.s.nc.PublishMsg(&m); err != nil {
		return b.s.classify(err, "write to")
	}
	return nil
}

func setHeader(h natsgo.Header, key, value string) {
	if v := h[key]; len(v) == 1 {
		v[0] = value
		return
	}
	h[key] = []string{value}
}

// commit sends the last message and waits for what the server says of the batch: its
// sequence, an *jetstream.APIError when nothing of the batch was stored, or an
// *outcomeUnknown.
func (b *batch) commit(ctx context.Context, subject string, h natsgo.Header, data []byte) (uint64, error) {
	defer b.drop()
	if err := b.publish(subject, h, data, true, true); err != nil {
		return 0, err
	}
	for {
		a, err := b.answer(ctx)
		switch {
		case err != nil:
			return 0, &outcomeUnknown{err.Error()}
		case a.Error != nil:
			return 0, a.Error
		case a.Batch == b.id:
			return a.Sequence, nil
		}
	}
}

// answer waits for the next word of the server. An empty answer acknowledges.
func (b *batch) answer(ctx context.Context) (answer, error) {
	return b.s.await(ctx, b.in, b.epoch)
}

// await reads an answer from in, which is lost when the connection was lost meanwhile:
// reconnects no longer equals epoch.
func (s *session) await(ctx context.Context, in chan *natsgo.Msg, epoch uint64) (a answer, err error) {
	limit := time.NewTimer(answerIn)
	defer limit.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case m := <-in:
			if m.Header.Get("Status") == "503" {
				return a, s.classify(natsgo.ErrNoResponders, "write to")
			}
			if m.Header.Get("Status") != "" {
				return a, sqlerr.Externalf(sqlerr.CodeNotReady, nil, "the server %s answers %s %s", s.target, m.Header.Get("Status"), m.Header.Get("Description"))
			}
			if len(m.Data) > 0 {
				err = json.Unmarshal(m.Data, &a)
			}
			return a, err
		case <-look.C:
			fatal, connected, n := s.state()
			if fatal != nil {
				return a, fatal
			}
			if !connected || n != epoch {
				return a, sqlerr.Externalf(sqlerr.CodeConnection, nil, "the connection to %s was lost", s.target)
			}
		case <-limit.C:
			return a, sqlerr.Externalf(sqlerr.CodeConnection, nil, "the server %s does not answer", s.target)
		case <-ctx.Done():
			return a, ctx.Err()
		}
	}
}

// batchLimit asks how many messages a batch may have: a message of a batch that was
// never begun is refused, and with a number beyond the limit the refusal names it.
func (s *session) batchLimit(ctx context.Context, subject string) (int, error) {
	b, err := s.newBatch()
	if err != nil {
		return 0, err
	}
	defer b.drop()
	b.n = 1 << 40
	if err := b.publish(subject, nil, nil, true, false); err != nil {
		return 0, err
	}
	a, err := b.answer(ctx)
	switch {
	case err != nil:
		return 0, err
	case a.Error == nil:
		return defaultBatch, nil
	case a.Error.ErrorCode == errBatchTooLarge:
		return limitIn(a.Error.Description), nil
	case a.Error.ErrorCode == errBatchDisabled:
		return 0, a.Error
	}
	return defaultBatch, nil
}

// limitIn finds the number that ends an error's text.
func limitIn(text string) int {
	at := strings.LastIndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if n, err := strconv.Atoi(text[at+1:]); err == nil && n > 0 {
		return n
	}
	return defaultBatch
}
