package sim

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// silentStore neither makes nor shows manifests while it is silent.
type silentStore struct {
	checkpoint.Store
	silent atomic.Bool
}

func (s *silentStore) away(name string) error {
	if s.silent.Load() && strings.Contains(name, "/manifest/") {
		return sqlerr.Externalf(sqlerr.CodeCheckpoint, nil, "the disk is gone")
	}
	return nil
}

func (s *silentStore) Create(ctx context.Context, name string, data []byte) error {
	if err := s.away(name); err != nil {
		return err
	}
	return s.Store.Create(ctx, name, data)
}

func (s *silentStore) Get(ctx context.Context, name string) ([]byte, error) {
	if err := s.away(name); err != nil {
		return nil, err
	}
	return s.Store.Get(ctx, name)
}

// TestSilentStore: a job says that it waits for its store, and goes on with it.
func TestSilentStore(t *testing.T) {
	noLeaks(t)
	w := real(t, 1, 2000)
	w.table.Unbounded = true
	store := &silentStore{Store: w.store}
	w.cfg.Store = store
	store.silent.Store(true)
	j := w.start()
	soon(t, "the job says that it waits", func() bool {
		st := j.Status().Stall
		return strings.Contains(st, "does not say whether checkpoint 1 exists: ") && strings.Contains(st, "the disk is gone")
	})
	store.silent.Store(false)
	soon(t, "the job goes on", func() bool { st := j.Status(); return st.Stall == "" && st.Checkpoints > 0 })
	if err := j.Stop(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
}
