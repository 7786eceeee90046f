package sqlerr

import (
	"strings"
	"testing"
)

// TestRender puts the caret under an @, which is taken out of the text.
func TestRender(t *testing.T) {
	long := strings.Repeat("abcdefghi ", 100)
	for _, c := range []struct{ src, line, caret string }{
		{"SELECT @nothing", "LINE 1: SELECT nothing", "               ^"},
		{"SELECT 1;\r\n\n  @x\r\ny", "LINE 3:   x", "          ^"},
		{"SELECT @", "LINE 1: SELECT ", "               ^"},
		{"\t\tSELECT\t@x", "LINE 1:   SELECT x", "                 ^"},
		{"a\x1b[2J@x", "LINE 1: a [2Jx", "             ^"},
		{"a\u202e@x", "LINE 1: a x", "          ^"},
		{"'é'@x", "LINE 1: 'é'x", "           ^"},
		{"'日本' @x '語'", "LINE 1: '日本' x '語'", "               ^"},
		{"'🚀' @x", "LINE 1: '🚀' x", "             ^"},
		{"'e\u0301a\u0323\u0308' @x", "LINE 1: 'e\u0301a\u0323\u0308' x", "             ^"},
		{"ﬀ Ａ@x", "LINE 1: ﬀ Ａx", "            ^"},
		{long[:160] + "@", "LINE 1: " + long[:160], strings.Repeat(" ", 168) + "^"},
		{"@" + long, "LINE 1: " + long[:118] + "…", "        ^"},
		{long[:50] + "@" + long[50:], "LINE 1: " + long[:118] + "…", strings.Repeat(" ", 58) + "^"},
		{long[:500] + "@" + long[500:], "LINE 1: …" + long[422:540] + "…", strings.Repeat(" ", 87) + "^"},
		{long[:995] + "@" + long[995:], "LINE 1: …" + long[882:], strings.Repeat(" ", 122) + "^"},
		{long + "@", "LINE 1: …" + long[882:], strings.Repeat(" ", 127) + "^"},
		{strings.Repeat("日", 100) + "@" + strings.Repeat("本", 100), "LINE 1: …" + strings.Repeat("日", 39) + strings.Repeat("本", 20) + "…", strings.Repeat(" ", 87) + "^"},
		{strings.Repeat("e\u0301", 300) + "@x", "LINE 1: …" + strings.Repeat("e\u0301", 117) + "x", strings.Repeat(" ", 126) + "^"},
	} {
		at := strings.Index(c.src, "@")
		src := c.src[:at] + c.src[at+1:]
		want := "ERROR: wrong\n" + c.line + "\n" + c.caret + "\nHINT: Do.\n"
		if got := Render(New(CodeSyntax, Pos(at+1), "wrong").WithHint("Do."), src); got != want {
			t.Errorf("%q gives\n%swant\n%s", c.src, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	for _, c := range []struct {
		name       string
		candidates []string
		want       string
	}{
		{"s", []string{"t", "a"}, ""},
		{"s", []string{"t", "S"}, "S"},
		{"id", []string{"xy", "ix"}, "ix"},
		{"tt", []string{"cd", "t"}, "t"},
		{"bids", []string{"asks", "bid"}, "bid"},
		{"orders", []string{"order", "borders", "odor"}, "order"},
		{"orders", nil, ""},
	} {
		if got := Nearest(c.name, c.candidates); got != c.want {
			t.Errorf("%q among %q: %q, want %q", c.name, c.candidates, got, c.want)
		}
	}
}
