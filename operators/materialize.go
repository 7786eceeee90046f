package operators

import (
	"bytes"
	"encoding/binary"

	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
)

// materialize keeps the live rows of every sink key in the order in which they came
// and lets the newest show. For each batch it says once for every key it touched what
// became of the row that shows.
//
// It is needed where the key of the changes is not part of the sink's: a key that
// moves between groups comes as +new, -old, and a sink that deletes by key would be
// left with nothing.
type materialize struct {
	key     []int
	types   []types.Type
	upsert  bool
	backend *state.Backend
	table   *state.Table

	hashes  []uint64
	keyCols []*vec.Vector
	ids     []uint32
	round   uint32
	marks   []uint32 // by record: the round that touched it last
	touched []shown
	arena   []byte // of the rows that touched refers to
	row     []byte
	list    []byte
}

// shown is a record that the batch touched and the row that showed before, none when
// from = to: an encoded row is never empty.
type shown struct {
	id       uint32
	from, to int
}

const liveTable = "live"

func newMaterialize(n *plan.Node, ctx Context) (Operator, error) {
	in := ctx.Inputs[0]
	b, err := state.New(state.Decl{Name: liveTable, Kind: state.KindKeyed, Keys: typesOf(in, n.Materialize.Key),
		Words: 1, Heaps: []int{0}, Values: []string{"rows"}})
	if err != nil {
		return nil, err
	}
	return &materialize{key: n.Materialize.Key, types: in.Types(), upsert: n.Changelog == plan.Upsert,
		backend: b, table: b.Table(liveTable)}, nil
}

func (m *materialize) State() *state.Backend       { return m.backend }
func (*materialize) Advance(int64) (Output, error) { return Output{}, nil }
func (*materialize) Resume() (Output, error)       { return Output{}, nil }

func (m *materialize) Process(_ int, b *vec.Batch) (Output, error) {
	defer b.Release()
	m.ids, m.hashes = grow(m.ids, b.N), grow(m.hashes, b.N)
	m.keyCols = columns(b, m.key, m.keyCols)
	vec.HashColumns(m.keyCols, b.N, m.hashes)
	m.table.Upsert(m.hashes, m.keyCols, nil, m.ids)
	cells, word := m.table.Cells(), m.table.ValueOffset()
	cells.Touch(m.ids)
	m.touched, m.arena = m.touched[:0], m.arena[:0]
	m.marks, m.round = nextRound(m.marks, m.round, cells)
	for i, id := range m.ids {
		live := cells.Bytes(id, word)
		if m.marks[id] != m.round {
			m.marks[id] = m.round
			from := len(m.arena)
			m.arena = append(m.arena, newest(live)...)
			m.touched = append(m.touched, shown{id, from, len(m.arena)})
		}
		m.row = appendRow(m.row[:0], b.Cols, i)
		if b.Op(i).Sign() > 0 {
			m.list = binary.AppendUvarint(append(m.list[:0], live...), uint64(len(m.row)))
			m.list = append(m.list, m.row...)
		} else {
			at, n := find(live, m.row)
			if at < 0 {
				return Output{}, sqlerr.Internalf("a change takes away a row that is not there")
			}
			m.list = append(append(m.list[:0], live[:at]...), live[at+n:]...)
		}
		cells.SetBytes(id, word, m.list)
	}
	return Output{Batch: m.changes(b)}, nil
}

// newest is the last row of a list, nil when there is none.
func newest(list []byte) []byte {
	var row []byte
	for len(list) > 0 {
		n, w := binary.Uvarint(list)
		row, list = list[w:w+int(n)], list[w+int(n):]
	}
	return row
}

// find is the place and length of the newest entry that holds this row, -1 for none.
func find(list, row []byte) (at, length int) {
	at = -1
	for off := 0; off < len(list); {
		n, w := binary.Uvarint(list[off:])
		if bytes.Equal(list[off+w:off+w+int(n)], row) {
			at, length = off, w+int(n)
		}
		off += w + int(n)
	}
	return at, length
}

// changes says what became of the rows that show.
func (m *materialize) changes(b *vec.Batch) *vec.Batch {
	out := vec.NewBatch(m.types, 2*len(m.touched))
	out.WM = b.WM
	cells, word := m.table.Cells(), m.table.ValueOffset()
	for _, t := range m.touched {
		old, list := m.arena[t.from:t.to], cells.Bytes(t.id, word)
		now := newest(list)
		switch {
		case bytes.Equal(old, now):
		case len(old) == 0:
			m.append(out, now, vec.Insert)
		case len(now) == 0:
			m.append(out, old, vec.Delete)
		default:
			if !m.upsert {
				m.append(out, old, vec.UpdateBefore)
			}
			m.append(out, now, vec.UpdateAfter)
		}
		if len(list) == 0 {
			m.table.Delete(t.id)
		}
	}
	if out.N == 0 {
		out.Release()
		return nil
	}
	return out
}

func (m *materialize) append(out *vec.Batch, row []byte, op vec.Op) {
	readRow(row, out.Cols)
	out.AppendOp(op)
}
