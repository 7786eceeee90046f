// Package statetest is the conformance suite of keyed state: what every backend does,
// wherever it keeps its records. It compares a job of several subtasks with plain
// maps while epochs complete and abort and the job is killed and restored at other
// parallelism.
package statetest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/cell"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// Table is a keyed, child or value table as state.Table documents it.
type Table interface {
	Cells() *cell.Store
	ValueOffset() int
	Len() int
	Upsert(hashes []uint64, keys []*vec.Vector, sel []int32, ids []uint32) (created []int32)
	UpsertOf(parents []uint32, hashes []uint64, keys []*vec.Vector, sel []int32, ids []uint32) (created []int32)
	Find(hashes []uint64, keys []*vec.Vector, sel []int32, ids []uint32)
	FindOf(parents []uint32, hashes []uint64, keys []*vec.Vector, sel []int32, ids []uint32)
	Row() uint32
	Parent(id uint32) uint32
	Delete(id uint32)
	AppendKeys(ids []uint32, out []*vec.Vector)
	Scan(dst []uint32, from uint32, limit int) (ids []uint32, next uint32, done bool)
}

// Timed is a table by time bucket as state.Timed documents it.
type Timed interface {
	At(bucket int64) Table
	Buckets() []int64
	Drop(bucket int64)
}

// Snapshot is a frozen state as state.Snapshot documents it.
type Snapshot interface {
	Image() bool
	Empty() bool
	Encode(w io.Writer) error
}

// Backend is the state of one subtask as state.Backend documents it.
type Backend interface {
	Table(name string) Table
	Timed(name string) Timed
	Freeze(image bool) Snapshot
	Complete(s Snapshot)
	Abort(s Snapshot)
	WantImage() bool
	Dirty() bool
	Memory() int
	Restore(owned stream.GroupRange, groups int, parts []state.Part) error
}

// Open makes an empty backend.
type Open func(decls ...state.Decl) (Backend, error)

// shapes are the keys that tables are tried with.
var shapes = []struct {
	name string
	keys []types.Type
}{
	{"bigint", []types.Type{types.TBigInt}},
	{"two integers", []types.Type{types.TSmallInt, types.TTimestamp(3)}},
	{"text", []types.Type{types.TText}},
	{"double", []types.Type{types.TDouble}},
	{"decimal", []types.Type{types.TDecimal(30, 2)}},
	{"interval", []types.Type{types.TInterval}},
	{"mixed", []types.Type{types.TInt, types.TText, types.TBool, types.TDouble, types.TDecimal(20, 0), types.TTimestamp(3), types.TBytes}},
	{"ten columns", []types.Type{types.TBool, types.TBool, types.TBool, types.TBool, types.TBool, types.TBool, types.TBool, types.TBool, types.TBool, types.TText}},
	{"no column", []types.Type{}},
}

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for _, c := range scenarios {
		t.Run(c.name, func(t *testing.T) {
			s := &script{t: t, open: open}
			s.start()
			c.run(s)
		})
	}
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			for seed := range uint64(5) {
				t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
					j := &job{t: t, open: open, seed: seed, rng: rand.New(rand.NewPCG(seed, 7)), keys: shape.keys}
					j.run()
				})
			}
		})
	}
}
