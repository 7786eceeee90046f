package runtime

import (
	"context"
	"slices"
	"testing"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
)

// wide is a batch of rows that are few and long.
func wide(rows, bytes int) *vec.Batch {
	b := vec.NewBatch([]types.Type{types.TBigInt, types.TText}, rows)
	for i := range rows {
		b.Cols[0].AppendInt64(int64(i))
		b.Cols[1].AppendString(string(make([]byte, bytes)))
		b.N++
	}
	return b
}

// TestBoundsAreOfBytesToo: what is counted in rows elsewhere is counted in bytes when rows
// are long; a row larger than a bound travels alone.
func TestBoundsAreOfBytesToo(t *testing.T) {
	box := newMailbox(newWaker())
	p := box.addPort(newWaker())
	send := func(b *vec.Batch) bool { return p.TrySend(stream.Message{Kind: stream.KindBatch, Batch: b}) }
	if !send(wide(1, portBytes/2)) || !send(wide(1, portBytes)) {
		t.Fatal("a port with room refuses a batch")
	}
	if send(wide(1, 1)) {
		t.Error("a port that is full of bytes takes a row")
	}
	if got := box.memory(); got < portBytes*3/2 {
		t.Errorf("the port counts %d bytes", got)
	}
	for range 2 {
		box.take(0)
	}
	if got := box.memory(); got != 0 || !send(wide(1, 3*portBytes)) || send(wide(1, 1)) {
		t.Errorf("%d bytes in an empty port; a row of any size is to travel alone", got)
	}

	x, outbox, out := newScript(plan.Gather, 1)
	x.types = []types.Type{types.TBigInt, types.TText}
	for range 3 {
		x.batch(wide(4, flushBytes/8))
	}
	outbox.send()
	if len(out[0].got) != 8 || x.targets[0].acc == nil {
		t.Errorf("%d rows of 12 were sent for their bytes, gathered %v", len(out[0].got), x.targets[0].acc != nil)
	}

	q := &aheadQueue{task: newWaker(), reader: newWaker()}
	q.push(&ahead{size: aheadBytes - 1})
	if q.full() {
		t.Error("the reader waits though there is room")
	}
	last := &ahead{size: 1}
	q.push(last)
	if !q.full() {
		t.Error("a split is read ahead beyond its bound of bytes")
	}
	q.finished(q.list[0])
	if q.pop(); q.full() {
		t.Error("the reader waits though a chunk was taken")
	}
}

// TestGatheredRowsLeaveInTime: what is gathered for a receiver that does not wait leaves
// when it has lingered, and not before; to one that waits it goes at once.
func TestGatheredRowsLeaveInTime(t *testing.T) {
	x, _, out := newScript(plan.Gather, 1)
	run := &attempt{}
	run.clock.us.Store(1e6)
	tk := &task{run: run}
	tk.chain.box.exchanges = []*exchange{x}
	x.box = &tk.chain.box
	linger := func(at int64, want int) {
		t.Helper()
		run.clock.us.Store(at)
		tk.linger()
		tk.chain.box.send()
		if len(out[0].got) != want {
			t.Fatalf("after %d us %d rows are out, want %d", at-1e6, len(out[0].got), want)
		}
	}
	x.batch(ints(nil, 1, 2))
	linger(1e6, 0)
	if !tk.ticks.Load() {
		t.Error("the task does not want to know how time goes on")
	}
	linger(1e6+lingerTime-1, 0)
	linger(1e6+lingerTime, 2)
	linger(1e6+lingerTime, 2)
	if tk.ticks.Load() {
		t.Error("the task wants ticks with nothing gathered")
	}
	x.targets[0].outlet = waiting{out[0]}
	x.batch(ints(nil, 3))
	linger(1e6+lingerTime, 3)
}

// TestRowsWaitForCompany: an early writer's rows that came alone are written when others had
// a moment to come too, in one transaction with those.
func TestRowsWaitForCompany(t *testing.T) {
	timers := &stepper{}
	run := &attempt{exec: timers}
	out := &flushes{}
	sink := &sinkTask{task: task{run: run, wake: newWaker(), box: newMailbox(newWaker())}, writer: out}
	sink.chain.nodes = []*chainNode{{count: &counters{}}}
	step := func(progress bool, rows ...int) {
		t.Helper()
		got, _, err := sink.step(t.Context())
		if err != nil || got != progress || !slices.Equal(out.rows, rows) {
			t.Fatalf("progress %v, written %v, error %v; want %v, %v", got, out.rows, err, progress, rows)
		}
	}
	put := func(values ...int64) {
		t.Helper()
		if _, err := sink.Process(0, ints(nil, values...)); err != nil {
			t.Fatal(err)
		}
	}
	step(false)
	put(1, 2)
	step(false)
	put(3)
	step(false)
	if len(timers.calls) != 1 {
		t.Fatalf("%d timers for one lull", len(timers.calls))
	}
	timers.calls[0](t.Context())
	if len(sink.wake) == 0 {
		t.Error("the end of the lull does not wake the task")
	}
	step(true, 3)
	step(false, 3)
	put(4)
	step(false, 3)
	timers.calls[1](t.Context())
	step(true, 3, 1)
}

// flushes is a writer that keeps how many rows each flush had.
type flushes struct {
	connectors.Writer
	n    int
	rows []int
}

func (f *flushes) Write(_ context.Context, b *vec.Batch) error { f.n += b.N; return nil }

func (f *flushes) Flush(context.Context) error {
	f.rows, f.n = append(f.rows, f.n), 0
	return nil
}

// waiting is an outlet whose receiver has nothing to do.
type waiting struct{ *script }

func (waiting) Empty() bool { return true }
