package memstore

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/checkpoint/storetest"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(*testing.T) checkpoint.Store { return New() })
}

// TestFaults checks each way to fail against what is in the store afterwards.
func TestFaults(t *testing.T) {
	ctx := context.Background()
	s := NewFaulty(1, Faults{Fail: 1})
	if err := s.Create(ctx, "a", nil); sqlerr.As(err) == nil || !sqlerr.As(err).Retry {
		t.Fatalf("a failed create gives %v", err)
	}
	s.SetFaults(Faults{})
	if _, err := s.Get(ctx, "a"); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Fatalf("after a failed create: %v", err)
	}
	s.SetFaults(Faults{Lost: 1})
	if err := s.Create(ctx, "a", []byte("x")); sqlerr.As(err) == nil {
		t.Fatalf("a lost answer gives %v", err)
	}
	s.SetFaults(Faults{Twice: 1})
	if b, err := s.Get(ctx, "a"); err != nil || string(b) != "x" {
		t.Fatalf("after a lost answer: %q, %v", b, err)
	}
	if err := s.Create(ctx, "b", nil); !errors.Is(err, checkpoint.ErrExists) {
		t.Fatalf("a create done twice gives %v", err)
	}
	if names, err := s.List(ctx, ""); err != nil || len(names) != 2 {
		t.Fatalf("list done twice: %q, %v", names, err)
	}
	s.Damage("a")
	if _, err := s.Get(ctx, "a"); sqlerr.CodeOf(err) != sqlerr.CodeCheckpoint {
		t.Fatalf("a damaged object gives %v", err)
	}
}

// TestSeedDecides: the same seed and calls fail alike, and what exists stays.
func TestSeedDecides(t *testing.T) {
	ctx := context.Background()
	run := func(seed uint64) (out string) {
		s := NewFaulty(seed, Faults{Fail: 0.2, Lost: 0.2, Twice: 0.2})
		made := map[string]bool{}
		for i := range 200 {
			name := fmt.Sprint(i % 50)
			err := s.Create(ctx, name, []byte(name))
			if err == nil || errors.Is(err, checkpoint.ErrExists) {
				made[name] = true
			}
			out += fmt.Sprintln(err)
		}
		s.SetFaults(Faults{})
		for name := range made {
			if b, err := s.Get(ctx, name); err != nil || string(b) != name {
				t.Fatalf("object %s: %q, %v", name, b, err)
			}
		}
		return out
	}
	first, again, other := run(7), run(7), run(8)
	if first != again {
		t.Error("one seed gave two histories")
	}
	if first == other {
		t.Error("two seeds gave one history")
	}
}
