package runtime

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
)

// Limits of the payloads decoded into one batch.
const (
	decodePayloads = 4096
	decodeBytes    = 1 << 20
)

// rows is a decoded batch of a table.
type rows struct {
	// b holds the Output columns of the rows that the predicate lets through: row k is
	// row sel[k] of what was read, or row k when sel is nil.
	b   *vec.Batch
	sel []int32
	// times and marks are event time and the value of the WATERMARK expression of every
	// row read; nil for a table without.
	times, marks *vec.Vector
	n            int // rows read
	broken       int // of those, rows in failed: they have moved the time
	failed       []failure
}

// failure is a row or payload that could not be read.
type failure struct {
	payload          int // of the chunk, -1 for decoded input
	code, field, msg string
	text             []byte
}

// fail adds a failure in a payload of this text, which outlives the chunk. Neighbours in
// one payload share the copy: a large one may hold many rows.
func (r *rows) fail(f failure, text []byte) {
	if n := len(r.failed); n > 0 && f.payload >= 0 && r.failed[n-1].payload == f.payload {
		f.text = r.failed[n-1].text
	} else {
		f.text = bytes.Clone(text)
	}
	r.failed = append(r.failed, f)
}

// decoding turns chunks of one table into rows. Workers share it; each call borrows a
// worker's scratch.
type decoding struct {
	src    *plan.Source
	new    func() (format.Decoder, error) // nil for readers that give columns
	physN  int
	physAt []int // Read column -> decoder column, -1 for metadata
	metaAt []int // Read column -> metadata column

	mu   sync.Mutex
	free []*scratch
}

// scratch is what one worker needs; it is used by one goroutine at a time.
type scratch struct {
	dec       format.Decoder
	types     []types.Type
	virtual   []*expr.Program // each computes the virtual columns that it alone can
	watermark *expr.Program
	output    *expr.Program // predicate and projection
	origin    []int32
	errs      []format.RowError
	rowErrs   expr.RowErrors
}

func newDecoding(src *plan.Source, mk func() (format.Decoder, error)) *decoding {
	d := &decoding{src: src, new: mk}
	metas := 0
	for _, c := range src.Read {
		if c.Metadata != "" {
			d.physAt, d.metaAt = append(d.physAt, -1), append(d.metaAt, metas)
			metas++
			continue
		}
		d.physAt, d.metaAt = append(d.physAt, d.physN), append(d.metaAt, -1)
		d.physN++
	}
	return d
}

func (d *decoding) borrow() (*scratch, error) {
	d.mu.Lock()
	if n := len(d.free); n > 0 {
		s := d.free[n-1]
		d.free = d.free[:n-1]
		d.mu.Unlock()
		return s, nil
	}
	d.mu.Unlock()
	s := &scratch{}
	var all []types.Type
	for i, c := range d.src.Read {
		all = append(all, c.Type)
		if d.physAt[i] >= 0 {
			s.types = append(s.types, c.Type)
		}
	}
	var err error
	if all, err = s.compileVirtual(d.src.Virtual, all); err != nil {
		return nil, err
	}
	if d.src.Watermark != nil {
		if s.watermark, err = expr.Compile(nil, []*expr.Expr{d.src.Watermark}, all); err != nil {
			return nil, err
		}
	}
	out := make([]*expr.Expr, len(d.src.Output))
	for i, c := range d.src.Output {
		out[i] = expr.Col(c, all[c])
	}
	if s.output, err = expr.Compile(d.src.Predicate, out, all); err != nil {
		return nil, err
	}
	if d.new != nil {
		if s.dec, err = d.new(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// compileVirtual compiles virtual columns over the columns so far. Neighbours that do
// not read one another share a program.
func (s *scratch) compileVirtual(virtual []*expr.Expr, all []types.Type) ([]types.Type, error) {
	for len(virtual) > 0 {
		n := 1
		for n < len(virtual) && reads(virtual[n]) < len(all) {
			n++
		}
		p, err := expr.Compile(nil, virtual[:n], all)
		if err != nil {
			return nil, err
		}
		s.virtual = append(s.virtual, p)
		for _, e := range virtual[:n] {
			all = append(all, e.Type)
		}
		virtual = virtual[n:]
	}
	return all, nil
}

// reads is the highest column that e reads, -1 for none.
func reads(e *expr.Expr) int {
	cols := e.Columns()
	if len(cols) == 0 {
		return -1
	}
	return cols[len(cols)-1]
}

// decode fills in a.parts, or a.err.
func (d *decoding) decode(a *ahead) {
	defer recoverTo(&a.err)
	s, err := d.borrow()
	if err != nil {
		a.err = err
		return
	}
	if a.chunk.Batch != nil {
		r := &rows{}
		d.compute(s, r, d.arrangeBatch(a.chunk.Batch), nil)
		a.parts = append(a.parts, r)
	} else {
		d.payloads(s, a)
		a.chunk.Payloads = nil
		if a.chunk.Release != nil {
			a.chunk.Release()
		}
	}
	d.mu.Lock()
	d.free = append(d.free, s)
	d.mu.Unlock()
}

// payloads decodes a chunk in runs of bounded size.
func (d *decoding) payloads(s *scratch, a *ahead) {
	if s.dec == nil {
		a.err = sqlerr.Internalf("table %q has undecoded rows and no format", d.src.Table)
		return
	}
	all := a.chunk.Payloads
	for from := 0; from < len(all); {
		to, size := from, 0
		for to < len(all) && to-from < decodePayloads && (size == 0 || size+len(all[to]) <= decodeBytes) {
			size += len(all[to])
			to++
		}
		out := vec.NewBatch(s.types, to-from)
		s.origin, s.errs = s.dec.Decode(all[from:to], out, s.origin[:0], s.errs[:0])
		out.N = len(s.origin)
		r := &rows{}
		for _, e := range s.errs {
			r.fail(failure{payload: from + e.Payload, code: e.Code, field: e.Field, msg: e.Msg}, all[from+e.Payload])
		}
		d.compute(s, r, d.arrange(out, a.chunk, s.origin, from), func(row int32) (int, []byte) {
			p := from + int(s.origin[row])
			return p, all[p]
		})
		a.parts = append(a.parts, r)
		from = to
	}
}

// arrange puts decoded and metadata columns into the order of Read.
func (d *decoding) arrange(out *vec.Batch, c *connectors.Chunk, origin []int32, from int) *vec.Batch {
	b := &vec.Batch{Cols: make([]*vec.Vector, len(d.src.Read)), N: out.N, WM: types.MinTime}
	var sel []int32
	whole := from == 0 && out.N == len(c.Payloads)
	for i := range origin {
		whole = whole && int(origin[i]) == i
	}
	for i := range d.src.Read {
		if p := d.physAt[i]; p >= 0 {
			b.Cols[i] = out.Cols[p]
			continue
		}
		meta := c.Meta[d.metaAt[i]]
		if whole {
			b.Cols[i] = meta.Retain()
			continue
		}
		if sel == nil {
			sel = make([]int32, len(origin))
			for k, o := range origin {
				sel[k] = o + int32(from)
			}
		}
		b.Cols[i] = meta.Take(sel)
	}
	return b
}

// arrangeBatch does the same for a reader that gives columns: the wanted columns,
// then the wanted metadata.
func (d *decoding) arrangeBatch(in *vec.Batch) *vec.Batch {
	b := &vec.Batch{Cols: make([]*vec.Vector, len(d.src.Read)), N: in.N, Ops: in.Ops, WM: types.MinTime}
	for i := range d.src.Read {
		if p := d.physAt[i]; p >= 0 {
			b.Cols[i] = in.Cols[p]
		} else {
			b.Cols[i] = in.Cols[d.physN+d.metaAt[i]]
		}
	}
	return b
}

// compute evaluates virtual columns, drops rows that fail in them or have no time,
// evaluates the watermark for the rest, and only then predicate and projection. from
// names a row's payload.
func (d *decoding) compute(s *scratch, r *rows, b *vec.Batch, from func(row int32) (int, []byte)) {
	var idx []int32 // row -> row of the decoded batch, nil while nothing was dropped
	for _, p := range s.virtual {
		s.rowErrs.Reset()
		out, sel, all := p.Run(b, &s.rowErrs)
		d.report(&s.rowErrs, r, idx, from)
		if !all {
			b, idx = drop(b, idx, sel)
		}
		b.Cols = append(b.Cols, out...)
	}
	if d.src.Watermark != nil {
		b, idx = d.watermark(s, r, b, idx, from)
	}
	s.rowErrs.Reset()
	out, sel, all := s.output.Run(b, &s.rowErrs)
	d.report(&s.rowErrs, r, idx, from)
	r.n, r.broken = b.N, len(s.rowErrs.List)
	r.b = &vec.Batch{Cols: append([]*vec.Vector(nil), out...), N: b.N, WM: types.MinTime}
	if !all {
		r.sel, r.b.N = append(make([]int32, 0, len(sel)), sel...), len(sel)
	}
	if b.Ops != nil {
		r.b.Ops = b.Ops
		if !all {
			r.b.Ops = make([]vec.Op, len(r.sel))
			for k, i := range r.sel {
				r.b.Ops[k] = b.Ops[i]
			}
		}
	}
	b.Release()
}

// watermark drops rows without time and fills in r.times and r.marks.
func (d *decoding) watermark(s *scratch, r *rows, b *vec.Batch, idx []int32, from func(int32) (int, []byte)) (*vec.Batch, []int32) {
	s.rowErrs.Reset()
	if col := b.Cols[d.src.TimeColumn]; col.Valid != nil {
		for i := range b.N {
			if col.IsNull(i) {
				s.rowErrs.Add(int32(i), sqlerr.CodeNullTime, fmt.Sprintf("%q is null and the table's event time", d.column(d.src.TimeColumn)), 0)
			}
		}
	}
	out, sel, all := s.watermark.Run(b, &s.rowErrs)
	d.report(&s.rowErrs, r, idx, from)
	r.marks = out[0]
	if !all {
		b, idx = drop(b, idx, sel)
	}
	r.times = b.Cols[d.src.TimeColumn].Retain()
	return b, idx
}

func (d *decoding) column(i int) string {
	if i < len(d.src.Read) {
		return d.src.Read[i].Name
	}
	return fmt.Sprintf("computed column %d", i-len(d.src.Read)+1)
}

// drop keeps the rows sel of b.
func drop(b *vec.Batch, idx, sel []int32) (*vec.Batch, []int32) {
	kept := make([]int32, len(sel))
	for k, i := range sel {
		kept[k] = i
		if idx != nil {
			kept[k] = idx[i]
		}
	}
	nb := b.Take(sel)
	b.Release()
	return nb, kept
}

// report adds the failed rows to r.
func (d *decoding) report(errs *expr.RowErrors, r *rows, idx []int32, from func(int32) (int, []byte)) {
	for _, e := range errs.List {
		f := failure{payload: -1, code: e.Code, msg: e.Msg}
		if e.Code == sqlerr.CodeNullTime {
			f.field = d.column(d.src.TimeColumn)
		}
		var text []byte
		if from != nil {
			row := e.Row
			if idx != nil {
				row = idx[row]
			}
			f.payload, text = from(row)
		}
		r.fail(f, text)
	}
}
