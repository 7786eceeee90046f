package expr

import (
	"math/rand/v2"
	"regexp"
	"testing"
)

// searchable are patterns that must be read as plain searches.
var searchable = []string{
	`(&|^)channel_id=([^&]*)`, `(?:&|\?)q=([^&#]+)`, `id=(\d+)`, `^ab`, `ab`, `[&?]a=(.*)`, `(^|a)b(\w*)`, `x([^b]*)`, `(^)ab([ab]+)`, `b(?s:(.*))`, `(a|^)日([^本]*)`,
}

// unsearchable must be left to Go's regexp.
var unsearchable = []string{`(a|ab)c`, `a*b`, `(?i)abc`, `a.c`, `abc$`, `ab([^é]*)`, `ab([^x]*?)`, `(b|^)ba`, `\bab`, `ab(c|d)`, ``, `日([^本-x]*)y`}

func TestSearchMatcher(t *testing.T) {
	for _, p := range unsearchable {
		if _, ok := newSearch(p); ok {
			t.Errorf("%s was taken for a plain search", p)
		}
	}
	r := rand.New(rand.NewPCG(2, 2))
	pieces := []string{"a", "b", "ab", "&", "?", "q=", "id=", "12", "channel_id=", "日", "本", "x", "#", "\n", "a=", "\xff"}
	for _, p := range searchable {
		m, ok := newSearch(p)
		if p == `(a|^)日([^本]*)` {
			if ok {
				t.Errorf("%s excludes a character that is not ASCII", p)
			}
			continue
		}
		if !ok {
			t.Errorf("%s is no plain search", p)
			continue
		}
		re := regexp.MustCompile(p)
		if m.groups() != re.NumSubexp() {
			t.Errorf("%s: %d groups", p, m.groups())
		}
		for range 2000 {
			var s []byte
			for range r.IntN(8) {
				s = append(s, pieces[r.IntN(len(pieces))]...)
			}
			loc := re.FindSubmatchIndex(s)
			for g := range m.groups() + 1 {
				lo, hi, ok := m.find(s, g)
				if ok != (loc != nil) || ok && (lo != loc[2*g] || hi != loc[2*g+1]) {
					t.Fatalf("%s on %q group %d: %d %d %t, regexp %v", p, s, g, lo, hi, ok, loc)
				}
			}
		}
	}
}

func BenchmarkRegexp(b *testing.B) {
	s := []byte("https://www.nexmark.com/abcde/fghij/klmno/item.htm?query=1&channel_id=1234567890")
	const p = `(&|^)channel_id=([^&]*)`
	b.Run("search", func(b *testing.B) {
		m, _ := newSearch(p)
		for b.Loop() {
			m.find(s, 2)
		}
	})
	b.Run("go", func(b *testing.B) {
		re := regexp.MustCompile(p)
		for b.Loop() {
			re.FindSubmatchIndex(s)
		}
	})
}
