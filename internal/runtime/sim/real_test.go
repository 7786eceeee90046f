package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/checkpoint/memstore"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/runtime"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// real makes a world for jobs on goroutines: n rows in each split, no faults.
func real(t *testing.T, splits, n int) *world {
	w := newWorld(t, 1)
	w.faults(0)
	rng := rand.New(rand.NewPCG(7, 7))
	w.table.Splits = make([][]Row, splits)
	for i := range w.table.Splits {
		at := int64(0)
		for range n {
			at += int64(rng.IntN(20000))
			w.table.Splits[i] = append(w.table.Splits[i], Row{K: int64(rng.IntN(100)), V: int64(rng.IntN(20)) - 3, TS: at - int64(rng.IntN(8))*1e6})
		}
	}
	w.table.Released = make([]int, splits)
	w.table.Chunk = 2000
	w.cfg.Parallelism = 2
	w.cfg.Settings = checkpoint.Settings{Interval: 20000}
	return w
}

// noLeaks fails the test if it leaves goroutines behind.
func noLeaks(t *testing.T) {
	before := goruntime.NumGoroutine()
	t.Cleanup(func() {
		for range 1000 {
			if goruntime.NumGoroutine() <= before {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		buf := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before:\n%s", goruntime.NumGoroutine(), before, buf[:goruntime.Stack(buf, true)])
	})
}

func (w *world) start() *runtime.Job {
	w.t.Helper()
	j, err := runtime.Start(context.Background(), w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	// Who waits for a job that does not end is told so.
	limit := time.AfterFunc(2*time.Minute, func() {
		w.t.Errorf("the job does not end: %+v", j.Status())
		j.Cancel()
	})
	w.t.Cleanup(func() { limit.Stop() })
	return j
}

func (w *world) mustMatch() {
	w.t.Helper()
	if err := w.compare(); err != nil {
		w.t.Fatal(err)
	}
}

func TestJobRunsToTheEnd(t *testing.T) {
	noLeaks(t)
	w := real(t, 3, 4000)
	j := w.start()
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	w.mustMatch()
	if j.Stopped() {
		t.Error("the job counts as stopped")
	}
	if _, err := runtime.Start(context.Background(), w.cfg); err != runtime.ErrFinished {
		t.Errorf("second start: %v", err)
	}
	st := j.Status()
	if got := st.Nodes[0].In; got != 12000 {
		t.Errorf("source read %d rows", got)
	}
	if st.Nodes[2].Late == 0 {
		t.Error("no late rows")
	}
	m, err := runtime.Latest(context.Background(), w.store, "job")
	if err != nil {
		t.Fatal(err)
	}
	if !m.Finished || m.SQL != "sim" {
		t.Errorf("last manifest: finished %v, text %q", m.Finished, m.SQL)
	}
	for _, ts := range m.Tasks {
		if ts.Watermark == types.MaxTime && ts.Node == 2 {
			t.Error("the windows keep the watermark of the end")
		}
	}
}

// TestContinue goes on after a finish with rows that have come since: windows that End
// had fired on half their rows come out whole, counts go on.
func TestContinue(t *testing.T) {
	noLeaks(t)
	w := real(t, 1, 3000)
	w.db.Refuse = nil // a letter does not go when its row is replaced
	all := w.table.Splits[0]
	w.table.Splits[0] = all[:1700]
	if err := w.start().Wait(); err != nil {
		t.Fatal(err)
	}
	w.mustMatch()
	w.table.Splits[0] = all
	w.cfg.Continue, w.cfg.Parallelism = true, 3
	if err := w.start().Wait(); err != nil {
		t.Fatal(err)
	}
	w.mustMatch()
}

// TestCancelAndStop ends jobs in the middle, with and without a last checkpoint, and
// starts them again at other parallelisms.
func TestCancelAndStop(t *testing.T) {
	noLeaks(t)
	w := real(t, 4, 6000)
	finished := false
	for i := 0; !finished; i++ {
		if i > 200 {
			t.Fatal("no end")
		}
		w.cfg.Parallelism = 1 + i%3
		j, err := runtime.Start(context.Background(), w.cfg)
		if err == runtime.ErrFinished {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-j.Done():
		case <-time.After(time.Duration(2+10*i) * time.Millisecond):
			if i%2 == 0 {
				j.Cancel()
				continue
			}
			if err := j.Stop(context.Background(), ""); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Wait(); err != nil {
			t.Fatal(err)
		}
		finished = !j.Stopped()
	}
	w.mustMatch()
}

// TestFaultsRestart lets targets, store and stream fail under a job that restarts by
// itself.
func TestFaultsRestart(t *testing.T) {
	noLeaks(t)
	w := real(t, 2, 4000)
	w.cfg.Restart = runtime.Restart{Initial: time.Millisecond, Max: 2 * time.Millisecond}
	w.table.Faults, w.table.Chunk = 10, 50
	j := w.start()
	soon(t, "a restart", func() bool { return j.Status().Restarts > 0 })
	w.table.mu.Lock()
	w.table.Faults = 0
	w.table.mu.Unlock()
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	w.mustMatch()
}

func TestSavepoint(t *testing.T) {
	noLeaks(t)
	w := real(t, 2, 4000)
	w.table.Unbounded = true
	saved := map[string]checkpoint.Store{}
	w.cfg.OpenSavepoint = func(path string) (checkpoint.Store, error) { // one at a time
		saved[path] = memstore.New()
		return saved[path], nil
	}
	j := w.start()
	errs := make(chan error, 3)
	for _, path := range []string{"a", "c", "d"} { // all at once
		go func() { errs <- j.Savepoint(context.Background(), path) }()
	}
	for range 3 {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Stop(context.Background(), "b"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"a", "b", "c", "d"} {
		m, err := checkpoint.ReadSavepoint(context.Background(), saved[path])
		if err != nil {
			t.Fatal(err)
		}
		if err := checkpoint.Verify(context.Background(), saved[path], m); err != nil {
			t.Fatal(err)
		}
	}
	// Another job, in another store and with targets of its own, goes on from "b" at
	// another parallelism; what it starts with is the savepoint's state, so that the
	// windows it writes are whole.
	w.table.Unbounded = false
	v := real(t, 2, 4000)
	v.cfg.Savepoint, v.cfg.Parallelism = saved["b"], 3
	v.table = w.table
	v.cfg.Connector = connectorsOf(v.table, v.early, v.db, v.other)
	v.db.Seen = nil // its rows start at the savepoint, its counts before
	k := v.start()
	if err := k.Wait(); err != nil {
		t.Fatal(err)
	}
	wantWindows := want(w.table.Splits)["windows"]
	for row := range v.early.Tables["windows"].Rows {
		if wantWindows[row] == 0 {
			t.Fatalf("window %q is not whole", row)
		}
	}
	if len(v.early.Tables["windows"].Rows) == 0 {
		t.Fatal("no window came after the savepoint")
	}
}

func TestErrors(t *testing.T) {
	div := func(w *world) {
		n := w.cfg.Plan.Nodes[1]
		n.Calc.Exprs[1] = call(t, "/", n.Calc.Exprs[1], call(t, "-", expr.Col(1, types.TBigInt), expr.Col(1, types.TBigInt)))
	}
	t.Run("row error fails the job", func(t *testing.T) {
		noLeaks(t)
		w := real(t, 1, 100)
		div(w)
		err := w.start().Wait()
		if sqlerr.CodeOf(err) != sqlerr.CodeDivisionByZero || sqlerr.ClassOf(err) != sqlerr.User {
			t.Fatalf("got %v", err)
		}
		if e := sqlerr.As(err); !strings.Contains(e.Detail, `"k":`) || e.Hint == "" {
			t.Errorf("detail %q, hint %q", e.Detail, e.Hint)
		}
	})
	t.Run("row error is skipped and counted", func(t *testing.T) {
		noLeaks(t)
		w := real(t, 1, 100)
		div(w)
		w.cfg.Plan.Nodes[1].OnError = "skip"
		j := w.start()
		if err := j.Wait(); err != nil {
			t.Fatal(err)
		}
		positive := int64(0)
		for _, r := range w.table.Splits[0] {
			if r.V > 0 {
				positive++
			}
		}
		if got := j.Status().Nodes[1].Errors[sqlerr.CodeDivisionByZero]; got != positive {
			t.Errorf("%d errors counted, want %d", got, positive)
		}
	})
	t.Run("panic names the operator", func(t *testing.T) {
		noLeaks(t)
		w := real(t, 1, 100)
		w.cfg.Plan.Nodes[2].WindowAgg.Time = 17
		err := w.start().Wait()
		if err == nil || !strings.Contains(err.Error(), `window aggregate "windows", subtask`) || sqlerr.ClassOf(err) != sqlerr.Internal {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("another job's target", func(t *testing.T) {
		noLeaks(t)
		w := real(t, 1, 100)
		if err := w.start().Wait(); err != nil {
			t.Fatal(err)
		}
		w.cfg.Fresh = true
		_, err := runtime.Start(context.Background(), w.cfg)
		if sqlerr.CodeOf(err) != sqlerr.CodeFenced {
			t.Fatalf("got %v", err)
		}
		w.cfg.TakeOver, w.table.Released = true, make([]int, 1)
		w.db.Tables = map[string]*Target{}
		if err := w.start().Wait(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestRestoreMatrix starts a job whose target and checkpoints do not fit together.
func TestRestoreMatrix(t *testing.T) {
	ctx := context.Background()
	setup := func(t *testing.T) (*world, []string) {
		noLeaks(t)
		w := real(t, 1, 2000)
		w.table.Unbounded = true
		w.cfg.Settings.Retained = 5
		j := w.start()
		for range 2 {
			if err := j.Savepoint(ctx, "x"); err == nil {
				t.Fatal("savepoint without a place")
			}
		}
		if err := j.Stop(ctx, ""); err != nil {
			t.Fatal(err)
		}
		names, err := w.store.List(ctx, "job/"+j.ID()+"/manifest/")
		if err != nil || len(names) < 2 {
			t.Fatalf("%d manifests, %v", len(names), err)
		}
		return w, names
	}
	t.Run("newest checkpoint lost", func(t *testing.T) {
		w, names := setup(t)
		if err := w.store.Delete(ctx, names[len(names)-1]); err != nil {
			t.Fatal(err)
		}
		_, err := runtime.Start(ctx, w.cfg)
		if sqlerr.CodeOf(err) != sqlerr.CodeFenced || !strings.Contains(fmt.Sprint(err), "already shows epoch") {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("target restored from a backup", func(t *testing.T) {
		w, _ := setup(t)
		w.db.fence.Epoch = 0
		_, err := runtime.Start(ctx, w.cfg)
		if sqlerr.CodeOf(err) != sqlerr.CodeFenced || !strings.Contains(fmt.Sprint(err), "is at epoch 0") {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("damaged newest checkpoint that no sink has confirmed", func(t *testing.T) {
		w, names := setup(t)
		last := names[len(names)-1]
		data, err := w.store.Get(ctx, last)
		if err != nil {
			t.Fatal(err)
		}
		m, err := checkpoint.DecodeManifest(data)
		if err != nil {
			t.Fatal(err)
		}
		w.db.fence.Epoch, w.early.fence.Epoch, w.other.fence.Epoch = m.Prev, m.Prev, m.Prev
		w.db.Seen = nil // its rows were not taken back with the fence
		w.store.Damage(last)
		w.table.Unbounded = false
		if err := w.start().Wait(); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("damaged newest checkpoint that a sink shows", func(t *testing.T) {
		w, names := setup(t)
		w.store.Damage(names[len(names)-1])
		_, err := runtime.Start(ctx, w.cfg)
		if sqlerr.CodeOf(err) != sqlerr.CodeCheckpoint || !strings.Contains(sqlerr.As(err).Hint, "no older one takes its place") {
			t.Fatalf("got %v", err)
		}
	})
}

// TestClockJump is a process that was stopped for a while: it looks for a newer attempt
// before it does anything else.
func TestClockJump(t *testing.T) {
	noLeaks(t)
	w := real(t, 1, 10)
	w.table.Unbounded = true
	c := clock.At(1e15)
	w.cfg.Clock = c
	j := w.start()
	c.Advance(9 * time.Second)
	time.Sleep(50 * time.Millisecond)
	if _, err := checkpoint.NewAttempt(context.Background(), w.store, j.ID()); err != nil {
		t.Fatal(err)
	}
	soon(t, "the job ends", func() bool {
		c.Advance(11 * time.Second)
		select {
		case <-j.Done():
			return true
		default:
			return false
		}
	})
	if err := j.Wait(); sqlerr.CodeOf(err) != sqlerr.CodeFenced {
		t.Fatalf("got %v", err)
	}
}

// TestStopWithTargetAway stops a job whose database has gone: it ends in time, says
// what is pending, and the next start settles it.
func TestStopWithTargetAway(t *testing.T) {
	noLeaks(t)
	w := real(t, 2, 500)
	c := clock.At(1e15)
	w.cfg.Clock, w.table.Unbounded = c, true
	w.cfg.Settings.StopTimeout = 1e6
	w.early.Faults = 0
	j := w.start()
	w.db.mu.Lock()
	w.db.Faults = 100
	w.db.mu.Unlock()
	done := make(chan error, 1)
	go func() { done <- j.Stop(context.Background(), "") }()
	soon(t, "the stop waits for the target", func() bool {
		c.Advance(time.Millisecond)
		return j.Status().Stall != ""
	})
	var err error
	soon(t, "the stop ends", func() bool {
		c.Advance(10 * time.Millisecond)
		select {
		case err = <-done:
			return true
		default:
			return false
		}
	})
	if err == nil || !strings.Contains(err.Error(), "stopped, commit of epoch") {
		t.Fatalf("got %v", err)
	}
	if stall := j.Status().Stall; !strings.Contains(stall, "the target is away") {
		t.Errorf("stall %q", stall)
	}
	w.db.Faults, w.table.Unbounded = 0, false
	if err := w.start().Wait(); err != nil {
		t.Fatal(err)
	}
	w.mustMatch()
}
