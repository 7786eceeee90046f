package tree

import (
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/internal/types"
)

// Format prints an expression with brackets round every operation, in PostgreSQL's
// syntax where it has one: reading it back gives the same tree whatever the
// precedences are.
func Format(e Expr) string {
	var w writer
	w.expr(e)
	return w.String()
}

// FormatQuery prints a query on one line, its expressions as Format does.
func FormatQuery(q *Query) string {
	var w writer
	w.query(q)
	return w.String()
}

type writer struct{ strings.Builder }

func (w *writer) put(parts ...string) {
	for _, p := range parts {
		w.WriteString(p)
	}
}

func (w *writer) names(list []Name, sep string) {
	for i, n := range list {
		if i > 0 {
			w.put(sep)
		}
		w.put(QuoteName(n))
	}
}

func (w *writer) exprs(list []Expr) {
	for i, e := range list {
		if i > 0 {
			w.put(", ")
		}
		w.expr(e)
	}
}

var binarySymbols = [...]string{
	OpAnd: "AND", OpOr: "OR", OpEq: "=", OpNe: "<>", OpLt: "<", OpLe: "<=", OpGt: ">", OpGe: ">=",
	OpAdd: "+", OpSub: "-", OpMul: "*", OpDiv: "/", OpMod: "%",
	OpConcat: "||", OpJSONGet: "->", OpJSONGetText: "->>",
}

// String gives the operator's spelling.
func (op BinaryOp) String() string { return binarySymbols[op] }

// String gives the operator's spelling.
func (op UnaryOp) String() string { return [...]string{OpNeg: "-", OpPlus: "+", OpNot: "NOT"}[op] }

func intervalText(v types.IntervalValue) string {
	return QuoteString(string(types.AppendInterval(nil, v)))
}

func notWord(not bool) string {
	if not {
		return " NOT"
	}
	return ""
}

func (w *writer) expr(e Expr) {
	switch e := e.(type) {
	case *ColumnRef:
		w.names(e.Parts, ".")
	case *Star:
		w.names(e.Qualifier, ".")
		if len(e.Qualifier) > 0 {
			w.put(".")
		}
		w.put("*")
	case *NumberLit:
		w.put(e.Text)
	case *StringLit:
		w.put(QuoteString(e.Value))
	case *BoolLit:
		w.put(strings.ToUpper(strconv.FormatBool(e.Value)))
	case *NullLit:
		w.put("NULL")
	case *TypedLit:
		w.put("CAST(", QuoteString(e.Value), " AS ", e.Type.String(), ")")
	case *IntervalLit:
		w.put("INTERVAL ", intervalText(e.Value))
	case *UnitLit:
		w.put(e.Unit)
	case *UnaryExpr:
		w.put("(", e.Op.String(), " ")
		w.expr(e.X)
		w.put(")")
	case *BinaryExpr:
		w.infix(e.L, e.Op.String(), e.R)
	case *IsExpr:
		w.put("(")
		w.expr(e.X)
		w.put(" IS", notWord(e.Not), " ", [...]string{IsNull: "NULL", IsTrue: "TRUE", IsFalse: "FALSE", IsUnknown: "UNKNOWN"}[e.Test], ")")
	case *DistinctExpr:
		w.infix(e.L, "IS"+notWord(e.Not)+" DISTINCT FROM", e.R)
	case *InExpr:
		w.in(e)
	case *BetweenExpr:
		w.put("(")
		w.expr(e.X)
		w.put(notWord(e.Not), " BETWEEN ")
		w.expr(e.Low)
		w.put(" AND ")
		w.expr(e.High)
		w.put(")")
	case *LikeExpr:
		w.like(e)
	case *CaseExpr:
		w.caseExpr(e)
	case *CastExpr:
		if e.Try {
			w.put("TRY_")
		}
		w.put("CAST(")
		w.expr(e.X)
		w.put(" AS ", e.Type.String(), ")")
	case *CallExpr:
		w.call(e)
	case *ExtractExpr:
		field := e.Field
		if field == "" || strings.Trim(field, "abcdefghijklmnopqrstuvwxyz") != "" {
			field = QuoteString(field)
		}
		w.put("EXTRACT(", field, " FROM ")
		w.expr(e.X)
		w.put(")")
	case *RowExpr:
		w.put("ROW(")
		w.exprs(e.Elems)
		w.put(")")
	case *ArrayExpr:
		w.put("ARRAY[")
		w.exprs(e.Elems)
		w.put("]")
	case *MapExpr:
		w.put("MAP[")
		w.exprs(e.Elems)
		w.put("]")
	case *SubqueryExpr:
		w.bracketed(e.Query)
	case *ExistsExpr:
		w.put("EXISTS ")
		w.bracketed(e.Query)
	case *QuantifiedExpr:
		w.quantified(e)
	case *SubscriptExpr:
		w.put("(")
		w.expr(e.X)
		w.put(")[")
		w.expr(e.Index)
		w.put("]")
	case *FieldExpr:
		w.put("(")
		w.expr(e.X)
		w.put(").", QuoteName(e.Field))
	case *AtTimeZoneExpr:
		w.infix(e.X, "AT TIME ZONE", e.Zone)
	}
}

func (w *writer) infix(l Expr, op string, r Expr) {
	w.put("(")
	w.expr(l)
	w.put(" ", op, " ")
	w.expr(r)
	w.put(")")
}

func (w *writer) bracketed(q *Query) {
	w.put("(")
	w.query(q)
	w.put(")")
}

func (w *writer) in(e *InExpr) {
	w.put("(")
	w.expr(e.X)
	w.put(notWord(e.Not), " IN (")
	if e.Query != nil {
		w.query(e.Query)
	} else {
		w.exprs(e.List)
	}
	w.put("))")
}

func (w *writer) like(e *LikeExpr) {
	op := " LIKE "
	if e.CaseInsensitive {
		op = " ILIKE "
	}
	w.put("(")
	w.expr(e.X)
	w.put(notWord(e.Not), op)
	w.expr(e.Pattern)
	if e.Escape != `\` {
		w.put(" ESCAPE ", QuoteString(e.Escape))
	}
	w.put(")")
}

func (w *writer) caseExpr(e *CaseExpr) {
	w.put("CASE")
	if e.Operand != nil {
		w.put(" ")
		w.expr(e.Operand)
	}
	for _, c := range e.Whens {
		w.put(" WHEN ")
		w.expr(c.Cond)
		w.put(" THEN ")
		w.expr(c.Then)
	}
	if e.Else != nil {
		w.put(" ELSE ")
		w.expr(e.Else)
	}
	w.put(" END")
}

func (w *writer) quantified(e *QuantifiedExpr) {
	w.put("(")
	w.expr(e.X)
	w.put(" ", e.Op.String(), " ")
	if e.All {
		w.put("ALL (")
	} else {
		w.put("ANY (")
	}
	if e.Query != nil {
		w.query(e.Query)
	} else {
		w.expr(e.Array)
	}
	w.put("))")
}

func (w *writer) call(e *CallExpr) {
	if e.Implicit {
		w.put(strings.ToUpper(e.Name[0].Text))
		if len(e.Args) == 0 {
			return
		}
	} else if len(e.Name) == 1 && e.FuncName() == "position" && len(e.Args) == 2 {
		w.put("position(")
		w.expr(e.Args[0])
		w.put(" IN ")
		w.expr(e.Args[1])
		w.put(")")
		return
	} else {
		w.callName(e.Name)
	}
	w.put("(")
	if e.Distinct {
		w.put("DISTINCT ")
	}
	if e.Star {
		w.put("*")
	}
	w.exprs(e.Args)
	if e.JSON != nil {
		w.jsonClauses(e.JSON)
	}
	w.orderBy(e.OrderBy)
	w.put(")")
	if len(e.WithinGroup) > 0 {
		w.put(" WITHIN GROUP (ORDER BY ")
		w.sorts(e.WithinGroup)
		w.put(")")
	}
	if e.Filter != nil {
		w.put(" FILTER (WHERE ")
		w.expr(e.Filter)
		w.put(")")
	}
	if e.IgnoreNulls {
		w.put(" IGNORE NULLS")
	}
	if e.Over != nil {
		w.put(" OVER ")
		w.window(*e.Over)
	}
}

// callName prints a function's name; a word that the grammar treats apart keeps its
// bare spelling.
func (w *writer) callName(parts []Name) {
	for i, n := range parts {
		if i > 0 {
			w.put(".")
		}
		if n.Quoted {
			w.put(QuoteName(n))
		} else {
			w.put(strings.ToLower(n.Text))
		}
	}
}

func (w *writer) jsonClauses(j *JSONClauses) {
	if j.Returning != nil {
		w.put(" RETURNING ", j.Returning.String())
	}
	switch j.Wrapper {
	case "without":
		w.put(" WITHOUT ARRAY WRAPPER")
	case "conditional":
		w.put(" WITH CONDITIONAL ARRAY WRAPPER")
	case "unconditional":
		w.put(" WITH UNCONDITIONAL ARRAY WRAPPER")
	}
	w.jsonBehaviour(j.OnEmpty, j.DefaultOnEmpty, "EMPTY")
	w.jsonBehaviour(j.OnError, j.DefaultOnError, "ERROR")
	if j.Nulls != "" {
		w.put(" ", strings.ToUpper(j.Nulls), " ON NULL")
	}
}

func (w *writer) jsonBehaviour(b JSONBehaviour, def Expr, when string) {
	if b == JSONUnset {
		return
	}
	words := [...]string{
		JSONError: "ERROR", JSONNull: "NULL", JSONDefault: "DEFAULT ", JSONTrue: "TRUE", JSONFalse: "FALSE",
		JSONUnknown: "UNKNOWN", JSONEmptyArray: "EMPTY ARRAY", JSONEmptyObject: "EMPTY OBJECT",
	}
	w.put(" ", words[b])
	if def != nil {
		w.expr(def)
	}
	w.put(" ON ", when)
}

func (w *writer) orderBy(s []SortItem) {
	if len(s) > 0 {
		w.put(" ORDER BY ")
		w.sorts(s)
	}
}

func (w *writer) sorts(list []SortItem) {
	for i, s := range list {
		if i > 0 {
			w.put(", ")
		}
		w.expr(s.Expr)
		if s.Desc {
			w.put(" DESC")
		}
		w.put([...]string{NullsDefault: "", NullsFirst: " NULLS FIRST", NullsLast: " NULLS LAST"}[s.Nulls])
	}
}

func (w *writer) window(s WindowSpec) {
	if s.Name != nil {
		w.put(QuoteName(*s.Name))
		return
	}
	var parts []string
	add := func(f func(w *writer)) {
		var sub writer
		f(&sub)
		parts = append(parts, strings.TrimSpace(sub.String()))
	}
	if s.Ref != nil {
		add(func(w *writer) { w.put(QuoteName(*s.Ref)) })
	}
	if len(s.PartitionBy) > 0 {
		add(func(w *writer) { w.put("PARTITION BY "); w.exprs(s.PartitionBy) })
	}
	if len(s.OrderBy) > 0 {
		add(func(w *writer) { w.orderBy(s.OrderBy) })
	}
	if s.Frame != nil {
		add(func(w *writer) {
			w.put([...]string{FrameRows: "ROWS", FrameRange: "RANGE"}[s.Frame.Mode], " BETWEEN ")
			w.bound(s.Frame.Start)
			w.put(" AND ")
			w.bound(s.Frame.End)
		})
	}
	w.put("(", strings.Join(parts, " "), ")")
}

func (w *writer) bound(b FrameBound) {
	if b.Offset != nil {
		w.expr(b.Offset)
		w.put(" ")
	}
	w.put([...]string{
		UnboundedPreceding: "UNBOUNDED PRECEDING", OffsetPreceding: "PRECEDING", CurrentRow: "CURRENT ROW",
		OffsetFollowing: "FOLLOWING", UnboundedFollowing: "UNBOUNDED FOLLOWING",
	}[b.Kind])
}
