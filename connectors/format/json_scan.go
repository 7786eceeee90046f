package format

import "unicode/utf8"

// MaxJSONDepth is how deep objects and arrays may nest in a payload.
const MaxJSONDepth = 512

func blank(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// skipBlank gives the index of the first byte at or after i that is no white space.
func skipBlank(b []byte, i int) int {
	for i < len(b) && blank(b[i]) {
		i++
	}
	return i
}

// fault says where and how a text breaks the JSON grammar.
type fault struct {
	at  int
	msg string
}

// skipString checks the string whose opening quote is at b[i-1] and gives the index
// after its closing quote, or -1. plain is true when it has no escapes.
func skipString(b []byte, i int, f *fault) (end int, plain bool) {
	plain = true
	for {
		for i+8 <= len(b) {
			n := firstMark(special(load64(b[i:])))
			i += n
			if n < 8 {
				break
			}
		}
		if i >= len(b) {
			f.at, f.msg = i, "unterminated string"
			return -1, false
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, plain
		case c == '\\':
			plain = false
			if i = skipEscape(b, i+1, f); i < 0 {
				return -1, false
			}
		case c < 0x20:
			f.at, f.msg = i, "control character in a string"
			return -1, false
		case c < utf8.RuneSelf:
			i++
		default:
			_, n := utf8.DecodeRune(b[i:])
			if n == 1 {
				f.at, f.msg = i, "invalid UTF-8"
				return -1, false
			}
			i += n
		}
	}
}

func skipEscape(b []byte, i int, f *fault) int {
	if i < len(b) {
		switch b[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			return i + 1
		case 'u':
			if _, ok := hex4(b, i+1); ok {
				return i + 5
			}
		}
	}
	f.at, f.msg = i, "invalid escape in a string"
	return -1
}

// hex4 reads four hexadecimal digits at b[i:].
func hex4(b []byte, i int) (r rune, ok bool) {
	if i+4 > len(b) {
		return 0, false
	}
	for _, c := range b[i : i+4] {
		switch {
		case c-'0' <= 9:
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// skipLiteral checks true, false or null at b[i:].
func skipLiteral(b []byte, i int, word string, f *fault) int {
	if len(b)-i >= len(word) && string(b[i:i+len(word)]) == word {
		return i + len(word)
	}
	f.at, f.msg = i, "invalid literal"
	return -1
}

// skipValue checks the value that starts at b[i] and gives the index after it, or -1.
// depth is how many objects and arrays it stands in.
func skipValue(b []byte, i, depth int, f *fault) int {
	if i >= len(b) {
		f.at, f.msg = i, "unexpected end"
		return -1
	}
	switch c := b[i]; c {
	case '"':
		end, _ := skipString(b, i+1, f)
		return end
	case '{', '[':
		if depth >= MaxJSONDepth {
			f.at, f.msg = i, "nested too deep"
			return -1
		}
		return skipNested(b, i, depth+1, f)
	case 't':
		return skipLiteral(b, i, "true", f)
	case 'f':
		return skipLiteral(b, i, "false", f)
	case 'n':
		return skipLiteral(b, i, "null", f)
	default:
		if c == '-' || c-'0' <= 9 {
			if end := scanNumber(b, i); end >= 0 {
				return end
			}
			f.at, f.msg = i, "invalid number"
			return -1
		}
		f.at, f.msg = i, "expected a value"
		return -1
	}
}

// skipNested checks the object or array that starts at b[i].
func skipNested(b []byte, i, depth int, f *fault) int {
	object := b[i] == '{'
	closing := byte(']')
	if object {
		closing = '}'
	}
	i = skipBlank(b, i+1)
	if i < len(b) && b[i] == closing {
		return i + 1
	}
	for {
		if object {
			if i >= len(b) || b[i] != '"' {
				f.at, f.msg = i, "expected a quoted key"
				return -1
			}
			if i, _ = skipString(b, i+1, f); i < 0 {
				return -1
			}
			if i = skipBlank(b, i); i >= len(b) || b[i] != ':' {
				f.at, f.msg = i, "expected a colon after a key"
				return -1
			}
			i = skipBlank(b, i+1)
		}
		if i = skipValue(b, i, depth, f); i < 0 {
			return -1
		}
		i = skipBlank(b, i)
		switch {
		case i < len(b) && b[i] == closing:
			return i + 1
		case i < len(b) && b[i] == ',':
			i = skipBlank(b, i+1)
		default:
			f.at, f.msg = i, "expected a comma or the end of an object or array"
			return -1
		}
	}
}

// unescape decodes the rest of a string from b[i] on, appends it to dst and gives the
// index after the closing quote, or -1 where the grammar breaks. The three faults that
// are no faults of grammar are reported in odd.
func unescape(dst, b []byte, i int, f *fault) (out []byte, end int, odd oddity) {
	for {
		for i+8 <= len(b) {
			n := firstMark(special(load64(b[i:])))
			dst = append(dst, b[i:i+n]...)
			i += n
			if n < 8 {
				break
			}
		}
		if i >= len(b) {
			f.at, f.msg = i, "unterminated string"
			return dst, -1, odd
		}
		switch c := b[i]; {
		case c == '"':
			return dst, i + 1, odd
		case c == '\\':
			start := i + 1
			if i = skipEscape(b, start, f); i < 0 {
				return dst, -1, odd
			}
			var o oddity
			dst, i, o = appendEscape(dst, b, start)
			odd |= o
		case c < 0x20:
			f.at, f.msg = i, "control character in a string"
			return dst, -1, odd
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			_, n := utf8.DecodeRune(b[i:])
			if n == 1 {
				f.at, f.msg = i, "invalid UTF-8"
				return dst, -1, odd
			}
			dst = append(dst, b[i:i+n]...)
			i += n
		}
	}
}

// oddity is what the JSON grammar lets pass and a text column cannot hold.
type oddity uint8

const (
	oddNUL oddity = 1 << iota
	oddSurrogate
)

// appendEscape appends what the escape after the backslash, b[i:], stands for. It has
// passed skipEscape.
func appendEscape(dst, b []byte, i int) ([]byte, int, oddity) {
	switch c := b[i]; c {
	case 'b':
		return append(dst, '\b'), i + 1, 0
	case 'f':
		return append(dst, '\f'), i + 1, 0
	case 'n':
		return append(dst, '\n'), i + 1, 0
	case 'r':
		return append(dst, '\r'), i + 1, 0
	case 't':
		return append(dst, '\t'), i + 1, 0
	case '"', '\\', '/':
		return append(dst, c), i + 1, 0
	}
	r, _ := hex4(b, i+1)
	i += 5
	switch {
	case r == 0:
		return append(dst, 0), i, oddNUL
	case r >= 0xd800 && r < 0xdc00 && i+1 < len(b) && b[i] == '\\' && b[i+1] == 'u':
		if low, ok := hex4(b, i+2); ok && low >= 0xdc00 && low < 0xe000 {
			return utf8.AppendRune(dst, 0x10000+(r-0xd800)<<10+(low-0xdc00)), i + 6, 0
		}
		return utf8.AppendRune(dst, utf8.RuneError), i, oddSurrogate
	case r >= 0xd800 && r < 0xe000:
		return utf8.AppendRune(dst, utf8.RuneError), i, oddSurrogate
	}
	return utf8.AppendRune(dst, r), i, 0
}

// oddEscapes looks for oddities in the strings of a checked JSON text.
func oddEscapes(b []byte, scratch []byte) (odd oddity) {
	for i := 0; i < len(b); i++ {
		if b[i] == '\\' {
			var o oddity
			_, i, o = appendEscape(scratch[:0], b, i+1)
			odd |= o
			i--
		}
	}
	return odd
}
