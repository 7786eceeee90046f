package nats

import (
	"context"
	"strconv"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// sink writes the rows of one table to one stream.
type sink struct {
	s        *session
	table    string
	stream   string
	subject  filler
	headers  []fillerHeader
	rows     int
	exactly  bool
	marker   string // subject of the commit marker
	evict    bool   // a marker that limits can remove is accepted
	create   bool
	format   *format.Format
	cols     []format.Column
	options  map[string]string
	identity string // after Check
	atomic   bool   // the stream takes atomic batches
	limit    int    // bytes of a payload
}

func openSink(ctx context.Context, c connectors.Config) (connectors.Sink, error) {
	caps, err := capabilities(c.Options, len(c.Key) > 0)
	if err != nil {
		return nil, err
	}
	if !caps.CanWrite {
		return nil, sqlerr.New(sqlerr.CodeOption, 0, "table %q cannot be written: its \"subject\" is missing or has wildcards", c.Table).
			WithHint("Name the subject; a column in braces becomes part of it, as in \"out.{region}\".")
	}
	k := &sink{table: c.Table, stream: c.Options["stream"], exactly: c.Options["delivery"] == exactlyOnce,
		evict: c.Options["marker.evictable"] == "accept", create: c.Options["auto.create"] == "true", options: c.Options}
	t, err := parseTemplate(c.Options["subject"])
	if err != nil {
		return nil, err
	}
	if k.subject, err = newFiller("subject", t, c.Schema); err != nil {
		return nil, err
	}
	if k.rows, err = strconv.Atoi(or(c.Options["rows.per.message"], "1")); err != nil {
		return nil, sqlerr.New(sqlerr.CodeOption, 0, "\"rows.per.message\" is no number")
	}
	if k.headers, err = k.bindHeaders(c); err != nil {
		return nil, err
	}
	if k.format, err = format.Find(c.Format); err != nil {
		return nil, err
	}
	if k.rows > 1 && c.Format == "raw" {
		return nil, sqlerr.New(sqlerr.CodeOption, 0, "format \"raw\" cannot pack several rows in a message")
	}
	for _, col := range c.Schema {
		k.cols = append(k.cols, format.Column{Field: col.Name, Type: col.Type, NotNull: col.NotNull})
	}
	if k.exactly {
		if k.marker, err = markerSubject(c.Options["marker.subject"], t); err != nil {
			return nil, err
		}
	}
	o, err := newOptions(c)
	if err != nil {
		return nil, err
	}
	if k.s, err = openSession(ctx, o); err != nil {
		return nil, err
	}
	k.limit = int(k.s.nc.MaxPayload()) - headerRoom
	return k, nil
}

func (k *sink) bindHeaders(c connectors.Config) ([]fillerHeader, error) {
	hs, err := parseHeaders(c.Options["headers"])
	if err != nil {
		return nil, err
	}
	var out []fillerHeader
	for _, h := range hs {
		f, err := newFiller("headers", h.value, c.Schema)
		if err != nil {
			return nil, err
		}
		if k.rows > 1 && !f.constant() {
			return nil, sqlerr.New(sqlerr.CodeOption, 0, "a header with a column needs \"rows.per.message\" = '1'")
		}
		out = append(out, fillerHeader{h.name, f})
	}
	return out, nil
}

// markerSubject is where the commit marker goes: the literal head of the table's subject
// with ".txn" unless the option names another.
func markerSubject(option string, t template) (string, error) {
	if option != "" {
		if !validSubject(option, false) || strings.ContainsAny(option, "{}*>") {
			return "", sqlerr.New(sqlerr.CodeOption, 0, "\"marker.subject\" has %q, which is no subject", option)
		}
		return option, nil
	}
	head := t.prefix()
	if head == "" {
		return "", sqlerr.New(sqlerr.CodeOption, 0, "the subject %q has no literal head for the commit marker", t.text).
			WithHint("Set \"marker.subject\".")
	}
	return head + ".txn", nil
}

// Check implements connectors.Sink.
func (k *sink) Check(ctx context.Context) error {
	if k.format.Check != nil {
		if err := k.format.Check(k.cols, k.options); err != nil {
			return err
		}
	}
	if k.exactly && !k.s.atLeast(2, 12) {
		return sqlerr.New(sqlerr.CodeNotReady, 0, "\"delivery\" = 'exactly-once' needs atomic batches, which nats-server %s does not have", k.s.nc.ConnectedServerVersion()).
			WithHint("Update the server to 2.12 or later, or set \"delivery\" = 'at-least-once'.")
	}
	pattern := k.subject.pattern()
	subjects := []string{pattern}
	if k.exactly && !covers(pattern, k.marker) {
		subjects = append(subjects, k.marker)
	}
	if k.stream == "" {
		err := k.s.call(ctx, "look up the stream of \""+pattern+"\" at", func(ctx context.Context) error {
			var err error
			k.stream, err = k.s.js.StreamNameBySubject(ctx, pattern)
			return err
		})
		if err != nil && !notFound(err) {
			return err
		}
	}
	want := streamConfig(or(k.stream, defaultStream(pattern)), subjects)
	if k.stream == "" && !k.create {
		e := sqlerr.As(missingStream(ctx, k.s, want, "no stream takes subject \""+pattern+"\""))
		return k.batchHint(e)
	}
	k.stream = want.Name
	info, err := k.s.stream(ctx, want, k.create)
	if err != nil {
		if e := sqlerr.As(err); e != nil && e.Code == sqlerr.CodeSchema {
			return k.batchHint(e)
		}
		return err
	}
	return k.judge(info, subjects)
}

func (k *sink) batchHint(e *sqlerr.Error) error {
	if k.exactly {
		e.Hint = strings.Replace(e.Hint, " --defaults", " --allow-batch --allow-msg-ttl --defaults", 1)
	}
	return e
}

// judge compares the stream with what the sink needs.
func (k *sink) judge(info *jetstream.StreamInfo, subjects []string) error {
	cfg := &info.Config
	var missing []string
	for _, s := range subjects {
		if !coveredBy(cfg.Subjects, s) {
			missing = append(missing, s)
		}
	}
	edit := "nats stream edit " + cfg.Name
	switch {
	case cfg.Mirror != nil:
		return sqlerr.New(sqlerr.CodeSchema, 0, "stream %q is a mirror and takes no messages", cfg.Name)
	case len(missing) > 0:
		e := sqlerr.New(sqlerr.CodeSchema, 0, "stream %q does not take subject %q", cfg.Name, missing[0]).
			WithHint("Add it with: %s --subjects %q.", edit, strings.Join(append(append([]string{}, cfg.Subjects...), missing...), ","))
		if missing[0] == k.marker {
			e.Detail = "It is the subject of the commit marker of \"delivery\" = 'exactly-once'; \"marker.subject\" can name another."
		}
		return e
	case cfg.Sealed:
		return sqlerr.New(sqlerr.CodeSchema, 0, "stream %q is sealed", cfg.Name)
	case cfg.NoAck:
		return sqlerr.New(sqlerr.CodeSchema, 0, "stream %q does not acknowledge, so that nothing tells whether a row is stored", cfg.Name).
			WithHint("Allow it with: %s --ack.", edit)
	}
	if cfg.MaxMsgSize > 0 {
		k.limit = min(k.limit, int(cfg.MaxMsgSize)-headerRoom)
	}
	if k.limit <= 0 {
		return sqlerr.New(sqlerr.CodeSchema, 0, "stream %q takes messages of %d bytes only", cfg.Name, cfg.MaxMsgSize)
	}
	k.atomic = cfg.AllowAtomicPublish && k.s.atLeast(2, 12)
	k.identity = "nats:" + cfg.Name + "@" + info.Created.UTC().Format(time.RFC3339Nano) + "/" + k.marker
	if !k.exactly {
		return nil
	}
	bounded := cfg.MaxMsgs > 0 || cfg.MaxBytes > 0
	switch {
	case !cfg.AllowAtomicPublish:
		return sqlerr.New(sqlerr.CodeSchema, 0, "stream %q does not allow atomic batches, which \"delivery\" = 'exactly-once' needs", cfg.Name).
			WithHint("Allow them with: %s --allow-batch.", edit)
	case cfg.Retention != jetstream.LimitsPolicy:
		return sqlerr.NotSupported(0, "\"delivery\" = 'exactly-once' into stream \""+cfg.Name+"\" with retention \""+strings.ToLower(cfg.Retention.String())+"\"").
			WithDetail("Its readers would remove the commit marker.")
	case k.evict:
	case cfg.MaxAge > 0 && !cfg.AllowMsgTTL:
		return sqlerr.New(sqlerr.CodeSchema, 0, "stream %q drops messages after %s, the commit marker too", cfg.Name, cfg.MaxAge).
			WithHint("Let the marker stay with: %s --allow-msg-ttl.", edit)
	case bounded && cfg.Discard == jetstream.DiscardOld:
		return sqlerr.New(sqlerr.CodeSchema, 0, "stream %q drops its oldest messages when it is full, and could drop the commit marker", cfg.Name).
			WithHint("Bound it by age, or set \"marker.evictable\" = 'accept' when each epoch is far smaller than the stream.")
	}
	return nil
}

// Group implements connectors.Sink: sinks with one marker commit together.
func (k *sink) Group() string {
	if !k.exactly {
		return ""
	}
	return k.identity
}

// Close implements connectors.Sink.
func (k *sink) Close() error {
	k.s.close()
	return nil
}

// packer makes a packer for the sink's rows.
func (k *sink) packer(emit func(subject string, h natsgo.Header, data []byte) error) (*packer, error) {
	enc, err := k.format.NewEncoder(k.cols, k.options)
	if err != nil {
		return nil, err
	}
	return &packer{enc: enc, subject: k.subject, headers: k.headers, rows: k.rows, limit: k.limit,
		reserved: k.marker, emit: emit, open: map[string]*pack{}}, nil
}

// atLeast reports whether the connected server has this version or a later one.
func (s *session) atLeast(major, minor int) bool {
	v := strings.SplitN(s.nc.ConnectedServerVersion(), ".", 3)
	if len(v) < 2 {
		return false
	}
	a, err1 := strconv.Atoi(v[0])
	b, err2 := strconv.Atoi(v[1])
	return err1 == nil && err2 == nil && (a > major || a == major && b >= minor)
}
