package nats

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
)

// drainBatch is how many messages are acknowledged at once at the end of a job.
const drainBatch = 64

// finish acknowledges what is left up to a sequence and removes the consumer. Messages
// behind it go back into a work queue.
func (d *durable) finish(ctx context.Context, to uint64) error {
	if d.query() {
		return nil
	}
	for more := true; more; {
		all, err := d.list(ctx)
		own := find(all, d.base)
		if err != nil || len(own.names) == 0 || own.attempt > d.owner.Attempt {
			return err
		}
		if err := d.renew(ctx, own, to); err != nil {
			return err
		}
		if more, err = d.drain(ctx, to); err != nil {
			return err
		}
	}
	if err := d.sweep(ctx); err != nil {
		return err
	}
	return d.remove(ctx, d.name)
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
