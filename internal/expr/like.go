package expr

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

func likeFuncs() []Func {
	like := func(name, doc, example string, fold bool) Func {
		return Func{Name: name, Doc: doc, Strict: true, Example: example, ExampleResult: "t", PG: example,
			Sigs:   []Sig{{Args: []types.Kind{kText, kText, kText}, Optional: 1, Ret: types.TBool}},
			kernel: likeKernel(fold)}
	}
	return []Func{
		like("like", "True when the string matches a pattern of % (any characters), _ (one) and an escape character (backslash).",
			"'abc' LIKE 'a%_'", false),
		like("ilike", "LIKE without regard to case.", "'ABC' ILIKE 'a_c'", true),
	}
}

// likeToken is a character of a pattern: a literal, _ or %.
type likeToken struct {
	r    rune
	kind byte // 'l', '_', '%'
}

// likeTokens reads a pattern; ok is false when it ends with the escape character.
func likeTokens(pattern []byte, escape rune, fold bool) (out []likeToken, ok bool) {
	for len(pattern) > 0 {
		r, n := utf8.DecodeRune(pattern)
		pattern = pattern[n:]
		kind := byte('l')
		switch {
		case escape != 0 && r == escape:
			if len(pattern) == 0 {
				return nil, false
			}
			r, n = utf8.DecodeRune(pattern)
			pattern = pattern[n:]
		case r == '%' || r == '_':
			kind = byte(r)
		}
		if fold {
			r = unicode.ToLower(r)
		}
		out = append(out, likeToken{r: r, kind: kind})
	}
	return out, true
}

// matchLike matches s against tokens with one step of backtracking for the last %.
func matchLike(s []byte, tokens []likeToken, fold bool) bool {
	si, ti := 0, 0
	backS, backT := 0, -1
	for si < len(s) {
		if ti < len(tokens) {
			t := tokens[ti]
			if t.kind == '%' {
				backS, backT = si, ti
				ti++
				continue
			}
			r, n := utf8.DecodeRune(s[si:])
			if fold {
				r = unicode.ToLower(r)
			}
			if t.kind == '_' || t.r == r {
				si += n
				ti++
				continue
			}
		}
		if backT < 0 {
			return false
		}
		_, n := utf8.DecodeRune(s[backS:])
		backS += n
		si, ti = backS, backT+1
	}
	for ti < len(tokens) && tokens[ti].kind == '%' {
		ti++
	}
	return ti == len(tokens)
}

const badEscape = "LIKE pattern must not end with escape character"

func likeKernel(fold bool) func([]Arg, types.Type) impl {
	return func(args []Arg, _ types.Type) impl {
		escape := '\\'
		constEscape := len(args) < 3 || args[2].Const != nil
		if len(args) == 3 && constEscape {
			escape = escapeOf([]byte(args[2].Const.S))
		}
		if p := args[1].Const; p != nil && constEscape && validEscape(args) {
			if tokens, ok := likeTokens([]byte(p.S), escape, fold); ok {
				return impl{run: constLike(tokens, fold), cost: 10}
			}
		}
		return impl{run: rowBool(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (bool, bool) {
			esc := escape
			if len(a) == 3 {
				b := a[2].Bytes(i)
				if utf8.RuneCount(b) > 1 {
					k.fail(out, i, "22019", "invalid escape string")
					return false, false
				}
				esc = escapeOf(b)
			}
			tokens, ok := likeTokens(a[1].Bytes(i), esc, fold)
			if !ok {
				k.fail(out, i, "22025", badEscape)
				return false, false
			}
			return matchLike(a[0].Bytes(i), tokens, fold), true
		}), raises: true, cost: 100}
	}
}

func validEscape(args []Arg) bool {
	return len(args) < 3 || utf8.RuneCountInString(args[2].Const.S) <= 1
}

func escapeOf(b []byte) rune {
	if len(b) == 0 {
		return 0
	}
	r, _ := utf8.DecodeRune(b)
	return r
}

// constLike turns the common shapes of a pattern into plain searches.
func constLike(tokens []likeToken, fold bool) kernel {
	match := func(s []byte) bool { return matchLike(s, tokens, fold) }
	if text, first, last, ok := plainLike(tokens); ok && !fold {
		switch {
		case !first && !last:
			match = func(s []byte) bool { return bytes.Equal(s, text) }
		case !first:
			match = func(s []byte) bool { return bytes.HasPrefix(s, text) }
		case !last:
			match = func(s []byte) bool { return bytes.HasSuffix(s, text) }
		default:
			match = func(s []byte) bool { return bytes.Contains(s, text) }
		}
	}
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		fillBits(k, out.Bits, func(i int) bool { return match(a[0].Bytes(i)) })
	}
}

// plainLike reports a pattern that is one literal text with % before or after it.
func plainLike(tokens []likeToken) (text []byte, first, last, ok bool) {
	for i, t := range tokens {
		switch {
		case t.kind == 'l':
			text = utf8.AppendRune(text, t.r)
		case t.kind == '%' && i == 0:
			first = true
		case t.kind == '%' && i == len(tokens)-1:
			last = true
		default:
			return nil, false, false, false
		}
	}
	return text, first, last, len(tokens) != 1 || !first
}
