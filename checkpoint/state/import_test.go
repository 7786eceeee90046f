package state

import (
	"slices"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
)

// otherDecls keep the sample under other words and names, with more and less beside it.
var otherDecls = []Decl{
	{Name: "groups", Keys: []types.Type{types.TSmallInt, types.TText}, Words: 4, Heaps: []int{0, 3}, Values: []string{"max(text)", "new", "count", "min(text)"}},
	{Name: "values", Kind: KindChild, Parent: "groups", Keys: []types.Type{types.TInt}, Words: 2, Values: []string{"new", "count"}},
	{Name: "panes", Kind: KindTimed, Keys: []types.Type{types.TDecimal(10, 2)}, Words: 1, Values: []string{"sum(int)"}},
	{Name: "more", Keys: []types.Type{types.TInt}, Words: 1, Values: []string{"count"}},
}

var otherCopies = []Copy{
	{Table: "groups", From: "groups", Words: []int{1, -1, 0, -1}},
	{Table: "values", From: "distinct", Words: []int{-1, 0}},
	{Table: "panes", From: "windows", Words: []int{0}},
}

// TestImport: records go on under other words, children with their parents, buckets as
// they were; what is not copied is empty. The image of the result restores to the same,
// in halves too.
func TestImport(t *testing.T) {
	old := newSample(t)
	sampleImage(old)
	b, err := New(otherDecls...)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Import(old, otherCopies); err != nil {
		t.Fatal(err)
	}
	const want = `groups: 4
  0: -1 "ada" -> "max ada" 0 10 ""
  1: 0 "" -> "max " 0 11 ""
  2: 1 "bob" -> "max bob" 0 12 ""
  3: NULL "null" -> "" 0 0 ""
values: 3
  0: of 0 7 -> 0 1
  1: of 1 7 -> 0 1
  2: of 2 7 -> 0 1
panes at -1000: 1
  0: -1.50 -> -1000
panes at 2000: 1
  0: -1.50 -> 2000
more: 0
`
	if got := dump(b); got != want {
		t.Errorf("imported:\n%s", got)
	}
	// Found by key, not only listed.
	id := upsertOne(b.Table("groups"), nil, types.IntValue(types.TSmallInt, 1), types.TextValue("bob"))
	kid := upsertOne(b.Table("values"), &id, types.IntValue(types.TInt, 7))
	if id != 2 || kid != 2 {
		t.Errorf("the keys are found at %d and %d", id, kid)
	}
	s := b.Freeze(b.WantImage())
	if !s.Image() {
		t.Error("the first snapshot is a delta")
	}
	image, err := s.AppendTo(nil)
	if err != nil {
		t.Fatal(err)
	}
	var halves []string
	for _, owned := range []stream.GroupRange{everything, {From: 0, To: 128}, {From: 128, To: 256}} {
		r, err := New(otherDecls...)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Restore(owned, 256, []Part{{everything, [][]byte{image}}}); err != nil {
			t.Fatal(err)
		}
		if owned == everything {
			if got := dump(r); got != want {
				t.Errorf("restored:\n%s", got)
			}
			continue
		}
		halves = append(halves, strings.Split(dump(r), "\n")...)
	}
	for _, line := range []string{`"max ada" 0 10 ""`, `"max bob" 0 12 ""`, `NULL "null"`} {
		if n := len(slices.DeleteFunc(slices.Clone(halves), func(s string) bool { return !strings.Contains(s, line) })); n != 1 {
			t.Errorf("%s is in %d halves", line, n)
		}
	}
}

func TestImportRefuses(t *testing.T) {
	old := newSample(t)
	sampleImage(old)
	for _, c := range []struct {
		name string
		decl Decl
		copy Copy
	}{
		{"no such table", Decl{Name: "a"}, Copy{Table: "a", From: "nosuch"}},
		{"other keys", Decl{Name: "a", Keys: []types.Type{types.TText, types.TBigInt}}, Copy{Table: "a", From: "groups"}},
		{"other kind", Decl{Name: "a", Keys: []types.Type{types.TDecimal(10, 2)}}, Copy{Table: "a", From: "windows"}},
		{"text as a number", Decl{Name: "a", Keys: []types.Type{types.TBigInt, types.TText}, Words: 1}, Copy{Table: "a", From: "groups", Words: []int{1}}},
		{"a number as text", Decl{Name: "a", Keys: []types.Type{types.TBigInt, types.TText}, Words: 1, Heaps: []int{0}}, Copy{Table: "a", From: "groups", Words: []int{0}}},
		{"a word too many", Decl{Name: "a", Keys: []types.Type{types.TBigInt, types.TText}, Words: 1}, Copy{Table: "a", From: "groups", Words: []int{2}}},
		{"too few words", Decl{Name: "a", Keys: []types.Type{types.TBigInt, types.TText}, Words: 1}, Copy{Table: "a", From: "groups"}},
		{"without the parent", Decl{Name: "a", Keys: []types.Type{types.TInt}, Words: 1}, Copy{Table: "a", From: "distinct", Words: []int{0}}},
	} {
		b, err := New(c.decl)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Import(old, []Copy{c.copy}); sqlerr.CodeOf(err) != sqlerr.CodeStateMismatch {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	b, err := New(otherDecls...)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Import(old, otherCopies[1:]); sqlerr.CodeOf(err) != sqlerr.CodeStateMismatch {
		t.Errorf("a child alone: %v", err)
	}
}
