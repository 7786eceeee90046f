package stream

import (
	"math/rand/v2"
	"testing"
)

func TestGroupsCoverAndAgree(t *testing.T) {
	for _, groups := range []int{1, 2, 256, 32768} {
		for par := 1; par <= min(groups, 64); par++ {
			next := 0
			for s := range par {
				r := RangeOf(s, par, groups)
				if r.From != next {
					t.Fatalf("groups %d parallelism %d subtask %d starts at %d, want %d", groups, par, s, r.From, next)
				}
				for g := r.From; g < r.To; g++ {
					if got := SubtaskOf(g, par, groups); got != s {
						t.Fatalf("SubtaskOf(%d, %d, %d) = %d, want %d", g, par, groups, got, s)
					}
				}
				next = r.To
			}
			if next != groups {
				t.Fatalf("parallelism %d covers %d of %d groups", par, next, groups)
			}
		}
	}
}

func TestKeyGroupIsTopBits(t *testing.T) {
	for range 1000 {
		h := rand.Uint64()
		if got, want := KeyGroup(h, 256), int(h>>56); got != want {
			t.Fatalf("KeyGroup(%#x, 256) = %d, want %d", h, got, want)
		}
		if got := KeyGroup(h, 1); got != 0 {
			t.Fatalf("KeyGroup(%#x, 1) = %d", h, got)
		}
	}
}
