package expr

import (
	"bytes"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// textRow computes the bytes of one row of a strict text function; ok false is NULL.
type textRow func(k *kctx, a []*vec.Vector, i int, dst []byte, out *vec.Vector) (_ []byte, ok bool)

const (
	kText = types.Text
	kInt  = types.Int
)

// textFunc is a strict function with a TEXT result.
func textFunc(name, doc, example, result string, args []types.Kind, optional int, f textRow) Func {
	return Func{Name: name, Doc: doc, Example: example, ExampleResult: result, PG: example, Strict: true,
		Sigs:   []Sig{{Args: args, Optional: optional, Ret: types.TText}},
		kernel: func([]Arg, types.Type) impl { return impl{run: rowBytes(f), cost: 15} }}
}

// intFunc is a strict function with an INT result.
func intFunc(name, doc, example, result string, args []types.Kind, f func(a []*vec.Vector, i int) int64) Func {
	return Func{Name: name, Doc: doc, Example: example, ExampleResult: result, PG: example, Strict: true,
		Sigs: []Sig{{Args: args, Ret: types.TInt}},
		kernel: func([]Arg, types.Type) impl {
			return impl{run: rowInt(func(_ *kctx, a []*vec.Vector, i int, _ *vec.Vector) (int64, bool) {
				return f(a, i), true
			}), cost: 8}
		}}
}

func raising(f Func) Func {
	kernel := f.kernel
	f.kernel = func(args []Arg, t types.Type) impl {
		im := kernel(args, t)
		im.raises = true
		return im
	}
	return f
}

func withAliases(f Func, names ...string) Func {
	f.Aliases = names
	return f
}

func withPG(f Func, pg string) Func {
	f.PG = pg
	return f
}

func stringFuncs() []Func {
	return []Func{
		lowerFunc(),
		textFunc("upper", "Letters in upper case.", "UPPER('tom Smith')", "TOM SMITH", []types.Kind{kText}, 0, upperRow),
		textFunc("initcap", "The first letter of each word in upper case, the others in lower case.",
			"INITCAP('hi THOMAS')", "Hi Thomas", []types.Kind{kText}, 0, initcapRow),
		withAliases(intFunc("char_length", "Number of characters.", "CHAR_LENGTH('日本語')", "3", []types.Kind{kText},
			func(a []*vec.Vector, i int) int64 { return int64(runeCount(a[0].Bytes(i))) }), "length", "character_length"),
		octetLength(),
		substringFunc(),
		textFunc("left", "The first n characters; all but the last -n when n is negative.", "LEFT('abcde', 2)", "ab", []types.Kind{kText, kInt}, 0,
			func(_ *kctx, a []*vec.Vector, i int, dst []byte, _ *vec.Vector) ([]byte, bool) {
				s := a[0].Bytes(i)
				n := int(a[1].I64[i])
				if n < 0 {
					n = max(0, runeCount(s)+n)
				}
				return append(dst, prefixChars(s, n)...), true
			}),
		textFunc("right", "The last n characters; all but the first -n when n is negative.", "RIGHT('abcde', 2)", "de", []types.Kind{kText, kInt}, 0,
			func(_ *kctx, a []*vec.Vector, i int, dst []byte, _ *vec.Vector) ([]byte, bool) {
				s := a[0].Bytes(i)
				skip := -int(a[1].I64[i])
				if skip <= 0 {
					skip = max(0, runeCount(s)+skip)
				}
				return append(dst, s[charOffset(s, skip):]...), true
			}),
		trimFunc("btrim", "Without the characters of the set (blanks) at both ends.", "BTRIM('xyxtrimyyx', 'xyz')", "trim", true, true, "trim"),
		trimFunc("ltrim", "Without the characters of the set (blanks) at the start.", "LTRIM('zzzytest', 'xyz')", "test", true, false),
		trimFunc("rtrim", "Without the characters of the set (blanks) at the end.", "RTRIM('testxxzx', 'xyz')", "test", false, true),
		padFunc("lpad", "Filled up at the left to n characters, or cut to them.", "LPAD('hi', 5, 'xy')", "xyxhi", true),
		padFunc("rpad", "Filled up at the right to n characters, or cut to them.", "RPAD('hi', 5, 'xy')", "hixyx", false),
		withPG(intFunc("position", "Place of the first string in the second, counted from 1; 0 if it is not there.",
			"POSITION('om', 'Thomas')", "3", []types.Kind{kText, kText},
			func(a []*vec.Vector, i int) int64 { return charIndex(a[1].Bytes(i), a[0].Bytes(i)) }), "POSITION('om' IN 'Thomas')"),
		intFunc("strpos", "Place of the second string in the first, counted from 1; 0 if it is not there.",
			"STRPOS('high', 'ig')", "2", []types.Kind{kText, kText},
			func(a []*vec.Vector, i int) int64 { return charIndex(a[0].Bytes(i), a[1].Bytes(i)) }),
		textFunc("replace", "With every occurrence of the second string replaced by the third.",
			"REPLACE('abcdefabcdef', 'cd', 'XX')", "abXXefabXXef", []types.Kind{kText, kText, kText}, 0, replaceRow),
		textFunc("reverse", "Characters in reverse order.", "REVERSE('日本')", "本日", []types.Kind{kText}, 0, reverseRow),
		concatOp(),
		concatFunc(),
		concatWs(),
		raising(textFunc("repeat", "Repeated n times.", "REPEAT('Pg', 3)", "PgPgPg", []types.Kind{kText, kInt}, 0, repeatRow)),
		raising(withPG(textFunc("overlay", "With a part replaced: from a place on, for as many characters as the replacement has or as given.",
			"OVERLAY('Txxxxas', 'hom', 2, 4)", "Thomas", []types.Kind{kText, kText, kInt, kInt}, 1, overlayRow),
			"OVERLAY('Txxxxas' PLACING 'hom' FROM 2 FOR 4)")),
		splitIndex(),
		raising(textFunc("split_part", "Part n, counted from 1, of a string split at a separator; from the end when n is negative.",
			"SPLIT_PART('abc~@~def~@~ghi', '~@~', 2)", "def", []types.Kind{kText, kText, kInt}, 0, splitPartRow)),
		{Name: "starts_with", Doc: "True when the first string starts with the second.", Strict: true,
			Example: "STARTS_WITH('alphabet', 'alph')", ExampleResult: "t", PG: "STARTS_WITH('alphabet', 'alph')",
			Sigs: []Sig{{Args: []types.Kind{kText, kText}, Ret: types.TBool}},
			kernel: func([]Arg, types.Type) impl {
				return impl{run: rowBool(func(_ *kctx, a []*vec.Vector, i int, _ *vec.Vector) (bool, bool) {
					return bytes.HasPrefix(a[0].Bytes(i), a[1].Bytes(i)), true
				}), cost: 6}
			}},
		intFunc("ascii", "Code point of the first character; 0 for an empty string.", "ASCII('x')", "120", []types.Kind{kText}, asciiOf),
		raising(textFunc("chr", "The character with a code point.", "CHR(65)", "A", []types.Kind{kInt}, 0, chrRow)),
		digestFunc("md5", "MD5 of the string's bytes, in hexadecimal.", "MD5('abc')", "900150983cd24fb0d6963f7d28e17f72", "MD5('abc')", md5Row),
		digestFunc("sha256", "SHA-256 of the string's bytes, in hexadecimal.", "SHA256('abc')",
			"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "ENCODE(SHA256('abc'::BYTEA), 'hex')", sha256Row),
		encodeFunc(), decodeFunc(),
		countChar(),
	}
}

// lowerFunc has a loop of its own: it is on the path of published queries.
func lowerFunc() Func {
	return Func{Name: "lower", Doc: "Letters in lower case.", Strict: true,
		Example: "LOWER('TOM Smith')", ExampleResult: "tom smith", PG: "LOWER('TOM Smith')",
		Sigs:   []Sig{{Args: []types.Kind{kText}, Ret: types.TText}},
		kernel: func([]Arg, types.Type) impl { return impl{run: lowerColumn, cost: 12} }}
}

// lowerColumn lowers a whole column of ASCII in one pass, row by row where it is not.
func lowerColumn(k *kctx, a []*vec.Vector, out *vec.Vector) {
	src := a[0]
	if k.sel != nil || src.Off[0] != 0 {
		rowBytes(lowerRow)(k, a, out)
		return
	}
	data := src.Data[:src.Off[k.n]]
	dst := append(out.Data[:0], data...)
	var high byte
	for i, c := range dst {
		high |= c
		if c-'A' <= 'Z'-'A' {
			dst[i] = c + 'a' - 'A'
		}
	}
	if high >= 0x80 {
		rowBytes(lowerRow)(k, a, out)
		return
	}
	out.Data, out.Len = dst, k.n
	out.Off = append(out.Off[:0], src.Off[:k.n+1]...)
}

func octetLength() Func {
	f := intFunc("octet_length", "Number of bytes.", "OCTET_LENGTH('日本語')", "9", []types.Kind{kText}, nil)
	kernel := func([]Arg, types.Type) impl {
		return impl{run: rowInt(func(_ *kctx, a []*vec.Vector, i int, _ *vec.Vector) (int64, bool) {
			return int64(a[0].Off[i+1] - a[0].Off[i]), true
		}), cost: 2}
	}
	f.Sigs = []Sig{{Args: []types.Kind{kText}, Ret: types.TInt, kernel: kernel}, {Args: []types.Kind{types.Bytes}, Ret: types.TInt, kernel: kernel}}
	return f
}

// substringFunc is SUBSTRING(s FROM a FOR b): characters a to a+b-1, counted from 1;
// places before the first count but hold nothing.
func substringFunc() Func {
	f := textFunc("substring", "n characters from a place on, counted from 1; places before the first hold nothing.",
		"SUBSTRING('hello', 0, 3)", "he", []types.Kind{kText, kInt, kInt}, 1,
		func(k *kctx, a []*vec.Vector, i int, dst []byte, out *vec.Vector) ([]byte, bool) {
			s := a[0].Bytes(i)
			from, to := a[1].I64[i]-1, int64(len(s))
			if len(a) == 3 {
				n := a[2].I64[i]
				if n < 0 {
					k.fail(out, i, "22011", "negative substring length not allowed")
					return dst, false
				}
				to = min(from+n, to)
			}
			from = max(from, 0)
			if to <= from {
				return dst, true
			}
			s = s[charOffset(s, int(from)):]
			return append(dst, prefixChars(s, int(to-from))...), true
		})
	f.Aliases = []string{"substr"}
	f.Differs = "Flink counts a negative place from the end."
	f.PG = "SUBSTRING('hello' FROM 0 FOR 3)"
	kernel := f.kernel
	f.kernel = func(args []Arg, t types.Type) impl {
		im := kernel(args, t)
		im.raises = len(args) == 3 && (args[2].Const == nil || args[2].Const.I < 0)
		return im
	}
	return f
}

// concatOp is ||: text beside anything; NULL when either side is NULL.
func concatOp() Func {
	return Func{Name: "||", Forms: []string{"varchar || any", "any || varchar", "bytes || bytes"}, Doc: "Strings joined; NULL when either is NULL.", Strict: true,
		Example: "'a' || 1 || 'b'", ExampleResult: "a1b", PG: "'a' || 1 || 'b'",
		resolve: func(args []*Expr) ([]*Expr, types.Type, error) {
			if len(args) != 2 {
				return nil, types.Type{}, errNoSignature
			}
			a, b := args[0].Type.Kind, args[1].Type.Kind
			if a == types.Bytes && (b == types.Bytes || b == types.Unknown) || b == types.Bytes && a == types.Unknown {
				out, err := settleOpen(args)
				return out, types.TBytes, err
			}
			if a != types.Text && b != types.Text && a != types.Unknown && b != types.Unknown {
				return nil, types.Type{}, errNoSignature
			}
			out, err := toText(args)
			return out, types.TText, err
		},
		kernel: func([]Arg, types.Type) impl {
			return impl{run: rowBytes(func(_ *kctx, a []*vec.Vector, i int, dst []byte, _ *vec.Vector) ([]byte, bool) {
				return append(append(dst, a[0].Bytes(i)...), a[1].Bytes(i)...), true
			}), cost: 10}
		}}
}

// toText casts arguments of any type to TEXT.
func toText(args []*Expr) ([]*Expr, error) {
	out := make([]*Expr, len(args))
	for i, a := range args {
		if a.Type.Kind == types.Text {
			out[i] = a
			continue
		}
		var err error
		if out[i], err = ExplicitCast(a, types.TText, false); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func resolveText(least int) func([]*Expr) ([]*Expr, types.Type, error) {
	return func(args []*Expr) ([]*Expr, types.Type, error) {
		if len(args) < least {
			return nil, types.Type{}, errNoSignature
		}
		out, err := toTextCopy(args)
		return out, types.TText, err
	}
}

// toTextCopy is toText with booleans as t and f, as CONCAT prints them.
func toTextCopy(args []*Expr) ([]*Expr, error) {
	out := make([]*Expr, len(args))
	for i, a := range args {
		if a.Type.Kind != types.Bool {
			continue
		}
		letter, err := NewCase([]*Expr{a, {Kind: Call, Fn: "not", Type: types.TBool, Args: []*Expr{a}}},
			[]*Expr{Lit(types.TextValue("t")), Lit(types.TextValue("f"))}, nil, a.Pos)
		if err != nil {
			return nil, err
		}
		out[i] = letter
	}
	for i, a := range args {
		if out[i] == nil {
			out[i] = a
		}
	}
	return toText(out)
}

func concatFunc() Func {
	return Func{Name: "concat", Forms: []string{"concat(any, …)"}, Doc: "Arguments of any type joined as text; NULLs are left out.",
		Differs: "Flink gives NULL when any argument is NULL.",
		Example: "CONCAT('abc', 2, NULL, 22)", ExampleResult: "abc222", PG: "CONCAT('abc', 2, NULL, 22)",
		resolve: resolveText(1),
		kernel: func([]Arg, types.Type) impl {
			return impl{run: rowBytes(func(_ *kctx, a []*vec.Vector, i int, dst []byte, _ *vec.Vector) ([]byte, bool) {
				for _, v := range a {
					if !v.IsNull(i) {
						dst = append(dst, v.Bytes(i)...)
					}
				}
				return dst, true
			}), cost: 15}
		}}
}

func concatWs() Func {
	return Func{Name: "concat_ws", Forms: []string{"concat_ws(varchar, any, …)"}, Doc: "Arguments after the first joined as text with the first between them; NULLs are left out.",
		Example: "CONCAT_WS(',', 'abc', 2, NULL, 22)", ExampleResult: "abc,2,22", PG: "CONCAT_WS(',', 'abc', 2, NULL, 22)",
		resolve: resolveText(1),
		kernel: func([]Arg, types.Type) impl {
			return impl{run: rowBytes(func(_ *kctx, a []*vec.Vector, i int, dst []byte, _ *vec.Vector) ([]byte, bool) {
				if a[0].IsNull(i) {
					return dst, false
				}
				first := true
				for _, v := range a[1:] {
					if v.IsNull(i) {
						continue
					}
					if !first {
						dst = append(dst, a[0].Bytes(i)...)
					}
					first = false
					dst = append(dst, v.Bytes(i)...)
				}
				return dst, true
			}), cost: 20}
		}}
}

// splitIndex is Flink's: parts counted from 0, NULL when there is no such part.
// countChar is Nexmark's: how often a character occurs.
func countChar() Func {
	return Func{Name: "count_char", Doc: "How often a character occurs in a string (Nexmark's function of query 14).", Strict: true,
		Example: "COUNT_CHAR('cacbc', 'c')", ExampleResult: "3", PG: "LENGTH('cacbc') - LENGTH(REPLACE('cacbc', 'c', ''))",
		Sigs: []Sig{{Args: []types.Kind{kText, kText}, Ret: types.TBigInt}},
		kernel: func([]Arg, types.Type) impl {
			return impl{run: rowInt(func(_ *kctx, a []*vec.Vector, i int, _ *vec.Vector) (int64, bool) {
				c := a[1].Bytes(i)
				if len(c) == 0 {
					return 0, true
				}
				return int64(bytes.Count(a[0].Bytes(i), c)), true
			}), cost: 15}
		}}
}

func digestFunc(name, doc, example, result, pg string, f textRow) Func {
	d := withPG(textFunc(name, doc, example, result, []types.Kind{kText}, 0, f), pg)
	d.Sigs = append(d.Sigs, Sig{Args: []types.Kind{types.Bytes}, Ret: types.TText})
	return d
}

func encodeFunc() Func {
	return Func{Name: "encode", Doc: "Bytes as text: hex, base64 or escape.", Strict: true,
		Example: "ENCODE('\\x0102ff'::BYTEA, 'hex')", ExampleResult: "0102ff", PG: "ENCODE('\\x0102ff'::BYTEA, 'hex')",
		Sigs:   []Sig{{Args: []types.Kind{types.Bytes, kText}, Ret: types.TText}},
		kernel: func([]Arg, types.Type) impl { return impl{run: rowBytes(encodeRow), raises: true, cost: 30} }}
}

func decodeFunc() Func {
	return Func{Name: "decode", Doc: "Text as bytes: hex, base64 or escape.", Strict: true,
		Example: "DECODE('AQL/', 'base64')", ExampleResult: "\\x0102ff", PG: "DECODE('AQL/', 'base64')",
		Sigs:   []Sig{{Args: []types.Kind{kText, kText}, Ret: types.TBytes}},
		kernel: func([]Arg, types.Type) impl { return impl{run: rowBytes(decodeRow), raises: true, cost: 30} }}
}

func badEncoding(k *kctx, out *vec.Vector, i int, name []byte) {
	k.fail(out, i, sqlerr.CodeInvalidParameter, "unrecognized encoding: \""+string(name)+"\"")
}
