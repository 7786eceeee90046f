package nats

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// drainBatch is how many messages are acknowledged at once at the end of a job.
const drainBatch = 64

// finish acknowledges what is left up to the position at and removes the consumer.
// Messages behind it go back into a work queue.
func (d *durable) finish(ctx context.Context, at position) error {
	if d.query() {
		return nil
	}
	for more := true; more; {
		all, err := d.list(ctx)
		if err != nil {
			return err
		}
		own := find(all, d.base)
		if own.attempt > d.owner.Attempt {
			return nil
		}
		if len(own.names) == 0 {
			if left, err := d.left(ctx, at); err != nil || !left {
				return err
			}
		}
		if err := d.renew(ctx, own, at.through()); err != nil {
			return err
		}
		if more, err = d.drain(ctx, at.through()); err != nil {
			return err
		}
	}
	if err := d.sweep(ctx); err != nil {
		return err
	}
	return d.remove(ctx, d.name)
}

// left reports whether a work queue without a consumer of the table may hold messages up
// to the position at: a process that died while it put a new consumer in the place of
// the old one leaves it so. What another reader has taken over is that reader's.
func (d *durable) left(ctx context.Context, at position) (bool, error) {
	if !d.src.queue {
		return false, nil
	}
	info, err := d.src.info(ctx)
	if err != nil || !info.Created.Equal(at.Created) || info.State.Msgs == 0 || info.State.FirstSeq > at.through() {
		return false, err
	}
	if err := d.rivals(ctx, false); err != nil {
		if sqlerr.CodeOf(err) == sqlerr.CodeFenced {
			return false, nil
		}
		return false, err
	}
	return true, nil
}

// drain acknowledges what the new consumer delivers up to a sequence; more says that
// there was something, so that it is worth looking again.
func (d *durable) drain(ctx context.Context, to uint64) (more bool, err error) {
	for {
		var last uint64
		var behind bool
		err := d.src.s.call(ctx, "acknowledge messages of", func(ctx context.Context) error {
			c, err := d.src.s.js.Consumer(ctx, d.src.stream, d.name)
			if err == nil {
				last, behind, err = ackBatch(ctx, c, to)
			}
			return err
		})
		if err != nil || last == 0 {
			return more, err
		}
		more = true
		if behind {
			return more, nil
		}
	}
}

// ackBatch acknowledges the next messages up to a sequence and waits until the server has
// taken the last acknowledgement, and with it all before. last is its sequence, 0 for
// none; behind says that a message came that lies behind to.
func ackBatch(ctx context.Context, c jetstream.Consumer, to uint64) (last uint64, behind bool, err error) {
	b, err := c.FetchNoWait(drainBatch)
	if err != nil {
		return 0, false, err
	}
	var held jetstream.Msg
	for m := range b.Messages() {
		meta, err := m.Metadata()
		if err != nil {
			return 0, false, err
		}
		if meta.Sequence.Stream > to {
			behind = true
			continue
		}
		if held != nil {
			if err := held.Ack(); err != nil {
				return 0, false, err
			}
		}
		held, last = m, meta.Sequence.Stream
	}
	if held != nil {
		err = held.DoubleAck(ctx)
	}
	return last, behind, errors.Join(err, b.Error())
}
