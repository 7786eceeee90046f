package sim

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/checkpoint/memstore"
	"github.com/streamsql/streamsql/internal/runtime"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// noManifests is a store that takes no manifest for a while.
type noManifests struct {
	checkpoint.Store
	deny   atomic.Bool
	denied atomic.Int64
}

func (s *noManifests) Create(ctx context.Context, name string, data []byte) error {
	if s.deny.Load() && strings.Contains(name, "/manifest/") {
		s.denied.Add(1)
		return sqlerr.Externalf(sqlerr.CodeCheckpoint, nil, "the disk is full")
	}
	return s.Store.Create(ctx, name, data)
}

// TestAbortedRowsAreTriedAgain: rows of an epoch that was given up make the next one worth
// a checkpoint, though no row has come since, until one is complete.
func TestAbortedRowsAreTriedAgain(t *testing.T) {
	noLeaks(t)
	w := real(t, 2, 300)
	w.db.Refuse = nil
	w.table.Unbounded = true
	w.cfg.Settings.TolerableFailures = -1
	s := &noManifests{Store: w.store}
	s.deny.Store(true)
	w.cfg.Store = s
	j := w.start()
	soon(t, "all rows are read", func() bool { return j.Status().Nodes[0].In == 600 })
	before := s.denied.Load()
	soon(t, "epochs go on being tried", func() bool { return s.denied.Load() >= before+3 })
	s.deny.Store(false)
	want := want(w.table.Splits)
	soon(t, "all rows are shown", func() bool {
		w.db.mu.Lock()
		defer w.db.mu.Unlock()
		return diff(w.db.Tables["rows"].Rows, want["rows"])+diff(w.db.Tables["counts"].Rows, want["counts"]) == ""
	})
	if err := j.Stop(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	if n := j.Status().Restarts; n != 0 {
		t.Errorf("%d restarts", n)
	}
}

// TestKeptRowsAreSpooled: rows that wait for a commit are in the store as they come, in
// pieces of bounded size, however far the next checkpoint is.
func TestKeptRowsAreSpooled(t *testing.T) {
	noLeaks(t)
	w := real(t, 1, 90_000)
	w.table.Unbounded, w.cfg.Parallelism = true, 1
	w.cfg.Settings.Interval = 3600e6
	j := w.start()
	var sizes []int
	soon(t, "kept rows are in the store", func() bool {
		names, err := w.store.List(context.Background(), "job/"+j.ID()+"/blob/")
		if err != nil {
			t.Fatal(err)
		}
		sizes = nil
		for _, name := range names {
			b, err := w.store.Get(context.Background(), name)
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, len(b))
		}
		return len(sizes) >= 2
	})
	for _, n := range sizes {
		if n < 4<<20 || n > 5<<20 {
			t.Errorf("a piece of %d bytes", n)
		}
	}
	if n := j.Status().Epoch; n != 0 {
		t.Errorf("epoch %d", n)
	}
	j.Cancel()
	_ = j.Wait()
}

// mounted is a store that is taken away with its first checkpoint: what is seen in its
// place is empty.
type mounted struct {
	disk, below *memstore.Store
	away, back  atomic.Bool
}

func (s *mounted) now() checkpoint.Store {
	if s.away.Load() {
		return s.below
	}
	return s.disk
}

func (s *mounted) Get(ctx context.Context, name string) ([]byte, error) {
	return s.now().Get(ctx, name)
}
func (s *mounted) Create(ctx context.Context, name string, data []byte) error {
	err := s.now().Create(ctx, name, data)
	if strings.Contains(name, "/manifest/") && !s.back.Load() {
		s.away.Store(true)
	}
	return err
}

func (s *mounted) List(ctx context.Context, prefix string) ([]string, error) {
	return s.now().List(ctx, prefix)
}
func (s *mounted) Delete(ctx context.Context, name string) error { return s.now().Delete(ctx, name) }

// TestStoreIsGone: in an empty store that stands in the place of its own a running job
// makes no checkpoint, and does not begin anew; it goes on when its own is back.
func TestStoreIsGone(t *testing.T) {
	noLeaks(t)
	w := real(t, 1, 2000)
	w.db.Refuse = nil
	w.table.Unbounded = true
	w.cfg.Restart = runtime.Restart{Initial: time.Millisecond, Max: 2 * time.Millisecond}
	w.cfg.Settings.TolerableFailures, w.cfg.Settings.Timeout = -1, 1e6
	s := &mounted{disk: w.store, below: memstore.New()}
	w.cfg.Store = s
	j := w.start()
	soon(t, "the job tries to go on", func() bool { return j.Status().Restarts >= 2 })
	for _, dir := range []string{"manifest/", "attempt/"} {
		names, err := s.below.List(context.Background(), "job/"+j.ID()+"/"+dir)
		if err != nil || len(names) > 0 {
			t.Errorf("in the place of the store there are %q, %v", names, err)
		}
	}
	s.back.Store(true)
	s.away.Store(false)
	want := want(w.table.Splits)
	soon(t, "all rows are shown", func() bool {
		w.db.mu.Lock()
		defer w.db.mu.Unlock()
		return diff(w.db.Tables["rows"].Rows, want["rows"]) == ""
	})
	if err := j.Stop(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
}

// soon waits until ok.
func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not so: %s", what)
}
