package explain

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// box is a node of a tree as it is printed.
type box struct {
	title string
	facts []fact
	below []branch
}

// fact is a labelled line of a box.
type fact struct{ label, text string }

// branch leads to an input. Without a box it is a reference, complete in text.
type branch struct {
	text string
	box  *box
}

func (b *box) say(label, text string) {
	if text != "" {
		b.facts = append(b.facts, fact{label, text})
	}
}

// writeTrees writes trees one below the other, indented.
func writeTrees(b *strings.Builder, trees []*box) {
	for _, t := range trees {
		t.write(b, "  ")
	}
}

func (t *box) write(b *strings.Builder, indent string) {
	b.WriteString(indent + t.title + "\n")
	rail := "  "
	if len(t.below) > 0 {
		rail = "│ "
	}
	width := 0
	for _, f := range t.facts {
		width = max(width, utf8.RuneCountInString(f.label))
	}
	for _, f := range t.facts {
		b.WriteString(indent + rail + f.label + strings.Repeat(" ", width-utf8.RuneCountInString(f.label)) + "  " + f.text + "\n")
	}
	for i, br := range t.below {
		corner, next := "├─ ", "│  "
		if i == len(t.below)-1 {
			corner, next = "└─ ", "   "
		}
		switch {
		case br.box == nil:
			b.WriteString(indent + corner + br.text + "\n")
		case br.text == "":
			// The box hangs on the corner itself.
			var inner strings.Builder
			br.box.write(&inner, indent+next)
			b.WriteString(indent + corner + inner.String()[len(indent+next):])
		default:
			b.WriteString(indent + corner + br.text + "\n")
			br.box.write(b, indent+next)
		}
	}
}

// numbers gives the nodes of several consumers their numbers, in the order in which they
// are printed.
type numbers[T comparable] struct {
	uses map[T]int
	of   map[T]int
}

// tag is what follows the name of n where it is printed; again reports that it was
// printed before.
func (s *numbers[T]) tag(n T) (tag string, again bool) {
	if s.uses[n] < 2 {
		return "", false
	}
	k, again := s.of[n]
	if !again {
		k = len(s.of) + 1
		s.of[n] = k
	}
	return " #" + strconv.Itoa(k), again
}
