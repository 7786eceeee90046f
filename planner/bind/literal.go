package bind

import (
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/parser/tree"
)

// coerce is expr.CoerceTo.
func coerce(e *expr.Expr, t types.Type) (*expr.Expr, error) { return expr.CoerceTo(e, t) }

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
	if call := e.Clock(); call != nil {
		return types.Value{}, sqlerr.NotSupported(call.Pos, "the moment in VALUES").
			WithHint("Write it as a SELECT.")
	}
	v, err := expr.EvalConst(e)
	if se := sqlerr.As(err); se != nil && se.Pos == 0 {
		se.Pos = pos
	}
	return v, err
}

// ScalarType gives the type that is written, which must not be a nested one.
func ScalarType(t tree.TypeName) (types.Type, error) {
	switch t.Shape {
	case tree.ArrayType:
		return types.Type{}, sqlerr.NotSupported(t.Pos, "type ARRAY")
	case tree.RowType:
		return types.Type{}, sqlerr.NotSupported(t.Pos, "type ROW")
	case tree.MapType:
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
