package repl

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/chzyer/readline"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/types"
)

// StatusLine shows how a job is doing on one line of a terminal; on anything else it
// is silent.
type StatusLine struct {
	w     io.Writer
	on    bool
	shown bool
	rows  int64
	at    time.Time
}

// NewStatusLine returns a status line on w.
func NewStatusLine(w io.Writer) *StatusLine {
	return &StatusLine{w: w, on: IsTerminal(w), at: time.Now()}
}

// On reports that there is a terminal to draw on.
func (s *StatusLine) On() bool { return s.on }

// Show draws the line anew.
func (s *StatusLine) Show(st engine.Status) {
	if !s.on {
		return
	}
	now := time.Now()
	rate := float64(st.RowsIn-s.rows) / now.Sub(s.at).Seconds()
	s.rows, s.at = st.RowsIn, now
	fmt.Fprintf(s.w, "\r\x1b[K%s", statusText(st, rate, now, max(readline.GetScreenWidth()-1, 40)))
	s.shown = true
}

// Close wipes the line.
func (s *StatusLine) Close() {
	if s.shown {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.shown = false
	}
}

// statusText is the line in at most width characters. Where there is no room for all of
// it, the least important parts are left out.
func statusText(st engine.Status, rate float64, now time.Time, width int) string {
	var parts []statusPart
	add := func(rank int, format string, args ...any) {
		parts = append(parts, statusPart{fmt.Sprintf(format, args...), rank})
	}
	dropped := func(rank int, name string, n int64) {
		if n > 0 {
			add(rank, "%s %s", name, count(float64(n)))
		}
	}
	add(2, "in %s", count(float64(st.RowsIn)))
	add(5, "%s/s", count(rate))
	add(3, "out %s", count(float64(st.RowsOut)))
	dropped(1, "late", st.Late)
	dropped(1, "partly late", st.PartlyLate)
	dropped(1, "broken", st.Broken)
	dropped(1, "dead letters", st.DeadLetters)
	add(7, "epoch %d", st.Epoch)
	add(4, "memory %s", size(st.Memory.Sum()))
	if lag, ok := lag(st, now); ok {
		add(6, "behind %s", duration(lag))
	}
	if st.Stall != "" {
		add(waitingRank, "waiting: %s", st.Stall)
	}
	for {
		var line strings.Builder
		taken, first := -2, 0 // the one to be left out first
		for i, p := range parts {
			if i > 0 {
				line.WriteString("  ")
			}
			line.WriteString(p.text)
			n := utf8.RuneCountInString(p.text)
			if p.rank == waitingRank {
				n = min(n, waitingRoom) // the rest is cut
			}
			taken += 2 + n
			if p.rank > parts[first].rank {
				first = i
			}
		}
		if taken > width && len(parts) > 1 {
			parts = slices.Delete(parts, first, first+1)
			continue
		}
		text := []rune(line.String())
		return string(text[:min(len(text), width)])
	}
}

// statusPart is a part of the status line; the highest rank is left out first.
type statusPart struct {
	text string
	rank int
}

const (
	waitingRank = 0
	waitingRoom = 50 // of what a job waits for, at the least
)

// lag is how far event time is behind the clock.
func lag(st engine.Status, now time.Time) (time.Duration, bool) {
	low := types.MaxTime
	for _, n := range st.Nodes {
		low = min(low, n.Watermark)
	}
	if low == types.MinTime || low == types.MaxTime {
		return 0, false
	}
	return now.Sub(time.UnixMicro(low)), true
}

// duration is d in the units that matter.
func duration(d time.Duration) string {
	const day = 24 * time.Hour
	if d < 2*day {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%d days", d/day)
}

// size is n bytes in the unit that fits.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d KiB", (n+1<<10-1)>>10)
}

func count(n float64) string {
	switch {
	case n >= 10e6:
		return fmt.Sprintf("%.1fM", n/1e6)
	case n >= 10e3:
		return fmt.Sprintf("%.1fk", n/1e3)
	}
	return fmt.Sprintf("%.0f", n)
}
