package nats

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// jumpEvery bounds how often a hole in the sequences is looked into.
const jumpEvery = 20 * time.Millisecond

func (src *source) resetHint() string {
	return "Restore the stream, go on elsewhere in it with --reset-source " + src.table + "=earliest, or begin anew with --fresh."
}

// check compares the position with the stream as it is. A stream that was made anew or
// lost its end is always refused; messages lost before the position follow on.gap.
func (r *reader) check(info *jetstream.StreamInfo) error {
	p := &r.pos
	switch {
	case info.Config.Name != p.Stream:
		return sqlerr.New(sqlerr.CodeGap, 0, "the stored position is one of stream %q, the table now reads %q", p.Stream, info.Config.Name).WithHint("%s", r.src.resetHint())
	case !info.Created.Equal(p.Created):
		return sqlerr.New(sqlerr.CodeGap, 0, "stream %q is not the one that was read", p.Stream).
			WithDetail("It was created at %s, the stored position belongs to one created at %s.", stamp(info.Created), stamp(p.Created)).
			WithHint("%s", r.src.resetHint())
	case !p.Time.IsZero() && p.Seq > info.State.LastSeq:
		return sqlerr.New(sqlerr.CodeGap, 0, "stream %q ends at sequence %d, before the stored position %d", p.Stream, info.State.LastSeq, p.Seq).
			WithDetail("The stream has lost messages, for instance because an older copy was restored.").WithHint("%s", r.src.resetHint())
	}
	return r.gap(info, p.through())
}

// gap follows on.gap when the stream no longer holds what comes behind sequence from.
// The beginning of a stream that forgets says nothing of the messages of one filter:
// readers of others move it.
func (r *reader) gap(info *jetstream.StreamInfo, from uint64) error {
	first := info.State.FirstSeq
	if first <= from+1 || r.src.kept != nil && r.src.filter != "" {
		return nil
	}
	lost := first - from - 1
	e := sqlerr.New(sqlerr.CodeGap, 0, "stream %q has lost %d messages that were not read: %d to %d", r.pos.Stream, lost, from+1, first-1).
		WithHint("Go on behind them with --reset-source %s=earliest, or always with \"on.gap\" = 'warn'; and give the stream more room or time.", r.src.table)
	if r.src.filter != "" {
		e = e.WithDetail("Some of them may be of other subjects than %q.", r.src.filter)
	}
	if err := r.lossy(e); err != nil {
		return err
	}
	r.pos.Seen = max(r.pos.Seen, first-1)
	return nil
}

// lossy follows on.gap.
func (r *reader) lossy(e *sqlerr.Error) error {
	if r.src.failOnGap {
		return e
	}
	r.warn(e.Error())
	return nil
}

// jump looks into a hole between two sequences: messages deleted one by one are no
// loss, a beginning of the stream that has moved past the hole is.
func (r *reader) jump(ctx context.Context, from uint64) error {
	if !r.holeAt.IsZero() && time.Since(r.holeAt) < jumpEvery {
		if !r.holeOpen {
			r.holeOpen, r.holeFrom = true, from
		}
		return nil
	}
	if r.holeOpen {
		from, r.holeOpen = r.holeFrom, false
	}
	r.holeAt = time.Now()
	info, err := r.src.info(ctx)
	if err != nil {
		if e := sqlerr.As(err); e != nil && e.Retry {
			r.holeOpen, r.holeFrom = true, from
			return nil
		}
		return err
	}
	// With a limit per subject holes are the stream's way of forgetting old values.
	if info.Config.MaxMsgsPerSubject > 0 || !info.Created.Equal(r.pos.Created) {
		return nil
	}
	return r.gap(info, from)
}

// checkMessage compares the server time of the last message read with the one stored:
// a stream that was cut and has grown again has the same sequences with other messages.
func (r *reader) checkMessage(ctx context.Context) error {
	if r.pos.Time.IsZero() {
		return nil
	}
	var at time.Time
	err := r.src.s.call(ctx, "read stream \""+r.pos.Stream+"\" of", func(ctx context.Context) error {
		st, err := r.src.s.js.Stream(ctx, r.pos.Stream)
		if err != nil {
			return err
		}
		m, err := st.GetMsg(ctx, r.pos.Seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err == nil {
			at = m.Time
		}
		return err
	})
	if err != nil || at.IsZero() || at.Equal(r.pos.Time) {
		return err
	}
	return sqlerr.New(sqlerr.CodeGap, 0, "stream %q has another message at sequence %d than the one that was read", r.pos.Stream, r.pos.Seq).
		WithDetail("It is of %s, the stored position says %s. The stream was cut and has grown again.", stamp(at), stamp(r.pos.Time)).
		WithHint("%s", r.src.resetHint())
}

// checkEnd ends a bounded read when nothing more can come before its end: called when
// the consumer has delivered all that matches.
func (r *reader) checkEnd(ctx context.Context) error {
	if !r.pos.Bounded || time.Since(r.endAsked) < pullHeartbeat/4 {
		return nil
	}
	r.endAsked = time.Now()
	p := r.p
	info, err := r.src.info(ctx)
	if err != nil {
		return r.later(err)
	}
	if !r.reached(info) {
		return nil
	}
	var ci *jetstream.ConsumerInfo
	err = r.src.s.call(ctx, "look up a consumer of", func(ctx context.Context) error {
		c, err := r.src.s.js.Consumer(ctx, r.pos.Stream, p.consumer)
		if err == nil {
			ci = c.CachedInfo()
		}
		return err
	})
	if err != nil {
		return r.later(err)
	}
	over := ci.NumPending == 0 && p.tookAll(ci.Delivered.Consumer)
	r.done = over && r.atEnd
	if over && !r.atEnd {
		// A consumer hears of new messages a little after they are there; one that is
		// made now counts them.
		p.close()
		r.p = nil
		r.signal()
	}
	return nil
}

// reached reports that what comes into the stream from now on lies behind the end.
func (r *reader) reached(info *jetstream.StreamInfo) bool {
	if r.endTime != 0 {
		return info.TimeStamp.UnixNano() >= r.endTime
	}
	return info.State.LastSeq >= r.pos.End
}

// later keeps an error that may pass for the next try; the puller notices by itself
// when the other side is away.
func (r *reader) later(err error) error {
	if e := sqlerr.As(err); e != nil && (e.Retry || e.Code == sqlerr.CodeNotReady) {
		r.setWaiting(err.Error())
		return nil
	}
	return err
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
