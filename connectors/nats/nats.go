// Package nats connects tables to NATS JetStream: a stream is read by sequence with
// the position in the checkpoint, acknowledged behind it where the stream forgets what
// was read, and written either early with acknowledgements or epoch by epoch in atomic
// batches that end in a marker.
package nats

import (
	"strings"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// Delivery guarantees of the sink.
const (
	atLeastOnce = "at-least-once"
	exactlyOnce = "exactly-once"
)

// Metadata keys of the source; "token." stands for every name in the braces of the
// table's subject.
const (
	metaSubject   = "subject"
	metaSequence  = "sequence"
	metaTimestamp = "timestamp"
	metaHeaders   = "headers"
	metaToken     = "token."
)

// Connector is the descriptor of the connector "nats".
var Connector = connectors.Connector{
	Name: "nats",
	Doc:  "A NATS JetStream stream, read by sequence with the position in the checkpoint, and written early or in atomic batches. Work queues and interest streams are acknowledged once a checkpoint covers what was read",
	Options: []connectors.Option{
		{Name: "url", Aliases: []string{"servers", "server_url"}, Type: connectors.OptSecret, Doc: "server, or several with commas between them; the embedded server or --nats when not given"},
		{Name: "stream", Aliases: []string{"stream_name"}, Type: connectors.OptString, Doc: "name of the stream; found by the subject when not given"},
		{Name: "subject", Aliases: []string{"subjects"}, Type: connectors.OptString, Doc: "source: which subjects to read, all of the stream when not given, names in braces are columns, and metadata \"token.<name>\"; sink: where rows go, names in braces are columns"},
		{Name: "start", Type: connectors.OptString, Default: "earliest", Doc: "earliest, latest, sequence:N or time:RFC3339; where the first run begins; a work queue has earliest only"},
		{Name: "end", Type: connectors.OptString, Default: "none", Doc: "none, now, sequence:N or time:RFC3339; a table with an end is bounded"},
		{Name: "on.gap", Type: connectors.OptEnum, Enum: []string{"fail", "warn"}, Default: "fail", Doc: "what to do when messages that a position needs are gone"},
		{Name: "delivery", Type: connectors.OptEnum, Enum: []string{atLeastOnce, exactlyOnce}, Default: atLeastOnce, Doc: "guarantee of the sink"},
		{Name: "rows.per.message", Type: connectors.OptInt, Default: "1", Doc: "sink: rows of one subject packed in a message, a line each"},
		{Name: "headers", Type: connectors.OptString, Doc: "sink: headers of every message, as \"Name: value, Name: value\"; names in braces are columns"},
		{Name: "marker.subject", Type: connectors.OptString, Doc: "sink, exactly-once: subject of the commit marker; the literal head of the sink's subject with \".txn\" when not given"},
		{Name: "marker.evictable", Type: connectors.OptEnum, Enum: []string{"refuse", "accept"}, Default: "refuse", Doc: "sink, exactly-once: whether a stream whose limits can remove the marker is accepted"},
		{Name: "auto.create", Type: connectors.OptBool, Default: "false", Doc: "make the stream when it does not exist"},
		{Name: "context", Type: connectors.OptString, Doc: "name or file of a context of the nats command line"},
		{Name: "auth.user", Aliases: []string{"username"}, Type: connectors.OptString, Doc: "user name"},
		{Name: "auth.password", Aliases: []string{"password"}, Type: connectors.OptSecret, Doc: "password"},
		{Name: "auth.token", Aliases: []string{"token"}, Type: connectors.OptSecret, Doc: "token"},
		{Name: "auth.nkey", Type: connectors.OptString, Doc: "file with an NKey seed"},
		{Name: "auth.creds", Type: connectors.OptString, Doc: "file with JWT and NKey seed"},
		{Name: "tls.ca", Type: connectors.OptString, Doc: "file with the certificates that may sign the server's"},
		{Name: "tls.cert", Type: connectors.OptString, Doc: "file with our certificate"},
		{Name: "tls.key", Type: connectors.OptString, Doc: "file with the key of our certificate"},
		{Name: "tls.insecure", Type: connectors.OptBool, Default: "false", Doc: "take any certificate of the server"},
	},
	Metadata: []connectors.Metadata{
		{Name: metaSubject, Type: types.TText, Doc: "subject of the message"},
		{Name: metaSequence, Type: types.TBigInt, Doc: "sequence of the message in the stream"},
		{Name: metaTimestamp, Type: types.TTimestampTZ(6), Doc: "when the server stored the message"},
		{Name: metaHeaders, Type: types.TJSON, Doc: "headers as an object of arrays of strings"},
		{Name: metaToken, Type: types.TText, Doc: "\"token.region\" is the token at {region} in the table's subject"},
	},
	Capabilities: capabilities,
	OpenSource:   openSource,
	OpenSink:     openSink,
}

func capabilities(o map[string]string, _ bool) (connectors.Capabilities, error) {
	c := connectors.Capabilities{CanRead: true, CanWrite: true, Splits: 1, Replayable: true}
	t, err := parseTemplate(o["subject"])
	if err != nil {
		return c, err
	}
	if o["subject"] != "" && !validSubject(t.filter(), true) {
		return c, sqlerr.New(sqlerr.CodeOption, 0, "\"subject\" has %q, which is no subject", o["subject"]).
			WithHint("A subject is tokens with dots between them; * and > are wildcards.")
	}
	if o["subject"] == "" && o["stream"] == "" {
		return c, sqlerr.New(sqlerr.CodeOption, 0, "connector \"nats\" needs \"stream\" or \"subject\"")
	}
	if _, err := parseBound("start", or(o["start"], "earliest")); err != nil {
		return c, err
	}
	end, err := parseBound("end", or(o["end"], "none"))
	if err != nil {
		return c, err
	}
	if _, err := parseHeaders(o["headers"]); err != nil {
		return c, err
	}
	if n := or(o["rows.per.message"], "1"); !positive(n) {
		return c, sqlerr.New(sqlerr.CodeOption, 0, "\"rows.per.message\" must be a number above 0, not %q", n)
	}
	c.Bounded = end.kind != boundNone
	// A subject with wildcards can be read and not written to.
	c.CanWrite = o["subject"] != "" && !strings.ContainsAny(o["subject"], "*>")
	if o["delivery"] == exactlyOnce {
		c.Commit, c.ForceCommit = true, true
	} else {
		c.Early, c.ForceEarly = true, true
	}
	return c, nil
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func positive(s string) bool {
	var n uint64
	return number(s, &n) && n > 0 && n <= 1_000_000
}
