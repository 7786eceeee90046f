package statetest

import (
	"bytes"
	"slices"
	"testing"

	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
)

// script drives one subtask through a scenario that chance meets too seldom.
type script struct {
	t     *testing.T
	open  Open
	b     Backend
	chain [][]byte
}

var scriptRange = stream.GroupRange{From: 0, To: groups}

func (s *script) start() {
	b, err := s.open(state.Decl{Name: "w", Kind: state.KindTimed, Keys: []types.Type{types.TBigInt}, Words: 1})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := b.Restore(scriptRange, groups, []state.Part{{Groups: scriptRange, Blobs: s.chain}}); err != nil {
		s.t.Fatal(err)
	}
	s.b = b
}

func (s *script) put(bucket, key int64) {
	cols := columns([]types.Type{types.TBigInt}, [][]types.Value{{types.IntValue(types.TBigInt, key)}})
	s.b.Timed("w").At(bucket).Upsert(hashesOf(cols, 1), cols, nil, make([]uint32, 1))
}

func (s *script) drop(bucket int64) { s.b.Timed("w").Drop(bucket) }

func (s *script) encode(snap Snapshot) []byte {
	var b bytes.Buffer
	if err := snap.Encode(&b); err != nil {
		s.t.Fatal(err)
	}
	return b.Bytes()
}

// commit cuts a checkpoint and completes it.
func (s *script) commit() {
	snap := s.b.Freeze(false)
	blob := s.encode(snap)
	if snap.Image() {
		s.chain = nil
	}
	s.chain = append(s.chain, blob)
	s.b.Complete(snap)
}

// abort cuts a checkpoint, does what is given meanwhile, and gives it up.
func (s *script) abort(encoded bool, meanwhile func()) {
	snap := s.b.Freeze(false)
	if encoded {
		s.encode(snap)
	}
	if meanwhile != nil {
		meanwhile()
	}
	s.b.Abort(snap)
}

// want restores and compares the keys of every bucket that has any.
func (s *script) want(buckets map[int64][]int64) {
	s.t.Helper()
	s.start()
	for _, b := range s.b.Timed("w").Buckets() {
		t := s.b.Timed("w").At(b)
		var got []int64
		for _, id := range all(t) {
			got = append(got, keyAt(t, []types.Type{types.TBigInt}, id)[0].I)
		}
		slices.Sort(got)
		if !slices.Equal(got, buckets[b]) {
			s.t.Fatalf("bucket %d holds %v, want %v", b, got, buckets[b])
		}
		delete(buckets, b)
	}
	if len(buckets) > 0 {
		s.t.Fatalf("not there: %v", buckets)
	}
}

// scenarios are the ways in which aborts, drops and images have to go together.
var scenarios = []struct {
	name string
	run  func(*script)
}{
	{"a bucket dropped in an aborted epoch stays dropped", func(s *script) {
		s.put(1, 10)
		s.put(2, 20)
		s.commit()
		s.drop(1)
		s.abort(true, nil)
		s.commit()
		s.want(map[int64][]int64{2: {20}})
	}},
	{"a bucket dropped in an aborted epoch and made again is new", func(s *script) {
		s.put(1, 10)
		s.commit()
		s.drop(1)
		s.abort(false, func() { s.put(1, 11) })
		s.commit()
		s.want(map[int64][]int64{1: {11}})
	}},
	{"a bucket dropped and made again within one epoch is new", func(s *script) {
		s.put(1, 10)
		s.commit()
		s.drop(1)
		s.put(1, 11)
		s.commit()
		s.want(map[int64][]int64{1: {11}})
	}},
	{"a bucket dropped while its epoch is aborted", func(s *script) {
		s.put(1, 10)
		s.commit()
		s.put(1, 11)
		s.abort(false, func() { s.drop(1); s.put(1, 12) })
		s.commit()
		s.want(map[int64][]int64{1: {12}})
	}},
	{"a bucket that only an aborted epoch saw", func(s *script) {
		s.put(2, 20)
		s.commit()
		s.put(1, 10)
		s.abort(true, func() { s.drop(1) })
		s.commit()
		s.want(map[int64][]int64{2: {20}})
	}},
	{"after the first image was aborted comes an image", func(s *script) {
		s.put(1, 10)
		s.abort(true, func() { s.put(1, 11) })
		if !s.b.WantImage() {
			s.t.Fatal("no image is wanted")
		}
		s.commit()
		s.want(map[int64][]int64{1: {10, 11}})
	}},
	{"changes of an aborted image are in the next delta", func(s *script) {
		s.put(1, 10)
		s.commit()
		s.put(1, 11)
		image := s.b.Freeze(true)
		s.put(1, 12)
		s.b.Abort(image)
		delta := s.b.Freeze(false)
		if delta.Image() {
			s.t.Fatal("the image before the aborted one still counts")
		}
		s.chain = append(s.chain, s.encode(delta))
		s.b.Complete(delta)
		s.want(map[int64][]int64{1: {10, 11, 12}})
	}},
	{"a chain goes on after a restore", func(s *script) {
		s.put(1, 10)
		s.commit()
		s.start()
		s.put(2, 20)
		s.commit()
		s.start()
		s.drop(1)
		s.commit()
		if len(s.chain) != 3 {
			s.t.Fatalf("the chain has %d blobs", len(s.chain))
		}
		s.want(map[int64][]int64{2: {20}})
	}},
	{"nothing changed", func(s *script) {
		s.put(1, 10)
		s.commit()
		if snap := s.b.Freeze(false); s.b.Dirty() || !snap.Empty() {
			s.t.Fatal("a delta of nothing is not empty")
		}
	}},
}
