// Package opcheck checks what travels on an edge: that a changelog takes away only
// what it gave, and that the halves of an update stand together. It is for tests
// and the simulator, keeps every live row, and allocates freely.
package opcheck

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
)

// Checker follows one edge, or the folded output of one operator.
type Checker struct {
	mode plan.ChangelogMode
	key  []int
	live relation

	before *before // what was live when the checker began, nil for nothing
	taken  map[string]int
}

// relation is a bag of rows by their text, or a set of rows by their key's.
type relation map[string]live

type live struct {
	n        int
	row, key string // key: of what says which columns identify a row
}

// unique fails when two live rows have one key.
func (r relation) unique() error {
	rows := make(map[string]string, len(r))
	for id, l := range r {
		if l.key == "" {
			continue
		}
		if other, ok := rows[l.key]; ok || l.n > 1 {
			return fmt.Errorf("the key %s has more than one row: %s, %s", l.key, id, other)
		}
		rows[l.key] = id
	}
	return nil
}

// New returns a checker of an edge in this mode; key may be nil unless the mode is
// Upsert.
func New(mode plan.ChangelogMode, key []int) *Checker {
	return &Checker{mode: mode, key: key, live: relation{}, taken: map[string]int{}}
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
	row := Row(b, i, nil)
	id := row
	if c.mode == plan.Upsert {
		id = Row(b, i, c.key)
		if old, exists := c.has(id); exists && op == vec.Insert {
			return fmt.Errorf("inserts a key that exists as %s", old)
		}
	}
	if op.Sign() < 0 || c.mode == plan.Upsert && op == vec.UpdateAfter {
		if !c.remove(id) {
			return fmt.Errorf("takes away a row that is not there")
		}
	}
	if op.Sign() > 0 {
		l := live{n: c.live[id].n + 1, row: row}
		if c.key != nil {
			l.key = Row(b, i, c.key)
		}
		c.live[id] = l
	}
	return nil
}

func (c *Checker) has(id string) (row string, ok bool) {
	if l, ok := c.live[id]; ok {
		return l.row, true
	}
	return c.before.has(id)
}

// remove takes a row away: one that came since, else one from before.
func (c *Checker) remove(id string) bool {
	l, ok := c.live[id]
	switch {
	case !ok:
		c.taken[id]++
		return c.before.take(id)
	case l.n == 1:
		delete(c.live, id)
	default:
		l.n--
		c.live[id] = l
	}
	return true
}

// Rows is the relation so far, each row as often as it is live, sorted.
func (c *Checker) Rows() []string {
	var out []string
	for _, l := range c.live {
		for range l.n {
			out = append(out, l.row)
		}
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
