// Package interp is the executable specification of time: windowed and updating
// aggregation, one row after the other, written to be read and not to be fast. It
// keeps every row it was given and computes every answer from them. The operators
// are compared with it over splits, interleavings and cuts; PostgreSQL cannot judge
// watermarks.
//
// The rules, each in one place below:
//
//   - a split is one ordered sequence of rows. Its watermark after a row is the
//     greatest time it has shown, less the delay of the WATERMARK clause;
//   - a row is judged by the watermark of its own split before it. A window
//     [start, end) is closed to it when that watermark is at least end - tick;
//   - a row counts in every window that holds its time and is not closed to it. Late
//     for all of its windows, it is a late row; for some, a partly late row; with no
//     window at all, because hops leave gaps, it is neither;
//   - the job's watermark is the least of its splits', idle ones left out, and never
//     goes back. A window comes out when the job's watermark closes it, if it holds
//     a row;
//   - a split that comes back from idleness starts at the job's watermark, since what
//     that has closed is gone;
//   - a row without time is in no window and is counted apart;
//   - the end of a split is the watermark at the end of time.
package interp

import (
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/plan"
)

// Row is one event as it arrives. Values are the columns of the operator's input;
// the event time is among them at the query's Time.
type Row struct {
	Split  int
	Values []types.Value
	// Filtered rows were removed by a WHERE: they move time and nothing else.
	Filtered bool
}

// Query is a windowed GROUP BY. Delay is that of the WATERMARK clause, in
// microseconds.
type Query struct {
	Window plan.Window
	Delay  int64
	Time   int
	Keys   []int
	Aggs   []expr.AggCall
}

// Result is one output row: the keys, the aggregates, and the window.
type Result struct {
	Keys, Aggs []types.Value
	Start, End int64
}

// Counts says what became of the rows that are in no answer, or not in all.
type Counts struct {
	Late       int // late for every window that holds them
	PartlyLate int // late for some
	NullTime   int
}

// Job is one running query over splits.
type Job struct {
	Counts Counts

	q      Query
	splits []split
	wm     int64
	kept   []kept
}

type split struct {
	wm    int64
	idle  bool
	ended bool
}

// kept is a row in one of its windows.
type kept struct {
	start  int64
	values []types.Value
}

// New starts a job that reads this many splits.
func New(q Query, splits int) *Job {
	j := &Job{q: q, splits: make([]split, splits), wm: types.MinTime}
	for i := range j.splits {
		j.splits[i].wm = types.MinTime
	}
	return j
}

// Run feeds all rows and the end, and returns all results in the order of firing.
func Run(q Query, splits int, rows []Row) ([]Result, Counts) {
	j := New(q, splits)
	var out []Result
	for _, r := range rows {
		out = append(out, j.Add(r)...)
	}
	return append(out, j.End()...), j.Counts
}

// Carried is the watermark that the next row of the split carries.
func (j *Job) Carried(s int) int64 {
	if j.splits[s].idle {
		return max(j.splits[s].wm, j.wm)
	}
	return j.splits[s].wm
}

// Watermark is the job's watermark.
func (j *Job) Watermark() int64 { return j.wm }

// Add takes one row and returns the windows that it closes.
func (j *Job) Add(r Row) []Result {
	s := &j.splits[r.Split]
	s.wm, s.idle = j.Carried(r.Split), false
	t := r.Values[j.q.Time]
	if t.Null {
		if !r.Filtered {
			j.Counts.NullTime++
		}
		return nil
	}
	if !r.Filtered {
		j.place(t.I, s.wm, r.Values)
	}
	s.wm = max(s.wm, t.I-j.q.Delay)
	return j.fire()
}

// Idle leaves the split out of the watermark until its next row.
func (j *Job) Idle(s int) []Result {
	j.splits[s].idle = true
	return j.fire()
}

// EndSplit ends one split.
func (j *Job) EndSplit(s int) []Result {
	j.splits[s].ended = true
	return j.fire()
}

// End ends every split.
func (j *Job) End() []Result {
	for s := range j.splits {
		j.splits[s].ended = true
	}
	return j.fire()
}

// place puts a row into its windows or counts it.
func (j *Job) place(t, carried int64, values []types.Value) {
	starts := WindowsOf(j.q.Window, t)
	late := 0
	for _, start := range starts {
		if Closed(j.q.Window, start, carried) {
			late++
			continue
		}
		j.kept = append(j.kept, kept{start: start, values: values})
	}
	switch {
	case late == 0:
	case late == len(starts):
		j.Counts.Late++
	default:
		j.Counts.PartlyLate++
	}
}

// WindowsOf gives the starts of the windows that hold time t, ascending.
func WindowsOf(w plan.Window, t int64) []int64 {
	last := w.Offset + floorDiv(t-w.Offset, w.Slide)*w.Slide
	var starts []int64
	for start := last; start+w.Size > t; start -= w.Slide {
		starts = append([]int64{start}, starts...)
	}
	return starts
}

// Closed says whether watermark wm closes the window that starts at start.
func Closed(w plan.Window, start, wm int64) bool { return wm >= start+w.Size-w.Tick }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// fire moves the job's watermark and takes out what it closes, windows in order.
func (j *Job) fire() []Result {
	wm := j.merged()
	if wm <= j.wm {
		return nil
	}
	j.wm = wm
	var out []Result
	for {
		start, found := j.firstClosed()
		if !found {
			return out
		}
		var rows [][]types.Value
		var rest []kept
		for _, k := range j.kept {
			if k.start == start {
				rows = append(rows, k.values)
			} else {
				rest = append(rest, k)
			}
		}
		j.kept = rest
		for _, g := range Group(rows, j.q.Keys, j.q.Aggs) {
			g.Start, g.End = start, start+j.q.Window.Size
			out = append(out, g)
		}
	}
}

// merged is the least watermark of the splits that have a say; when none has, time
// stands still, and when all have ended it is the end of time.
func (j *Job) merged() int64 {
	wm, live, ended := types.MaxTime, 0, 0
	for _, s := range j.splits {
		switch {
		case s.ended:
			ended++
		case !s.idle:
			live++
			wm = min(wm, s.wm)
		}
	}
	if live == 0 && ended < len(j.splits) {
		return j.wm
	}
	return wm
}

func (j *Job) firstClosed() (start int64, found bool) {
	for _, k := range j.kept {
		if Closed(j.q.Window, k.start, j.wm) && (!found || k.start < start) {
			start, found = k.start, true
		}
	}
	return start, found
}
