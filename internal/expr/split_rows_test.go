package expr

import (
	"math/rand/v2"
	"testing"
)

// TestSplitByte compares the word-wise split with the plain one.
func TestSplitByte(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		s := make([]byte, r.IntN(40))
		for i := range s {
			s[i] = []byte{'/', 'a', '.', 0xaf, 0}[r.IntN(5)]
		}
		n := r.IntN(8)
		got, ok := splitByte(s, '/', n)
		want, wok := splitAt(s, []byte("/"), int64(n))
		if ok != wok || ok && string(got) != string(want) {
			t.Fatalf("part %d of %q: %q %t, want %q %t", n, s, got, ok, want, wok)
		}
	}
}
