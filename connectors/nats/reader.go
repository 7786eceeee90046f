package nats

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

const (
	chunkRows  = 1024
	chunkBytes = 1 << 20

	// linger is how long a chunk that is not full waits for messages on their way.
	linger = 2 * time.Millisecond

	retryMin = 50 * time.Millisecond
	retryMax = 3 * time.Second

	// markerHeader stands on the commit markers of the exactly-once sink, which are no rows.
	markerHeader = "Streamsql-Marker"
)

// reader reads the one split of a stream.
type reader struct {
	src *source
	pos position
	// resumed: pos was restored; keeper is the consumer that it names.
	resumed bool
	keeper  string
	// from and endTime are those of pos in nanoseconds, 0 when not set.
	from, endTime int64

	p         *puller
	reconnect uint64 // of the session when p was attached
	held      []item // taken from p, not yet handed out, from heldAt on
	heldAt    int
	heldBytes int
	spare     []item
	rows      []*item // scratch
	pending   uint64  // behind the last message taken
	caughtUp  bool
	told      bool // the first chunk is out
	done      bool
	tries     int // attaches that failed in a row
	heard     uint64
	heardAt   time.Time
	endAsked  time.Time
	atEnd     bool // the end was in the stream when the consumer was made
	// A hole in the sequences that was not looked into yet.
	holeAt   time.Time
	holeOpen bool
	holeFrom uint64

	wake chan struct{}

	mu     sync.Mutex
	status connectors.Status
}

func (r *reader) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Next implements connectors.Reader.
func (r *reader) Next(ctx context.Context) (*connectors.Chunk, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.done {
			return nil, io.EOF
		}
		if r.heldAt < len(r.held) {
			c, err := r.chunk(ctx)
			if c != nil || err != nil {
				return c, err
			}
			continue
		}
		up, err := r.ensure(ctx)
		if err != nil {
			return nil, err
		}
		if !up {
			if c := r.news(false); c != nil {
				return c, nil
			}
			if err := r.wait(ctx, r.backoff()); err != nil {
				return nil, err
			}
			continue
		}
		clear(r.held)
		r.spare = r.held
		var idle bool
		var seen uint64
		r.held, r.heldBytes, idle, seen = r.p.take(r.spare, r.pending == 0)
		r.heldAt = 0
		r.p.ask(len(r.held), r.heldBytes)
		if len(r.held) > 0 {
			r.pending = r.held[len(r.held)-1].pending
			continue
		}
		if err := r.settle(ctx, idle, seen); err != nil {
			return nil, err
		}
		if r.pending == 0 {
			if err := r.checkEnd(ctx); err != nil {
				return nil, err
			}
			if c := r.news(true); c != nil {
				return c, nil
			}
			if r.done {
				continue
			}
		}
		d := pullHeartbeat
		if r.pending > 0 {
			d = linger
		}
		if err := r.wait(ctx, d); err != nil {
			return nil, err
		}
	}
}

// settle takes in what an idle consumer says: it has looked at everything up to seen.
// What was still to come by its last word is then gone from the stream.
func (r *reader) settle(ctx context.Context, idle bool, seen uint64) error {
	if idle && r.pending > 0 || r.holeOpen {
		if err := r.jump(ctx, r.pos.through()); err != nil {
			return err
		}
	}
	if idle {
		r.pending = 0
		r.pos.Seen = max(r.pos.Seen, seen)
	}
	return nil
}

// Position implements connectors.Positioned.
func (r *reader) Position() connectors.Position { return r.pos.encode() }

// news returns a chunk without rows when the caught-up state changed or nothing has
// told the position yet.
func (r *reader) news(caughtUp bool) *connectors.Chunk {
	if r.caughtUp == caughtUp && r.told {
		return nil
	}
	r.caughtUp, r.told = caughtUp, true
	c := &connectors.Chunk{Pos: r.pos.encode(), CaughtUp: caughtUp, Pending: -1}
	if caughtUp {
		c.Pending = 0
	}
	return c
}

// ensure sees to it that a puller is attached and alive; false means that the other
// side is away and the caller waits.
func (r *reader) ensure(ctx context.Context) (bool, error) {
	fatal, connected, reconnects := r.src.s.state()
	if fatal != nil {
		return false, fatal
	}
	if r.p != nil {
		broken, heard, asked := r.p.state()
		now := time.Now()
		if heard != r.heard || !asked {
			r.heard, r.heardAt = heard, now
		}
		switch {
		case reconnects != r.reconnect:
			broken = "the connection was lost"
		case broken == "" && now.Sub(r.heardAt) > silentFor:
			broken = "no heartbeat of the consumer"
		}
		if broken == "" && connected {
			return true, nil
		}
		if broken != "" {
			r.p.close()
			r.p = nil
		}
	}
	if !connected {
		r.setWaiting(r.src.s.outage())
		return false, nil
	}
	err := r.attach(ctx, reconnects)
	if err == nil {
		r.tries = 0
		r.setWaiting("")
		return true, nil
	}
	if e := sqlerr.As(err); e == nil || !e.Retry {
		return false, err
	}
	r.tries++
	r.setWaiting(err.Error())
	return false, nil
}

// attach checks that the stream is still the one of the position and holds what the
// position needs, and starts reading behind it.
func (r *reader) attach(ctx context.Context, reconnects uint64) error {
	info, err := r.src.info(ctx)
	if err != nil {
		return err
	}
	if err := r.check(info); err != nil {
		return err
	}
	if r.src.kept == nil || !r.src.kept.unused {
		r.atEnd = r.reached(info)
	}
	var p *puller
	var pending uint64
	if r.src.kept != nil {
		p, pending, err = r.src.kept.attach(ctx, r)
	} else {
		p, pending, err = attach(ctx, r.src.s, r.pos.Stream, r.src.filter, r.pos.through(), r.signal)
	}
	if err != nil {
		return err
	}
	r.p, r.reconnect, r.pending = p, reconnects, pending
	r.heard, r.heardAt = 0, time.Now()
	return nil
}

func (r *reader) backoff() time.Duration {
	d := min(retryMin<<min(r.tries, 10), retryMax)
	return d/2 + rand.N(d/2+1)
}

// wait returns when something has happened or d has passed.
func (r *reader) wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-r.wake:
	case <-t.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// chunk makes the next chunk of what is held; nil when none of it is a row.
func (r *reader) chunk(ctx context.Context) (*connectors.Chunk, error) {
	n := min(chunkRows, len(r.held)-r.heldAt)
	c := &connectors.Chunk{Payloads: make([][]byte, 0, n)}
	places := places{seqs: make([]uint64, 0, n)}
	first := r.heldAt
	last, lastTime := r.pos.Seq, int64(0)
	bytes := 0
	r.rows = r.rows[:0]
	for r.heldAt < len(r.held) && len(c.Payloads) < n && bytes < chunkBytes {
		it := &r.held[r.heldAt]
		if from := max(last, r.pos.Seen); it.stream > from+1 {
			if err := r.jump(ctx, from); err != nil {
				return nil, err
			}
		}
		if r.beyond(it) {
			r.done = true
			break
		}
		r.heldAt++
		r.heldBytes -= it.size
		if it.stream <= last {
			continue
		}
		last, lastTime = it.stream, it.time
		if it.time >= r.from && len(it.header[markerHeader]) == 0 {
			c.Payloads = append(c.Payloads, it.data)
			places.add(it)
			if len(r.src.wanted) > 0 {
				r.rows = append(r.rows, it)
			}
			bytes += len(it.data)
		}
		if r.pos.Bounded && r.endTime == 0 && last >= r.pos.End {
			r.done = true
			break
		}
	}
	if lastTime != 0 {
		r.pos.Seq, r.pos.Time = last, time.Unix(0, lastTime).UTC()
	}
	behind := uint64(len(r.held)-r.heldAt) + r.pending
	up := behind == 0 && !r.done
	give := lend(r.held[first:r.heldAt])
	if len(c.Payloads) == 0 && up == r.caughtUp && r.told && !r.done {
		give()
		return nil, nil
	}
	r.caughtUp, r.told = up, true
	c.Pos, c.CaughtUp, c.Pending, c.Release = r.pos.encode(), up, int64(behind), give
	c.Meta = r.src.meta(r.rows)
	c.Where = places.at
	return c, nil
}

// places are where the rows of a chunk come from. Neighbours of one subject share it.
type places struct {
	seqs     []uint64
	subjects []string
	from     []int // the row at which each subject begins
}

func (p *places) add(it *item) {
	if n := len(p.subjects); n == 0 || p.subjects[n-1] != string(it.subject) {
		p.subjects, p.from = append(p.subjects, string(it.subject)), append(p.from, len(p.seqs))
	}
	p.seqs = append(p.seqs, it.stream)
}

func (p *places) at(row int) (subject, position string) {
	k, found := slices.BinarySearch(p.from, row)
	if !found {
		k--
	}
	return p.subjects[k], "sequence " + strconv.FormatUint(p.seqs[row], 10)
}

// lend counts what messages hold of each slab, and gives what releases it.
func lend(items []item) func() {
	type hold struct {
		slab *slab
		n    int
	}
	var holds []hold
	for i := range items {
		s := items[i].slab
		switch {
		case s == nil:
		case len(holds) > 0 && holds[len(holds)-1].slab == s:
			holds[len(holds)-1].n++
		default:
			holds = append(holds, hold{s, 1})
		}
	}
	return func() {
		for _, h := range holds {
			h.slab.release(h.n)
		}
	}
}

// beyond reports whether a message lies behind the end of a bounded read.
func (r *reader) beyond(it *item) bool {
	if !r.pos.Bounded {
		return false
	}
	if r.endTime != 0 {
		return it.time >= r.endTime
	}
	return it.stream > r.pos.End
}

func (r *reader) setWaiting(s string) {
	r.mu.Lock()
	r.status.Waiting = s
	r.mu.Unlock()
}

func (r *reader) warn(s string) {
	r.mu.Lock()
	r.status.Warnings++
	r.status.Warning = s
	r.mu.Unlock()
}

// Status implements connectors.Reporter.
func (r *reader) Status() connectors.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// Close implements connectors.Reader.
func (r *reader) Close() error {
	if r.p != nil {
		r.p.close()
		r.p = nil
	}
	return nil
}

// meta gives the wanted metadata of rows, a column each.
func (s *source) meta(rows []*item) []*vec.Vector {
	if len(s.wanted) == 0 {
		return nil
	}
	out := make([]*vec.Vector, len(s.wanted))
	for k, w := range s.wanted {
		v := vec.New(w.typ, len(rows))
		for i := range rows {
			it := rows[i]
			switch w.key {
			case metaSubject:
				v.AppendBytes(it.subject)
			case metaSequence:
				v.AppendInt64(int64(it.stream))
			case metaTimestamp:
				v.AppendInt64(types.Micros(time.Unix(0, it.time)))
			case metaHeaders:
				if len(it.header) == 0 {
					v.AppendNull()
				} else if text, err := json.Marshal(it.header); err == nil {
					v.AppendBytes(text)
				}
			default:
				if tok, ok := token(it.subject, w.token); ok {
					v.AppendBytes(tok)
				} else {
					v.AppendNull()
				}
			}
		}
		out[k] = v
	}
	return out
}
