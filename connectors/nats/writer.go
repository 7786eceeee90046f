package nats

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/vec"
)

const (
	// windowMessages and windowBytes bound what a writer has sent and not yet seen
	// acknowledged.
	windowMessages = 1000
	windowBytes    = 4 << 20
)

// writer writes early, at least once: what the server has not acknowledged is sent
// again, in order, until it has. Where the stream takes atomic batches a window is one
// batch, which costs a server that syncs each write one sync and not a thousand.
type writer struct {
	k     *sink
	wc    connectors.WriterContext
	pack  *packer
	msgs  []outgoing
	data  []byte // of msgs
	batch bool

	mu     sync.Mutex
	status connectors.Status
}

// outgoing is a message that waits for its acknowledgement; its bytes are data[from:to].
type outgoing struct {
	subject  string
	header   natsgo.Header
	from, to int
}

// OpenWriter implements connectors.Sink.
func (k *sink) OpenWriter(ctx context.Context, wc connectors.WriterContext) (connectors.Writer, error) {
	if k.identity == "" {
		if err := k.Check(ctx); err != nil {
			return nil, err
		}
	}
	w := &writer{k: k, wc: wc, batch: k.atomic}
	var err error
	w.pack, err = k.packer(func(subject string, h natsgo.Header, data []byte) error {
		from := len(w.data)
		w.data = append(w.data, data...)
		w.msgs = append(w.msgs, outgoing{subject, h, from, len(w.data)})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Write implements connectors.Writer.
func (w *writer) Write(ctx context.Context, b *vec.Batch) error {
	for i := range b.N {
		refused, err := w.pack.row(b, i)
		if err == nil && refused != nil {
			err = w.refuse(b, i, refused)
		}
		if err != nil {
			return err
		}
		if len(w.msgs) >= windowMessages || len(w.data) >= windowBytes {
			if err := w.send(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *writer) refuse(b *vec.Batch, i int, cause *sqlerr.Error) error {
	if w.wc.Refused == nil {
		return cause
	}
	return w.wc.Refused(b, i, cause)
}

// Flush implements connectors.Writer.
func (w *writer) Flush(ctx context.Context) error {
	if err := w.pack.flush(); err != nil {
		return err
	}
	return w.send(ctx)
}

// Seal implements connectors.Writer: after Flush everything is visible.
func (w *writer) Seal(context.Context, stream.Epoch) ([]byte, error) { return nil, nil }

// Close implements connectors.Writer.
func (w *writer) Close() error { return nil }

// send returns when the server has acknowledged all messages.
func (w *writer) send(ctx context.Context) error {
	for tries := 0; len(w.msgs) > 0; tries++ {
		err := w.once(ctx)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if e := w.judge(ctx, err); !e.Retry {
			return e
		} else {
			w.stalled(e)
		}
		d := min(retryMin<<min(tries, 10), retryMax)
		select {
		case <-time.After(d/2 + rand.N(d/2+1)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	w.stalled(nil)
	w.msgs, w.data = w.msgs[:0], w.data[:0]
	return nil
}

// judge makes an error of a publish ours, with Retry when waiting may help.
func (w *writer) judge(ctx context.Context, err error) *sqlerr.Error {
	if fatal, _, _ := w.k.s.state(); fatal != nil {
		return fatal
	}
	var api *jetstream.APIError
	if errors.As(err, &api) {
		e := sqlerr.Externalf(sqlerr.CodeNotReady, api, "stream %q refuses messages", w.k.stream)
		if api.ErrorCode == errBatchDisabled {
			w.batch = false
		} else {
			e.Retry = mayPass(api)
		}
		return e
	}
	e := w.k.s.classify(err, "write to")
	if errors.Is(err, natsgo.ErrNoResponders) {
		if _, err := w.k.s.info(ctx, w.k.stream); err != nil && notFound(err) {
			return sqlerr.New(sqlerr.CodeSchema, 0, "stream %q is gone", w.k.stream)
		}
	}
	var unknown *outcomeUnknown
	if errors.As(err, &unknown) {
		e.Retry = true
	}
	return e
}

// stalled tells why the writer waits, nil when it does not.
func (w *writer) stalled(err *sqlerr.Error) {
	w.mu.Lock()
	was := w.status.Waiting
	w.status.Waiting = ""
	if err != nil {
		w.status.Waiting = err.Error()
	}
	w.mu.Unlock()
	switch {
	case w.wc.Stalled == nil:
	case err != nil:
		w.wc.Stalled(err)
	case was != "":
		w.wc.Stalled(nil)
	}
}

// Status implements connectors.Reporter.
func (w *writer) Status() connectors.Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

// once sends all messages and waits for the answers.
func (w *writer) once(ctx context.Context) error {
	if w.batch && len(w.msgs) > 1 {
		return w.sendBatch(ctx)
	}
	return w.sendEach(ctx)
}

func (w *writer) sendBatch(ctx context.Context) error {
	b, err := w.k.s.newBatch()
	if err != nil {
		return err
	}
	last := len(w.msgs) - 1
	for _, m := range w.msgs[:last] {
		if err := b.add(ctx, m.subject, m.header, w.data[m.from:m.to]); err != nil {
			b.drop()
			return err
		}
	}
	m := w.msgs[last]
	_, err = b.commit(ctx, m.subject, m.header, w.data[m.from:m.to])
	return err
}

// sendEach publishes every message with an answer of its own and drops those from the
// window that were acknowledged before the first that was not.
func (w *writer) sendEach(ctx context.Context) error {
	s := w.k.s
	fatal, connected, epoch := s.state()
	if fatal != nil {
		return fatal
	}
	if !connected {
		return sqlerr.Externalf(sqlerr.CodeConnection, nil, "%s", s.outage())
	}
	inbox := s.nc.NewInbox()
	in := make(chan *natsgo.Msg, len(w.msgs))
	sub, err := s.nc.ChanSubscribe(inbox+".*", in)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	for i, m := range w.msgs {
		msg := natsgo.Msg{Subject: m.subject, Header: m.header, Data: w.data[m.from:m.to], Reply: inbox + "." + strconv.Itoa(i)}
		if err := s.nc.PublishMsg(&msg); err != nil {
			return err
		}
	}
	for done := 0; done < len(w.msgs); done++ {
		a, err := s.await(ctx, in, epoch)
		if err == nil && a.Error != nil {
			err = a.Error
		}
		if err != nil {
			w.msgs = w.msgs[done:]
			return err
		}
	}
	return nil
}
