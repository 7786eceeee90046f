package bind

import (
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/parser/tree"
)

// exprBinder binds expressions of one clause.
type exprBinder struct {
	b  *Binder
	sc *scope
	// clause names the place for messages: "WHERE".
	clause string
	// group collects aggregates where they are allowed, else nil.
	group *grouping
	// inAggregate: inside the brackets of an aggregate.
	inAggregate bool
	// resolve, when set, finds columns in the place of sc.
	resolve func(*tree.ColumnRef) (*expr.Expr, error)
}

// condition binds an expression that must be BOOLEAN.
func (x *exprBinder) condition(e tree.Expr, of string) (*expr.Expr, error) {
	bound, err := x.bind(e)
	if err != nil {
		return nil, err
	}
	return expr.Condition(bound, of)
}

func (x *exprBinder) bindAll(list []tree.Expr) ([]*expr.Expr, error) {
	out := make([]*expr.Expr, len(list))
	for i, e := range list {
		var err error
		if out[i], err = x.bind(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// bind binds any expression.
func (x *exprBinder) bind(e tree.Expr) (*expr.Expr, error) {
	switch e := e.(type) {
	case *tree.ColumnRef:
		if x.resolve != nil {
			return x.resolve(e)
		}
		return x.sc.column(e)
	case *tree.NumberLit:
		return expr.NumberLit(e.Text, e.Pos)
	case *tree.StringLit:
		return expr.StringLit(e.Value, e.Pos), nil
	case *tree.BoolLit:
		return expr.LitAt(types.BoolValue(e.Value), e.Pos), nil
	case *tree.NullLit:
		return expr.NullLit(e.Pos), nil
	case *tree.IntervalLit:
		return expr.LitAt(types.Value{Type: types.TInterval, Iv: e.Value}, e.Pos), nil
	case *tree.TypedLit:
		t, err := ScalarType(e.Type)
		if err != nil {
			return nil, err
		}
		pos := e.ValuePos
		if pos == 0 {
			pos = e.Pos
		}
		return expr.ExplicitCast(expr.StringLit(e.Value, pos), t, false)
	case *tree.UnaryExpr:
		return x.unary(e)
	case *tree.BinaryExpr:
		return x.binary(e)
	case *tree.IsExpr:
		return x.isTest(e)
	case *tree.DistinctExpr:
		name := "is distinct from"
		if e.Not {
			name = "is not distinct from"
		}
		return x.call(name, e.OpPos, e.L, e.R)
	case *tree.InExpr:
		return x.in(e)
	case *tree.BetweenExpr:
		return x.between(e)
	case *tree.LikeExpr:
		return x.like(e)
	case *tree.CaseExpr:
		return x.caseExpr(e)
	case *tree.CastExpr:
		return x.cast(e)
	case *tree.CallExpr:
		return x.callExpr(e)
	case *tree.ExtractExpr:
		arg, err := x.bind(e.X)
		if err != nil {
			return nil, err
		}
		pos := e.FieldPos
		if pos == 0 {
			pos = e.Pos
		}
		return expr.ResolveCall("extract", []*expr.Expr{expr.LitAt(types.TextValue(e.Field), pos), arg}, e.Pos)
	case *tree.AtTimeZoneExpr:
		return x.call("timezone", e.OpPos, e.Zone, e.X)
	}
	return nil, refuse(e)
}

// refuse names an expression that is not supported.
func refuse(e tree.Expr) error {
	what := "this expression"
	switch e.(type) {
	case *tree.Star:
		return sqlerr.New(sqlerr.CodeSyntax, e.Extent().Pos, "* is allowed only in the select list and in COUNT(*)")
	case *tree.UnitLit:
		return sqlerr.New(sqlerr.CodeSyntax, e.Extent().Pos, "a time unit is not a value")
	case *tree.RowExpr:
		what = "a row value"
	case *tree.ArrayExpr:
		what = "ARRAY"
	case *tree.MapExpr:
		what = "MAP"
	case *tree.SubqueryExpr:
		what = "a subquery as a value"
	case *tree.ExistsExpr:
		what = "EXISTS"
	case *tree.QuantifiedExpr:
		what = "ANY or ALL"
	case *tree.SubscriptExpr:
		what = "a subscript"
	case *tree.FieldExpr:
		what = "access to a field of a row"
	}
	return sqlerr.NotSupported(e.Extent().Pos, what)
}

// call binds arguments and resolves the function or operator name.
func (x *exprBinder) call(name string, pos sqlerr.Pos, args ...tree.Expr) (*expr.Expr, error) {
	bound, err := x.bindAll(args)
	if err != nil {
		return nil, err
	}
	return expr.ResolveCall(name, bound, pos)
}

func (x *exprBinder) unary(e *tree.UnaryExpr) (*expr.Expr, error) {
	switch e.Op {
	case tree.OpNot:
		arg, err := x.condition(e.X, "NOT")
		if err != nil {
			return nil, err
		}
		return expr.ResolveCall("not", []*expr.Expr{arg}, e.Pos)
	case tree.OpNeg:
		if n, ok := e.X.(*tree.NumberLit); ok {
			return expr.NumberLit("-"+n.Text, e.Pos)
		}
		return x.call("-", e.Pos, e.X)
	}
	return x.call("+", e.Pos, e.X)
}

var operators = map[tree.BinaryOp]string{
	tree.OpEq: "=", tree.OpNe: "<>", tree.OpLt: "<", tree.OpLe: "<=", tree.OpGt: ">", tree.OpGe: ">=",
	tree.OpAdd: "+", tree.OpSub: "-", tree.OpMul: "*", tree.OpDiv: "/", tree.OpMod: "%",
	tree.OpConcat: "||", tree.OpJSONGet: "->", tree.OpJSONGetText: "->>",
}

func (x *exprBinder) binary(e *tree.BinaryExpr) (*expr.Expr, error) {
	if e.Op != tree.OpAnd && e.Op != tree.OpOr {
		return x.call(operators[e.Op], e.OpPos, e.L, e.R)
	}
	sides, err := x.bindAll([]tree.Expr{e.L, e.R})
	if err != nil {
		return nil, err
	}
	if e.Op == tree.OpAnd {
		return expr.NewAnd(sides, e.OpPos)
	}
	return expr.NewOr(sides, e.OpPos)
}

func (x *exprBinder) isTest(e *tree.IsExpr) (*expr.Expr, error) {
	name := "is "
	if e.Not {
		name += "not "
	}
	of := ""
	switch e.Test {
	case tree.IsNull:
		return x.call(name+"null", e.Pos, e.X)
	case tree.IsTrue:
		of = "true"
	case tree.IsFalse:
		of = "false"
	case tree.IsUnknown:
		of = "unknown"
	}
	arg, err := x.condition(e.X, upper(name+of))
	if err != nil {
		return nil, err
	}
	if of == "unknown" {
		of = "null"
	}
	return expr.ResolveCall(name+of, []*expr.Expr{arg}, e.Pos)
}

func (x *exprBinder) in(e *tree.InExpr) (*expr.Expr, error) {
	if e.Query != nil {
		return nil, sqlerr.NotSupported(e.Query.Pos, "IN with a subquery")
	}
	all, err := x.bindAll(append([]tree.Expr{e.X}, e.List...))
	if err != nil {
		return nil, err
	}
	in, err := expr.NewIn(all[0], all[1:], e.Pos)
	if err != nil || !e.Not {
		return in, err
	}
	return expr.ResolveCall("not", []*expr.Expr{in}, e.Pos)
}

// between is X >= Low AND X <= High, as in PostgreSQL.
func (x *exprBinder) between(e *tree.BetweenExpr) (*expr.Expr, error) {
	all, err := x.bindAll([]tree.Expr{e.X, e.Low, e.High})
	if err != nil {
		return nil, err
	}
	low, err := expr.ResolveCall(">=", []*expr.Expr{all[0], all[1]}, e.Pos)
	if err != nil {
		return nil, err
	}
	high, err := expr.ResolveCall("<=", []*expr.Expr{all[0], all[2]}, e.Pos)
	if err != nil {
		return nil, err
	}
	both, err := expr.NewAnd([]*expr.Expr{low, high}, e.Pos)
	if err != nil || !e.Not {
		return both, err
	}
	return expr.ResolveCall("not", []*expr.Expr{both}, e.Pos)
}

func (x *exprBinder) like(e *tree.LikeExpr) (*expr.Expr, error) {
	args, err := x.bindAll([]tree.Expr{e.X, e.Pattern})
	if err != nil {
		return nil, err
	}
	name := "like"
	if e.CaseInsensitive {
		name = "ilike"
	}
	if e.Escape != `\` {
		args = append(args, expr.LitAt(types.TextValue(e.Escape), e.Pos))
	}
	like, err := expr.ResolveCall(name, args, e.Pos)
	if err != nil || !e.Not {
		return like, err
	}
	return expr.ResolveCall("not", []*expr.Expr{like}, e.Pos)
}

func (x *exprBinder) caseExpr(e *tree.CaseExpr) (*expr.Expr, error) {
	var whens, thens []*expr.Expr
	for _, w := range e.Whens {
		cond := w.Cond
		if e.Operand != nil {
			cond = &tree.BinaryExpr{Span: w.Cond.Extent(), Op: tree.OpEq, OpPos: w.Cond.Extent().Pos, L: e.Operand, R: w.Cond}
		}
		c, err := x.bind(cond)
		if err != nil {
			return nil, err
		}
		t, err := x.bind(w.Then)
		if err != nil {
			return nil, err
		}
		whens, thens = append(whens, c), append(thens, t)
	}
	var els *expr.Expr
	if e.Else != nil {
		var err error
		if els, err = x.bind(e.Else); err != nil {
			return nil, err
		}
	}
	return expr.NewCase(whens, thens, els, e.Pos)
}

func (x *exprBinder) cast(e *tree.CastExpr) (*expr.Expr, error) {
	t, err := ScalarType(e.Type)
	if err != nil {
		return nil, err
	}
	arg, err := x.bind(e.X)
	if err != nil {
		return nil, err
	}
	return expr.ExplicitCast(arg, t, e.Try)
}
