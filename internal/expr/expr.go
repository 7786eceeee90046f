// Package expr holds bound expressions, the one table of functions and aggregates,
// and the vectorised programs that evaluate them.
package expr

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// Kind is the form of an expression node.
type Kind string

const (
	// Column reads column Col of the input batch.
	Column Kind = "col"
	// Literal is the constant Val.
	Literal Kind = "lit"
	// Call applies the function Fn of the table to Args, all of which are evaluated.
	Call Kind = "call"
	// Cast converts Args[0] to Type; a value that cannot be converted is a row error.
	Cast Kind = "cast"
	// TryCast is Cast with NULL in place of the row error.
	TryCast Kind = "trycast"
	// And and Or are three-valued and evaluate an operand only for rows that the
	// operands before it leave open.
	And Kind = "and"
	Or  Kind = "or"
	// Case holds condition, result, condition, result, …, and an else when the number
	// of Args is odd. A branch is evaluated only for the rows that reach it.
	Case Kind = "case"
	// Coalesce evaluates each argument only for rows still NULL.
	Coalesce Kind = "coalesce"
)

// Expr is a bound expression: names resolved, types settled, implicit casts made
// explicit. It is plain data, immutable after binding, and its JSON form is part of
// the stored plan.
type Expr struct {
	Kind Kind         `json:"e"`
	Type types.Type   `json:"t"`
	Col  int          `json:"col,omitempty"`
	Val  *types.Value `json:"val,omitempty"`
	Fn   string       `json:"fn,omitempty"`
	Args []*Expr      `json:"args,omitempty"`
	Pos  sqlerr.Pos   `json:"pos,omitempty"`
}

// Col returns a reference to input column i.
func Col(i int, t types.Type) *Expr { return &Expr{Kind: Column, Type: t, Col: i} }

// Lit returns a constant.
func Lit(v types.Value) *Expr { return &Expr{Kind: Literal, Type: v.Type, Val: &v} }

// AggCall is a bound aggregate of a GROUP BY: the function Fn of the aggregate
// table over argument columns of the operator's input.
type AggCall struct {
	Fn       string     `json:"fn"`
	Args     []int      `json:"args,omitempty"` // input columns; empty for COUNT(*)
	Distinct bool       `json:"distinct,omitempty"`
	Filter   int        `json:"filter"` // BOOLEAN input column of FILTER, or -1
	Type     types.Type `json:"type"`   // of the result
	Pos      sqlerr.Pos `json:"pos,omitempty"`
}

// RowError is the failure of one row of a batch in an expression: a bad cast, a
// division by zero, an overflow. What follows is the policy of the operator, not
// of the kernel.
type RowError struct {
	Row  int32
	Code string
	Msg  string
	Pos  sqlerr.Pos
}

// RowErrors collects the failures of one batch. A row is reported once, by the
// first expression that failed for it.
type RowErrors struct {
	List []RowError
	seen map[int32]struct{}
}

// Add reports row as failed unless it already is.
func (e *RowErrors) Add(row int32, code, msg string, pos sqlerr.Pos) {
	if e.seen == nil {
		e.seen = make(map[int32]struct{})
	}
	if _, dup := e.seen[row]; dup {
		return
	}
	e.seen[row] = struct{}{}
	e.List = append(e.List, RowError{Row: row, Code: code, Msg: msg, Pos: pos})
}

// Failed reports whether row has failed.
func (e *RowErrors) Failed(row int32) bool {
	_, ok := e.seen[row]
	return ok
}

// Reset empties e for the next batch.
func (e *RowErrors) Reset() {
	e.List = e.List[:0]
	clear(e.seen)
}
