package expr

import "unicode/utf8"

// prefixChars is the first n characters of s.
func prefixChars(s []byte, n int) []byte { return s[:charOffset(s, n)] }

// charOffset is where character n (from 0) of s starts, or len(s).
func charOffset(s []byte, n int) int {
	if n >= len(s) {
		return len(s)
	}
	i := 0
	for ; n > 0 && i < len(s); n-- {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		_, size := utf8.DecodeRune(s[i:])
		i += size
	}
	return i
}

func runeCount(s []byte) int { return utf8.RuneCount(s) }
