package operators

import (
	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
)

// groupAgg is an updating GROUP BY. For each batch it says once for every group that
// the batch touched what became of it: nothing when the result is what it was, else
// an insert, an update, or a delete when the last row of the group went.
//
// Without keys there is one group. It exists from the start, with the results of no
// rows, and is never deleted.
type groupAgg struct {
	aggs   *aggregates
	keys   []int
	schema types.Schema
	upsert bool // the output goes without old halves
	global bool

	backend *state.Backend
	groups  *state.Table
	childs  []*state.Table

	round   uint32
	marks   []uint32 // by record: the round that touched it last
	hashes  []uint64
	keyCols []*vec.Vector
	ids     []uint32
	signs   []int8
	touched []uint32 // records of this batch, each once, in the order of rows
	fresh   []bool   // by position in touched: created by this batch
	take    []int32
	ops     []vec.Op
}

const groupsTable = "groups"

func newGroupAgg(n *plan.Node, ctx Context) (Operator, error) {
	in := ctx.Inputs[0]
	aggs, err := newAggregates(n.GroupAgg.Aggs, in, n.GroupAgg.Changing, "rows")
	if err != nil {
		return nil, err
	}
	g := &groupAgg{aggs: aggs, keys: n.GroupAgg.Keys, schema: n.Schema,
		upsert: n.Changelog == plan.Upsert, global: len(n.GroupAgg.Keys) == 0}
	g.backend, err = state.New(aggs.decls(groupsTable, state.KindKeyed, typesOf(in, g.keys), in)...)
	if err != nil {
		return nil, err
	}
	g.groups = g.backend.Table(groupsTable)
	for _, d := range aggs.distincts {
		g.childs = append(g.childs, g.backend.Table(d.table(groupsTable)))
	}
	return g, nil
}

func (g *groupAgg) child(i int) *state.Table { return g.childs[i] }

func (g *groupAgg) State() *state.Backend { return g.backend }

// Pending is true until the group of a GROUP BY without keys is there.
func (g *groupAgg) Pending() bool { return g.global && g.groups.Len() == 0 }

func (g *groupAgg) Advance(int64) (Output, error) { return g.Resume() }

// Resume gives the row of the empty group if it has not been given yet.
func (g *groupAgg) Resume() (Output, error) {
	if !g.Pending() {
		return Output{}, nil
	}
	g.ids = grow(g.ids, 1)
	g.groups.Upsert([]uint64{globalHash()}, nil, nil, g.ids)
	out := g.newBatch(1)
	if err := g.results(out, g.ids); err != nil {
		return Output{}, err
	}
	out.N = 1
	return Output{Batch: out}, nil
}

func globalHash() uint64 {
	var h [1]uint64
	vec.HashColumns(nil, 1, h[:])
	return h[0]
}

func (g *groupAgg) newBatch(n int) *vec.Batch { return vec.NewBatch(g.schema.Types(), n) }

// results appends keys and results of the records to the columns of out.
func (g *groupAgg) results(out *vec.Batch, ids []uint32) error {
	k := len(g.keys)
	g.groups.AppendKeys(ids, out.Cols[:k])
	return g.aggs.emit(g.groups, ids, out.Cols[k:], g.child)
}

func (g *groupAgg) Process(_ int, b *vec.Batch) (Output, error) {
	defer b.Release()
	if b.N == 0 {
		return Output{}, nil
	}
	if err := g.aggs.begin(b); err != nil {
		return Output{}, err
	}
	g.find(b)
	// A delete carries the row that it takes away, also where it goes by key alone: a target
	// can tell by that whether the row is still the one that stands.
	olds := !g.upsert || b.Ops != nil
	out := g.newBatch(2 * len(g.touched))
	if olds {
		if err := g.results(out, g.touched); err != nil {
			return Output{}, err
		}
	}
	g.groups.Cells().Touch(g.touched)
	g.signs = signsOf(b, g.signs)
	g.aggs.update(b, subset{ids: g.ids, signs: g.signs}, g.groups, g.child)
	if err := g.results(out, g.touched); err != nil {
		return Output{}, err
	}
	wm := b.WM
	if b.RowWM != nil {
		for _, w := range b.RowWM {
			wm = min(wm, w)
		}
	}
	return Output{Batch: g.changes(out, olds, wm)}, nil
}

// find gives every row its record and lists the records touched.
func (g *groupAgg) find(b *vec.Batch) {
	g.ids = grow(g.ids, b.N)
	g.touched, g.fresh = g.touched[:0], g.fresh[:0]
	var created []int32
	if g.global {
		created = g.groups.Upsert([]uint64{globalHash()}, nil, nil, g.ids[:1])
		for i := range g.ids {
			g.ids[i] = g.ids[0]
		}
		g.touched, g.fresh = append(g.touched, g.ids[0]), append(g.fresh, len(created) > 0)
		return
	}
	g.hashes = grow(g.hashes, b.N)
	g.keyCols = columns(b, g.keys, g.keyCols)
	vec.HashColumns(g.keyCols, b.N, g.hashes)
	created = g.groups.Upsert(g.hashes, g.keyCols, nil, g.ids)

	g.marks, g.round = nextRound(g.marks, g.round, g.groups.Cells())
	for k, id := range g.ids {
		isNew := len(created) > 0 && int(created[0]) == k
		if isNew {
			created = created[1:]
		}
		if g.marks[id] != g.round {
			g.marks[id] = g.round
			g.touched, g.fresh = append(g.touched, id), append(g.fresh, isNew)
		}
	}
}

// changes turns the results before (if out has them: without them no group can go) and
// after the batch into a changelog, and ends the groups that have no rows.
func (g *groupAgg) changes(out *vec.Batch, olds bool, wm int64) *vec.Batch {
	after := 0
	if olds {
		after = len(g.touched)
	}
	g.take, g.ops = g.take[:0], g.ops[:0]
	plain := true
	for i, id := range g.touched {
		before, now := int32(i), int32(after+i)
		gone := !g.global && rows(g.groups, id) <= 0
		if gone {
			g.groups.Delete(id)
		}
		switch {
		case g.fresh[i] && gone:
		case g.fresh[i]:
			g.take, g.ops = append(g.take, now), append(g.ops, vec.Insert)
		case gone:
			g.take, g.ops = append(g.take, before), append(g.ops, vec.Delete)
			plain = false
		case g.upsert:
			g.take, g.ops = append(g.take, now), append(g.ops, vec.UpdateAfter)
			plain = false
		case !g.same(out, i, after+i):
			g.take = append(g.take, before, now)
			g.ops = append(g.ops, vec.UpdateBefore, vec.UpdateAfter)
			plain = false
		}
	}
	if len(g.take) == 0 {
		out.Release()
		return nil
	}
	res := &vec.Batch{Cols: make([]*vec.Vector, len(out.Cols)), N: len(g.take), WM: wm}
	for c, col := range out.Cols {
		res.Cols[c] = col.Take(g.take)
	}
	out.Release()
	if !plain {
		res.Ops = append([]vec.Op(nil), g.ops...)
	}
	return res
}

// same reports whether two rows of results are equal.
func (g *groupAgg) same(out *vec.Batch, i, j int) bool {
	for _, col := range out.Cols[len(g.keys):] {
		if !vec.EqualValues(col, i, col, j) {
			return false
		}
	}
	return true
}
