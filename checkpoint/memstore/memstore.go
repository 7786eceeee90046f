// Package memstore is a checkpoint.Store in memory that fails as real stores do, by
// seed: for the simulator and for tests.
package memstore

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Faults are the chances, from 0 to 1, that a call goes wrong in each of the ways of
// the fault model. The zero Faults is a store that never fails.
type Faults struct {
	// Fail: the call does nothing and reports an error.
	Fail float64
	// Lost: the call is done and reports an error.
	Lost float64
	// Twice: the call is done twice, and what the second time gave is reported: a create
	// meets its own object.
	Twice float64
}

// Store is a checkpoint.Store in memory. An object that was created stays until it is
// deleted, whatever was reported.
type Store struct {
	mu      sync.Mutex
	objects map[string][]byte
	faults  Faults
	rng     *rand.Rand
	calls   int
	damaged map[string]bool
}

var _ checkpoint.Store = (*Store)(nil)

// New returns an empty store that never fails.
func New() *Store { return NewFaulty(0, Faults{}) }

// NewFaulty returns an empty store whose faults follow from the seed and the order of
// the calls.
func NewFaulty(seed uint64, f Faults) *Store {
	return &Store{objects: map[string][]byte{}, damaged: map[string]bool{}, faults: f, rng: rand.New(rand.NewPCG(seed, 0x5701e))}
}

// SetFaults changes what goes wrong from the next call on.
func (s *Store) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Calls counts the calls so far.
func (s *Store) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// Damage makes every later Get of an object find a wrong checksum.
func (s *Store) Damage(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.damaged[name] = true
}

// do makes one call under the fault model.
func (s *Store) do(ctx context.Context, what, name string, call func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	x := s.rng.Float64()
	if x < s.faults.Fail {
		return injected(what, name)
	}
	err := call()
	switch x -= s.faults.Fail; {
	case x < s.faults.Lost:
		return injected(what, name)
	case x < s.faults.Lost+s.faults.Twice:
		return call()
	}
	return err
}

func injected(what, name string) error {
	return sqlerr.Externalf(sqlerr.CodeConnection, nil, "%s %q: injected fault", what, name)
}

// Get implements checkpoint.Store.
func (s *Store) Get(ctx context.Context, name string) (data []byte, err error) {
	err = s.do(ctx, "get", name, func() error {
		b, ok := s.objects[name]
		switch {
		case !ok:
			return checkpoint.ErrNotFound
		case s.damaged[name]:
			return sqlerr.New(sqlerr.CodeCheckpoint, 0, "object %q is damaged: its checksum does not match", name)
		}
		data = bytes.Clone(b)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return data, nil
}

// Create implements checkpoint.Store.
func (s *Store) Create(ctx context.Context, name string, data []byte) error {
	return s.do(ctx, "create", name, func() error {
		if _, ok := s.objects[name]; ok {
			return checkpoint.ErrExists
		}
		s.objects[name] = append([]byte{}, data...)
		return nil
	})
}

// List implements checkpoint.Store.
func (s *Store) List(ctx context.Context, prefix string) (names []string, err error) {
	err = s.do(ctx, "list", prefix, func() error {
		names = nil
		for name := range s.objects {
			if strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return names, nil
}

// Delete implements checkpoint.Store.
func (s *Store) Delete(ctx context.Context, name string) error {
	return s.do(ctx, "delete", name, func() error {
		delete(s.objects, name)
		delete(s.damaged, name)
		return nil
	})
}
