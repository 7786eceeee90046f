package operators

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/planner/plan"
)

// windows does the arithmetic of a windowing. Windows are named by their start.
type windows struct{ plan.Window }

func newWindows(w plan.Window) (windows, error) {
	if w.Size <= 0 || w.Slide <= 0 || w.Tick <= 0 {
		return windows{}, sqlerr.Internalf("window of size %d, slide %d, tick %d", w.Size, w.Slide, w.Tick)
	}
	return windows{w}, nil
}

// last is the start of the newest window that starts at or before t. It holds t
// unless hops leave a gap there.
func (w windows) last(t int64) int64 { return floor(t, w.Offset, w.Slide) }

// first is the start of the oldest window that holds t; when it is greater than
// last(t), none does.
func (w windows) first(t int64) int64 { return floor(t-w.Size, w.Offset, w.Slide) + w.Slide }

// closed says whether watermark wm closes the window.
func (w windows) closed(start, wm int64) bool { return wm >= start+w.Size-w.Tick }

// time is the window_time: the last moment of the window.
func (w windows) time(start int64) int64 { return start + w.Size - w.Tick }

// prop is the value of a window column.
func (w windows) prop(p plan.WindowProp, start int64) int64 {
	switch p {
	case plan.WindowStart:
		return start
	case plan.WindowEnd:
		return start + w.Size
	default:
		return w.time(start)
	}
}

// floor is the greatest offset + k*step that is at most t.
func floor(t, offset, step int64) int64 {
	r := (t - offset) % step
	if r < 0 {
		r += step
	}
	return t - r
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
