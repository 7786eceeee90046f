package console

import (
	"fmt"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// table prints psql's aligned format: names centred, numbers to the right, NULL empty,
// a cell of several lines continued with +.
type table struct {
	schema types.Schema
	ops    bool
	names  []string
	right  []bool
	widths []int
	cells  [][]byte // shown text of the current row
	starts []int    // where the next line of each cell starts
	raw    []byte
}

func newTable(schema types.Schema, ops bool) *table {
	t := &table{schema: schema, ops: ops}
	if ops {
		t.add("op", false)
	}
	for _, c := range schema {
		t.add(c.Name, c.Type.IsNumeric())
	}
	t.cells = make([][]byte, len(t.names))
	t.starts = make([]int, len(t.names))
	return t
}

func (t *table) add(name string, right bool) {
	t.names = append(t.names, string(appendShown(nil, []byte(name))))
	t.right = append(t.right, right)
	t.widths = append(t.widths, shownWidth([]byte(t.names[len(t.names)-1])))
}

// measure widens the columns to the rows of b.
func (t *table) measure(b *vec.Batch) {
	for i := range b.N {
		t.load(b, i)
	}
}

// load shows row i in cells and widens the columns to it.
func (t *table) load(b *vec.Batch, i int) {
	first := 0
	if t.ops {
		t.cells[0] = append(t.cells[0][:0], b.Op(i).String()...)
		t.widths[0] = max(t.widths[0], 2)
		first = 1
	}
	for k, c := range b.Cols {
		t.raw = vec.AppendText(t.raw[:0], c, i)
		cell := appendShown(t.cells[first+k][:0], t.raw)
		t.cells[first+k] = cell
		t.widths[first+k] = max(t.widths[first+k], shownWidth(cell))
	}
}

func (t *table) begin(dst []byte, b *vec.Batch) []byte {
	t.measure(b)
	for k, name := range t.names {
		gap := t.widths[k] - shownWidth([]byte(name))
		if k > 0 {
			dst = append(dst, '|')
		}
		dst = append(spaces(append(dst, ' '), gap/2), name...)
		dst = append(spaces(dst, gap-gap/2), ' ')
	}
	dst = append(dst, '\n')
	for k, w := range t.widths {
		if k > 0 {
			dst = append(dst, '+')
		}
		for range w + 2 {
			dst = append(dst, '-')
		}
	}
	return append(dst, '\n')
}

func (t *table) row(dst []byte, b *vec.Batch, i int) []byte {
	t.load(b, i)
	clear(t.starts)
	for more := true; more; {
		more = false
		if len(dst) > 0 && dst[len(dst)-1] != '\n' {
			dst = append(dst, '\n')
		}
		for k, cell := range t.cells {
			if k > 0 {
				dst = append(dst, '|')
			}
			line, again := []byte(nil), false
			if s := t.starts[k]; s <= len(cell) {
				line = cell[s:]
				for n, c := range line {
					if c == '\n' {
						line, again = line[:n], true
						break
					}
				}
				t.starts[k] = s + len(line) + 1
			}
			gap := t.widths[k] - lineWidth(line)
			dst = append(dst, ' ')
			if t.right[k] {
				dst = spaces(dst, gap)
			}
			dst = append(dst, line...)
			last := k == len(t.cells)-1
			if !t.right[k] && (!last || again) {
				dst = spaces(dst, gap)
			}
			switch {
			case again:
				dst = append(dst, '+')
			case !last:
				dst = append(dst, ' ')
			}
			more = more || again
		}
	}
	return dst
}

func (t *table) end(dst []byte, n int) []byte {
	if n == 1 {
		return append(dst, "(1 row)\n"...)
	}
	return fmt.Appendf(dst, "(%d rows)\n", n)
}

func spaces(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, ' ')
	}
	return dst
}

// appendShown appends s with what would upset a terminal spelled out; line ends stay.
func appendShown(dst, s []byte) []byte {
	column := 0
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		switch {
		case r == '\n':
			dst = append(dst, '\n')
			column = -1
		case r == '\t':
			gap := 8 - column%8
			dst = spaces(dst, gap)
			column += gap - 1
		case r == '\r':
			dst = append(dst, `\r`...)
			column++
		case r < ' ' || r == 0x7f || r == utf8.RuneError && n == 1:
			dst = fmt.Appendf(dst, `\x%02X`, s[0])
			column += 3
		case r >= 0x80 && r < 0xa0:
			dst = fmt.Appendf(dst, `\u%04X`, r)
			column += 5
		default:
			dst = append(dst, s[:n]...)
			column += sqlerr.RuneWidth(r) - 1
		}
		column++
		s = s[n:]
	}
	return dst
}

// shownWidth is the width of the widest line.
func shownWidth(s []byte) (w int) {
	start := 0
	for i, c := range s {
		if c == '\n' {
			w = max(w, lineWidth(s[start:i]))
			start = i + 1
		}
	}
	return max(w, lineWidth(s[start:]))
}

func lineWidth(s []byte) (w int) {
	for _, r := range string(s) {
		w += sqlerr.RuneWidth(r)
	}
	return w
}
