package expr

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// maxText bounds what one call may build, as a row does not exceed it anywhere else.
const maxText = 64 << 20

func lowerRow(_ *kctx, a []*vec.Vector, i int, dst []byte, _ *vec.Vector) ([]byte, bool) {
	return appendMapped(dst, a[0].Bytes(i), unicode.ToLower), true
}

func upperRow(_ *kctx, a []*vec.Vector, i int, dst []byte, _ *vec.Vector) ([]byte, bool) {
	return appendMapped(dst, a[0].Bytes(i), unicode.ToUpper), true
}

func appendMapped(dst, s []byte, f func(rune) rune) []byte {
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		dst = utf8.AppendRune(dst, f(r))
		s = s[n:]
	}
	return dst
}

func initcapRow(_ *kctx, a []*vec.Vector, i int, dst []byte, _ *vec.Vector) ([]byte, bool) {
	inWord := false
	return appendMapped(dst, a[0].Bytes(i), func(r rune) rune {
		first := !inWord
		inWord = unicode.IsLetter(r) || unicode.IsDigit(r)
		if first {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}), true
}

func trimFunc(name, doc, example, result string, left, right bool, aliases ...string) Func {
	f := textFunc(name, doc, example, result, []types.Kind{kText, kText}, 1,
		func(_ *kctx, a []*vec.Vector, i int, dst []byte, _ *vec.Vector) ([]byte, bool) {
			s := a[0].Bytes(i)
			set := []byte{' '}
			if len(a) == 2 {
				set = a[1].Bytes(i)
			}
			for left && len(s) > 0 {
				r, n := utf8.DecodeRune(s)
				if !bytes.ContainsRune(set, r) {
					break
				}
				s = s[n:]
			}
			for right && len(s) > 0 {
				r, n := utf8.DecodeLastRune(s)
				if !bytes.ContainsRune(set, r) {
					break
				}
				s = s[:len(s)-n]
			}
			return append(dst, s...), true
		})
	f.Aliases = aliases
	return f
}

func padFunc(name, doc, example, result string, left bool) Func {
	return raising(textFunc(name, doc, example, result, []types.Kind{kText, kInt, kText}, 1,
		func(k *kctx, a []*vec.Vector, i int, dst []byte, out *vec.Vector) ([]byte, bool) {
			s, n := a[0].Bytes(i), int(a[1].I64[i])
			fill := []byte{' '}
			if len(a) == 3 {
				fill = a[2].Bytes(i)
			}
			have := runeCount(s)
			if n <= have || len(fill) == 0 {
				return append(dst, prefixChars(s, max(n, 0))...), true
			}
			if n > maxText/4 {
				k.fail(out, i, sqlerr.CodeTooComplex, "requested length too large")
				return dst, false
			}
			if !left {
				dst = append(dst, s...)
			}
			per := runeCount(fill)
			missing := n - have
			for range missing / per {
				dst = append(dst, fill...)
			}
			dst = append(dst, prefixChars(fill, missing%per)...)
			if left {
				dst = append(dst, s...)
			}
			return dst, true
		}))
}

func replaceRow(_ *kctx, a []*vec.Vector, i int, dst []byte, _ *vec.Vector) ([]byte, bool) {
	s, old, with := a[0].Bytes(i), a[1].Bytes(i), a[2].Bytes(i)
	if len(old) == 0 {
		return append(dst, s...), true
	}
	for {
		at := bytes.Index(s, old)
		if at < 0 {
			return append(dst, s...), true
		}
		dst = append(append(dst, s[:at]...), with...)
		s = s[at+len(old):]
	}
}

func reverseRow(_ *kctx, a []*vec.Vector, i int, dst []byte, _ *vec.Vector) ([]byte, bool) {
	s := a[0].Bytes(i)
	for len(s) > 0 {
		_, n := utf8.DecodeLastRune(s)
		dst = append(dst, s[len(s)-n:]...)
		s = s[:len(s)-n]
	}
	return dst, true
}

func repeatRow(k *kctx, a []*vec.Vector, i int, dst []byte, out *vec.Vector) ([]byte, bool) {
	s, n := a[0].Bytes(i), a[1].I64[i]
	if n > 0 && int64(len(s))*n > maxText {
		k.fail(out, i, sqlerr.CodeTooComplex, "requested length too large")
		return dst, false
	}
	for ; n > 0; n-- {
		dst = append(dst, s...)
	}
	return dst, true
}

func overlayRow(k *kctx, a []*vec.Vector, i int, dst []byte, out *vec.Vector) ([]byte, bool) {
	s, with, from := a[0].Bytes(i), a[1].Bytes(i), a[2].I64[i]
	n := int64(0)
	if len(a) == 4 {
		n = a[3].I64[i]
	} else {
		n = int64(runeCount(with))
	}
	if from <= 0 {
		k.fail(out, i, "22011", "negative substring length not allowed")
		return dst, false
	}
	dst = append(append(dst, prefixChars(s, int(from-1))...), with...)
	return append(dst, s[charOffset(s, int(max(0, from-1+n))):]...), true
}

// charIndex is the place of what in s, counted in characters from 1; 0 if not there.
func charIndex(s, what []byte) int64 {
	at := bytes.Index(s, what)
	if at < 0 {
		return 0
	}
	return int64(runeCount(s[:at])) + 1
}

func splitPartRow(k *kctx, a []*vec.Vector, i int, dst []byte, out *vec.Vector) ([]byte, bool) {
	s, sep, n := a[0].Bytes(i), a[1].Bytes(i), a[2].I64[i]
	if n == 0 {
		k.fail(out, i, sqlerr.CodeInvalidParameter, "field position must not be zero")
		return dst, false
	}
	if n < 0 {
		n += int64(bytes.Count(s, sep)) + 2
		if len(sep) == 0 {
			n = a[2].I64[i] + 2
		}
		if n <= 0 {
			return dst, true
		}
	}
	if part, ok := splitAt(s, sep, n-1); ok {
		dst = append(dst, part...)
	}
	return dst, true
}

func asciiOf(a []*vec.Vector, i int) int64 {
	s := a[0].Bytes(i)
	if len(s) == 0 {
		return 0
	}
	r, _ := utf8.DecodeRune(s)
	return int64(r)
}

func chrRow(k *kctx, a []*vec.Vector, i int, dst []byte, out *vec.Vector) ([]byte, bool) {
	c := a[0].I64[i]
	if c == 0 || c < 0 || c > unicode.MaxRune || !utf8.ValidRune(rune(c)) {
		k.fail(out, i, "54000", "requested character not valid")
		return dst, false
	}
	return utf8.AppendRune(dst, rune(c)), true
}

func md5Row(_ *kctx, a []*vec.Vector, i int, dst []byte, _ *vec.Vector) ([]byte, bool) {
	sum := md5.Sum(a[0].Bytes(i))
	return hex.AppendEncode(dst, sum[:]), true
}

func sha256Row(_ *kctx, a []*vec.Vector, i int, dst []byte, _ *vec.Vector) ([]byte, bool) {
	sum := sha256.Sum256(a[0].Bytes(i))
	return hex.AppendEncode(dst, sum[:]), true
}

// base64Line is how many characters PostgreSQL puts on a line of base64.
const base64Line = 76

func encodeRow(k *kctx, a []*vec.Vector, i int, dst []byte, out *vec.Vector) ([]byte, bool) {
	s := a[0].Bytes(i)
	switch strings.ToLower(string(a[1].Bytes(i))) {
	case "hex":
		return hex.AppendEncode(dst, s), true
	case "base64":
		for len(s) > base64Line/4*3 {
			dst = append(base64.StdEncoding.AppendEncode(dst, s[:base64Line/4*3]), '\n')
			s = s[base64Line/4*3:]
		}
		return base64.StdEncoding.AppendEncode(dst, s), true
	case "escape":
		for _, c := range s {
			switch {
			case c == '\\':
				dst = append(dst, '\\', '\\')
			case c == 0 || c >= 0x80:
				dst = append(dst, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
			default:
				dst = append(dst, c)
			}
		}
		return dst, true
	}
	badEncoding(k, out, i, a[1].Bytes(i))
	return dst, false
}

func decodeRow(k *kctx, a []*vec.Vector, i int, dst []byte, out *vec.Vector) ([]byte, bool) {
	s := a[0].Bytes(i)
	start := len(dst)
	var err error
	switch strings.ToLower(string(a[1].Bytes(i))) {
	case "hex":
		dst, err = hex.AppendDecode(dst, s)
	case "base64":
		k.buf = k.buf[:0]
		for _, c := range s {
			if c != '\n' && c != '\r' && c != ' ' && c != '\t' {
				k.buf = append(k.buf, c)
			}
		}
		dst, err = base64.StdEncoding.AppendDecode(dst, k.buf)
	case "escape":
		var f vec.Fault
		if dst, f = vec.AppendParsedBytes(dst, s); f != vec.Fine {
			k.fail(out, i, sqlerr.CodeInvalidText, "invalid input syntax for type bytea")
			return dst[:start], false
		}
	default:
		badEncoding(k, out, i, a[1].Bytes(i))
		return dst, false
	}
	if err != nil {
		k.fail(out, i, sqlerr.CodeInvalidParameter, "invalid "+strings.ToLower(string(a[1].Bytes(i)))+" data")
		return dst[:start], false
	}
	return dst, true
}
