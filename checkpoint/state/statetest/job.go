package statetest

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

const groups = 16

// The tables of the job: groups and windows, each with the distinct values of its
// records, and a counter that belongs to the job.
const (
	tGroups  = "groups"
	tWindows = "windows"
	tValue   = "counter"
)

var (
	distinct  = map[string]string{tGroups: "groups.distinct", tWindows: "windows.distinct"}
	signature = []string{"sum(int)", "last(text)"}
)

// job is a job of several subtasks beside its model.
type job struct {
	t    *testing.T
	open Open
	rng  *rand.Rand
	seed uint64
	keys []types.Type

	subtasks []*subtask
	now      model
	durable  model
	inflight []*epoch
}

type subtask struct {
	Backend
	groups stream.GroupRange
	chain  [][]byte
}

// epoch is a frozen checkpoint that is not decided yet.
type epoch struct {
	snaps  []Snapshot
	blobs  []chan []byte
	expect model
}

// kidTypes are the distinct values of a table: text of groups, one or two integers of
// windows.
func (j *job) kidTypes(table string) []types.Type {
	if table == tGroups {
		return []types.Type{types.TText}
	}
	return []types.Type{types.TBigInt, types.TDate}[:1+j.seed%2]
}

func (j *job) decls() []state.Decl {
	return []state.Decl{
		{Name: tGroups, Keys: j.keys, Words: 2, Heaps: []int{1}, Values: signature},
		{Name: distinct[tGroups], Kind: state.KindChild, Parent: tGroups, Keys: j.kidTypes(tGroups), Words: 1, Values: []string{"count"}},
		{Name: tWindows, Kind: state.KindTimed, Keys: j.keys, Words: 2, Heaps: []int{1}, Values: signature},
		{Name: distinct[tWindows], Kind: state.KindChild, Parent: tWindows, Keys: j.kidTypes(tWindows), Words: 1, Values: []string{"count"}},
		{Name: tValue, Kind: state.KindValue, Words: 1, Values: []string{"count"}},
	}
}

func (j *job) run() {
	j.start(1+j.rng.IntN(4), nil)
	for range 60 {
		switch n := j.rng.IntN(20); {
		case n < 8:
			j.rows()
		case n < 10:
			j.deletes()
		case n < 11:
			j.drop()
		case n < 15:
			j.freeze()
		case n < 17:
			j.complete()
		case n < 18:
			j.abort()
		case n < 19:
			j.crash()
		default:
			j.check()
		}
	}
	for len(j.inflight) > 0 {
		j.complete()
	}
	j.check()
	j.crash()
}

// start opens the subtasks of an attempt and restores them.
func (j *job) start(parallelism int, parts []state.Part) {
	j.subtasks, j.inflight = nil, nil
	for i := range parallelism {
		b, err := j.open(j.decls()...)
		if err != nil {
			j.t.Fatal(err)
		}
		s := &subtask{Backend: b, groups: stream.RangeOf(i, parallelism, groups)}
		if err := b.Restore(s.groups, groups, parts); err != nil {
			j.t.Fatalf("restore of subtask %d of %d: %v", i, parallelism, err)
		}
		for _, p := range parts {
			if p.Groups == s.groups {
				s.chain = slices.Clone(p.Blobs)
			}
		}
		if len(s.chain) == 0 && !b.WantImage() {
			j.t.Fatal("a subtask without a chain wants no image")
		}
		j.subtasks = append(j.subtasks, s)
	}
	j.now = j.durable.clone()
	j.check()
}

func (j *job) crash() {
	var parts []state.Part
	if j.durable != nil {
		for _, s := range j.subtasks {
			parts = append(parts, state.Part{Groups: s.groups, Blobs: s.chain})
		}
	}
	for _, e := range j.inflight {
		for _, b := range e.blobs {
			<-b
		}
	}
	next := len(j.subtasks)
	if j.rng.IntN(2) == 0 {
		next = 1 + j.rng.IntN(5)
	}
	// Blobs belong to the restored backend, so each attempt reads its own copies.
	for i := range parts {
		parts[i].Blobs = slices.Clone(parts[i].Blobs)
		for k, b := range parts[i].Blobs {
			parts[i].Blobs[k] = bytes.Clone(b)
		}
	}
	rescaled := next != len(j.subtasks)
	j.start(next, parts)
	if rescaled && parts != nil {
		// Until a first image is complete, a killed job starts from the old chains; here
		// the image is taken at once.
		j.freeze()
		j.complete()
	}
}

func (j *job) table(s *subtask, p place) Table {
	if p.table == tWindows {
		return s.Timed(tWindows).At(p.bucket)
	}
	return s.Table(tGroups)
}

func (j *job) kids(s *subtask, p place) Table {
	if p.table == tWindows {
		return s.Timed(distinct[tWindows]).At(p.bucket)
	}
	return s.Table(distinct[tGroups])
}

func (j *job) place() place {
	if j.rng.IntN(2) == 0 {
		return place{table: tGroups}
	}
	return place{tWindows, int64(j.rng.IntN(5)-2) * 1000}
}

// rows sends a batch of rows through the subtasks that own their keys.
func (j *job) rows() {
	p, n, spread := j.place(), 1+j.rng.IntN(400), []int{6, 60, 4000}[j.rng.IntN(3)]
	keys, kids := make([][]types.Value, n), make([][]types.Value, n)
	for i := range n {
		for _, t := range j.keys {
			keys[i] = append(keys[i], randomValue(j.rng, t, spread))
		}
		for _, t := range j.kidTypes(p.table) {
			kids[i] = append(kids[i], randomValue(j.rng, t, 5))
		}
	}
	cols, kidCols := columns(j.keys, keys), columns(j.kidTypes(p.table), kids)
	hashes, kidHashes := hashesOf(cols, n), hashesOf(kidCols, n)
	for _, s := range j.subtasks {
		var sel []int32
		for i, h := range hashes {
			if s.groups.Contains(stream.KeyGroup(h, groups)) {
				sel = append(sel, int32(i))
			}
		}
		rows := sel
		if len(sel) == n {
			sel = nil // every row: the dense form
		}
		j.update(s, p, rows, sel, keys, cols, hashes)
		j.updateKids(s, p, rows, sel, keys, kids, cols, kidCols, hashes, kidHashes)
	}
	first := j.subtasks[0].Table(tValue)
	id := first.Row()
	first.Cells().Touch([]uint32{id})
	first.Cells().Record(id)[first.ValueOffset()]++
	g := j.now.at(place{table: tValue})
	if g[""] == nil {
		g[""] = &group{}
	}
	g[""].sum++
}

func (j *job) update(s *subtask, p place, rows, sel []int32, keys [][]types.Value, cols []*vec.Vector, hashes []uint64) {
	t, m := j.table(s, p), j.now.at(p)
	ids := make([]uint32, len(rows))
	t.Find(hashes, cols, sel, ids)
	for k, i := range rows {
		if known := m[keyText(keys[i])] != nil; known != (ids[k] != state.NoRecord) {
			j.t.Fatalf("Find of key %s gives %d, known: %v", keyText(keys[i]), ids[k], known)
		}
	}
	var want []int32
	for k, i := range rows {
		if text := keyText(keys[i]); m[text] == nil {
			m[text] = &group{key: keys[i], kids: map[string]*group{}}
			want = append(want, int32(k))
		}
	}
	if got := t.Upsert(hashes, cols, sel, ids); !slices.Equal(got, want) {
		j.t.Fatalf("Upsert of %d rows created %v, want %v", len(rows), got, want)
	}
	c, off := t.Cells(), t.ValueOffset()
	c.Touch(ids)
	for k, i := range rows {
		g := m[keyText(keys[i])]
		g.sum += uint64(i)
		c.Record(ids[k])[off] += uint64(i)
		if j.rng.IntN(4) == 0 {
			g.text = randomValue(j.rng, types.TText, 1000).S
			c.SetBytes(ids[k], off+1, []byte(g.text))
		}
	}
}

func (j *job) updateKids(s *subtask, p place, rows, sel []int32, keys, kids [][]types.Value, cols, kidCols []*vec.Vector, hashes, kidHashes []uint64) {
	parents, ids := make([]uint32, len(rows)), make([]uint32, len(rows))
	j.table(s, p).Find(hashes, cols, sel, parents)
	t, m := j.kids(s, p), j.now.at(p)
	t.UpsertOf(parents, kidHashes, kidCols, sel, ids)
	c, off := t.Cells(), t.ValueOffset()
	c.Touch(ids)
	for k, i := range rows {
		c.Record(ids[k])[off]++
		g, text := m[keyText(keys[i])], keyText(kids[i])
		if g.kids[text] == nil {
			g.kids[text] = &group{key: kids[i]}
		}
		g.kids[text].sum++
	}
	again := make([]uint32, len(rows))
	t.FindOf(parents, kidHashes, kidCols, sel, again)
	if !slices.Equal(ids, again) {
		j.t.Fatal("FindOf does not find what UpsertOf made")
	}
}

// deletes ends some records, those that hang on them first.
func (j *job) deletes() {
	p := j.place()
	some := j.rng.IntN(3)
	for _, s := range j.subtasks {
		t, kids := j.table(s, p), j.kids(s, p)
		m := j.now.at(p)
		gone := map[uint32]bool{}
		for _, id := range all(t) {
			if j.rng.IntN(3) <= some {
				gone[id] = true
			}
		}
		for _, kid := range all(kids) {
			parent := kids.Parent(kid)
			if !gone[parent] && j.rng.IntN(8) > 0 {
				continue
			}
			g := m[keyText(keyAt(t, j.keys, parent))]
			delete(g.kids, keyText(keyAt(kids, j.kidTypes(p.table), kid)))
			kids.Delete(kid)
		}
		for _, id := range all(t) {
			if gone[id] {
				delete(m, keyText(keyAt(t, j.keys, id)))
				t.Delete(id)
			}
		}
	}
}

func (j *job) drop() {
	b := j.place().bucket
	for _, s := range j.subtasks {
		s.Timed(tWindows).Drop(b)
	}
	delete(j.now, place{tWindows, b})
}
