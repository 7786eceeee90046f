package state

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/internal/types"
)

// Kind says how the records of a table are found.
type Kind uint8

const (
	// KindKeyed is a table by key.
	KindKeyed Kind = iota
	// KindTimed is one table by key for each time bucket, dropped as a whole.
	KindTimed
	// KindChild is a table by (record of the parent table, key): the distinct values
	// of a group. The child of a timed table is timed, with the parent's buckets.
	KindChild
	// KindValue is a single record that belongs to key group 0 whatever it holds.
	KindValue
)

func (k Kind) String() string { return [...]string{"keyed", "timed", "child", "value"}[k&3] }

// Decl declares a table: what an operator keeps and the runtime snapshots. All of it
// but Name's spelling inside the operator is the table's state signature: a snapshot
// is restored only into equal declarations.
type Decl struct {
	Name string
	Kind Kind
	// Keys are the types of the key columns. An UNKNOWN key is laid out as text.
	Keys []types.Type
	// Words is the number of value words of a record.
	Words int
	// Heaps lists those value words, counted from the first, that are references to
	// bytes in the page's heap.
	Heaps []int
	// Values says what the value words mean: one signature per accumulator or column,
	// which changes whenever the meaning of its words does.
	Values []string
	// Parent is the name of the table that a KindChild table hangs on. It is declared
	// before its children and is not a child itself.
	Parent string
}

// signature is the form in which a snapshot records a declaration.
type signature struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`
	Keys   []string `json:"keys"`
	Words  int      `json:"words"`
	Heaps  []int    `json:"heaps"`
	Values []string `json:"values"`
	Parent string   `json:"parent,omitempty"`
}

func (d Decl) signature() signature {
	s := signature{Name: d.Name, Kind: d.Kind.String(), Words: d.Words, Parent: d.Parent,
		Keys: make([]string, len(d.Keys)), Heaps: append([]int{}, d.Heaps...), Values: append([]string{}, d.Values...)}
	for i, t := range d.Keys {
		s.Keys[i] = canonical(t)
	}
	return s
}

func (s signature) equal(o signature) bool {
	return s.Name == o.Name && s.Kind == o.Kind && s.Words == o.Words && s.Parent == o.Parent &&
		slices.Equal(s.Keys, o.Keys) && slices.Equal(s.Heaps, o.Heaps) && slices.Equal(s.Values, o.Values)
}

func (s signature) String() string {
	return fmt.Sprintf("%s (%s) [%s]", s.Kind, strings.Join(s.Keys, ", "), strings.Join(s.Values, ", "))
}

// canonical names a key type by what its stored form and equality depend on: integers
// of every width are one, a decimal is its scale, text has no length.
func canonical(t types.Type) string {
	switch {
	case t.IsInteger():
		return "INTEGER"
	case t.Kind == types.Decimal:
		return "DECIMAL:" + strconv.Itoa(int(t.Scale))
	case t.IsTimestamp():
		return types.Type{Kind: t.Kind, Precision: 6}.String()
	case t.Kind == types.Time:
		return "TIME"
	}
	return types.Type{Kind: t.Kind}.String()
}

// layout is where the parts of a record lie: hash word, further null words, parent
// word, key words, value words.
//
// The hash word is the key hash with its low 8 bits replaced by the null flags of the
// first 8 key columns, so that one comparison settles both. A parent's id is mixed
// into the hash word of a child by exclusive or, so that it can be changed without
// the key.
type layout struct {
	decl   Decl
	cols   []column
	nulls  int // number of further null words, which start at word 1
	parent int // word of the parent's id, 0 for none
	value  int // first value word
	width  int
	heaps  []int // of the record
	// ints: the key is 64-bit integers only, from 1 to 8 of them. NULL is then compared
	// as the word 0, under its flag in the hash word.
	ints bool

	chunk *scratch
}

type column struct {
	typ  types.Type
	phys types.Phys
	word int
}

func newLayout(d Decl) *layout {
	l := &layout{decl: d, chunk: &scratch{}}
	at := 1
	if len(d.Keys) > 8 {
		l.nulls = (len(d.Keys) - 8 + 63) / 64
		at += l.nulls
	}
	if d.Kind == KindChild {
		l.parent = at
		at++
	}
	for _, t := range d.Keys {
		c := column{typ: t, phys: t.Phys(), word: at}
		switch c.phys {
		case types.PInt128, types.PInterval:
			at++
		case types.PBytes:
			l.heaps = append(l.heaps, at)
		}
		at++
		l.cols = append(l.cols, c)
	}
	l.value, l.width = at, at+d.Words
	for _, w := range d.Heaps {
		l.heaps = append(l.heaps, at+w)
	}
	l.ints = len(l.cols) > 0 && len(l.cols) <= 8 &&
		!slices.ContainsFunc(l.cols, func(c column) bool { return c.phys != types.PInt64 })
	return l
}
