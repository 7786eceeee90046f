package sim

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Store keeps objects in memory and fails at random: a call may fail, or be done and
// reported as failed.
type Store struct {
	mu      sync.Mutex
	objects map[string][]byte
	rng     *rand.Rand
	// Faults is the chance that a call fails, in percent.
	Faults int
}

// NewStore returns an empty store whose faults follow rng; nil means none.
func NewStore(rng *rand.Rand) *Store { return &Store{objects: map[string][]byte{}, rng: rng} }

func (s *Store) fault() bool { return s.rng != nil && s.rng.IntN(100) < s.Faults }

func errStore(act string) error {
	return sqlerr.Externalf(sqlerr.CodeConnection, nil, "the store failed to %s", act)
}

// Get implements checkpoint.Store.
func (s *Store) Get(_ context.Context, name string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault() {
		return nil, errStore("read")
	}
	b, ok := s.objects[name]
	if !ok {
		return nil, checkpoint.ErrNotFound
	}
	return slices.Clone(b), nil
}

// Create implements checkpoint.Store.
func (s *Store) Create(_ context.Context, name string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, after := s.fault(), s.fault()
	if before {
		return errStore("create")
	}
	if _, ok := s.objects[name]; ok {
		return checkpoint.ErrExists
	}
	s.objects[name] = slices.Clone(data)
	if after {
		return errStore("answer")
	}
	return nil
}

// List implements checkpoint.Store.
func (s *Store) List(_ context.Context, prefix string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault() {
		return nil, errStore("list")
	}
	var out []string
	for name := range s.objects {
		if strings.HasPrefix(name, prefix) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Delete implements checkpoint.Store.
func (s *Store) Delete(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault() {
		return errStore("delete")
	}
	delete(s.objects, name)
	if s.fault() {
		return errStore("answer")
	}
	return nil
}

// Len counts the objects whose names have the prefix.
func (s *Store) Len(prefix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for name := range s.objects {
		if strings.HasPrefix(name, prefix) {
			n++
		}
	}
	return n
}
