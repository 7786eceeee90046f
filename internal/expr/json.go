package expr

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

func jsonFuncs() []Func {
	get := func(name, doc, example, result string, ret types.Type, text bool) Func {
		step := func([]Arg, types.Type) impl {
			return impl{run: rowBytes(func(k *kctx, a []*vec.Vector, i int, dst []byte, out *vec.Vector) ([]byte, bool) {
				return getJSON(k, a, i, dst, out, text)
			}), raises: text, cost: 60}
		}
		return Func{Name: name, Doc: doc, Strict: true, Example: example, ExampleResult: result, PG: example,
			Sigs: []Sig{
				{Args: []types.Kind{types.JSON, kText}, Ret: ret, kernel: step},
				{Args: []types.Kind{types.JSON, kInt}, Ret: ret, kernel: step},
			}}
	}
	return []Func{
		get("->", "Member of an object by name, or element of an array by number from 0 (from the end when negative), as JSON.",
			`JSON '{"a": {"b": [1, 2]}}' -> 'a'`, `{"b": [1, 2]}`, types.TJSON, false),
		get("->>", "The same as text: strings without quotes, JSON's null as NULL.",
			`JSON '{"a": "x\u00e9"}' ->> 'a'`, "xé", types.TText, true),
		{
			Name: "json_value", Strict: true,
			Doc:     "The scalar at a path such as $.a.b[0], as text with numbers digit by digit; NULL when there is none.",
			Example: `JSON_VALUE('{"n": {"x": [18014398509481985]}}', '$.n.x[0]')`, ExampleResult: "18014398509481985",
			PG: `'{"n": {"x": [18014398509481985]}}'::JSON #>> '{n,x,0}'`,
			Sigs: []Sig{
				{Args: []types.Kind{types.JSON, kText}, Ret: types.TText},
				{Args: []types.Kind{kText, kText}, Ret: types.TText},
			},
			check: checkText(1, sqlerr.CodeSyntax, func(path string) error {
				if _, ok := parsePath(path); !ok {
					return errPath(path)
				}
				return nil
			}),
			kernel: jsonValueKernel,
		},
	}
}

// getJSON is one step into a JSON text.
func getJSON(k *kctx, a []*vec.Vector, i int, dst []byte, out *vec.Vector, text bool) ([]byte, bool) {
	var v []byte
	if a[1].Type.Kind == types.Int {
		v = jsonElement(a[0].Bytes(i), int(a[1].I64[i]))
	} else {
		v = jsonMember(a[0].Bytes(i), a[1].Bytes(i))
	}
	if v == nil {
		return dst, false
	}
	if !text {
		return append(dst, v...), true
	}
	return appendJSONText(k, out, i, dst, v)
}

// appendJSONText appends a JSON value as text.
func appendJSONText(k *kctx, out *vec.Vector, i int, dst, v []byte) ([]byte, bool) {
	switch {
	case string(v) == "null":
		return dst, false
	case v[0] == '"':
		d, bad := appendUnquoted(dst, v)
		switch bad {
		case zeroEscape:
			k.fail(out, i, "22P05", "unsupported Unicode escape sequence: \\u0000 cannot be converted to text")
		case halfPair:
			k.fail(out, i, sqlerr.CodeInvalidText, "half of a surrogate pair is not a character")
		}
		return d, bad == noFault
	}
	return append(dst, v...), true
}

// pathStep is a member name or an element number.
type pathStep struct {
	name  []byte
	index int
	elem  bool
}

// parsePath reads $, .name, ."name" and [n].
func parsePath(p string) (steps []pathStep, ok bool) {
	p = strings.TrimSpace(p)
	p = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(p, "lax "), "strict "))
	if !strings.HasPrefix(p, "$") {
		return nil, false
	}
	for p = p[1:]; p != ""; {
		switch {
		case strings.HasPrefix(p, `."`):
			end := strings.IndexByte(p[2:], '"')
			if end < 0 {
				return nil, false
			}
			steps = append(steps, pathStep{name: []byte(p[2 : 2+end])})
			p = p[3+end:]
		case p[0] == '.':
			end := 1
			for end < len(p) && p[end] != '.' && p[end] != '[' {
				if c := p[end]; c < 0x80 && c != '_' && !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9') {
					return nil, false
				}
				end++
			}
			if end == 1 {
				return nil, false
			}
			steps = append(steps, pathStep{name: []byte(p[1:end])})
			p = p[end:]
		case p[0] == '[':
			end := strings.IndexByte(p, ']')
			if end < 0 {
				return nil, false
			}
			n, err := strconv.Atoi(strings.TrimSpace(p[1:end]))
			if err != nil || n < 0 {
				return nil, false
			}
			steps = append(steps, pathStep{index: n, elem: true})
			p = p[end+1:]
		default:
			return nil, false
		}
	}
	return steps, true
}

func errPath(path string) error {
	return fmt.Errorf("JSON path \"%s\" is not supported: it is made of $, .name, .\"name\" and [n]", path)
}

func jsonValueKernel(args []Arg, _ types.Type) impl {
	var fixed []pathStep
	known := false
	if p := args[1].Const; p != nil {
		fixed, known = parsePath(p.S)
	}
	return impl{run: rowBytes(func(k *kctx, a []*vec.Vector, i int, dst []byte, out *vec.Vector) ([]byte, bool) {
		steps := fixed
		if !known {
			var ok bool
			if steps, ok = parsePath(string(a[1].Bytes(i))); !ok {
				k.fail(out, i, sqlerr.CodeSyntax, errPath(string(a[1].Bytes(i))).Error())
				return dst, false
			}
		}
		v := trimJSON(a[0].Bytes(i))
		for _, s := range steps {
			if s.elem {
				v = jsonElement(v, s.index)
			} else {
				v = jsonMember(v, s.name)
			}
			if v == nil {
				return dst, false
			}
		}
		if len(v) == 0 || v[0] == '{' || v[0] == '[' {
			return dst, false
		}
		return appendJSONText(k, out, i, dst, v)
	}), raises: true, cost: 100}
}

func trimJSON(s []byte) []byte {
	i := skipSpace(s, 0)
	end := len(s)
	for end > i && isJSONSpace(s[end-1]) {
		end--
	}
	return s[i:end]
}

func isJSONSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func skipSpace(s []byte, i int) int {
	for i < len(s) && isJSONSpace(s[i]) {
		i++
	}
	return i
}

// skipString returns the place after the string that starts at i.
func skipString(s []byte, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// skipValue returns the place after the value that starts at i.
func skipValue(s []byte, i int) int {
	depth := 0
	for i < len(s) {
		switch s[i] {
		case '"':
			i = skipString(s, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			for i < len(s) && !strings.ContainsRune(",:]} \n\t\r", rune(s[i])) {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return len(s)
}

// jsonMember returns the text of a member of an object, nil when there is none; of a
// name that occurs twice the last counts, as in jsonb.
func jsonMember(s, name []byte) (v []byte) {
	i := skipSpace(s, 0)
	if i >= len(s) || s[i] != '{' {
		return nil
	}
	for i = skipSpace(s, i+1); i < len(s) && s[i] == '"'; {
		end := skipString(s, i)
		hit := sameJSONString(s[i:end], name)
		i = skipSpace(s, end)
		if i >= len(s) || s[i] != ':' {
			return v
		}
		i = skipSpace(s, i+1)
		end = skipValue(s, i)
		if hit && end > i {
			v = s[i:end]
		}
		if i = skipSpace(s, end); i >= len(s) || s[i] != ',' {
			return v
		}
		i = skipSpace(s, i+1)
	}
	return v
}

func sameJSONString(quoted, name []byte) bool {
	inner := quoted[1 : len(quoted)-1]
	if string(inner) == string(name) {
		return true
	}
	for _, c := range inner {
		if c == '\\' {
			plain, bad := appendUnquoted(nil, quoted)
			return bad == noFault && string(plain) == string(name)
		}
	}
	return false
}

// jsonElement returns the text of element n of an array, from the end when n is
// negative; nil when there is none.
func jsonElement(s []byte, n int) []byte {
	if n < 0 {
		if n += jsonLength(s); n < 0 {
			return nil
		}
	}
	var v []byte
	eachElement(s, func(k int, e []byte) bool {
		if k == n {
			v = e
		}
		return k < n
	})
	return v
}

func jsonLength(s []byte) int {
	n := 0
	eachElement(s, func(int, []byte) bool { n++; return true })
	return n
}

func eachElement(s []byte, f func(k int, e []byte) bool) {
	i := skipSpace(s, 0)
	if i >= len(s) || s[i] != '[' {
		return
	}
	for k := 0; ; k++ {
		i = skipSpace(s, i+1)
		end := skipValue(s, i)
		if end == i || !f(k, s[i:end]) {
			return
		}
		if i = skipSpace(s, end); i >= len(s) || s[i] != ',' {
			return
		}
	}
}

// escapeFault is an escape in a JSON string that stands for no character of a text.
type escapeFault uint8

const (
	noFault    escapeFault = iota
	zeroEscape             // U+0000
	halfPair               // a surrogate without its other half
)

// appendUnquoted appends the characters of a JSON string, up to the first bad escape.
func appendUnquoted(dst, quoted []byte) ([]byte, escapeFault) {
	s := quoted[1 : len(quoted)-1]
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			dst = append(dst, s[i])
			continue
		}
		i++
		if i >= len(s) {
			return dst, noFault
		}
		switch s[i] {
		case 'n':
			dst = append(dst, '\n')
		case 't':
			dst = append(dst, '\t')
		case 'r':
			dst = append(dst, '\r')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'u':
			r := hex4(s, i+1)
			i += 4
			if utf16.IsSurrogate(r) && i+6 < len(s) && s[i+1] == '\\' && s[i+2] == 'u' {
				if both := utf16.DecodeRune(r, hex4(s, i+3)); both != utf8.RuneError {
					r = both
					i += 6
				}
			}
			switch {
			case r == 0:
				return dst, zeroEscape
			case utf16.IsSurrogate(r):
				return dst, halfPair
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, s[i])
		}
	}
	return dst, noFault
}

func hex4(s []byte, i int) rune {
	if i+4 > len(s) {
		return utf8.RuneError
	}
	r := rune(0)
	for _, c := range s[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return utf8.RuneError
		}
	}
	return r
}
