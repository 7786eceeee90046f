package nats

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// source reads one stream as one split.
type source struct {
	s          *session
	table      string
	stream     string
	filter     string // subject of the consumer, "" reads all
	start, end bound
	failOnGap  bool
	wanted     []wanted
	// kept is the consumer of a stream that forgets what was acknowledged, nil for one
	// that does not; queue says that the stream is a work queue.
	kept   *durable
	queue  bool
	reader *reader
}

// wanted is a metadata column of the scan.
type wanted struct {
	key   string
	typ   types.Type
	token int // of a "token." key
}

func openSource(ctx context.Context, c connectors.Config) (connectors.Source, error) {
	if _, err := capabilities(c.Options, false); err != nil {
		return nil, err
	}
	o, err := newOptions(c)
	if err != nil {
		return nil, err
	}
	src := &source{table: c.Table, stream: c.Options["stream"], failOnGap: c.Options["on.gap"] != "warn"}
	t, err := parseTemplate(c.Options["subject"])
	if err != nil {
		return nil, err
	}
	src.filter = t.filter()
	if src.wanted, err = wantedColumns(c.Meta, t); err != nil {
		return nil, err
	}
	if src.start, err = parseBound("start", or(c.Options["start"], "earliest")); err != nil {
		return nil, err
	}
	if src.end, err = parseBound("end", or(c.Options["end"], "none")); err != nil {
		return nil, err
	}
	if src.s, err = openSession(ctx, o); err != nil {
		return nil, err
	}
	if err := src.find(ctx, c); err != nil {
		src.s.close()
		return nil, err
	}
	return src, nil
}

func wantedColumns(keys []string, t template) ([]wanted, error) {
	tokens, err := t.tokens()
	if err != nil {
		return nil, err
	}
	var out []wanted
	for _, key := range keys {
		w := wanted{key: key}
		name, isToken := strings.CutPrefix(key, metaToken)
		switch {
		case isToken:
			i, ok := tokens[name]
			if !ok {
				return nil, sqlerr.New(sqlerr.CodeUndefinedColumn, 0, "the subject %q has no token named %q", t.text, name).
					WithHint("Write the token as {%s} in \"subject\".", name)
			}
			w.token, w.typ = i, types.TText
		case key == metaSubject:
			w.typ = types.TText
		case key == metaSequence:
			w.typ = types.TBigInt
		case key == metaTimestamp:
			w.typ = types.TTimestampTZ(6)
		case key == metaHeaders:
			w.typ = types.TJSON
		default:
			return nil, sqlerr.New(sqlerr.CodeUndefinedColumn, 0, "connector \"nats\" has no metadata %q", key).
				WithHint("It has subject, sequence, timestamp, headers and token.<name>.")
		}
		out = append(out, w)
	}
	return out, nil
}

// find looks the stream up and judges whether it can be read without loss.
func (src *source) find(ctx context.Context, c connectors.Config) error {
	if src.stream == "" {
		err := src.s.call(ctx, "look up the stream of \""+src.filter+"\" at", func(ctx context.Context) error {
			var err error
			src.stream, err = src.s.js.StreamNameBySubject(ctx, src.filter)
			return err
		})
		if err != nil && !notFound(err) {
			return err
		}
	}
	cfg := streamConfig(or(src.stream, defaultStream(src.filter)), []string{or(src.filter, src.stream)})
	if src.stream == "" && c.Options["auto.create"] != "true" {
		return missingStream(ctx, src.s, cfg, "no stream takes subject \""+src.filter+"\"")
	}
	src.stream = cfg.Name
	info, err := src.s.stream(ctx, cfg, c.Options["auto.create"] == "true")
	if err != nil {
		return err
	}
	if r := info.Config.Retention; r != jetstream.LimitsPolicy {
		src.queue = r == jetstream.WorkQueuePolicy
		src.kept = newDurable(src, c)
		if err := src.kept.judge(info); err != nil {
			return err
		}
	}
	if info.Config.ConsumerLimits.InactiveThreshold > 0 && info.Config.ConsumerLimits.InactiveThreshold < inactive {
		return sqlerr.New(sqlerr.CodeSchema, 0, "stream %q limits the inactive threshold of consumers to %s", src.stream, info.Config.ConsumerLimits.InactiveThreshold).
			WithHint("A consumer of streamsql needs %s.", inactive)
	}
	subjects := info.Config.Subjects
	if src.filter == "" || len(subjects) > 0 && !overlap(subjects, src.filter) && info.Config.Mirror == nil && len(info.Config.Sources) == 0 {
		if src.filter == "" {
			return nil
		}
		return sqlerr.New(sqlerr.CodeSchema, 0, "stream %q does not take subject %q", src.stream, src.filter).
			WithDetail("It takes %s.", strings.Join(subjects, ", ")).
			WithHint("Add it with: nats stream edit %s --subjects %q.", src.stream, strings.Join(append(subjects, src.filter), ","))
	}
	// A filter that lets everything pass costs the server most of its speed.
	if len(subjects) > 0 && len(info.Config.Sources) == 0 {
		all := true
		for _, s := range subjects {
			all = all && covers(src.filter, s)
		}
		if all {
			src.filter = ""
		}
	}
	return nil
}

// overlap reports whether some subject could match both a filter and a stream's subject.
func overlap(subjects []string, filter string) bool {
	for _, s := range subjects {
		if meets(strings.Split(s, "."), strings.Split(filter, ".")) {
			return true
		}
	}
	return false
}

func meets(a, b []string) bool {
	for i := 0; ; i++ {
		switch {
		case i == len(a) || i == len(b):
			return len(a) == len(b)
		case a[i] == ">" || b[i] == ">":
			return true
		case a[i] != "*" && b[i] != "*" && a[i] != b[i]:
			return false
		}
	}
}

func notFound(err error) bool {
	return errors.Is(err, jetstream.ErrStreamNotFound)
}

func (src *source) info(ctx context.Context) (*jetstream.StreamInfo, error) {
	info, err := src.s.info(ctx, src.stream)
	if err != nil && notFound(err) {
		return nil, sqlerr.New(sqlerr.CodeGap, 0, "stream %q is gone", src.stream).
			WithHint("%s", src.resetHint())
	}
	return info, err
}

// Splits implements connectors.Source.
func (src *source) Splits(context.Context) ([]connectors.Split, error) {
	return []connectors.Split{{ID: src.stream}}, nil
}

// Open implements connectors.Source.
func (src *source) Open(ctx context.Context, _ connectors.Split, at connectors.Position) (connectors.Reader, error) {
	r := &reader{src: src, resumed: at != nil, wake: make(chan struct{}, 1)}
	info, err := src.info(ctx)
	if err != nil {
		return nil, err
	}
	if at == nil {
		r.pos, err = src.resolve(ctx, info)
	} else {
		r.pos, err = decodePosition(at)
	}
	if err != nil {
		return nil, err
	}
	if !r.pos.From.IsZero() {
		r.from = r.pos.From.UnixNano()
	}
	if !r.pos.EndTime.IsZero() {
		r.endTime = r.pos.EndTime.UnixNano()
	}
	if r.pos.Bounded && r.endTime == 0 && r.pos.Seq >= r.pos.End && r.pos.End > 0 {
		r.done = at != nil
	}
	if r.done {
		return r, nil
	}
	if err := r.check(info); err != nil {
		return nil, err
	}
	if at != nil {
		if err := r.checkMessage(ctx); err != nil {
			return nil, err
		}
	}
	if err := src.checkKept(ctx, r); err != nil {
		return nil, err
	}
	r.atEnd = r.reached(info)
	src.reader = r
	src.s.listen(r.signal)
	return r, nil
}

// checkKept compares the position with the consumers of a stream that forgets.
func (src *source) checkKept(ctx context.Context, r *reader) error {
	if src.kept == nil {
		return nil
	}
	if r.resumed {
		r.keeper = r.pos.Consumer
		if err := src.kept.keep(ctx, r); err != nil {
			return err
		}
	}
	r.pos.Consumer = src.kept.base
	return src.kept.rivals(ctx, false)
}

// Reserve implements connectors.Reserver.
func (src *source) Reserve(ctx context.Context) error {
	if src.kept == nil || src.reader == nil {
		return nil
	}
	return src.kept.reserve(ctx, src.reader)
}

// Release implements connectors.Releaser.
func (src *source) Release(ctx context.Context, _ connectors.Split, at connectors.Position) error {
	if src.kept == nil || src.reader == nil {
		// Without a reader the split had ended before this start, and is to be finished.
		return nil
	}
	p, err := decodePosition(at)
	if err != nil {
		return err
	}
	return src.kept.released(ctx, p.through())
}

// Finish implements connectors.Reserver.
func (src *source) Finish(ctx context.Context, _ connectors.Split, at connectors.Position) error {
	if src.kept == nil {
		return nil
	}
	p, err := decodePosition(at)
	if err != nil {
		return err
	}
	if src.reader != nil {
		if err := src.reader.Close(); err != nil {
			return err
		}
	}
	return src.kept.finish(ctx, p)
}

// resolve turns the options' start and end into a position, once.
func (src *source) resolve(ctx context.Context, info *jetstream.StreamInfo) (position, error) {
	p := position{Stream: src.stream, Created: info.Created}
	first := max(info.State.FirstSeq, 1)
	switch src.start.kind {
	case boundLatest:
		p.Seq = info.State.LastSeq
		if p.Seq > 0 {
			p.Time = info.State.LastTime.UTC()
		}
	case boundSequence:
		p.Seq = src.start.seq - 1
	case boundTime:
		last, err := src.sequenceAt(ctx, src.start.time)
		if err != nil {
			return p, err
		}
		p.Seq, p.From = max(last, first-1), src.start.time.UTC()
	default:
		p.Seq = first - 1
	}
	switch src.end.kind {
	case boundNow:
		p.Bounded, p.End = true, info.State.LastSeq
	case boundSequence:
		p.Bounded, p.End = true, src.end.seq
	case boundTime:
		p.Bounded, p.EndTime = true, src.end.time.UTC()
	}
	return p, nil
}

// sequenceAt asks the server for the last sequence before a time.
func (src *source) sequenceAt(ctx context.Context, t time.Time) (last uint64, err error) {
	err = src.s.call(ctx, "read stream \""+src.stream+"\" of", func(ctx context.Context) error {
		c, err := src.s.js.CreateConsumer(ctx, src.stream, jetstream.ConsumerConfig{
			DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &t,
			AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: time.Second,
		})
		if err != nil {
			return err
		}
		last = c.CachedInfo().Delivered.Stream
		err = src.s.js.DeleteConsumer(ctx, src.stream, c.CachedInfo().Name)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			return nil // the server was first
		}
		return err
	})
	return last, err
}

// Close implements connectors.Source.
func (src *source) Close() error {
	if src.kept != nil && src.kept.query() {
		// The server removes an idle one by itself, so an error here does no harm.
		_ = src.s.nc.Publish(src.s.api+"CONSUMER.DELETE."+src.stream+"."+src.kept.name, nil)
	}
	src.s.close()
	return nil
}
