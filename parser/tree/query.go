package tree

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// Query is a body with what may stand round it. It is also a QueryBody, but only as a
// branch of a set operation that has a WITH, ORDER BY or LIMIT of its own.
type Query struct {
	Span
	With    []CTE
	Body    QueryBody
	OrderBy []SortItem
	// Limit and Offset are nil when not written.
	Limit  *Count
	Offset *Count
	// Emit and Lateness are set on the outermost query of a statement only.
	Emit     *Emit
	Lateness *Lateness
}

// Count is the number after LIMIT or OFFSET.
type Count struct {
	Span
	N uint64
}

// CTE is one name of a WITH list.
type CTE struct {
	Span
	Name    Name
	Columns []Name
	Query   *Query
}

// EmitMode is when results come out.
type EmitMode uint8

const (
	// EmitChanges is EMIT CHANGES.
	EmitChanges EmitMode = iota
	// EmitOnWindowClose is EMIT ON WINDOW CLOSE.
	EmitOnWindowClose
	// EmitEvery is EMIT EVERY interval.
	EmitEvery
)

// Emit is the EMIT clause. Every is set with EmitEvery.
type Emit struct {
	Span
	Mode  EmitMode
	Every types.IntervalValue
}

// Lateness is WITH LATENESS interval.
type Lateness struct {
	Span
	Value types.IntervalValue
}

// QueryBody is *Select, *SetOp, *Values or *Query.
type QueryBody interface {
	Extent() Span
	queryBody()
}

// Select is one SELECT core. `TABLE t` arrives as SELECT * FROM t.
type Select struct {
	Span
	Distinct bool
	Items    []SelectItem
	// From has one entry per comma.
	From    []TableExpr
	Where   Expr
	GroupBy *GroupBy
	Having  Expr
	Windows []NamedWindow
}

// SelectItem is one entry of a select list. Alias is nil when not written;
// OutputName gives the column's name in either case.
type SelectItem struct {
	Span
	Expr  Expr
	Alias *Name
}

// SetOpKind is UNION, INTERSECT or EXCEPT.
type SetOpKind uint8

const (
	Union SetOpKind = iota
	Intersect
	Except
)

// SetOp joins two bodies, already grouped by precedence: INTERSECT first, the
// others from left to right.
type SetOp struct {
	Span
	Kind        SetOpKind
	All         bool
	OpPos       sqlerr.Pos
	Left, Right QueryBody
}

// Values is VALUES (…), (…). The rows may differ in length; the binder refuses that.
type Values struct {
	Span
	Rows []*RowExpr
}

func (*Query) queryBody()  {}
func (*Select) queryBody() {}
func (*SetOp) queryBody()  {}
func (*Values) queryBody() {}

// GroupBy is the GROUP BY clause; Items may be empty after `GROUP BY ()` only
// through a GroupExprs item without expressions.
type GroupBy struct {
	Span
	Items []GroupItem
}

// GroupKind is the shape of a GroupItem.
type GroupKind uint8

const (
	// GroupExprs is one expression, or a list in brackets that counts as one set.
	GroupExprs GroupKind = iota
	GroupRollup
	GroupCube
	GroupSets
)

// GroupItem is one entry of GROUP BY. With GroupExprs Exprs is set, else Items.
type GroupItem struct {
	Span
	Kind  GroupKind
	Exprs []Expr
	Items []GroupItem
}

// NullsOrder is NULLS FIRST or LAST; by default NULLs are larger than all values.
type NullsOrder uint8

const (
	NullsDefault NullsOrder = iota
	NullsFirst
	NullsLast
)

// SortItem is one entry of an ORDER BY. An integer NumberLit is an ordinal in a
// query's ORDER BY and a constant in a window's or aggregate's.
type SortItem struct {
	Span
	Expr  Expr
	Desc  bool
	Nulls NullsOrder
}

// NamedWindow is `name AS (spec)` of a WINDOW clause.
type NamedWindow struct {
	Name Name
	Spec WindowSpec
}

// WindowSpec is what follows OVER, or a named window's definition. For `OVER w`
// Name alone is set; Ref is the window that a bracketed spec extends.
type WindowSpec struct {
	Span
	Name        *Name
	Ref         *Name
	PartitionBy []Expr
	OrderBy     []SortItem
	Frame       *Frame
}

// FrameMode is ROWS or RANGE.
type FrameMode uint8

const (
	FrameRows FrameMode = iota
	FrameRange
)

// Frame is a window frame; a single bound has CURRENT ROW as its end.
type Frame struct {
	Span
	Mode       FrameMode
	Start, End FrameBound
}

// BoundKind is the kind of a frame bound.
type BoundKind uint8

const (
	UnboundedPreceding BoundKind = iota
	OffsetPreceding
	CurrentRow
	OffsetFollowing
	UnboundedFollowing
)

// FrameBound is one end of a frame; Offset is set with the Offset kinds.
type FrameBound struct {
	Kind   BoundKind
	Offset Expr
}

// TableExpr is an entry of FROM: *TableRef, *DerivedTable, *WindowTable, *Unnest or
// *Join.
type TableExpr interface {
	Extent() Span
	tableExpr()
}

// TableAlias is [AS] name [(columns)].
type TableAlias struct {
	Span
	Name    Name
	Columns []Name
}

// TableRef names a table, view or CTE. AsOf is the time of FOR SYSTEM_TIME AS OF.
type TableRef struct {
	Span
	Name  QualifiedName
	AsOf  Expr
	Alias *TableAlias
}

// DerivedTable is a query in FROM. Alias may be nil.
type DerivedTable struct {
	Span
	Query   *Query
	Lateral bool
	Alias   *TableAlias
}

// WindowKind is a windowing table function.
type WindowKind uint8

const (
	Tumble WindowKind = iota
	Hop
	Cumulate
	Session
)

// WindowTable is TUMBLE, HOP, CUMULATE or SESSION in FROM, in Flink's form
// TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), …)) or the short form TUMBLE(t, ts, …).
type WindowTable struct {
	Span
	Kind WindowKind
	// Input is *TableRef, *DerivedTable or *WindowTable, without alias.
	Input       TableExpr
	PartitionBy []Expr
	// Time is the time column, a *ColumnRef.
	Time Expr
	// Args are what follows the time column, in order: TUMBLE size [, offset];
	// HOP slide, size [, offset]; CUMULATE step, size [, offset]; SESSION gap.
	Args  []Expr
	Alias *TableAlias
}

// Unnest is [LATERAL] UNNEST(x, …) [WITH ORDINALITY].
type Unnest struct {
	Span
	Args       []Expr
	Ordinality bool
	Alias      *TableAlias
}

// JoinKind is the kind of a join.
type JoinKind uint8

const (
	InnerJoin JoinKind = iota
	LeftJoin
	RightJoin
	FullJoin
	CrossJoin
)

// Join joins two table expressions. At most one of On, Using and Natural is set;
// none with CrossJoin.
type Join struct {
	Span
	Kind        JoinKind
	Natural     bool
	Left, Right TableExpr
	On          Expr
	Using       []Name
	// OpPos is the place of the JOIN keyword.
	OpPos sqlerr.Pos
}

func (*TableRef) tableExpr()     {}
func (*DerivedTable) tableExpr() {}
func (*WindowTable) tableExpr()  {}
func (*Unnest) tableExpr()       {}
func (*Join) tableExpr()         {}
