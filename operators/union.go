package operators

import (
	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
)

// union passes the rows of every port on as they come. Rows keep the watermark that
// they carry, that of their own branch.
type union struct{}

func newUnion(*plan.Node, Context) (Operator, error) { return union{}, nil }

func (union) Process(_ int, b *vec.Batch) (Output, error) { return Output{Batch: b}, nil }
func (union) Advance(int64) (Output, error)               { return Output{}, nil }
func (union) Resume() (Output, error)                     { return Output{}, nil }
func (union) State() *state.Backend                       { return nil }
