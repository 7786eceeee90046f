package operators

import (
	"slices"

	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/plan"
)

// Carried is how the state of a node of an older plan becomes that of a later one's.
type Carried struct {
	// Old is an empty backend of the older node, to be restored.
	Old *state.Backend
	// Copies is what the later node's backend imports from it.
	Copies []state.Copy
	// Same: the older snapshots are those of the later node as they are.
	Same bool
}

// Carry compares the state of two nodes. aggs gives for each aggregate of now the one of
// old that it goes on with, or -1 to begin empty; where a node has none it is nil. The
// DISTINCT aggregates of one argument and filter go on together or not at all. Nodes
// whose state is laid out by other keys or windows are CodeStateMismatch.
func Carry(old, now *plan.Node, oldIn, nowIn []types.Schema, aggs []int) (*Carried, error) {
	was, err := Build(old, Context{Inputs: oldIn})
	if err != nil {
		return nil, err
	}
	is, err := Build(now, Context{Inputs: nowIn})
	if err != nil {
		return nil, err
	}
	c := &Carried{Old: was.State()}
	switch is := is.(type) {
	case *groupAgg:
		if was, ok := was.(*groupAgg); ok {
			c.Copies, err = is.aggs.carry(was.aggs, groupsTable, aggs)
		}
	case *windowAgg:
		was, ok := was.(*windowAgg)
		switch {
		case !ok:
		case is.win != was.win:
			return nil, sqlerr.New(sqlerr.CodeStateMismatch, 0, "its windows are others")
		case is.panes != was.panes:
			return nil, sqlerr.New(sqlerr.CodeStateMismatch, 0, "its aggregates keep rows by window and the old ones by pane, or the other way round")
		default:
			c.Copies, err = is.aggs.carry(was.aggs, bucketsTable, aggs)
			if is.panes && err == nil {
				side := c.Copies[0]
				side.Table, side.From = sidesTable, sidesTable
				c.Copies = append(c.Copies, side)
			}
		}
	case *assign:
		if was, ok := was.(*assign); ok && is.win == was.win && slices.Equal(is.in, was.in) {
			c.Copies = whole(restTable, restWords)
		}
	case *materialize:
		if was, ok := was.(*materialize); ok && slices.Equal(is.types, was.types) {
			c.Copies = whole(liveTable, 1)
		}
	}
	if err == nil && c.Copies == nil {
		err = sqlerr.New(sqlerr.CodeStateMismatch, 0, "it keeps other rows")
	}
	if err != nil {
		return nil, err
	}
	if err := is.State().Import(c.Old, c.Copies); err != nil {
		return nil, err
	}
	c.Same = is.State().Alike(c.Old) && !slices.ContainsFunc(c.Copies, moved)
	return c, nil
}

// whole takes a table over as it is.
func whole(table string, words int) []state.Copy {
	c := state.Copy{Table: table, From: table}
	for w := range words {
		c.Words = append(c.Words, w)
	}
	return []state.Copy{c}
}

func moved(c state.Copy) bool {
	for w, from := range c.Words {
		if w != from {
			return true
		}
	}
	return c.Table != c.From
}

// carry says which words of the group table and its children go on with which of old.
func (a *aggregates) carry(old *aggregates, table string, calls []int) ([]state.Copy, error) {
	words := begun(a.words)
	for w := range a.reserved {
		words[w] = w
	}
	for i := range a.calls {
		c := &a.calls[i]
		if c.shared || calls[i] < 0 {
			continue
		}
		o := &old.calls[calls[i]]
		if o.shared || c.Fn != o.Fn || c.acc.Words() != o.acc.Words() || !slices.Equal(c.acc.Heaps(), o.acc.Heaps()) {
			return nil, sqlerr.New(sqlerr.CodeStateMismatch, 0, "%s does not go on as %s", o.Fn, c.Fn)
		}
		for w := range c.acc.Words() {
			words[c.off+w] = o.off + w
		}
	}
	out := []state.Copy{{Table: table, From: table, Words: words}}
	for _, d := range a.distincts {
		from, counts, err := d.carry(old, calls)
		if err != nil {
			return nil, err
		}
		if from != nil {
			out = append(out, state.Copy{Table: d.table(table), From: from.table(table), Words: counts})
		}
	}
	return out, nil
}

// carry finds the argument of old whose values d goes on with, nil for none.
func (d *distinct) carry(old *aggregates, calls []int) (from *distinct, counts []int, err error) {
	counts = begun(len(d.variants))
	for n, v := range d.variants {
		for k, i := range v.calls {
			was, at := old.variantOf(calls[i])
			if from == nil {
				from = was
			}
			if was != nil && was != from || k > 0 && at != counts[n] {
				return nil, nil, sqlerr.New(sqlerr.CodeStateMismatch, 0, "DISTINCT aggregates of one argument go on together or not at all")
			}
			counts[n] = at
		}
	}
	return from, counts, nil
}

// variantOf finds the argument and variant that a call aggregates the values of.
func (a *aggregates) variantOf(call int) (*distinct, int) {
	for _, d := range a.distincts {
		for n, v := range d.variants {
			if slices.Contains(v.calls, call) {
				return d, n
			}
		}
	}
	return nil, -1
}

func begun(n int) []int { return slices.Repeat([]int{-1}, n) }
