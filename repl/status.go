package repl

import (
	"fmt"
	"io"
	"time"

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
	line := fmt.Sprintf("in %s (%s/s)  out %s  late %s  errors %s  epoch %d", count(float64(st.RowsIn)), count(rate),
		count(float64(st.RowsOut)), count(float64(st.Late)), count(float64(st.Failed)), st.Epoch)
	line += "  memory " + size(st.Memory.Sum())
	if lag, ok := lag(st, now); ok {
		line += "  behind " + duration(lag)
	}
	if st.Stall != "" {
		line += "  waiting: " + st.Stall
	}
	if text, most := []rune(line), max(readline.GetScreenWidth()-1, 40); len(text) > most {
		line = string(text[:most])
	}
	fmt.Fprintf(s.w, "\r\x1b[K%s", line)
	s.shown = true
}

// Close wipes the line.
func (s *StatusLine) Close() {
	if s.shown {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.shown = false
	}
}

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
