package tree

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// Expr is an expression. Brackets round an expression leave no node behind.
type Expr interface {
	Extent() Span
	exprNode()
}

// ColumnRef is a dotted name of one to four parts. Which of its dots is a field
// access of a row column only the binder can tell.
type ColumnRef struct {
	Span
	Parts []Name
}

// Star is `*` or `t.*` in a select list.
type Star struct {
	Span
	Qualifier []Name
}

// NumberLit is a number without sign as typed: digits, at most one point, an
// optional exponent. Digits only: INT, BIGINT or DECIMAL by size; anything else is
// DECIMAL, as in PostgreSQL.
type NumberLit struct {
	Span
	Text string
}

// StringLit is a string literal, which has no type of its own yet.
type StringLit struct {
	Span
	Value string
}

// BoolLit is TRUE or FALSE.
type BoolLit struct {
	Span
	Value bool
}

// NullLit is NULL.
type NullLit struct{ Span }

// TypedLit is `DATE '2024-01-01'`: a type name before a string.
type TypedLit struct {
	Span
	Type     TypeName
	Value    string
	ValuePos sqlerr.Pos
}

// IntervalLit is an interval literal, already read.
type IntervalLit struct {
	Span
	Value types.IntervalValue
}

// UnitLit is a time unit written as a bare word where a function takes one:
// TIMESTAMPADD(DAY, 1, x), FLOOR(x TO HOUR). Unit is upper case, singular.
type UnitLit struct {
	Span
	Unit string
}

// UnaryOp is a prefix operator.
type UnaryOp uint8

const (
	OpNeg UnaryOp = iota
	OpPlus
	OpNot
)

// UnaryExpr is a prefix operator and its operand.
type UnaryExpr struct {
	Span
	Op UnaryOp
	X  Expr
}

// BinaryOp is an infix operator with two operands and no options.
type BinaryOp uint8

const (
	OpAnd BinaryOp = iota
	OpOr
	OpEq
	OpNe
	OpLt
	OpLe
	OpGt
	OpGe
	OpAdd
	OpSub
	OpMul
	OpDiv
	OpMod
	// OpConcat is `||`.
	OpConcat
	// OpJSONGet is `->`, OpJSONGetText is `->>`.
	OpJSONGet
	OpJSONGetText
)

// IsComparison reports = <> < <= > >=.
func (op BinaryOp) IsComparison() bool { return op >= OpEq && op <= OpGe }

// BinaryExpr is L Op R; OpPos is the place of the operator.
type BinaryExpr struct {
	Span
	Op    BinaryOp
	OpPos sqlerr.Pos
	L, R  Expr
}

// IsTest is what follows IS [NOT].
type IsTest uint8

const (
	IsNull IsTest = iota
	IsTrue
	IsFalse
	// IsUnknown is IS NULL of a boolean.
	IsUnknown
)

// IsExpr is X IS [NOT] NULL | TRUE | FALSE | UNKNOWN.
type IsExpr struct {
	Span
	X    Expr
	Test IsTest
	Not  bool
}

// DistinctExpr is L IS [NOT] DISTINCT FROM R.
type DistinctExpr struct {
	Span
	L, R  Expr
	Not   bool
	OpPos sqlerr.Pos
}

// InExpr is X [NOT] IN (list) or X [NOT] IN (query); exactly one of List and
// Query is set.
type InExpr struct {
	Span
	X     Expr
	List  []Expr
	Query *Query
	Not   bool
}

// BetweenExpr is X [NOT] BETWEEN Low AND High.
type BetweenExpr struct {
	Span
	X, Low, High Expr
	Not          bool
}

// LikeExpr is X [NOT] LIKE|ILIKE Pattern [ESCAPE 'c']. Escape is the escape
// character, a backslash unless given; the empty string means no escape.
type LikeExpr struct {
	Span
	X, Pattern      Expr
	Escape          string
	CaseInsensitive bool
	Not             bool
}

// CaseExpr is CASE [Operand] WHEN … THEN … [ELSE …] END. Operand and Else may be nil.
type CaseExpr struct {
	Span
	Operand Expr
	Whens   []When
	Else    Expr
}

// When is one branch of a CASE.
type When struct {
	Cond, Then Expr
}

// CastExpr is CAST(X AS Type), X::Type or, with Try, TRY_CAST(X AS Type).
type CastExpr struct {
	Span
	X    Expr
	Type TypeName
	Try  bool
}

// CallExpr is a call of a scalar, aggregate or window function.
//
// Keyword forms arrive as plain calls in PostgreSQL's own spelling:
// SUBSTRING(x FROM a FOR b) is substring(x, a, b) and SUBSTRING(x FOR b) is
// substring(x, 1, b); TRIM(LEADING c FROM x) is ltrim(x, c), TRAILING rtrim, BOTH
// or nothing btrim; OVERLAY(x PLACING y FROM a FOR b) is overlay(x, y, a, b);
// POSITION(a IN b) is position(a, b), in the order written; EXTRACT has its own
// node. CURRENT_TIMESTAMP and its kin are calls without arguments (or with their
// precision). FLOOR(x TO unit) has a UnitLit as second argument.
type CallExpr struct {
	Span
	// Name has the parts of a dotted function name; mostly one.
	Name []Name
	Args []Expr
	// Star is set for f(*); Args is then empty.
	Star     bool
	Distinct bool
	// OrderBy is the ORDER BY inside the brackets.
	OrderBy []SortItem
	// WithinGroup is WITHIN GROUP (ORDER BY …).
	WithinGroup []SortItem
	Filter      Expr
	// IgnoreNulls is set by IGNORE NULLS; RESPECT NULLS is the default.
	IgnoreNulls bool
	// Over is nil for a call that is not a window call.
	Over *WindowSpec
	// JSON holds the clauses of JSON_VALUE and its kin, nil without any.
	JSON *JSONClauses
	// Implicit is set for a call that the user wrote without brackets, such as
	// CURRENT_DATE.
	Implicit bool
}

// FuncName returns the last part of the name in lower case (or as quoted).
func (c *CallExpr) FuncName() string { return FoldName(c.Name[len(c.Name)-1]) }

// JSONBehaviour says what a JSON function gives ON EMPTY or ON ERROR.
type JSONBehaviour uint8

const (
	// JSONUnset: no such clause.
	JSONUnset JSONBehaviour = iota
	JSONError
	JSONNull
	JSONDefault
	JSONTrue
	JSONFalse
	JSONUnknown
	JSONEmptyArray
	JSONEmptyObject
)

// JSONClauses are the trailing clauses of the SQL/JSON functions.
type JSONClauses struct {
	// Returning is nil without RETURNING.
	Returning *TypeName
	OnEmpty   JSONBehaviour
	OnError   JSONBehaviour
	// DefaultOnEmpty and DefaultOnError are set with JSONDefault.
	DefaultOnEmpty Expr
	DefaultOnError Expr
	// Wrapper is "", "without", "conditional" or "unconditional".
	Wrapper string
	// Nulls is "", "null" (NULL ON NULL) or "absent" (ABSENT ON NULL).
	Nulls string
}

// ExtractExpr is EXTRACT(Field FROM X). Field is lower case.
type ExtractExpr struct {
	Span
	Field    string
	FieldPos sqlerr.Pos
	X        Expr
}

// RowExpr is (a, b) or ROW(a, b).
type RowExpr struct {
	Span
	Elems []Expr
	// Keyword is set when ROW was written.
	Keyword bool
}

// ArrayExpr is ARRAY[a, b].
type ArrayExpr struct {
	Span
	Elems []Expr
}

// MapExpr is MAP[k1, v1, k2, v2]; Elems has an even length.
type MapExpr struct {
	Span
	Elems []Expr
}

// SubqueryExpr is a query in brackets used as a value.
type SubqueryExpr struct {
	Span
	Query *Query
}

// ExistsExpr is EXISTS (query).
type ExistsExpr struct {
	Span
	Query *Query
}

// QuantifiedExpr is X Op ANY|ALL (query or array); exactly one of Query and Array
// is set. SOME is ANY.
type QuantifiedExpr struct {
	Span
	X     Expr
	Op    BinaryOp
	OpPos sqlerr.Pos
	All   bool
	Query *Query
	Array Expr
}

// SubscriptExpr is X[Index].
type SubscriptExpr struct {
	Span
	X, Index Expr
}

// FieldExpr is (X).Field.
type FieldExpr struct {
	Span
	X     Expr
	Field Name
}

// AtTimeZoneExpr is X AT TIME ZONE Zone.
type AtTimeZoneExpr struct {
	Span
	X, Zone Expr
	OpPos   sqlerr.Pos
}

func (*ColumnRef) exprNode()      {}
func (*Star) exprNode()           {}
func (*NumberLit) exprNode()      {}
func (*StringLit) exprNode()      {}
func (*BoolLit) exprNode()        {}
func (*NullLit) exprNode()        {}
func (*TypedLit) exprNode()       {}
func (*IntervalLit) exprNode()    {}
func (*UnitLit) exprNode()        {}
func (*UnaryExpr) exprNode()      {}
func (*BinaryExpr) exprNode()     {}
func (*IsExpr) exprNode()         {}
func (*DistinctExpr) exprNode()   {}
func (*InExpr) exprNode()         {}
func (*BetweenExpr) exprNode()    {}
func (*LikeExpr) exprNode()       {}
func (*CaseExpr) exprNode()       {}
func (*CastExpr) exprNode()       {}
func (*CallExpr) exprNode()       {}
func (*ExtractExpr) exprNode()    {}
func (*RowExpr) exprNode()        {}
func (*ArrayExpr) exprNode()      {}
func (*MapExpr) exprNode()        {}
func (*SubqueryExpr) exprNode()   {}
func (*ExistsExpr) exprNode()     {}
func (*QuantifiedExpr) exprNode() {}
func (*SubscriptExpr) exprNode()  {}
func (*FieldExpr) exprNode()      {}
func (*AtTimeZoneExpr) exprNode() {}
