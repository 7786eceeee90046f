package expr

import (
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// integerDigits is the precision of an integer type as a DECIMAL.
func integerDigits(k types.Kind) int {
	switch k {
	case types.SmallInt:
		return 5
	case types.Int:
		return 10
	}
	return 19
}

// asDecimal gives the precision and scale with which a value of an integer or DECIMAL
// type takes part in decimal arithmetic.
func asDecimal(t types.Type) (precision, scale int) {
	if t.Kind != types.Decimal {
		return integerDigits(t.Kind), 0
	}
	if t.Precision == 0 {
		return types.MaxPrecision, int(t.Scale)
	}
	return int(t.Precision), int(t.Scale)
}

// CommonType gives the type to which PostgreSQL would bring values of these types in
// CASE, COALESCE, IN, UNION and comparisons; ok is false when there is none. Unknown
// literals take the type of the others; alone they are text.
func CommonType(ts ...types.Type) (types.Type, bool) {
	common := types.Type{}
	for _, t := range ts {
		if t.Kind == types.Unknown {
			continue
		}
		if common.Kind == types.Unknown {
			common = t
			continue
		}
		var ok bool
		if common, ok = commonOfTwo(common, t); !ok {
			return types.Type{}, false
		}
	}
	if common.Kind == types.Unknown {
		return types.TText, true
	}
	return common, true
}

func commonOfTwo(a, b types.Type) (types.Type, bool) {
	switch {
	case a == b:
		return a, true
	case a.IsNumeric() && b.IsNumeric():
		return commonNumber(a, b), true
	case a.Kind == b.Kind:
		a.Precision = max(a.Precision, b.Precision)
		if a.Length != b.Length {
			a.Length = 0
		}
		return a, true
	}
	ra, rb := timeRank(a.Kind), timeRank(b.Kind)
	if ra == 0 || rb == 0 {
		return types.Type{}, false
	}
	if ra < rb {
		a, b = b, a
	}
	a.Precision = max(a.Precision, b.Precision)
	return a, true
}

// CommonOf is CommonType of expressions. Open literals take part with what is written in
// them: no digit and no letter of theirs is lost beside a narrow type.
func CommonOf(args []*Expr) (types.Type, bool) {
	t, ok := CommonType(typesOf(args)...)
	for _, a := range args {
		if ok && a.Type.Kind == types.Unknown {
			t, ok = commonOfTwo(t, openType(a, t))
		}
	}
	return t, ok
}

// openType is the type of an open literal beside a value of type t: of t's kind, with the
// digits that are written and any length. NULL, and what is no value of the kind, has
// type t.
func openType(e *Expr, t types.Type) types.Type {
	if e.Val.Null {
		return t
	}
	switch t.Kind {
	case types.Text:
		return types.TText
	case types.Decimal:
		if v, err := castValue(*e.Val, types.TDecimal(0, 0), false); err == nil {
			return v.Type
		}
	case types.Timestamp, types.TimestampTZ, types.Time:
		fine := t
		fine.Precision = 6
		if v, err := castValue(*e.Val, fine, false); err == nil {
			return withTick(t, v.I)
		}
	}
	return t
}

// withTick is t with the digits that a number of microseconds needs, if those are more.
func withTick(t types.Type, us int64) types.Type {
	for us%t.Tick() != 0 {
		t.Precision++
	}
	return t
}

func timeRank(k types.Kind) int {
	switch k {
	case types.Date:
		return 1
	case types.Timestamp:
		return 2
	case types.TimestampTZ:
		return 3
	}
	return 0
}

func commonNumber(a, b types.Type) types.Type {
	switch {
	case a.Kind == types.Double || b.Kind == types.Double:
		return types.TDouble
	case a.Kind == types.Real || b.Kind == types.Real:
		return types.TReal
	case a.Kind == types.Decimal || b.Kind == types.Decimal:
		pa, sa := asDecimal(a)
		pb, sb := asDecimal(b)
		s := max(sa, sb)
		return types.TDecimal(min(max(pa-sa, pb-sb)+s, types.MaxPrecision), s)
	case a.Kind > b.Kind:
		return a
	}
	return b
}

// implicitCost ranks PostgreSQL's implicit casts: 0 for the same kind, -1 for none.
func implicitCost(from, to types.Kind) int {
	switch {
	case from == to:
		return 0
	case to == anyKind:
		return 1
	case from == types.Unknown:
		if to == types.Text {
			return 1
		}
		return 2
	case from >= types.SmallInt && from <= types.Decimal && to >= types.SmallInt && to <= types.Decimal:
		rf, rt := numberRank(from), numberRank(to)
		if rf < rt {
			return rt - rf
		}
		return -1
	}
	rf, rt := timeRank(from), timeRank(to)
	if rf > 0 && rf < rt {
		return rt - rf
	}
	return -1
}

func numberRank(k types.Kind) int {
	switch k {
	case types.SmallInt:
		return 1
	case types.Int:
		return 2
	case types.BigInt:
		return 3
	case types.Decimal:
		return 4
	case types.Real:
		return 5
	}
	return 6
}

// CoerceTo converts e to t where PostgreSQL would do so by itself in an expression: an
// open literal to any type, a number to a wider one, DATE to TIMESTAMP. It returns e
// as it is when nothing is to be done. The error has code 42804, or that of a literal
// that is no value of t.
func CoerceTo(e *Expr, t types.Type) (*Expr, error) {
	if e.Type == t {
		return e, nil
	}
	if implicitCost(e.Type.Kind, t.Kind) < 0 {
		return nil, sqlerr.New(sqlerr.CodeDatatypeMismatch, e.Pos, "expression of type %s cannot be used as %s", e.Type, t).
			WithHint("Use CAST(… AS %s).", t)
	}
	return convert(e, t, Cast, "")
}

// ExplicitCast is CAST(e AS t), or TRY_CAST. The error has code 42846 when no such
// cast exists. A DECIMAL target without precision takes the argument's digits, or
// DECIMAL(38,18) where those are open (text, DOUBLE).
func ExplicitCast(e *Expr, t types.Type, try bool) (*Expr, error) {
	kind := Cast
	if try {
		kind = TryCast
	}
	if e.Type.Kind == types.Unknown && try && !e.Val.Null {
		e = &Expr{Kind: Literal, Type: types.TText, Val: &types.Value{Type: types.TText, S: e.Val.S}, Pos: e.Pos}
	}
	t = openDecimal(e, t)
	if e.Type == t {
		return e, nil
	}
	if e.Type.Kind != types.Unknown && !castExists(e.Type, t) {
		return nil, sqlerr.New(sqlerr.CodeCannotCoerce, e.Pos, "cannot cast type %s to %s", e.Type, t)
	}
	return convert(e, t, kind, "")
}

// openDecimal settles DECIMAL without precision for a cast of e.
func openDecimal(e *Expr, t types.Type) types.Type {
	if t.Kind != types.Decimal || t.Precision != 0 || t.Scale != 0 {
		return t
	}
	switch {
	case e.Type.Kind == types.Decimal, e.Type.IsInteger():
		return types.TDecimal(asDecimal(e.Type))
	case e.Type.Kind == types.Unknown:
		return t
	}
	return types.TDecimal(types.MaxPrecision, 18)
}

// AssignTo converts e for storing it in a column of type t (INSERT). It follows
// PostgreSQL's assignment casts, but refuses when the job is planned what could only
// fail later or change its meaning with a setting: an integer into a narrower one,
// TIMESTAMP into TIMESTAMP WITH TIME ZONE and back. The error has code 42804 and names
// the column and both types.
func AssignTo(e *Expr, t types.Type, column string) (*Expr, error) {
	if e.Type == t {
		return e, nil
	}
	from := e.Type.Kind
	narrow := e.Type.IsInteger() && t.IsInteger() && t.Kind < from
	if narrow && e.Kind == Literal && (e.Val.Null || vec.IntFits(t, e.Val.I)) {
		narrow = false
	}
	zone := from == types.Timestamp && t.Kind == types.TimestampTZ || from == types.TimestampTZ && t.Kind == types.Timestamp
	if narrow || zone || !assignable(e.Type, t) {
		return nil, sqlerr.New(sqlerr.CodeDatatypeMismatch, e.Pos,
			"column %q is of type %s but expression is of type %s", column, t, e.Type).
			WithHint("You will need to rewrite or cast the expression: CAST(… AS %s).", t)
	}
	return convert(e, openDecimal(e, t), Cast, "assign")
}

func assignable(from, to types.Type) bool {
	switch {
	case from.Kind == types.Unknown, to.Kind == types.Text:
		return true
	case from.IsNumeric() && to.IsNumeric(), from.Kind == to.Kind:
		return true
	case timeRank(from.Kind) > 0 && timeRank(to.Kind) > 0:
		return true
	case from.IsTimestamp() && to.Kind == types.Time:
		return true
	}
	return false
}

// convert casts e to t. A literal is converted here and now; where that fails, a
// literal of open type is an error in the text and any other is left to fail for the
// rows that need it.
func convert(e *Expr, t types.Type, kind Kind, mode string) (*Expr, error) {
	if e.Kind == Literal {
		if e.Val.Null {
			return LitAt(types.Null(t), e.Pos), nil
		}
		v, err := castValue(*e.Val, t, mode == "assign")
		if err == nil {
			return LitAt(v, e.Pos), nil
		}
		if e.Type.Kind == types.Unknown {
			if se := sqlerr.As(err); se != nil {
				se.Pos = e.Pos
			}
			return nil, err
		}
	}
	return &Expr{Kind: kind, Type: t, Fn: mode, Args: []*Expr{e}, Pos: e.Pos}, nil
}

// castValue casts one value; a text of open type is read as t's own form.
func castValue(v types.Value, t types.Type, assign bool) (types.Value, error) {
	if v.Type.Kind == types.Unknown || v.Type.Kind == types.Text {
		switch {
		case t.Kind != types.Text:
			return vec.ParseText(t, []byte(v.S))
		case !assign:
			return types.Value{Type: t, S: truncateChars(v.S, int(t.Length))}, nil
		}
		v.Type = types.TText
	}
	return EvalConst(&Expr{Kind: Cast, Type: t, Args: []*Expr{Lit(v)}, Fn: map[bool]string{true: "assign"}[assign]})
}

func truncateChars(s string, n int) string {
	if n == 0 || len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// typeList prints types for an error message.
func typeList(args []*Expr) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(a.Type.String())
	}
	return b.String()
}
