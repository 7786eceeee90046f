package expr_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// sqlReader binds the small expression language of the examples and tests: enough SQL
// to call every function, with the binder's rules and PostgreSQL's precedence.
type sqlReader struct {
	toks []string
	i    int
	cols types.Schema
}

func tokens(s string) []string {
	var out []string
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == ' ' || c == '\n' || c == '\t':
			i++
		case c == '\'':
			j := i + 1
			for j < len(s) && (s[j] != '\'' || j+1 < len(s) && s[j+1] == '\'') {
				if s[j] == '\'' {
					j++
				}
				j++
			}
			out = append(out, s[i:j+1])
			i = j + 1
		case isWord(c):
			j := i
			for j < len(s) && (isWord(s[j]) || s[j] == '.' && s[i] >= '0' && s[i] <= '9') {
				j++
			}
			out = append(out, s[i:j])
			i = j
		default:
			n := 1
			for _, op := range []string{"->>", "->", "||", "<=", ">=", "<>", "::"} {
				if strings.HasPrefix(s[i:], op) {
					n = len(op)
					break
				}
			}
			out = append(out, s[i:i+n])
			i += n
		}
	}
	return out
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

// bind turns SQL text into a bound expression over cols.
func bind(s string, cols types.Schema) (e *expr.Expr, err error) {
	r := &sqlReader{toks: tokens(s), cols: cols}
	defer func() {
		if x := recover(); x != nil {
			if e, ok := x.(error); ok {
				err = e
				return
			}
			panic(x)
		}
	}()
	e = r.or()
	if r.i != len(r.toks) {
		return nil, fmt.Errorf("%q left over in %q", r.toks[r.i:], s)
	}
	return e, nil
}

func mustBind(t testing.TB, s string, cols types.Schema) *expr.Expr {
	t.Helper()
	e, err := bind(s, cols)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return e
}

func (r *sqlReader) peek() string {
	if r.i < len(r.toks) {
		return strings.ToUpper(r.toks[r.i])
	}
	return ""
}

func (r *sqlReader) take(words ...string) bool {
	for k, w := range words {
		if r.i+k >= len(r.toks) || strings.ToUpper(r.toks[r.i+k]) != w {
			return false
		}
	}
	r.i += len(words)
	return true
}

func (r *sqlReader) need(w string) {
	if !r.take(w) {
		panic(fmt.Errorf("%q expected at %q", w, r.toks[r.i:]))
	}
}

func must(e *expr.Expr, err error) *expr.Expr {
	if err != nil {
		panic(err)
	}
	return e
}

func call(name string, args ...*expr.Expr) *expr.Expr { return must(expr.ResolveCall(name, args, 1)) }

func (r *sqlReader) or() *expr.Expr {
	e := r.and()
	for r.take("OR") {
		e = must(expr.NewOr([]*expr.Expr{e, r.and()}, 1))
	}
	return e
}

func (r *sqlReader) and() *expr.Expr {
	e := r.not()
	for r.take("AND") {
		e = must(expr.NewAnd([]*expr.Expr{e, r.not()}, 1))
	}
	return e
}

func (r *sqlReader) not() *expr.Expr {
	if r.take("NOT") {
		return call("not", r.not())
	}
	e := r.comparison()
	for _, test := range []string{"DISTINCT FROM", "NULL", "TRUE", "FALSE"} {
		words := append([]string{"IS"}, strings.Fields(test)...)
		name := "is "
		if r.i+1 < len(r.toks) && r.peek() == "IS" && strings.ToUpper(r.toks[r.i+1]) == "NOT" {
			words = append([]string{"IS", "NOT"}, words[1:]...)
			name = "is not "
		}
		if r.take(words...) {
			if test == "DISTINCT FROM" {
				return call(name+"distinct from", e, r.comparison())
			}
			return call(name+strings.ToLower(test), e)
		}
	}
	return e
}

func (r *sqlReader) comparison() *expr.Expr {
	e := r.other()
	switch op := r.peek(); op {
	case "=", "<>", "<", "<=", ">", ">=":
		r.i++
		return call(op, e, r.other())
	case "LIKE", "ILIKE":
		r.i++
		args := []*expr.Expr{e, r.other()}
		if r.take("ESCAPE") {
			args = append(args, r.other())
		}
		return call(op, args...)
	case "IN":
		r.i++
		return must(expr.NewIn(e, r.list(), 1))
	}
	return e
}

func (r *sqlReader) list() []*expr.Expr {
	var args []*expr.Expr
	r.need("(")
	for !r.take(")") {
		if len(args) > 0 {
			r.need(",")
		}
		args = append(args, r.or())
	}
	return args
}

func (r *sqlReader) other() *expr.Expr {
	e := r.sum()
	for op := r.peek(); op == "||" || op == "->" || op == "->>"; op = r.peek() {
		r.i++
		e = call(op, e, r.sum())
	}
	return e
}

func (r *sqlReader) sum() *expr.Expr {
	e := r.product()
	for op := r.peek(); op == "+" || op == "-"; op = r.peek() {
		r.i++
		e = call(op, e, r.product())
	}
	return e
}

func (r *sqlReader) product() *expr.Expr {
	e := r.unary()
	for op := r.peek(); op == "*" || op == "/" || op == "%"; op = r.peek() {
		r.i++
		e = call(op, e, r.unary())
	}
	return e
}

func (r *sqlReader) unary() *expr.Expr {
	if r.take("-") {
		return call("-", r.unary())
	}
	e := r.primary()
	for r.take("::") {
		e = must(expr.ExplicitCast(e, r.typeName(), false))
	}
	return e
}

var typeNames = map[string]types.Type{
	"BOOLEAN": types.TBool, "SMALLINT": types.TSmallInt, "INT": types.TInt, "BIGINT": types.TBigInt, "REAL": types.TReal,
	"DOUBLE": types.TDouble, "DECIMAL": {Kind: types.Decimal}, "VARCHAR": types.TText, "TEXT": types.TText,
	"BYTEA": types.TBytes, "DATE": types.TDate, "TIME": types.TTime, "TIMESTAMP": types.TTimestamp(6),
	"TIMESTAMPTZ": types.TTimestampTZ(6), "INTERVAL": types.TInterval, "JSON": types.TJSON, "UUID": types.TUUID,
}

func (r *sqlReader) typeName() types.Type {
	t, ok := typeNames[r.peek()]
	if !ok {
		panic(fmt.Errorf("no type %q", r.peek()))
	}
	r.i++
	if r.take("(") {
		var n, s int
		fmt.Sscan(r.toks[r.i], &n)
		r.i++
		if r.take(",") {
			fmt.Sscan(r.toks[r.i], &s)
			r.i++
		}
		r.need(")")
		switch t.Kind {
		case types.Decimal:
			t = types.TDecimal(n, s)
		case types.Text:
			t.Length = int32(n)
		default:
			t.Precision = uint8(n)
		}
	}
	return t
}

func (r *sqlReader) primary() *expr.Expr {
	tok := r.toks[r.i]
	up := r.peek()
	switch {
	case tok[0] == '\'':
		r.i++
		return expr.StringLit(strings.ReplaceAll(tok[1:len(tok)-1], "''", "'"), 1)
	case tok[0] >= '0' && tok[0] <= '9':
		r.i++
		return must(expr.NumberLit(tok, 1))
	case r.take("("):
		e := r.or()
		r.need(")")
		return e
	case r.take("NULL"):
		return expr.NullLit(1)
	case up == "TRUE" || up == "FALSE":
		r.i++
		return expr.Lit(types.BoolValue(up == "TRUE"))
	case up == "CAST" || up == "TRY_CAST":
		r.i++
		r.need("(")
		e := r.or()
		r.need("AS")
		t := r.typeName()
		r.need(")")
		return must(expr.ExplicitCast(e, t, up == "TRY_CAST"))
	case r.take("CASE"):
		return r.caseExpr()
	}
	if t, ok := typeNames[up]; ok && r.i+1 < len(r.toks) && r.toks[r.i+1][0] == '\'' {
		r.i++
		return must(expr.ExplicitCast(r.primary(), t, false))
	}
	r.i++
	if r.peek() == "(" {
		return call(strings.ToLower(tok), r.list()...)
	}
	for i, c := range r.cols {
		if c.Name == tok {
			return expr.Col(i, c.Type)
		}
	}
	if strings.HasPrefix(up, "CURRENT_") || strings.HasPrefix(up, "LOCALTIME") {
		return call(strings.ToLower(tok))
	}
	panic(fmt.Errorf("no column %q", tok))
}

func (r *sqlReader) caseExpr() *expr.Expr {
	var whens, thens []*expr.Expr
	for r.take("WHEN") {
		whens = append(whens, r.or())
		r.need("THEN")
		thens = append(thens, r.or())
	}
	var els *expr.Expr
	if r.take("ELSE") {
		els = r.or()
	}
	r.need("END")
	return must(expr.NewCase(whens, thens, els, 1))
}

// evalText evaluates a constant expression and prints it; "NULL" for NULL, the code and
// message of an error after "!".
func evalText(s string) string {
	e, err := bind(s, nil)
	if err != nil {
		return "!" + errText(err)
	}
	v, err := expr.EvalConst(e)
	if err != nil {
		return "!" + errText(err)
	}
	if v.Null {
		return "NULL"
	}
	return string(vec.AppendValueText(nil, v))
}
