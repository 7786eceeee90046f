package sqlerr

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// LineCol gives the 1-based line and column (in characters) of pos in src.
func LineCol(src string, pos Pos) (line, col int) {
	off := int(pos) - 1
	if off < 0 {
		return 0, 0
	}
	off = min(off, len(src))
	line = 1 + strings.Count(src[:off], "\n")
	start := strings.LastIndexByte(src[:off], '\n') + 1
	return line, 1 + utf8.RuneCountInString(src[start:off])
}

// Render writes err the way psql does: the message, the line, or what is around the
// position when it is long, with a caret under the position, then detail and hint. src is the SQL text that positions count in.
func Render(err error, src string) string {
	var b strings.Builder
	b.WriteString("ERROR: ")
	b.WriteString(err.Error())
	b.WriteByte('\n')
	e := As(err)
	if e == nil {
		return b.String()
	}
	if line, col := LineCol(src, e.Pos); line > 0 && src != "" {
		text := strings.Split(src, "\n")[line-1]
		text, caret := window(strings.TrimRight(text, "\r"), col-1)
		prefix := "LINE " + itoa(line) + ": "
		b.WriteString(prefix + text + "\n")
		b.WriteString(strings.Repeat(" ", len(prefix)+caret) + "^\n")
	}
	if e.Detail != "" {
		b.WriteString("DETAIL: " + e.Detail + "\n")
	}
	if e.Hint != "" {
		b.WriteString("HINT: " + e.Hint + "\n")
	}
	return b.String()
}

const (
	// wholeLine is how many terminal cells a line may take that is shown whole.
	wholeLine = 160
	// cutLine is how many are shown of a longer one, and behindCaret how many of them
	// behind the caret when the line goes on that far.
	cutLine     = 120
	behindCaret = 40
)

// window gives what is shown of a line, and the cell in it under which the caret for the
// character at col stands. What a terminal would not show in its place is a blank.
func window(line string, col int) (shown string, caret int) {
	text := []rune(line)
	cells := 0
	for i, r := range text {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			text[i] = ' '
		}
		cells += RuneWidth(text[i])
	}
	col = min(col, len(text))
	if cells <= wholeLine {
		return string(text), widthOf(text[:col])
	}
	from, to, room := col, col, cutLine-2 // for two signs that the line was cut
	forward := func(most int) {
		for to < len(text) && RuneWidth(text[to]) <= min(room, most) {
			most -= RuneWidth(text[to])
			room -= RuneWidth(text[to])
			to++
		}
	}
	forward(behindCaret)
	for from > 0 && RuneWidth(text[from-1]) <= room {
		from--
		room -= RuneWidth(text[from])
	}
	forward(room)
	for from > 0 && from < col && RuneWidth(text[from]) == 0 {
		from++ // it belongs to a character that is cut off
	}
	shown, caret = string(text[from:to]), widthOf(text[from:col])
	if from > 0 {
		shown, caret = "…"+shown, caret+1
	}
	if to < len(text) {
		shown += "…"
	}
	return shown, caret
}

func widthOf(text []rune) (cells int) {
	for _, r := range text {
		cells += RuneWidth(r)
	}
	return cells
}

func itoa(n int) string {
	if n >= 10 {
		return itoa(n/10) + string(rune('0'+n%10))
	}
	return string(rune('0' + n))
}

// Nearest returns the candidate closest to name by edit distance, or "" when none
// is near enough to be a likely slip. A name that shares no letter is not near.
func Nearest(name string, candidates []string) string {
	best, bestD := "", 1+max(1, len(name)/3)
	lower := strings.ToLower(name)
	for _, c := range candidates {
		if d := distance(lower, strings.ToLower(c)); d < min(bestD, len(name)) {
			best, bestD = c, d
		}
	}
	return best
}

func distance(a, b string) int {
	prev := make([]int, len(b)+1)
	cur := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
		}
		prev, cur = cur, prev
	}
	return prev[len(b)]
}
