package nats

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

const (
	// ackWaitMin bounds the time after which the server delivers again what was not
	// acknowledged.
	ackWaitMin = 30 * time.Second

	// goneFor is how long a queue's consumer that was deleted under a running job is
	// missed before it is made again: who deleted it may be about to take its place.
	goneFor = 2 * time.Second

	consumerPrefix = "streamsql-"

	// Keys of a consumer's metadata: who reads it.
	metaJob      = "streamsql.job"
	metaName     = "streamsql.name"
	metaTable    = "streamsql.table"
	metaAttempt  = "streamsql.attempt"
	metaReplaces = "streamsql.replaces"
)

// durable is the consumer of a stream that forgets what its consumers have acknowledged:
// retention interest and workqueue. There is one per job and table. It keeps what comes
// behind the oldest position that a checkpoint may be restored to; where reading goes on
// is in the checkpoint alone. Every attachment puts a new consumer in the place of the
// one before: all that has no acknowledgement comes again, at once and in order, and an
// older attempt has nothing to read from.
type durable struct {
	src     *source
	owner   connectors.Owner
	table   string
	base    string // how the names of the table's consumers begin
	name    string // of the newest, "" before there is one
	serial  int
	unused  bool      // the newest has not been read from
	gone    time.Time // when it was missed
	ackWait time.Duration
	acks    acks
	beating sync.Once

	// replaces is the job whose consumers go once a checkpoint of this one is complete, and
	// swept that they have gone.
	replaces string
	swept    bool
}

// ofJob is how the names of a job's consumers begin.
func ofJob(id string) string { return consumerPrefix + id + "-" }

func newDurable(src *source, c connectors.Config) *durable {
	d := &durable{src: src, owner: c.Owner, replaces: c.Owner.Replaces, table: c.Table, ackWait: max(ackWaitMin, 10*c.Owner.Interval)}
	d.acks.s = src.s
	if d.query() {
		d.base = ofJob("query") + nuid.Next() + "-"
	} else {
		d.base = ofJob(c.Owner.Job) + consumerToken(c.Table) + "-"
	}
	return d
}

// consumerToken makes a table's name part of a consumer's, injectively.
func consumerToken(table string) string {
	var b strings.Builder
	for i := range len(table) {
		switch c := table[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

// query reports that no job reads: nothing is acknowledged, and the consumer goes with
// the source.
func (d *durable) query() bool { return d.owner.Job == "" }

// judge refuses what such a stream cannot give.
func (d *durable) judge(info *jetstream.StreamInfo) error {
	cfg := &info.Config
	src := d.src
	switch {
	case src.queue && src.start.kind != boundEarliest:
		return sqlerr.New(sqlerr.CodeOption, 0, "work queue %q is read from its earliest message only", src.stream).
			WithDetail("What lies before another start would be read by nobody and stay in the queue for ever.").
			WithHint("Leave \"start\" out.")
	case cfg.ConsumerLimits.InactiveThreshold > 0 && !d.query():
		return sqlerr.New(sqlerr.CodeSchema, 0, "stream %q removes consumers that are inactive for %s, and with one what its job has not read", src.stream, cfg.ConsumerLimits.InactiveThreshold).
			WithHint("Take the limit off with: nats stream edit %s --limit-consumer-inactive 0s.", src.stream)
	case cfg.ConsumerLimits.MaxAckPending > 0:
		return sqlerr.New(sqlerr.CodeSchema, 0, "stream %q lets a consumer hold %d messages without acknowledgement, and a checkpoint may hold more", src.stream, cfg.ConsumerLimits.MaxAckPending).
			WithHint("Take the limit off with: nats stream edit %s --limit-consumer-max-pending -1.", src.stream)
	}
	return nil
}

// kept is the consumers that were found of one table.
type kept struct {
	names    []string
	attempt  uint64 // the highest
	floor    uint64 // up to this sequence all was acknowledged
	job      string // label
	replaces string
}

// find gives the consumers whose names begin with base.
func find(all []*jetstream.ConsumerInfo, base string) (k kept) {
	for _, c := range all {
		if !strings.HasPrefix(c.Name, base) {
			continue
		}
		k.names = append(k.names, c.Name)
		k.attempt = max(k.attempt, attemptOf(c))
		k.floor = max(k.floor, c.AckFloor.Stream)
		k.job, k.replaces = c.Config.Metadata[metaName], or(k.replaces, c.Config.Metadata[metaReplaces])
	}
	return k
}

func attemptOf(info *jetstream.ConsumerInfo) (n uint64) {
	_ = number(info.Config.Metadata[metaAttempt], &n)
	return n
}

func (d *durable) config(last uint64) jetstream.ConsumerConfig {
	c := jetstream.ConsumerConfig{
		Name: d.name, FilterSubject: d.src.filter,
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: d.ackWait, MaxAckPending: -1, MaxDeliver: -1,
		Metadata: map[string]string{metaTable: d.table},
	}
	if !d.src.queue {
		c.DeliverPolicy, c.OptStartSeq = jetstream.DeliverByStartSequencePolicy, last+1
	}
	if d.query() {
		c.InactiveThreshold = inactive
		return c
	}
	c.Durable = d.name
	c.Metadata[metaJob], c.Metadata[metaName] = d.owner.Job, d.owner.Name
	c.Metadata[metaAttempt] = strconv.FormatUint(d.owner.Attempt, 10)
	if d.replaces != "" {
		c.Metadata[metaReplaces] = d.replaces
	}
	return c
}

// reserve makes the attempt's first consumer. A position that was not restored is moved
// to where the consumer begins: only from now on nothing is lost.
func (d *durable) reserve(ctx context.Context, r *reader) error {
	own, err := d.own(ctx, r)
	if err != nil {
		return err
	}
	if !r.resumed && !d.owner.Reset && !d.src.queue && len(own.names) > 0 {
		// A job that died before its first checkpoint began where its consumer does.
		r.pos.Seq, r.pos.Time = own.floor, time.Time{}
	}
	if err := d.renew(ctx, own, r.pos.through()); err != nil {
		return err
	}
	d.unused = true
	if r.resumed {
		return d.confirm(ctx, r)
	}
	info, err := d.src.info(ctx)
	if err == nil && info.State.FirstSeq > r.pos.Seq+1 {
		r.pos.Seq, r.pos.Time = info.State.FirstSeq-1, time.Time{}
	}
	return err
}

// confirm looks once more whether the consumer of another job has kept what the position
// needs, now that our own keeps it.
func (d *durable) confirm(ctx context.Context, r *reader) error {
	if r.keeper == d.base || d.src.queue {
		return nil
	}
	err := d.keep(ctx, r)
	if err != nil {
		err = errors.Join(err, d.remove(ctx, d.name))
	}
	return err
}

// own gives the table's consumers, which must not be of a later attempt, and judges what
// it means when there are none any more.
func (d *durable) own(ctx context.Context, r *reader) (own kept, err error) {
	all, err := d.list(ctx)
	if err != nil {
		return own, err
	}
	own = find(all, d.base)
	switch {
	case own.attempt > d.owner.Attempt:
		return own, sqlerr.New(sqlerr.CodeFenced, 0, "another attempt of the job reads stream %q", d.src.stream).
			WithHint("The job runs somewhere else; this process must not read any more.")
	case d.name == "" && len(own.names) > 0 && own.attempt == d.owner.Attempt:
		return own, sqlerr.NotSupported(0, fmt.Sprintf("reading table %q of stream %q twice in one job", d.table, d.src.stream))
	case len(own.names) == 0 && (d.name != "" || r.resumed && r.keeper == d.base):
		err = d.inherit(r, d.base, own)
	}
	d.replaces = or(d.replaces, own.replaces)
	return own, err
}

// renew puts a new consumer in the place of those that are there. Of a queue the old
// ones go first, since it takes one only and its messages stay. Of an interest stream
// they go last, since what no consumer keeps is gone.
func (d *durable) renew(ctx context.Context, own kept, last uint64) error {
	if d.src.queue {
		if err := d.rivals(ctx, true); err != nil {
			return err
		}
		if err := d.remove(ctx, own.names...); err != nil {
			return err
		}
	} else if len(own.names) > 0 {
		last = min(last, own.floor)
	}
	d.serial++
	d.name = d.base + strconv.FormatUint(d.owner.Attempt, 10) + "-" + strconv.Itoa(d.serial)
	err := d.src.s.call(ctx, "read stream \""+d.src.stream+"\" of", func(ctx context.Context) error {
		_, err := d.src.s.js.CreateConsumer(ctx, d.src.stream, d.config(last))
		return err
	})
	if err != nil {
		return d.refused(ctx, err)
	}
	d.acks.reset()
	if d.src.queue {
		return nil
	}
	return d.remove(ctx, own.names...)
}

// attach reads on behind what was acknowledged.
func (d *durable) attach(ctx context.Context, r *reader) (p *puller, pending uint64, err error) {
	if !d.unused {
		// Whom this job has replaced is gone; who is here now has replaced it.
		d.owner.TakeOver, d.owner.Replaces = false, ""
		own, err := d.own(ctx, r)
		if err == nil && len(own.names) == 0 {
			err = d.miss(ctx)
		}
		if err == nil {
			err = d.renew(ctx, own, r.pos.through())
		}
		if err != nil {
			return nil, 0, err
		}
		d.gone = time.Time{}
	}
	d.unused = false
	err = d.src.s.call(ctx, "read stream \""+d.src.stream+"\" of", func(ctx context.Context) error {
		c, err := d.src.s.js.Consumer(ctx, d.src.stream, d.name)
		if err == nil {
			pending = c.CachedInfo().NumPending
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	d.beating.Do(func() { go d.acks.beat(d.src.s.life, d.ackWait/3) })
	p = &puller{s: d.src.s, stream: d.src.stream, consumer: d.name, wake: r.signal, acks: &d.acks}
	return p, pending, p.open()
}

// miss is told that the consumer is gone.
func (d *durable) miss(ctx context.Context) error {
	if d.gone.IsZero() {
		d.gone = time.Now()
	}
	if err := d.rivals(ctx, false); err != nil || !d.src.queue || time.Since(d.gone) >= goneFor {
		return err
	}
	return sqlerr.Externalf(sqlerr.CodeNotReady, nil, "the consumer %q of stream %q was deleted", d.name, d.src.stream)
}

// inherit judges whether all behind the position of r is still there: keeper is how the
// names of the consumers begin that have kept it, have what there is of them.
func (d *durable) inherit(r *reader, keeper string, have kept) error {
	src, last := d.src, r.pos.through()
	own, gone := keeper == d.base, len(have.names) == 0
	switch {
	case gone && src.queue && (own || src.filter == ""):
		// Nobody takes anything out of a queue without a consumer, and a second one would
		// not have been let in; what is gone otherwise shows at the beginning.
		return nil
	case gone:
		return r.lossy(sqlerr.New(sqlerr.CodeGap, 0, "no consumer has kept what was not read of stream %q", src.stream).
			WithDetail("Whether messages behind sequence %d were lost cannot be told.", last).
			WithHint("Set \"on.gap\" = 'warn' to go on with what is there."))
	case !own && have.floor > last:
		return r.lossy(sqlerr.New(sqlerr.CodeGap, 0, "job %q has read on in stream %q to sequence %d, and the stored position is %d", have.job, src.stream, have.floor, last).
			WithDetail("What it acknowledged between the two is gone for this job.").
			WithHint("Start from a newer savepoint, or set \"on.gap\" = 'warn' to go on behind it."))
	}
	return nil
}

// keep judges a restored position by the consumer that has kept what is behind it.
func (d *durable) keep(ctx context.Context, r *reader) error {
	all, err := d.list(ctx)
	if err != nil {
		return err
	}
	var have kept
	if r.keeper != "" {
		have = find(all, r.keeper)
	}
	return d.inherit(r, r.keeper, have)
}

// released lets the server forget what lies up to a sequence.
func (d *durable) released(ctx context.Context, to uint64) error {
	if d.query() {
		return nil
	}
	if err := d.acks.release(to); err != nil || d.swept {
		return err
	}
	return d.sweep(ctx)
}

// sweep removes the consumers of the job that this one replaces, and those of tables that
// the job read under another name or does not read any more: what is read now has a
// consumer of this attempt, and a checkpoint.
func (d *durable) sweep(ctx context.Context) error {
	all, err := d.list(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		job := c.Config.Metadata[metaJob]
		if job != "" && job == d.replaces || d.earlier(c) {
			if err := d.remove(ctx, c.Name); err != nil {
				return err
			}
		}
	}
	d.swept = true
	return nil
}

// earlier reports a consumer of an earlier attempt of the job.
func (d *durable) earlier(c *jetstream.ConsumerInfo) bool {
	return c.Config.Metadata[metaJob] == d.owner.Job && attemptOf(c) < d.owner.Attempt
}

func (d *durable) remove(ctx context.Context, names ...string) error {
	for _, name := range names {
		err := d.src.s.call(ctx, "remove a consumer of", func(ctx context.Context) error {
			return d.src.s.js.DeleteConsumer(ctx, d.src.stream, name)
		})
		if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return err
		}
	}
	return nil
}

func (d *durable) list(ctx context.Context) (all []*jetstream.ConsumerInfo, err error) {
	err = d.src.s.call(ctx, "list consumers of", func(ctx context.Context) error {
		st, err := d.src.s.js.Stream(ctx, d.src.stream)
		if err != nil {
			return err
		}
		all = nil
		l := st.ListConsumers(ctx)
		for c := range l.Info() {
			all = append(all, c)
		}
		return l.Err()
	})
	return all, err
}
