package operators

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/cell"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/expr/agg"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// rowsWord is the value word of a group that counts its rows. COUNT(*) reads it.
const rowsWord = 0

// aggregates are the aggregates of one node, laid out in the value words of a group's
// record, and the distinct values that they need in child tables.
type aggregates struct {
	calls     []aggCall
	filters   []int // input columns of FILTER, each once
	distincts []*distinct
	// words of a record, of which heaps are references; sigs says what they mean. The
	// first reserved are the operator's.
	words, reserved int
	heaps           []int
	sigs            []string
	// fixed is the call whose kernel cannot take rows back, or -1.
	fixed int
	errs  expr.RowErrors

	subsets []subset // by filter, of the current update
	ready   []bool
	passes  []uint64 // by row of the batch: bit f is set when filter f is true
}

type aggCall struct {
	expr.AggCall
	acc    agg.Accumulator
	off    int // from the first value word
	arg    int // input column, or -1
	filter int // index into filters, or -1
	// shared: the call reads rowsWord and has no words of its own.
	shared bool
	// extreme: -1 for MIN and 1 for MAX of the values kept in distincts[kept], which are
	// in order by their value word of variant.
	extreme       int
	kept, variant int
}

// subset is some rows of a batch: row k is row sel[k] (k when sel is nil), belongs to
// record ids[k] and has sign signs[k] (+1 when signs is nil).
type subset struct {
	sel   []int32
	ids   []uint32
	signs []int8
}

func (s *subset) row(k int) int32 {
	if s.sel == nil {
		return int32(k)
	}
	return s.sel[k]
}

func (s *subset) sign(k int) int8 {
	if s.signs == nil {
		return 1
	}
	return s.signs[k]
}

func (s *subset) reset() { s.sel, s.ids, s.signs = s.sel[:0], s.ids[:0], s.signs[:0] }

// newAggregates binds calls over an input of these columns, whose rows may be taken back
// when changing is set. The first reserved value words, described by sigs, are the
// operator's; the first of them is rowsWord.
func newAggregates(calls []expr.AggCall, in types.Schema, changing bool, sigs ...string) (*aggregates, error) {
	a := &aggregates{words: len(sigs), reserved: len(sigs), sigs: sigs, fixed: -1}
	for _, c := range calls {
		f, ok := agg.Find(c.Fn)
		if !ok {
			return nil, sqlerr.Internalf("no aggregate %q", c.Fn)
		}
		args := make([]types.Type, len(c.Args))
		for i, col := range c.Args {
			args[i] = in[col].Type
		}
		b := aggCall{AggCall: c, acc: f.New(args, c.Type), off: a.words, arg: -1, filter: -1}
		sig := signature(c, args)
		if len(c.Args) > 0 {
			b.arg = c.Args[0]
		}
		if c.Filter >= 0 {
			b.filter = indexOf(&a.filters, c.Filter)
		}
		if !b.acc.Retracts() {
			switch {
			case changing:
				b.acc, b.extreme = f.Changing(args, c.Type), f.Extreme
				sig += " changing"
			case a.fixed < 0:
				a.fixed = len(a.calls)
			}
		}
		switch {
		case b.arg < 0 && c.Fn == "count" && b.filter < 0:
			b.shared, b.off = true, rowsWord
			a.calls = append(a.calls, b)
			continue
		case b.extreme != 0 || c.Distinct && distinctMatters(c.Fn):
			d := a.distinct(b.arg)
			v := d.variant(b.filter)
			v.calls = append(v.calls, len(a.calls))
			v.ordered = v.ordered || b.extreme != 0
			b.kept, b.variant = slices.Index(a.distincts, d), slices.Index(d.variants, v)
		}
		for _, h := range b.acc.Heaps() {
			a.heaps = append(a.heaps, a.words+h)
		}
		a.words += b.acc.Words()
		a.sigs = append(a.sigs, sig)
		a.calls = append(a.calls, b)
	}
	if len(a.filters) > maxFilters {
		return nil, sqlerr.NotSupported(calls[0].Pos, "GROUP BY with more than 64 different FILTER conditions")
	}
	a.subsets, a.ready = make([]subset, len(a.filters)), make([]bool, len(a.filters))
	return a, nil
}

// maxFilters is the number of filters that have a bit in a word.
const maxFilters = 64

// distinctMatters: the extremes and the logical aggregates of a set are those of its
// bag.
func distinctMatters(fn string) bool {
	return !slices.Contains([]string{"min", "max", "bool_and", "bool_or", "every"}, fn)
}

func indexOf(list *[]int, x int) int {
	if i := slices.Index(*list, x); i >= 0 {
		return i
	}
	*list = append(*list, x)
	return len(*list) - 1
}

// signature names what the words of a call mean, for matching state across plans.
func signature(c expr.AggCall, args []types.Type) string {
	s := c.Fn + "("
	if c.Distinct {
		s += "DISTINCT "
	}
	for _, t := range args {
		s += t.String()
	}
	return s + ")"
}

func (a *aggregates) distinct(arg int) *distinct {
	for _, d := range a.distincts {
		if d.arg == arg {
			return d
		}
	}
	d := &distinct{arg: arg}
	a.distincts = append(a.distincts, d)
	return d
}

// decls declares the group table of this name and the child tables on it.
func (a *aggregates) decls(name string, kind state.Kind, keys []types.Type, in types.Schema) []state.Decl {
	ds := []state.Decl{{Name: name, Kind: kind, Keys: keys, Words: a.words, Heaps: a.heaps, Values: a.sigs}}
	for _, d := range a.distincts {
		ds = append(ds, state.Decl{Name: d.table(name), Kind: state.KindChild, Keys: []types.Type{in[d.arg].Type},
			Words: len(d.variants), Values: slices.Repeat([]string{"count"}, len(d.variants)), Parent: name})
	}
	return ds
}

// mergeable: two records of disjoint rows can be folded into one, cheaply.
func (a *aggregates) mergeable() bool { return len(a.distincts) == 0 && len(a.heaps) == 0 }

// begin is called with each batch before update.
func (a *aggregates) begin(b *vec.Batch) error {
	if b.Ops != nil && a.fixed >= 0 {
		for i := range b.N {
			if b.Op(i).Sign() < 0 {
				c := a.calls[a.fixed]
				e := sqlerr.Internalf("aggregate %q cannot take rows back", c.Fn)
				e.Pos = c.Pos
				return e
			}
		}
	}
	for _, d := range a.distincts {
		d.hash(b)
	}
	a.passes = grow(a.passes, b.N)
	clear(a.passes)
	for f, c := range a.filters {
		markTrue(b.Cols[c], b.N, 1<<f, a.passes)
	}
	return nil
}

// markTrue sets bit in the words of the rows for which col is true.
func markTrue(col *vec.Vector, n int, bit uint64, words []uint64) {
	for w := range vec.Words(n) {
		x := col.Bits[w]
		if col.Valid != nil {
			x &= col.Valid[w]
		}
		if rest := n - w<<6; rest < 64 {
			x &= 1<<rest - 1
		}
		for ; x != 0; x &= x - 1 {
			words[w<<6+bits.TrailingZeros64(x)] |= bit
		}
	}
}

// update folds the rows of s into their records in groups, whose cells have been
// touched. child gives the child table of a distinct argument.
func (a *aggregates) update(b *vec.Batch, s subset, groups *state.Table, child func(i int) *state.Table) {
	cells, base := groups.Cells(), groups.ValueOffset()
	countRows(cells, base+rowsWord, s)
	clear(a.ready)
	for i := range a.calls {
		c := &a.calls[i]
		if c.shared || c.extreme != 0 || c.Distinct && distinctMatters(c.Fn) {
			continue
		}
		in := &s
		if c.filter >= 0 {
			in = a.filtered(&s, c.filter)
		}
		var arg *vec.Vector
		if c.arg >= 0 {
			arg = b.Cols[c.arg]
		}
		c.acc.Update(cells, base+c.off, in.ids, arg, in.sel, in.signs)
	}
	for i, d := range a.distincts {
		d.update(a, b, &s, groups, child(i))
	}
}

func countRows(s *cell.Store, word int, in subset) {
	pages, w := s.Pages, s.Width()
	if in.signs == nil {
		for _, id := range in.ids {
			pages[id>>6].W[int(id&63)*w+word]++
		}
		return
	}
	for k, id := range in.ids {
		pages[id>>6].W[int(id&63)*w+word] += uint64(int64(in.signs[k]))
	}
}

// filtered gives the rows of s for which filter f is true.
func (a *aggregates) filtered(s *subset, f int) *subset {
	out := &a.subsets[f]
	if a.ready[f] {
		return out
	}
	a.ready[f] = true
	out.reset()
	for k, id := range s.ids {
		i := s.row(k)
		if a.passes[i]>>f&1 == 0 {
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

// merge folds records of src, laid out by o, into records of dst, laid out by a: the
// same calls over other reserved words. The records of dst have been touched.
func (a *aggregates) merge(dst *state.Table, to []uint32, o *aggregates, src *state.Table, from []uint32) {
	dc, sc, db, sb := dst.Cells(), src.Cells(), dst.ValueOffset(), src.ValueOffset()
	for k, id := range from {
		dc.Record(to[k])[db+rowsWord] += sc.Record(id)[sb+rowsWord]
	}
	for i := range a.calls {
		c := &a.calls[i]
		if c.shared {
			continue
		}
		off, other := db+c.off, sb+o.calls[i].off
		for k, id := range from {
			c.acc.Merge(dc, off, to[k], sc, other, id)
		}
	}
}

// emit appends the results of the records to out, one vector for each call. A result
// that cannot be represented ends the job. child gives the child table of a distinct
// argument.
func (a *aggregates) emit(groups *state.Table, ids []uint32, out []*vec.Vector, child func(i int) *state.Table) error {
	cells, base := groups.Cells(), groups.ValueOffset()
	for i := range a.calls {
		c := &a.calls[i]
		if c.extreme != 0 {
			c.appendExtreme(child(c.kept), ids, out[i:i+1])
			continue
		}
		c.acc.Emit(cells, base+c.off, ids, out[i], &a.errs)
		if len(a.errs.List) > 0 {
			e := a.errs.List[0]
			return sqlerr.New(e.Code, c.Pos, "%s", e.Msg).WithDetail("The result of %s is out of range.", c.Fn)
		}
	}
	return nil
}

// rows is the number of rows of a group.
func rows(groups *state.Table, id uint32) int64 {
	return int64(groups.Cells().Record(id)[groups.ValueOffset()+rowsWord])
}

// signsOf gives the signs of the rows of b, nil when all are +1.
func signsOf(b *vec.Batch, dst []int8) []int8 {
	if b.Ops == nil {
		return nil
	}
	dst = dst[:0]
	for _, op := range b.Ops {
		dst = append(dst, int8(op.Sign()))
	}
	return dst
}

func columns(b *vec.Batch, cols []int, dst []*vec.Vector) []*vec.Vector {
	dst = dst[:0]
	for _, c := range cols {
		dst = append(dst, b.Cols[c])
	}
	return dst
}

func typesOf(s types.Schema, cols []int) []types.Type {
	ts := make([]types.Type, len(cols))
	for i, c := range cols {
		ts[i] = s[c].Type
	}
	return ts
}

// grow gives a slice of n values whose contents do not matter.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, max(n, 2*cap(s)))
	}
	return s[:n]
}

func (d *distinct) table(groups string) string { return fmt.Sprintf("%s.distinct%d", groups, d.arg) }

// nextRound makes room in marks, which has a word for each record, and gives the
// number of the next batch, which no mark has.
func nextRound(marks []uint32, round uint32, cells *cell.Store) ([]uint32, uint32) {
	if n := int(cells.Cap()); n > len(marks) {
		marks = append(marks, make([]uint32, n-len(marks))...)
	}
	if round++; round == 0 {
		clear(marks)
		round = 1
	}
	return marks, round
}
