package expr

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

func regexpFuncs() []Func {
	return []Func{
		{
			Name: "regexp_extract", Forms: []string{"regexp_extract(varchar, pattern [, group])"}, Strict: true,
			Doc:     "A group of the first match of a regular expression (RE2 syntax), the whole match for group 0 (default); NULL when nothing matches.",
			Example: "REGEXP_EXTRACT('a=1&channel_id=7&b', '(&|^)channel_id=([^&]*)', 2)", ExampleResult: "7",
			PG:      "(REGEXP_MATCH('a=1&channel_id=7&b', '(&|^)channel_id=([^&]*)'))[2]",
			resolve: resolveRegexp(2, kText, kText, kInt), kernel: extractKernel,
		},
		{
			Name: "regexp_replace", Forms: []string{"regexp_replace(varchar, pattern, replacement [, flags])"}, Strict: true,
			Doc:     "With the first match of a regular expression (RE2 syntax) replaced, all matches with the flag g; \\1 to \\9 in the replacement are groups, \\& the match.",
			Differs: "Flink replaces all matches and writes groups as $1.",
			Example: "REGEXP_REPLACE('foobarbaz', 'b(..)', 'X\\1Y', 'g')", ExampleResult: "fooXarYXazY",
			PG:      "REGEXP_REPLACE('foobarbaz', 'b(..)', 'X\\1Y', 'g')",
			resolve: resolveRegexp(3, kText, kText, kText, kText), check: checkFlags(3), kernel: replaceKernel,
		},
		{
			Name: "regexp_like", Forms: []string{"regexp_like(varchar, pattern [, flags])"}, Aliases: []string{"regexp"}, Strict: true,
			Doc:     "True when a regular expression (RE2 syntax) matches somewhere; the flag i ignores case.",
			Example: "REGEXP_LIKE('Hello World', 'world', 'i')", ExampleResult: "t", PG: "REGEXP_LIKE('Hello World', 'world', 'i')",
			resolve: resolveRegexp(2, kText, kText, kText), check: checkFlags(2), kernel: regexpLikeKernel,
		},
	}
}

// resolveRegexp settles the arguments and refuses a literal pattern that does not
// compile when the query is planned.
func resolveRegexp(least int, kinds ...types.Kind) func([]*Expr) ([]*Expr, types.Type, error) {
	return func(args []*Expr) ([]*Expr, types.Type, error) {
		if len(args) < least || len(args) > len(kinds) {
			return nil, types.Type{}, errNoSignature
		}
		out := make([]*Expr, len(args))
		for i, a := range args {
			if implicitCost(a.Type.Kind, kinds[i]) < 0 {
				return nil, types.Type{}, errNoSignature
			}
			var err error
			if out[i], err = coerceKind(a, kinds[i]); err != nil {
				return nil, types.Type{}, err
			}
		}
		if p := out[1]; p.Kind == Literal && !p.Val.Null {
			if _, err := regexp.Compile(p.Val.S); err != nil {
				return nil, types.Type{}, sqlerr.New(sqlerr.CodeInvalidRegexp, p.Pos, "invalid regular expression: %s", reason(err))
			}
		}
		t := types.TText
		if least == 2 && len(kinds) == 3 && kinds[2] == kText {
			t = types.TBool
		}
		return out, t, nil
	}
}

// reason is the compiler's complaint in one line.
func reason(err error) string {
	return strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", " "), "error parsing regexp: ")
}

// patternCache holds the last pattern of a kernel whose pattern is not constant.
type patternCache struct {
	text string
	m    matcher
	re   *regexp.Regexp
	err  error
}

func (c *patternCache) load(pattern []byte, flags string) {
	if c.re != nil && c.text == string(pattern)+"\x00"+flags {
		return
	}
	p := goFlags(flags) + string(pattern)
	c.text = string(pattern) + "\x00" + flags
	if c.re, c.err = regexp.Compile(p); c.err == nil {
		c.m, c.err = compileMatcher(p)
	}
}

// goFlags turns PostgreSQL's flags into Go's.
func goFlags(flags string) string {
	out := ""
	for _, f := range flags {
		switch f {
		case 'i':
			out += "i"
		case 'n', 'm':
			out += "m"
		case 's':
			out += "s"
		}
	}
	if out == "" {
		return ""
	}
	return "(?" + out + ")"
}

func checkFlags(i int) func([]*Expr) error {
	return checkText(i, sqlerr.CodeInvalidParameter, func(flags string) error {
		if badFlags(flags) {
			return errFlags(flags)
		}
		return nil
	})
}

func errFlags(flags string) error {
	return fmt.Errorf("invalid regular expression option: %q", flags)
}

func badFlags(flags string) bool { return strings.Trim(flags, "gicnms") != "" }

// ready loads the pattern and flags of row i and reports a fault as a row error.
func (c *patternCache) ready(k *kctx, out *vec.Vector, i int, pattern []byte, flags string) bool {
	if badFlags(flags) {
		k.fail(out, i, sqlerr.CodeInvalidParameter, errFlags(flags).Error())
		return false
	}
	c.load(pattern, flags)
	if c.err != nil {
		k.fail(out, i, sqlerr.CodeInvalidRegexp, "invalid regular expression: "+reason(c.err))
		return false
	}
	return true
}

func extractKernel(args []Arg, _ types.Type) impl {
	if p := args[1].Const; p != nil {
		if m, err := compileMatcher(p.S); err == nil {
			cost := 500
			if _, plain := m.(*searchMatcher); plain {
				cost = 30
			}
			return impl{run: rowBytes(func(_ *kctx, a []*vec.Vector, i int, dst []byte, _ *vec.Vector) ([]byte, bool) {
				return extract(m, a, i, dst)
			}), cost: cost}
		}
	}
	var c patternCache
	return impl{run: rowBytes(func(k *kctx, a []*vec.Vector, i int, dst []byte, out *vec.Vector) ([]byte, bool) {
		if !c.ready(k, out, i, a[1].Bytes(i), "") {
			return dst, false
		}
		return extract(c.m, a, i, dst)
	}), raises: true, cost: 2000}
}

func extract(m matcher, a []*vec.Vector, i int, dst []byte) ([]byte, bool) {
	group := 0
	if len(a) == 3 {
		group = int(a[2].I64[i])
	}
	if group < 0 || group > m.groups() {
		return dst, false
	}
	s := a[0].Bytes(i)
	lo, hi, ok := m.find(s, group)
	if !ok || lo < 0 {
		return dst, false
	}
	return append(dst, s[lo:hi]...), true
}

func regexpLikeKernel(args []Arg, _ types.Type) impl {
	var c patternCache
	raises := args[1].Const == nil || len(args) == 3 && (args[2].Const == nil || badFlags(args[2].Const.S))
	return impl{run: rowBool(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (bool, bool) {
		if !c.ready(k, out, i, a[1].Bytes(i), flagsOf(a, 2, i)) {
			return false, false
		}
		if m, ok := c.m.(*searchMatcher); ok {
			_, _, hit := m.find(a[0].Bytes(i), 0)
			return hit, true
		}
		return c.re.Match(a[0].Bytes(i)), true
	}), raises: raises, cost: 300}
}

func flagsOf(a []*vec.Vector, arg, i int) string {
	if len(a) <= arg {
		return ""
	}
	return string(a[arg].Bytes(i))
}

func replaceKernel(args []Arg, _ types.Type) impl {
	var c patternCache
	raises := args[1].Const == nil || len(args) == 4 && (args[3].Const == nil || badFlags(args[3].Const.S))
	return impl{run: rowBytes(func(k *kctx, a []*vec.Vector, i int, dst []byte, out *vec.Vector) ([]byte, bool) {
		flags := flagsOf(a, 3, i)
		if !c.ready(k, out, i, a[1].Bytes(i), flags) {
			return dst, false
		}
		n := 1
		if strings.Contains(flags, "g") {
			n = -1
		}
		s := a[0].Bytes(i)
		last := 0
		for _, loc := range c.re.FindAllSubmatchIndex(s, n) {
			dst = append(dst, s[last:loc[0]]...)
			dst = appendReplacement(dst, a[2].Bytes(i), s, loc)
			last = loc[1]
		}
		return append(dst, s[last:]...), true
	}), raises: raises, cost: 1000}
}

// appendReplacement appends PostgreSQL's replacement text with its groups filled in.
func appendReplacement(dst, with, s []byte, loc []int) []byte {
	for i := 0; i < len(with); i++ {
		if with[i] != '\\' || i+1 == len(with) {
			dst = append(dst, with[i])
			continue
		}
		i++
		switch c := with[i]; {
		case c == '&':
			dst = append(dst, s[loc[0]:loc[1]]...)
		case c >= '1' && c <= '9':
			if g := 2 * int(c-'0'); g+1 < len(loc) && loc[g] >= 0 {
				dst = append(dst, s[loc[g]:loc[g+1]]...)
			}
		case c == '\\':
			dst = append(dst, '\\')
		default:
			dst = append(dst, '\\', c)
		}
	}
	return dst
}
