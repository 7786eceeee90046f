package expr

import (
	"slices"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// plannedFuncs are functions that the dialect promises and this version lacks.
var plannedFuncs = []string{"date_bin", "age", "json_query", "json_exists", "json_object", "json_array", "cardinality",
	"unnest", "to_date", "from_unixtime", "current_row_timestamp", "clock_timestamp", "statement_timestamp", "transaction_timestamp"}

// ResolveCall binds a call of the function or operator name: it picks the signature by
// PostgreSQL's rules (exact types first, then the fewest implicit casts; open literals
// take the type that the others ask for) and makes those casts explicit. Operators are
// functions named by their symbol or words: "+", "<=", "||", "not", "is null", "is not
// true", "is distinct from", "like".
// Errors: 42883 for an unknown name or types that fit no signature, 0A000 for what is
// promised for later, 22P02 and its kin for an open literal that is no value of its type.
func ResolveCall(name string, args []*Expr, pos sqlerr.Pos) (*Expr, error) {
	lower := strings.ToLower(name)
	f, ok := LookupFunc(lower)
	if !ok {
		if slices.Contains(plannedFuncs, lower) {
			return nil, sqlerr.NotSupported(pos, "function "+strings.ToUpper(name))
		}
		err := sqlerr.New(sqlerr.CodeUndefinedFunction, pos, "function %s(%s) does not exist", lower, typeList(args))
		if near := sqlerr.Nearest(lower, FunctionNames()); near != "" {
			err.WithHint("did you mean %q?", near)
		}
		return nil, err
	}
	if f.lower != nil {
		e, err := f.lower(args)
		if err == nil {
			placeClock(e, pos)
		}
		return placed(e, err, f, args, pos)
	}
	if f.resolve != nil {
		cast, t, err := f.resolve(args)
		if err == nil && f.check != nil {
			err = f.check(cast)
		}
		return placed(&Expr{Kind: Call, Type: t, Fn: f.Name, Args: cast, Pos: pos}, err, f, args, pos)
	}
	sig := pickSig(f, args)
	if sig == nil {
		return nil, noSignature(f, args, pos)
	}
	cast := make([]*Expr, len(args))
	for i, a := range args {
		var err error
		if cast[i], err = coerceKind(a, sig.kindOf(i)); err != nil {
			return nil, err
		}
	}
	if f.check != nil {
		if err := f.check(cast); err != nil {
			return nil, err
		}
	}
	t := sig.Ret
	if sig.ret != nil {
		t = sig.ret(typesOf(cast))
	}
	return &Expr{Kind: Call, Type: t, Fn: f.Name, Args: cast, Pos: pos}, nil
}

// checkText makes a check of a literal text at place i, if that is there and no NULL.
func checkText(i int, code string, fault func(text string) error) func(args []*Expr) error {
	return func(args []*Expr) error {
		if i >= len(args) || args[i].Kind != Literal || args[i].Val.Null {
			return nil
		}
		if err := fault(args[i].Val.S); err != nil {
			return sqlerr.New(code, args[i].Pos, "%s", err)
		}
		return nil
	}
}

// errNoSignature says that a resolve function found the types unfit.
var errNoSignature = sqlerr.New(sqlerr.CodeUndefinedFunction, 0, "no signature")

func placed(e *Expr, err error, f *Func, args []*Expr, pos sqlerr.Pos) (*Expr, error) {
	if err == errNoSignature {
		return nil, noSignature(f, args, pos)
	}
	if err != nil {
		if se := sqlerr.As(err); se != nil && se.Pos == 0 {
			se.Pos = pos
		}
		return nil, err
	}
	return e, nil
}

func noSignature(f *Func, args []*Expr, pos sqlerr.Pos) error {
	if c := f.Name[0]; c >= 'a' && c <= 'z' && !strings.Contains(f.Name, " ") {
		return sqlerr.New(sqlerr.CodeUndefinedFunction, pos, "function %s(%s) does not exist", f.Name, typeList(args)).
			WithHint("No function of that name takes these argument types. You might need to add explicit casts.")
	}
	what := typeList(args)
	if len(args) == 2 {
		what = args[0].Type.String() + " " + strings.ToUpper(f.Name) + " " + args[1].Type.String()
	} else if len(args) == 1 {
		what = strings.ToUpper(f.Name) + " " + args[0].Type.String()
	}
	return sqlerr.New(sqlerr.CodeUndefinedFunction, pos, "operator does not exist: %s", what).
		WithHint("No operator of that name takes these argument types. You might need to add explicit casts.")
}

func typesOf(args []*Expr) []types.Type {
	ts := make([]types.Type, len(args))
	for i, a := range args {
		ts[i] = a.Type
	}
	return ts
}

// kindOf gives the kind that argument i is to have.
func (s *Sig) kindOf(i int) types.Kind { return s.Args[min(i, len(s.Args)-1)] }

func (s *Sig) takes(n int) bool {
	if n < len(s.Args)-s.Optional {
		return false
	}
	return n <= len(s.Args) || s.Variadic
}

// pickSig finds the signature with the cheapest implicit casts; the first of equals.
func pickSig(f *Func, args []*Expr) *Sig {
	var best *Sig
	bestCost := 0
	for i := range f.Sigs {
		s := &f.Sigs[i]
		if !s.takes(len(args)) {
			continue
		}
		cost := 0
		for k, a := range args {
			c := implicitCost(a.Type.Kind, s.kindOf(k))
			if c < 0 {
				cost = -1
				break
			}
			cost += c
		}
		if cost >= 0 && (best == nil || cost < bestCost) {
			best, bestCost = s, cost
		}
	}
	return best
}

// coerceKind converts e to kind k with the parameters that keep its value.
func coerceKind(e *Expr, k types.Kind) (*Expr, error) {
	if e.Type.Kind == k {
		return e, nil
	}
	if k == anyKind {
		if e.Type.Kind == types.Unknown {
			return CoerceTo(e, types.TText)
		}
		return e, nil
	}
	t := types.Type{Kind: k}
	switch k {
	case types.Decimal:
		if e.Type.IsInteger() {
			t = types.TDecimal(asDecimal(e.Type))
		}
	case types.Timestamp, types.TimestampTZ:
		t.Precision = 6
		if e.Type.IsTimestamp() {
			t.Precision = e.Type.Precision
		}
	case types.Time:
		t.Precision = 6
	}
	return CoerceTo(e, t)
}

// NewAnd joins conditions with AND; none is TRUE. Each must be BOOLEAN or an open
// literal.
func NewAnd(args []*Expr, pos sqlerr.Pos) (*Expr, error) { return logic(And, args, pos) }

// NewOr joins conditions with OR; none is FALSE.
func NewOr(args []*Expr, pos sqlerr.Pos) (*Expr, error) { return logic(Or, args, pos) }

func logic(kind Kind, args []*Expr, pos sqlerr.Pos) (*Expr, error) {
	var flat []*Expr
	for _, a := range args {
		b, err := condition(a, strings.ToUpper(string(kind)))
		if err != nil {
			return nil, err
		}
		if b.Kind == kind {
			flat = append(flat, b.Args...)
		} else {
			flat = append(flat, b)
		}
	}
	switch len(flat) {
	case 0:
		return LitAt(types.BoolValue(kind == And), pos), nil
	case 1:
		return flat[0], nil
	}
	return &Expr{Kind: kind, Type: types.TBool, Args: flat, Pos: pos}, nil
}

func condition(e *Expr, of string) (*Expr, error) {
	if e.Type.Kind != types.Bool && e.Type.Kind != types.Unknown {
		return nil, sqlerr.New(sqlerr.CodeDatatypeMismatch, e.Pos, "argument of %s must be type BOOLEAN, not type %s", of, e.Type)
	}
	return CoerceTo(e, types.TBool)
}

// Condition checks that e may stand in WHERE, HAVING, FILTER or ON (of), as BOOLEAN.
func Condition(e *Expr, of string) (*Expr, error) { return condition(e, of) }

// NewCase builds CASE WHEN whens[0] THEN thens[0] … ELSE els END; els may be nil for
// ELSE NULL. Results take their common type.
func NewCase(whens, thens []*Expr, els *Expr, pos sqlerr.Pos) (*Expr, error) {
	results := append([]*Expr(nil), thens...)
	if els != nil {
		results = append(results, els)
	}
	results, t, err := unify(results, "CASE", pos)
	if err != nil {
		return nil, err
	}
	e := &Expr{Kind: Case, Type: t, Pos: pos}
	for i, w := range whens {
		c, err := condition(w, "CASE/WHEN")
		if err != nil {
			return nil, err
		}
		e.Args = append(e.Args, c, results[i])
	}
	if els != nil {
		e.Args = append(e.Args, results[len(results)-1])
	}
	return e, nil
}

// NewCoalesce builds COALESCE(args…).
func NewCoalesce(args []*Expr, pos sqlerr.Pos) (*Expr, error) {
	if len(args) == 0 {
		return nil, sqlerr.New(sqlerr.CodeSyntax, pos, "COALESCE needs an argument")
	}
	cast, t, err := unify(args, "COALESCE", pos)
	if err != nil {
		return nil, err
	}
	if len(cast) == 1 {
		return cast[0], nil
	}
	return &Expr{Kind: Coalesce, Type: t, Args: cast, Pos: pos}, nil
}

// unify brings expressions to their common type.
func unify(args []*Expr, of string, pos sqlerr.Pos) ([]*Expr, types.Type, error) {
	t, ok := CommonOf(args)
	if !ok {
		first := args[0].Type
		for _, a := range args {
			if _, ok := CommonType(first, a.Type); !ok {
				return nil, t, sqlerr.New(sqlerr.CodeDatatypeMismatch, a.Pos, "%s types %s and %s cannot be matched", of, first, a.Type)
			}
		}
		return nil, t, sqlerr.New(sqlerr.CodeDatatypeMismatch, pos, "%s types cannot be matched", of)
	}
	out := make([]*Expr, len(args))
	for i, a := range args {
		var err error
		if out[i], err = CoerceTo(a, t); err != nil {
			return nil, t, err
		}
	}
	return out, t, nil
}

// NewIn builds x IN (list): one set look-up when every element is a literal, else a
// chain of comparisons.
func NewIn(x *Expr, list []*Expr, pos sqlerr.Pos) (*Expr, error) {
	all, t, err := unify(append([]*Expr{x}, list...), "IN", pos)
	literals := err == nil
	for i := 1; literals && i < len(all); i++ {
		literals = all[i].Kind == Literal
	}
	if literals && inSetTakes(t) {
		return &Expr{Kind: Call, Type: types.TBool, Fn: "in", Args: all, Pos: pos}, nil
	}
	if literals && len(list) > 1 && t.Kind == types.Real {
		list = all[1:] // constants of one type, which a single one keeps, as in PostgreSQL
	}
	var ors []*Expr
	for _, y := range list {
		eq, err := ResolveCall("=", []*Expr{x, y}, pos)
		if err != nil {
			return nil, err
		}
		ors = append(ors, eq)
	}
	return NewOr(ors, pos)
}
