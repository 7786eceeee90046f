package nats

import (
	"strings"
	"time"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

type boundKind uint8

const (
	boundNone boundKind = iota
	boundEarliest
	boundLatest
	boundNow
	boundSequence
	boundTime
)

// bound is a start or an end as the options give it.
type bound struct {
	kind boundKind
	seq  uint64
	time time.Time
}

func parseBound(option, s string) (bound, error) {
	start := option == "start"
	bad := func(why string) (bound, error) {
		allowed := "none, now, sequence:N or time:RFC3339"
		if start {
			allowed = "earliest, latest, sequence:N or time:RFC3339"
		}
		return bound{}, sqlerr.New(sqlerr.CodeOption, 0, "%q has %q%s", option, s, why).WithHint("It takes %s.", allowed)
	}
	word, arg, _ := strings.Cut(s, ":")
	switch {
	case s == "earliest" && start:
		return bound{kind: boundEarliest}, nil
	case s == "latest" && start:
		return bound{kind: boundLatest}, nil
	case s == "none" && !start:
		return bound{}, nil
	case s == "now" && !start:
		return bound{kind: boundNow}, nil
	case word == "sequence":
		var n uint64
		if !number(arg, &n) || n == 0 {
			return bad(", where the sequence is not a number above 0")
		}
		return bound{kind: boundSequence, seq: n}, nil
	case word == "time":
		t, err := time.Parse(time.RFC3339Nano, arg)
		if err != nil {
			return bad(", where the time is not in the form 2006-01-02T15:04:05Z")
		}
		return bound{kind: boundTime, time: t}, nil
	}
	return bad("")
}
