package bind

import (
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/parser"
)

// number types a number as PostgreSQL does: digits are INT, BIGINT or DECIMAL by size,
// everything else DECIMAL. The sign belongs to the text.
func number(text string, pos sqlerr.Pos) (*expr.Expr, error) {
	if !strings.ContainsAny(text, ".eE") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			t := types.TBigInt
			if int64(int32(n)) == n {
				t = types.TInt
			}
			return expr.LitAt(types.IntValue(t, n), pos), nil
		}
	}
	p, s, ok := decimalShape(text)
	if !ok {
		return nil, sqlerr.New(sqlerr.CodeNumericOutOfRange, pos, "number %s has more than %d digits", text, types.MaxPrecision)
	}
	v, err := vec.ParseText(types.TDecimal(p, s), []byte(text))
	if err != nil {
		return nil, sqlerr.New(sqlerr.CodeNumericOutOfRange, pos, "number %s is out of range", text)
	}
	return expr.LitAt(v, pos), nil
}

// decimalShape gives the smallest DECIMAL that holds the number exactly; one digit
// before the point is always counted.
func decimalShape(text string) (precision, scale int, ok bool) {
	text = strings.TrimLeft(text, "+-")
	exp := 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		n, err := strconv.Atoi(text[i+1:])
		if err != nil || n > 1000 || n < -1000 {
			return 0, 0, false
		}
		exp, text = n, text[:i]
	}
	whole, frac, _ := strings.Cut(text, ".")
	whole = strings.TrimLeft(whole, "0")
	digits := max(1, len(whole)+exp)
	if whole == "" {
		digits = max(1, exp)
	}
	scale = max(0, len(frac)-exp)
	return digits + scale, scale, digits+scale <= types.MaxPrecision
}

// coerce is expr.CoerceTo.
func coerce(e *expr.Expr, t types.Type) (*expr.Expr, error) { return expr.CoerceTo(e, t) }

func commonType(ts []types.Type) (types.Type, bool) { return expr.CommonType(ts...) }

// settle gives an open literal the type TEXT.
func settle(e *expr.Expr) (*expr.Expr, error) {
	if e.Type.Kind == types.Unknown {
		return coerce(e, types.TText)
	}
	return e, nil
}

// constant evaluates an expression without columns as a value of type t.
func constant(e *expr.Expr, t types.Type, pos sqlerr.Pos) (types.Value, error) {
	e, err := coerce(e, t)
	if err != nil {
		return types.Value{}, err
	}
	v, err := expr.EvalConst(e)
	if se := sqlerr.As(err); se != nil && se.Pos == 0 {
		se.Pos = pos
	}
	return v, err
}

// ScalarType gives the type that is written, which must not be a nested one.
func ScalarType(t parser.TypeName) (types.Type, error) {
	switch t.Shape {
	case parser.ArrayType:
		return types.Type{}, sqlerr.NotSupported(t.Pos, "type ARRAY")
	case parser.RowType:
		return types.Type{}, sqlerr.NotSupported(t.Pos, "type ROW")
	case parser.MapType:
		return types.Type{}, sqlerr.NotSupported(t.Pos, "type MAP")
	}
	return t.Type, nil
}

func typeList(ts []types.Type) string {
	out := make([]string, len(ts))
	for i, t := range ts {
		out[i] = t.String()
	}
	return strings.Join(out, ", ")
}

func upper(s string) string { return strings.ToUpper(s) }

func itoa(n int) string { return strconv.Itoa(n) }

// atoi reads digits; what is too long is 0, an ordinal that no list has.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
