package logical

import (
	"slices"

	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/plan"
)

// Table is a declared table as a source: the columns it can give, bound. Its column
// space is Read followed by Virtual.
type Table struct {
	Def *catalog.Table
	// Read are the physical and metadata columns.
	Read []plan.ReadColumn
	// Virtual are computed columns over Read and earlier Virtual ones.
	Virtual      []*expr.Expr
	VirtualNames []string
	// Declared gives for each column of Def its place in the column space, -1 for those
	// that Moment computes.
	Declared []int
	// Moment gives for each column of Def that depends on the moment of the row what it
	// is, over the column space; nil for the others. A scan does not know the moment.
	Moment []*expr.Expr
	// Watermark is over the column space, nil for a table without event time; Time is
	// the column it is for, -1 without.
	Watermark *expr.Expr
	Time      int
	// Key are the PRIMARY KEY's places in the column space.
	Key []int
}

// Column describes place i of the table's column space.
func (t *Table) Column(i int) types.Column {
	if i < len(t.Read) {
		return t.Read[i].Column
	}
	v := i - len(t.Read)
	return types.Column{Name: t.VirtualNames[v], Type: t.Virtual[v].Type}
}

// Scan reads a table. Output are places of the table's column space; Predicate, over
// the column space too, is applied behind the watermark generator.
type Scan struct {
	Table     *Table
	Output    []int
	Predicate *expr.Expr
	// Timed: some consumer uses the table's event time.
	Timed bool
	Pos   sqlerr.Pos
}

// NewScan returns all declared columns of t.
func NewScan(t *Table, pos sqlerr.Pos) Node {
	s := &Scan{Table: t, Output: t.Declared, Timed: t.Time >= 0, Pos: pos}
	if !slices.ContainsFunc(t.Moment, func(e *expr.Expr) bool { return e != nil }) {
		return s
	}
	s.Output = make([]int, len(t.Read)+len(t.Virtual))
	for i := range s.Output {
		s.Output[i] = i
	}
	p := &Project{Input: s}
	for i, c := range t.Def.Columns {
		e := t.Moment[i]
		if e == nil {
			e = Ref(s, t.Declared[i])
		}
		p.Exprs, p.Names = append(p.Exprs, e), append(p.Names, c.Name)
	}
	return p
}

// ColumnType is the type of column i of Def.
func (t *Table) ColumnType(i int) types.Type {
	if e := t.Moment[i]; e != nil {
		return e.Type
	}
	return t.Column(t.Declared[i]).Type
}

func (s *Scan) Columns() []Column {
	out := make([]Column, len(s.Output))
	for i, o := range s.Output {
		out[i] = Column{Column: s.Table.Column(o), Time: s.Timed && o == s.Table.Time}
	}
	return out
}

func (s *Scan) Inputs() []Node            { return nil }
func (s *Scan) WithInputs(in []Node) Node { return s }
