package sqlerr

import (
	"unicode"

	"golang.org/x/text/width"
)

// RuneWidth is the number of terminal cells that r takes.
func RuneWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf), r >= 0x1160 && r < 0x1200: // the vowels and finals of Hangul syllables
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
