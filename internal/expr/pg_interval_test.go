package expr_test

import (
	"strings"
	"testing"

	"github.com/streamsql/streamsql/internal/pgtest"
	"github.com/streamsql/streamsql/internal/types"
)

// intervalParts are what the texts of TestIntervalText are made of.
var intervalParts = []string{
	"1", "2", "-1.5", "+3", "0.25", "day", "days", "hour", "mons", "y", "week", "-", ":", "03:04", "03:04:05.678", "-1:02", "1-2", "-3-4", "ago", "@",
	"P", "P1Y2M3DT4H5M6S", "PT1.5H", "ms", "us", "c", "mil", "decade", "99", "61", "sec", "999999999999", "T", ".", "5.", "1e3", "min", "1day", "2h30m", ".5", "-.1", "+.1day",
}

// intervalForms are texts that must be read; of others PostgreSQL reads more than we do,
// since it passes over stray words.
var intervalForms = []string{
	"1 day 02:03:04", "5 seconds", "-5.25 sec", "1-2", "-1-2", "1-2 3 04:05", "P1Y2M3DT4H5M6S", "PT0.5S", "3 days ago", "@ 1 hour 2 min ago", "90", "1.5 months", "1.5 years",
	"2 centuries 1 decade", "1 day -02:03", "100:00", "00:00:60", "1.5 days 01:00", "01:00 1.5 days", "2 weeks 1.5 h", "-1 day +02:03", "1h30m", "1000 microseconds",
}

// TestIntervalText compares the reading of intervals with PostgreSQL's.
func TestIntervalText(t *testing.T) {
	r := seeded(t)
	db := pgtest.Start(t).Open(t)
	check := func(s string, must bool) {
		var theirs string
		err := db.QueryRow("SELECT $1::text::interval::text", s).Scan(&theirs)
		v, ourErr := types.ParseInterval(s, types.NoUnit, types.NoUnit)
		switch ours := string(types.AppendInterval(nil, v)); {
		case ourErr != nil && must:
			t.Errorf("%q: %v, PostgreSQL says %q", s, ourErr, theirs)
		case ourErr == nil && err != nil:
			t.Errorf("%q: %q, PostgreSQL says %v", s, ours, err)
		case ourErr == nil && ours != theirs:
			t.Errorf("%q: %q, PostgreSQL says %q", s, ours, theirs)
		}
	}
	for _, s := range intervalForms {
		check(s, true)
	}
	for range 3000 {
		var b strings.Builder
		for n := 1 + r.IntN(4); n > 0; n-- {
			b.WriteString(intervalParts[r.IntN(len(intervalParts))])
			if r.IntN(4) > 0 {
				b.WriteByte(' ')
			}
		}
		check(b.String(), false)
	}
}
