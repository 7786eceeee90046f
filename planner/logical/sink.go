package logical

import (
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// Sink writes a table: the root of an output.
type Sink struct {
	Input     Node
	Table     string // name, or "select" for a query whose rows are shown
	Connector string
	Caps      connectors.Capabilities
	Options   map[string]string
	Format    string
	Target    types.Schema // columns written, for the input columns in order
	Declared  types.Schema // all columns of the table, nil when they are Target
	Key       []int        // PRIMARY KEY, as positions in Target
	OnError   string
	// DeadLetters is the table for rows that the target refuses, "" for none.
	DeadLetters string
	// Parallelism is the table's own, 0 for the job's.
	Parallelism int
	Pos         sqlerr.Pos
}

func (s *Sink) Columns() []Column { return s.Input.Columns() }
func (s *Sink) Inputs() []Node    { return []Node{s.Input} }

func (s *Sink) WithInputs(in []Node) Node {
	c := *s
	c.Input = in[0]
	return &c
}
