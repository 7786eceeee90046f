package planner

import (
	"testing"
)

func TestExpand(t *testing.T) {
	vars := func(n string) (string, bool) { return "<" + n + ">", n != "C" }
	for in, want := range map[string]string{
		"": "", "x": "x", "${A}": "<A>", "a${A}b${B}c": "a<A>b<B>c", "${C}${A}": "${C}<A>", "${": "${", "$A": "$A",
	} {
		if got := expand(in, vars); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
