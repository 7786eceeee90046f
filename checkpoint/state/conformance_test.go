package state_test

import (
	"testing"

	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/checkpoint/state/statetest"
)

// backend gives *state.Backend the interface of the suite.
type backend struct{ *state.Backend }

func (b backend) Table(name string) statetest.Table    { return b.Backend.Table(name) }
func (b backend) Timed(name string) statetest.Timed    { return timed{b.Backend.Timed(name)} }
func (b backend) Freeze(image bool) statetest.Snapshot { return b.Backend.Freeze(image) }
func (b backend) Complete(s statetest.Snapshot)        { b.Backend.Complete(s.(*state.Snapshot)) }
func (b backend) Abort(s statetest.Snapshot)           { b.Backend.Abort(s.(*state.Snapshot)) }

type timed struct{ *state.Timed }

func (t timed) At(bucket int64) statetest.Table { return t.Timed.At(bucket) }

func TestConformance(t *testing.T) {
	statetest.Run(t, func(decls ...state.Decl) (statetest.Backend, error) {
		b, err := state.New(decls...)
		return backend{b}, err
	})
}
