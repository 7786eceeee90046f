package state

import (
	"slices"

	"github.com/streamsql/streamsql/internal/cell"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
)

// Part is what one old subtask left: its key groups and its chain of blobs, an image
// and deltas in order; none when it had no state.
type Part struct {
	Groups stream.GroupRange
	Blobs  [][]byte
}

// Restore fills a new backend with the state of the key groups owned, out of groups in
// all, from what the old subtasks left. No parts at all is no state. A part whose
// range is exactly owned is taken as it is, and its chain goes on; otherwise the
// parts that overlap are filtered by key group and merged, and the next snapshot is
// an image. A KindValue table can be merged only when it belongs to the subtask
// with key group 0.
//
// Damaged bytes and parts that do not cover owned are errors with CodeCheckpoint,
// other declarations than those of the snapshot CodeStateMismatch. After an error the
// backend is not usable.
func (b *Backend) Restore(owned stream.GroupRange, groups int, parts []Part) error {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p Part) bool {
		return p.Groups.To <= owned.From || p.Groups.From >= owned.To
	})
	if len(parts) == 0 {
		return nil
	}
	if groups < 1 || groups > 1<<15 || groups&(groups-1) != 0 {
		return sqlerr.New(sqlerr.CodeCheckpoint, 0, "number of key groups is %d, not a power of two up to 32768", groups)
	}
	slices.SortFunc(parts, func(x, y Part) int { return x.Groups.From - y.Groups.From })
	at := owned.From
	for i, p := range parts {
		if p.Groups.From > at || i > 0 && p.Groups.From != at {
			return sqlerr.New(sqlerr.CodeCheckpoint, 0, "state of key groups %d to %d is not there exactly once", owned.From, owned.To)
		}
		at = p.Groups.To
	}
	if at < owned.To {
		return sqlerr.New(sqlerr.CodeCheckpoint, 0, "state of key groups %d to %d is missing", at, owned.To)
	}
	for _, p := range parts {
		if len(p.Blobs) == 0 {
			continue
		}
		c, err := b.loadChain(p.Blobs)
		if err != nil {
			return err
		}
		if p.Groups == owned {
			return b.adopt(c, p.Blobs)
		}
		m := merger{b: b, owned: owned, groups: groups, from: p.Groups, ids: map[place][]uint32{}}
		for i := range b.decls {
			if err := m.table(c, i); err != nil {
				return err
			}
		}
	}
	for i := range b.decls {
		if t := b.tables[i]; t != nil {
			t.index.load(t.cells, bulkPages)
			continue
		}
		for _, t := range b.timed[i].tables {
			t.index.load(t.cells, bulkPages)
		}
	}
	return nil
}

// target is the table that a bucket of declaration i is restored into.
func (b *Backend) target(i int, bucket int64) *Table {
	if t := b.tables[i]; t != nil {
		return t
	}
	return b.timed[i].At(bucket)
}

// adopt takes the pages of a chain as they are.
func (b *Backend) adopt(c *contents, blobs [][]byte) error {
	for i := range b.decls {
		for _, bucket := range c.buckets(i) {
			t := b.target(i, bucket)
			t.cells.Load(c.tables[i][bucket])
			t.index.load(t.cells, bulkPages)
			t.seen = true
			if t.lay.parent == 0 {
				continue
			}
			limit := b.target(b.index(b.decls[i].Parent), bucket).cells.Cap()
			for id, done := uint32(0), false; !done; {
				var ids []uint32
				if ids, id, done = t.Scan(nil, id, 1024); slices.ContainsFunc(ids, func(id uint32) bool { return t.Parent(id) >= limit }) {
					return damaged("record of table %q hangs on nothing", b.decls[i].Name)
				}
			}
		}
	}
	b.based, b.imageBytes, b.chain = true, int64(len(blobs[0])), len(blobs)-1
	for _, x := range blobs[1:] {
		b.deltaBytes += int64(len(x))
	}
	return nil
}

// merger copies what belongs here of one old subtask into a backend.
type merger struct {
	b      *Backend
	owned  stream.GroupRange
	groups int
	from   stream.GroupRange
	ids    map[place][]uint32 // of tables with children: old record id to new
}

type place struct {
	table  int
	bucket int64
}

func (m *merger) table(c *contents, i int) error {
	d := m.b.decls[i]
	if d.Kind == KindValue && m.from.From > 0 && holdsRecord(c.tables[i][0]) {
		return mismatch("state table %q belongs to one subtask and cannot be kept at another parallelism", d.Name)
	}
	parent, hasChild := m.b.index(d.Parent), slices.ContainsFunc(m.b.decls, func(o Decl) bool { return o.Parent == d.Name })
	for _, bucket := range c.buckets(i) {
		src := cell.NewStore(c.lays[i].width, c.lays[i].heaps...)
		src.Load(c.tables[i][bucket])
		var of, ids []uint32
		if d.Kind == KindChild {
			of = m.ids[place{parent, bucket}]
		}
		if hasChild {
			ids = make([]uint32, src.Cap())
			for k := range ids {
				ids[k] = NoRecord
			}
			m.ids[place{i, bucket}] = ids
		}
		m.records(i, bucket, src, of, ids)
	}
	return nil
}

func holdsRecord(pages []*cell.Page) bool {
	return slices.ContainsFunc(pages, func(p *cell.Page) bool { return p != nil && p.Live != 0 })
}

// records copies the records of one table; of maps the ids of the parent, ids notes
// the new ids.
func (m *merger) records(i int, bucket int64, src *cell.Store, of, ids []uint32) {
	lay := m.b.layoutOf(i)
	var dst *Table
	var batch []uint32
	for from := uint32(0); from < src.Cap(); {
		batch, from = src.AppendLive(batch[:0], from, 1024)
		for _, id := range batch {
			rec := src.Record(id)
			w, parent := rec[0], NoRecord
			if lay.parent == 0 {
				if !m.owned.Contains(stream.KeyGroup(w, m.groups)) {
					continue
				}
			} else {
				old := rec[lay.parent]
				if old < uint64(len(of)) {
					parent = of[old]
				}
				if parent == NoRecord {
					continue
				}
				w ^= parentMix(uint32(old)) ^ parentMix(parent)
			}
			if dst == nil {
				dst = m.b.target(i, bucket)
			}
			n := dst.adoptRecord(src, id, w, parent)
			if ids != nil {
				ids[id] = n
			}
		}
	}
}

func (b *Backend) layoutOf(i int) *layout {
	if t := b.tables[i]; t != nil {
		return t.lay
	}
	return b.timed[i].lay
}

// adoptRecord copies record id of src, whose key is not in t, under the hash word w
// and, in a child table, the given parent. The index does not know it.
func (t *Table) adoptRecord(src *cell.Store, id uint32, w uint64, parent uint32) uint32 {
	n := t.cells.Alloc()
	rec := t.cells.Record(n)
	copy(rec, src.Record(id))
	rec[0] = w
	if t.lay.parent != 0 {
		rec[t.lay.parent] = uint64(parent)
	}
	for _, h := range t.lay.heaps {
		rec[h] = 0
	}
	for _, h := range t.lay.heaps {
		t.cells.SetBytes(n, h, src.Bytes(id, h))
	}
	return n
}
