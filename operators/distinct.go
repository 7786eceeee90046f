package operators

import (
	"slices"

	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/vec"
)

// distinct is one argument of which aggregates want each value of a group once, those of
// DISTINCT and MIN and MAX of rows that may be taken back: a child table of the groups
// holds the values, with a count of its rows for every variant.
type distinct struct {
	arg      int // input column
	variants []*variant

	hashes  []uint64
	keys    [1]*vec.Vector
	notNull subset
	ids     []uint32
}

// variant is a FILTER under which the argument is aggregated. Its calls see a value
// when its count becomes positive, and lose it when the count is so no more.
type variant struct {
	filter  int   // index into aggregates.filters, or -1
	calls   []int // indexes into aggregates.calls
	changed subset
	minus   bool // some sign of changed is -1
	// ordered: MIN or MAX wants the values that have a count in order.
	ordered bool
	order   *state.Order // of the current update
}

func (d *distinct) variant(filter int) *variant {
	for _, v := range d.variants {
		if v.filter == filter {
			return v
		}
	}
	v := &variant{filter: filter}
	d.variants = append(d.variants, v)
	return v
}

func (d *distinct) hash(b *vec.Batch) {
	d.hashes = grow(d.hashes, b.N)
	d.keys[0] = b.Cols[d.arg]
	vec.HashColumns(d.keys[:], b.N, d.hashes)
}

// update folds the rows of s into the child table and what changes there into the
// groups.
func (d *distinct) update(a *aggregates, b *vec.Batch, s *subset, groups, child *state.Table) {
	in := d.withValue(b.Cols[d.arg], s)
	d.ids = grow(d.ids, len(in.ids))
	created := child.UpsertOf(in.ids, d.hashes, d.keys[:], in.sel, d.ids)
	child.Cells().Touch(d.ids)
	for _, v := range d.variants {
		v.changed.reset()
		v.minus = false
	}
	d.count(a, in, child)
	cells, base := groups.Cells(), groups.ValueOffset()
	for _, v := range d.variants {
		c := &v.changed
		if len(c.ids) == 0 {
			continue
		}
		signs := c.signs
		if !v.minus {
			signs = nil
		}
		for _, i := range v.calls {
			call := &a.calls[i]
			call.acc.Update(cells, base+call.off, c.ids, b.Cols[d.arg], c.sel, signs)
		}
	}
	if in.signs != nil {
		for k, sign := range in.signs {
			if sign < 0 {
				d.forget(child, d.ids[k])
			}
		}
	}
	if !d.unfiltered() {
		for _, k := range created {
			d.forget(child, d.ids[k])
		}
	}
}

// count adds the rows to the counts of their values and notes the changes.
func (d *distinct) count(a *aggregates, in *subset, child *state.Table) {
	cells, base := child.Cells(), child.ValueOffset()
	pages, width := cells.Pages, cells.Width()
	for n, v := range d.variants {
		if v.order = nil; v.ordered {
			v.order = child.Order(n)
		}
	}
	for k, id := range d.ids {
		i, sign := in.row(k), in.sign(k)
		pass := a.passes[i]
		o := int(id&63)*width + base
		counts := pages[id>>6].W[o : o+len(d.variants)]
		for n, v := range d.variants {
			if v.filter >= 0 && pass>>v.filter&1 == 0 {
				continue
			}
			old := int64(counts[n])
			counts[n] = uint64(old + int64(sign))
			if was, is := old > 0, old+int64(sign) > 0; was != is {
				c := &v.changed
				c.sel, c.ids, c.signs = append(c.sel, i), append(c.ids, in.ids[k]), append(c.signs, sign)
				v.minus = v.minus || sign < 0
				switch {
				case v.order == nil:
				case is:
					v.order.Enter(id)
				default:
					v.order.Leave(id)
				}
			}
		}
	}
}

// withValue gives the rows whose argument is not NULL.
func (d *distinct) withValue(arg *vec.Vector, s *subset) *subset {
	if arg.Valid == nil {
		return s
	}
	out := &d.notNull
	out.reset()
	for k, id := range s.ids {
		i := s.row(k)
		if arg.IsNull(int(i)) {
			continue
		}
		out.sel, out.ids = append(out.sel, i), append(out.ids, id)
		if s.signs != nil {
			out.signs = append(out.signs, s.signs[k])
		}
	}
	if s.signs == nil {
		out.signs = nil
	}
	return out
}

// unfiltered: some variant counts every row, so that a new value has a count.
func (d *distinct) unfiltered() bool {
	return slices.ContainsFunc(d.variants, func(v *variant) bool { return v.filter < 0 })
}

// forget deletes a value that no variant counts.
func (d *distinct) forget(child *state.Table, id uint32) {
	cells := child.Cells()
	if !cells.Live(id) {
		return
	}
	base := child.ValueOffset()
	for _, c := range cells.Record(id)[base : base+len(d.variants)] {
		if c != 0 {
			return
		}
	}
	child.Delete(id)
}

// appendExtreme appends the least or greatest value kept of each group.
func (c *aggCall) appendExtreme(child *state.Table, ids []uint32, out []*vec.Vector) {
	o := child.Order(c.variant)
	find := o.Greatest
	if c.extreme < 0 {
		find = o.Least
	}
	var one [1]uint32
	for _, id := range ids {
		if one[0] = find(id); one[0] == state.NoRecord {
			out[0].AppendNull()
		} else {
			child.AppendKeys(one[:], out)
		}
	}
}
