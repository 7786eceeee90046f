// Package generator is the source that makes its own rows: the Nexmark events, or
// columns of sequences and random values. Rows depend on the options and their number
// alone, so every read of a position gives the same rows.
package generator

import (
	"context"
	"strconv"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/generator/nexmark"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/vec"
)

const (
	optKind       = "kind"
	optRate       = "rate"
	optRows       = "rows"
	optSeed       = "seed"
	optSplits     = "splits"
	optEvent      = "nexmark.event"
	optEventRate  = "nexmark.event-rate"
	optBase       = "nexmark.base-time"
	optOutOfOrder = "nexmark.out-of-order"
	fieldPrefix   = "fields."

	kindNexmark = "nexmark"
	kindColumns = "columns"
)

// maxSplits bounds option splits.
const maxSplits = 1024

// Connector describes the generator.
func Connector() connectors.Connector {
	return connectors.Connector{
		Name: "generator",
		Doc:  "Makes its own rows: the events of the Nexmark benchmark, or columns of sequences and random values",
		Options: []connectors.Option{
			{Name: optKind, Type: connectors.OptEnum, Enum: []string{kindNexmark, kindColumns}, Default: kindNexmark,
				Doc: "nexmark events, or columns as the fields options say"},
			{Name: optRate, Aliases: []string{"rows-per-second"}, Type: connectors.OptInt, Default: "0",
				Doc: "events a second by the clock, all three kinds of nexmark events counted; 0 is as fast as they are taken"},
			{Name: optRows, Aliases: []string{"number-of-rows"}, Type: connectors.OptInt,
				Doc: "events in all, all three kinds of nexmark events counted; without it they never end"},
			{Name: optSeed, Type: connectors.OptInt, Default: "0", Doc: "chooses the random values"},
			{Name: optSplits, Type: connectors.OptInt, Default: "1", Doc: "how many ordered sequences the events are dealt to, for reading in parallel"},
			{Name: optEvent, Type: connectors.OptEnum, Enum: []string{"person", "auction", "bid"},
				Doc: "the nexmark table; those with equal seed, rows and rate belong together"},
			{Name: optEventRate, Type: connectors.OptInt, Default: "10000", Doc: "events a second of event time"},
			{Name: optBase, Type: connectors.OptString, Default: "2015-07-15 00:00:00", Doc: "event time of the first event"},
			{Name: optOutOfOrder, Type: connectors.OptInt, Default: "1",
				Doc: "event times are shuffled within groups of so many events; 1 keeps them in order"},
			{Name: fieldPrefix, Prefix: true, Type: connectors.OptString,
				Doc: "fields.<column>.kind = random | sequence, .min, .max, .length, .null-rate, .start, .step: what a column of kind columns holds"},
		},
		Capabilities: func(options map[string]string, _ bool) (connectors.Capabilities, error) {
			s, err := readSettings(options)
			if err != nil {
				return connectors.Capabilities{}, err
			}
			return connectors.Capabilities{CanRead: true, Bounded: s.rows >= 0, Splits: s.splits,
				SelfDecoding: true, Replayable: true}, nil
		},
		CheckColumns: checkColumns,
		OpenSource:   func(_ context.Context, c connectors.Config) (connectors.Source, error) { return open(c) },
	}
}

// settings are the options, read.
type settings struct {
	kind   string
	rate   int64
	rows   int64 // -1: without end
	seed   int64
	splits int
	event  nexmark.Kind
	config nexmark.Config
}

func readSettings(options map[string]string) (s settings, err error) {
	s.kind = options[optKind]
	if s.kind == "" {
		s.kind = kindNexmark
	}
	if s.kind != kindNexmark && s.kind != kindColumns {
		return s, badOption(optKind, options[optKind], "It can be nexmark or columns.")
	}
	r := optionReader{options: options}
	s.rate = r.integer(optRate, 0, 0, 1<<40)
	s.rows = r.integer(optRows, -1, 0, 1<<60)
	s.seed = r.integer(optSeed, 0, -1<<63, 1<<63-1)
	s.splits = int(r.integer(optSplits, 1, 1, maxSplits))
	s.config = nexmark.Config{
		Seed:       uint64(s.seed),
		EventRate:  r.integer(optEventRate, 10000, 1, 1<<40),
		OutOfOrder: r.integer(optOutOfOrder, 1, 1, 1<<20),
		Base:       nexmark.DefaultBase,
	}
	if base := options[optBase]; base != "" {
		micros, _, f := vec.ParseTimestamp([]byte(base))
		if f != vec.Fine {
			r.fail(badOption(optBase, base, "It is a time such as 2015-07-15T00:00:00Z."))
		}
		s.config.Base = vec.TruncateTick(micros, 1000) / 1000
	}
	if s.kind == kindColumns {
		for _, name := range []string{optEvent, optOutOfOrder} {
			if v := options[name]; v != "" && !(name == optOutOfOrder && s.config.OutOfOrder == 1) {
				r.fail(sqlerr.New(sqlerr.CodeOption, 0, "option %q is for %s = '%s'", name, optKind, kindNexmark))
			}
		}
	}
	if s.kind == kindNexmark {
		switch e := options[optEvent]; e {
		case "person":
			s.event = nexmark.KindPerson
		case "auction":
			s.event = nexmark.KindAuction
		case "bid":
			s.event = nexmark.KindBid
		case "":
			r.fail(sqlerr.New(sqlerr.CodeOption, 0, "option %q is missing", optEvent).WithHint("It can be person, auction or bid."))
		default:
			r.fail(badOption(optEvent, e, "It can be person, auction or bid."))
		}
	}
	return s, r.err
}

func badOption(name, value, hint string) error {
	return sqlerr.New(sqlerr.CodeOption, 0, "option %q is %q", name, value).WithHint("%s", hint)
}

// optionReader keeps the first error, and which options were asked for.
type optionReader struct {
	options map[string]string
	asked   map[string]bool
	err     error
}

func (r *optionReader) text(name string) string {
	if r.asked == nil {
		r.asked = map[string]bool{}
	}
	r.asked[name] = true
	return r.options[name]
}

func (r *optionReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *optionReader) integer(name string, def, lo, hi int64) int64 {
	s := r.text(name)
	if s == "" {
		return def
	}
	x, err := strconv.ParseInt(s, 10, 64)
	if err != nil || x < lo || x > hi {
		r.fail(sqlerr.New(sqlerr.CodeOption, 0, "option %q is %q", name, s).
			WithHint("It is a whole number from %d to %d.", lo, hi))
	}
	return x
}
