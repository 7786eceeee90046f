package statetest

import (
	"bytes"
	"errors"
	"slices"

	"github.com/streamsql/streamsql/checkpoint/state"
)

// freeze cuts a checkpoint; its encoding runs beside whatever comes next.
func (j *job) freeze() {
	if len(j.inflight) == 2 {
		return
	}
	e := &epoch{expect: j.now.clone()}
	for _, s := range j.subtasks {
		snap := s.Freeze(s.WantImage() || j.rng.IntN(6) == 0)
		if s.Dirty() {
			j.t.Fatal("a backend is dirty right after a freeze")
		}
		out := make(chan []byte, 1)
		go func() {
			var b bytes.Buffer
			if snap.Empty() && snap.Image() {
				j.t.Error("an image is empty")
			}
			if err := snap.Encode(&b); err != nil && !errors.Is(err, state.ErrEnded) {
				j.t.Error(err)
			}
			out <- b.Bytes()
			close(out)
		}()
		e.snaps, e.blobs = append(e.snaps, snap), append(e.blobs, out)
	}
	j.inflight = append(j.inflight, e)
	if j.rng.IntN(3) == 0 {
		j.rows()
		j.drop()
	}
}

// complete commits the oldest checkpoint.
func (j *job) complete() {
	if len(j.inflight) == 0 {
		return
	}
	e := j.inflight[0]
	j.inflight = j.inflight[1:]
	for i, s := range j.subtasks {
		blob := <-e.blobs[i]
		switch {
		case e.snaps[i].Image():
			s.chain = [][]byte{blob}
		case !e.snaps[i].Empty():
			s.chain = append(s.chain, blob)
		}
		s.Complete(e.snaps[i])
	}
	j.durable = e.expect
}

// abort gives up every checkpoint that is not decided, the newest first.
func (j *job) abort() {
	for len(j.inflight) > 0 {
		e := j.inflight[len(j.inflight)-1]
		j.inflight = j.inflight[:len(j.inflight)-1]
		for i, s := range j.subtasks {
			if j.rng.IntN(2) == 0 {
				<-e.blobs[i]
			}
			s.Abort(e.snaps[i])
		}
	}
}

// check compares the whole state with the model.
func (j *job) check() {
	j.t.Helper()
	places := map[place]bool{{table: tGroups}: true}
	for p := range j.now {
		if p.table == tWindows {
			places[p] = true
		}
	}
	for _, s := range j.subtasks {
		buckets := s.Timed(tWindows).Buckets()
		if !slices.IsSorted(buckets) {
			j.t.Fatalf("buckets are %v", buckets)
		}
		for _, b := range buckets {
			places[place{tWindows, b}] = true
		}
	}
	for p := range places {
		found, kids := 0, 0
		for _, s := range j.subtasks {
			f, k := j.checkTable(s, p)
			found, kids = found+f, kids+k
		}
		want := 0
		for _, g := range j.now[p] {
			want += len(g.kids)
		}
		if found != len(j.now[p]) || kids != want {
			j.t.Fatalf("%v holds %d records and %d distinct values, want %d and %d", p, found, kids, len(j.now[p]), want)
		}
	}
	first := j.subtasks[0].Table(tValue)
	want := uint64(0)
	if g := j.now[place{table: tValue}]; g[""] != nil {
		want = g[""].sum
	}
	got := uint64(0)
	if first.Len() > 0 {
		got = first.Cells().Record(first.Row())[first.ValueOffset()]
	}
	if got != want {
		j.t.Fatalf("counter is %d, want %d", got, want)
	}
}

// checkTable compares the records of one table of one subtask, and counts them.
func (j *job) checkTable(s *subtask, p place) (records, kids int) {
	if p.table == tWindows && !slices.Contains(s.Timed(tWindows).Buckets(), p.bucket) {
		return 0, 0
	}
	t := j.table(s, p)
	ids := all(t)
	if len(ids) != t.Len() {
		j.t.Fatalf("%v: Scan meets %d records, Len is %d", p, len(ids), t.Len())
	}
	cells, off := t.Cells(), t.ValueOffset()
	byID := map[uint32]*group{}
	keys := keysAt(t, j.keys, ids)
	for k, id := range ids {
		key := keys[k]
		g := j.now[p][keyText(key)]
		if g == nil {
			j.t.Fatalf("%v holds key %s, which nobody has", p, keyText(key))
		}
		if !sameSpelling(g.key, key) {
			j.t.Fatalf("%v: key %v is spelt %v", p, g.key, key)
		}
		if rec, text := cells.Record(id), string(cells.Bytes(id, off+1)); rec[off] != g.sum || text != g.text {
			j.t.Fatalf("%v key %s is (%d, %q), want (%d, %q)", p, keyText(key), rec[off], text, g.sum, g.text)
		}
		byID[id] = g
	}
	return len(ids), j.checkKids(s, p, byID)
}

func (j *job) checkKids(s *subtask, p place, byID map[uint32]*group) int {
	t, ts := j.kids(s, p), j.kidTypes(p.table)
	ids := all(t)
	keys := keysAt(t, ts, ids)
	for k, id := range ids {
		key := keys[k]
		g := byID[t.Parent(id)]
		var want *group
		if g != nil {
			want = g.kids[keyText(key)]
		}
		if want == nil || !sameSpelling(want.key, key) {
			j.t.Fatalf("%v: distinct value %s hangs on record %d and should not", p, keyText(key), t.Parent(id))
		}
		if got := t.Cells().Record(id)[t.ValueOffset()]; got != want.sum {
			j.t.Fatalf("%v: distinct value %s counts %d, want %d", p, keyText(key), got, want.sum)
		}
	}
	return len(ids)
}
