// Package opcheck checks what travels on an edge: that a changelog takes away only
// what it gave, and that the halves of an update stand together. It is for tests
// and the simulator, keeps every live row, and allocates freely.
package opcheck

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/operators"
	"github.com/streamsql/streamsql/planner/plan"
)

// Checker follows one edge, or the folded output of one operator.
type Checker struct {
	mode plan.ChangelogMode
	key  []int
	live map[string]int // rows under Retract and Append, keys under Upsert
	rows map[string]string
}

// New returns a checker of an edge in this mode; key may be nil unless the mode is
// Upsert.
func New(mode plan.ChangelogMode, key []int) *Checker {
	return &Checker{mode: mode, key: key, live: map[string]int{}, rows: map[string]string{}}
}

// Check takes a batch in. The first fault is returned and says which row it is.
func (c *Checker) Check(b *vec.Batch) error {
	for _, col := range b.Cols {
		if col.Len != b.N {
			return fmt.Errorf("a column of %d rows in a batch of %d", col.Len, b.N)
		}
	}
	if b.Ops != nil && len(b.Ops) != b.N {
		return fmt.Errorf("%d ops in a batch of %d", len(b.Ops), b.N)
	}
	if b.RowWM != nil && len(b.RowWM) != b.N {
		return fmt.Errorf("%d carried watermarks in a batch of %d", len(b.RowWM), b.N)
	}
	for i := range b.N {
		if err := c.row(b, i); err != nil {
			return fmt.Errorf("row %d, %s %s: %w", i, b.Op(i), Row(b, i, nil), err)
		}
	}
	return nil
}

func (c *Checker) row(b *vec.Batch, i int) error {
	op := b.Op(i)
	switch {
	case c.mode == plan.Append && op != vec.Insert:
		return fmt.Errorf("an append-only edge carries a change")
	case c.mode == plan.Upsert && op == vec.UpdateBefore:
		return fmt.Errorf("an upsert edge carries an old half")
	case op == vec.UpdateBefore && (i+1 >= b.N || b.Op(i+1) != vec.UpdateAfter):
		return fmt.Errorf("an old half without its new half")
	case op == vec.UpdateAfter && c.mode == plan.Retract && (i == 0 || b.Op(i-1) != vec.UpdateBefore):
		return fmt.Errorf("a new half without its old half")
	case op == vec.UpdateAfter && c.mode == plan.Retract && c.key != nil && Row(b, i, c.key) != Row(b, i-1, c.key):
		return fmt.Errorf("the halves of an update differ in their key %s", Row(b, i-1, c.key))
	}
	if c.mode == plan.Upsert {
		return c.upsert(op, Row(b, i, c.key), Row(b, i, nil))
	}
	row := Row(b, i, nil)
	if op.Sign() > 0 {
		c.live[row]++
		return nil
	}
	if c.live[row] == 0 {
		return fmt.Errorf("takes away a row that is not there")
	}
	if c.live[row]--; c.live[row] == 0 {
		delete(c.live, row)
	}
	return nil
}

func (c *Checker) upsert(op vec.Op, key, row string) error {
	old, exists := c.rows[key]
	switch {
	case op == vec.Insert && exists:
		return fmt.Errorf("inserts a key that exists as %s", old)
	case op != vec.Insert && !exists:
		return fmt.Errorf("changes a key that is not there")
	case op == vec.Delete:
		delete(c.rows, key)
	default:
		c.rows[key] = row
	}
	return nil
}

// Rows is the relation so far, each row as often as it is live, sorted.
func (c *Checker) Rows() []string {
	var out []string
	for r, n := range c.live {
		for range n {
			out = append(out, r)
		}
	}
	for _, r := range c.rows {
		out = append(out, r)
	}
	slices.Sort(out)
	return out
}

// Row prints the values of row i (of the columns cols, nil for all) such that rows
// print alike when they are equal.
func Row(b *vec.Batch, i int, cols []int) string {
	if cols == nil {
		for c := range b.Cols {
			cols = append(cols, c)
		}
	}
	parts := make([]string, len(cols))
	for k, c := range cols {
		parts[k] = cellText(b.Cols[c], i)
	}
	return strings.Join(parts, " ")
}

func cellText(v *vec.Vector, i int) string {
	if v.IsNull(i) {
		return "NULL"
	}
	switch v.Type.Phys() {
	case types.PBool:
		return fmt.Sprint(v.Bool(i))
	case types.PInt64:
		return fmt.Sprint(v.I64[i])
	case types.PFloat64:
		f := v.F64[i]
		if f == 0 {
			f = math.Abs(f)
		}
		return fmt.Sprint(f)
	case types.PInt128:
		return string(v.I128[i].AppendDecimal(nil, int(v.Type.Scale)))
	case types.PInterval:
		return fmt.Sprint(v.Iv[i])
	}
	return fmt.Sprintf("%q", v.Bytes(i))
}

// Operator is a checker that stands in a chain: it passes every batch on.
type Operator struct{ Checker *Checker }

var _ operators.Operator = Operator{}

// Process checks b and passes it on.
func (o Operator) Process(_ int, b *vec.Batch) (operators.Output, error) {
	return operators.Output{Batch: b}, o.Checker.Check(b)
}

// Advance does nothing.
func (Operator) Advance(int64) (operators.Output, error) { return operators.Output{}, nil }

// Resume does nothing.
func (Operator) Resume() (operators.Output, error) { return operators.Output{}, nil }

// State is nil: what a checker knows is not part of a checkpoint.
func (Operator) State() *state.Backend { return nil }
