package expr

import (
	"fmt"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// LitAt returns a constant with its place in the text.
func LitAt(v types.Value, pos sqlerr.Pos) *Expr {
	return &Expr{Kind: Literal, Type: v.Type, Val: &v, Pos: pos}
}

// NullLit returns the untyped NULL.
func NullLit(pos sqlerr.Pos) *Expr { return LitAt(types.Value{Null: true}, pos) }

// StringLit returns a string literal whose type is still open (Unknown).
func StringLit(s string, pos sqlerr.Pos) *Expr { return LitAt(types.Value{S: s}, pos) }

// Walk calls f for e and every expression below it, parents first, while f returns
// true.
func (e *Expr) Walk(f func(*Expr) bool) bool {
	if !f(e) {
		return false
	}
	for _, a := range e.Args {
		if !a.Walk(f) {
			return false
		}
	}
	return true
}

// Columns lists the input columns that e reads, ascending and without repeats.
func (e *Expr) Columns() []int {
	var seen []bool
	e.Walk(func(x *Expr) bool {
		if x.Kind == Column {
			for len(seen) <= x.Col {
				seen = append(seen, false)
			}
			seen[x.Col] = true
		}
		return true
	})
	var out []int
	for i, s := range seen {
		if s {
			out = append(out, i)
		}
	}
	return out
}

// Map returns a copy of e in which every column reference i reads column to(i).
func (e *Expr) Map(to func(int) int) *Expr {
	c := *e
	if c.Kind == Column {
		c.Col = to(c.Col)
		return &c
	}
	if len(e.Args) > 0 {
		c.Args = make([]*Expr, len(e.Args))
		for i, a := range e.Args {
			c.Args[i] = a.Map(to)
		}
	}
	return &c
}

// Shift returns a copy of e in which every column number is larger by n.
func (e *Expr) Shift(n int) *Expr { return e.Map(func(i int) int { return i + n }) }

// Substitute returns e with every column reference i replaced by by[i]: the
// composition of two projections.
func (e *Expr) Substitute(by []*Expr) *Expr {
	if e.Kind == Column {
		return by[e.Col]
	}
	if len(e.Args) == 0 {
		return e
	}
	c := *e
	c.Args = make([]*Expr, len(e.Args))
	for i, a := range e.Args {
		c.Args[i] = a.Substitute(by)
	}
	return &c
}

// Equal reports whether two expressions compute the same, wherever they were written.
func (e *Expr) Equal(o *Expr) bool { return e.key() == o.key() }

// key is a text that equal expressions share.
func (e *Expr) key() string {
	var b strings.Builder
	e.writeKey(&b)
	return b.String()
}

func (e *Expr) writeKey(b *strings.Builder) {
	e.writeOwnKey(b)
	b.WriteByte('(')
	for _, a := range e.Args {
		a.writeKey(b)
		b.WriteByte(',')
	}
	b.WriteByte(')')
}

// writeOwnKey writes what tells e from other expressions with the same arguments.
func (e *Expr) writeOwnKey(b *strings.Builder) {
	fmt.Fprintf(b, "%s:%d.%d.%d.%d", e.Kind, e.Type.Kind, e.Type.Precision, e.Type.Scale, e.Type.Length)
	switch e.Kind {
	case Column:
		fmt.Fprintf(b, "#%d", e.Col)
	case Literal:
		v := e.Val
		fmt.Fprintf(b, "=%t %d %x %d %d %q %v", v.Null, v.I, v.F, v.Dec.Hi, v.Dec.Lo, v.S, v.Iv)
	}
	b.WriteString(e.Fn)
}

// IsConst reports that e reads no column.
func (e *Expr) IsConst() bool {
	return e.Walk(func(x *Expr) bool { return x.Kind != Column })
}

// String is Format without column names.
func (e *Expr) String() string { return e.Format(nil) }

// Format writes e as SQL for EXPLAIN, with names for the input columns; a column
// beyond names is $n, counted from 1.
func (e *Expr) Format(names []string) string {
	var b strings.Builder
	e.format(&b, names, false)
	return b.String()
}

var infix = map[string]string{
	"+": "+", "-": "-", "*": "*", "/": "/", "%": "%", "=": "=", "<>": "<>", "<": "<", "<=": "<=", ">": ">",
	">=": ">=", "||": "||", "->": "->", "->>": "->>", "like": "LIKE", "ilike": "ILIKE",
	"is distinct from": "IS DISTINCT FROM", "is not distinct from": "IS NOT DISTINCT FROM",
}

func (e *Expr) format(b *strings.Builder, names []string, nested bool) {
	list := func(args []*Expr, sep string) {
		for i, a := range args {
			if i > 0 {
				b.WriteString(sep)
			}
			a.format(b, names, sep != ", ")
		}
	}
	brackets := func(f func()) {
		if nested {
			b.WriteByte('(')
			defer b.WriteByte(')')
		}
		f()
	}
	switch e.Kind {
	case Column:
		if e.Col < len(names) {
			b.WriteString(quoteName(names[e.Col]))
		} else {
			fmt.Fprintf(b, "$%d", e.Col+1)
		}
	case Literal:
		formatLiteral(b, *e.Val)
	case And:
		brackets(func() { list(e.Args, " AND ") })
	case Or:
		brackets(func() { list(e.Args, " OR ") })
	case Cast, TryCast:
		word := "CAST("
		if e.Kind == TryCast {
			word = "TRY_CAST("
		}
		b.WriteString(word)
		e.Args[0].format(b, names, false)
		fmt.Fprintf(b, " AS %s)", e.Type)
	case Case:
		b.WriteString("CASE")
		i := 0
		for ; i+1 < len(e.Args); i += 2 {
			b.WriteString(" WHEN ")
			e.Args[i].format(b, names, false)
			b.WriteString(" THEN ")
			e.Args[i+1].format(b, names, false)
		}
		if i < len(e.Args) {
			b.WriteString(" ELSE ")
			e.Args[i].format(b, names, false)
		}
		b.WriteString(" END")
	case Coalesce:
		b.WriteString("COALESCE(")
		list(e.Args, ", ")
		b.WriteByte(')')
	case Call:
		e.formatCall(b, names, brackets, list)
	}
}

func (e *Expr) formatCall(b *strings.Builder, names []string, brackets func(func()), list func([]*Expr, string)) {
	op, isOp := infix[e.Fn]
	switch {
	case isOp && len(e.Args) == 2:
		brackets(func() { list(e.Args, " "+op+" ") })
	case e.Fn == "-" && len(e.Args) == 1:
		b.WriteByte('-')
		e.Args[0].format(b, names, true)
	case e.Fn == "not":
		b.WriteString("NOT ")
		e.Args[0].format(b, names, true)
	case strings.HasPrefix(e.Fn, "is "):
		brackets(func() {
			e.Args[0].format(b, names, true)
			b.WriteString(" " + strings.ToUpper(e.Fn))
		})
	case e.Fn == "in":
		brackets(func() {
			e.Args[0].format(b, names, true)
			b.WriteString(" IN (")
			list(e.Args[1:], ", ")
			b.WriteByte(')')
		})
	default:
		b.WriteString(strings.ToUpper(e.Fn) + "(")
		list(e.Args, ", ")
		b.WriteByte(')')
	}
}

func formatLiteral(b *strings.Builder, v types.Value) {
	if v.Null {
		b.WriteString("NULL")
		return
	}
	text := string(vec.AppendValueText(nil, v))
	switch {
	case v.Type.Kind == types.Bool:
		b.WriteString(map[bool]string{true: "TRUE", false: "FALSE"}[v.I != 0])
	case v.Type.IsInteger(), v.Type.Kind == types.Decimal:
		b.WriteString(text)
	default:
		switch v.Type.Kind {
		case types.Unknown, types.Text:
		default:
			b.WriteString(typeWord(v.Type) + " ")
		}
		b.WriteString("'" + strings.ReplaceAll(text, "'", "''") + "'")
	}
}

// typeWord is the name of t that may stand before a string literal.
func typeWord(t types.Type) string {
	switch t.Kind {
	case types.TimestampTZ:
		return "TIMESTAMPTZ"
	case types.Timestamp:
		return "TIMESTAMP"
	}
	return t.String()
}

func quoteName(n string) string {
	for i := range len(n) {
		c := n[i]
		if !(c == '_' || 'a' <= c && c <= 'z' || i > 0 && '0' <= c && c <= '9') {
			return `"` + strings.ReplaceAll(n, `"`, `""`) + `"`
		}
	}
	return n
}
