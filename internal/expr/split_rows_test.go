package expr

import (
	"math/rand/v2"
	"testing"
)

// TestSplitMarked compares the split by marks with the plain one.
func TestSplitMarked(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		s := make([]byte, r.IntN(100))
		letters := []byte("/a.\xaf\x00bcdefghijklmnopqrstuvwxyz")[:2+r.IntN(28)]
		for i := range s {
			s[i] = letters[r.IntN(len(letters))]
		}
		n := r.IntN(marked)
		if r.IntN(2) == 0 {
			n = r.IntN(8)
		}
		from := r.IntN(len(s) + 1)
		m := marksOf(s, from, len(s), 0x2f2f2f2f2f2f2f2f, n+1+r.IntN(3))
		start, end, ok := between(m, n)
		if !ok {
			start, end, ok = splitFar(s[from:], '/', n)
		}
		want, wok := splitAt(s[from:], []byte("/"), int64(n))
		if ok != wok || ok && string(s[from+start:from+end]) != string(want) {
			t.Fatalf("part %d of %q: %d to %d, %t, want %q %t", n, s[from:], start, end, ok, want, wok)
		}
	}
}
