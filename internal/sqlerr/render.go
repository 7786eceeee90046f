package sqlerr

import (
	"strings"
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

// Render writes err the way psql does: the message, the line with a caret under
// the position, then detail and hint. src is the SQL text that positions count in.
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
		text = strings.TrimRight(text, "\r")
		prefix := "LINE " + itoa(line) + ": "
		shown := strings.ReplaceAll(text, "\t", " ")
		b.WriteString(prefix + shown + "\n")
		b.WriteString(strings.Repeat(" ", len(prefix)+col-1) + "^\n")
	}
	if e.Detail != "" {
		b.WriteString("DETAIL: " + e.Detail + "\n")
	}
	if e.Hint != "" {
		b.WriteString("HINT: " + e.Hint + "\n")
	}
	return b.String()
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
