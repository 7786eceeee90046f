package runtime

import (
	"context"
	"io"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
)

// values is a plan.Values as a source of one bounded split.
type values struct {
	node *plan.Node
	done bool // as a Reader
}

// scanOf describes a Values node as the scan of a table.
func scanOf(n *plan.Node) *plan.Source {
	if n.Source != nil {
		return n.Source
	}
	s := &plan.Source{Table: "values", TimeColumn: -1, Bounded: true}
	for i, c := range n.Schema {
		s.Read = append(s.Read, plan.ReadColumn{Column: c})
		s.Output = append(s.Output, i)
	}
	return s
}

func (v *values) Splits(context.Context) ([]connectors.Split, error) {
	return []connectors.Split{{ID: "values"}}, nil
}

func (v *values) Open(_ context.Context, _ connectors.Split, pos connectors.Position) (connectors.Reader, error) {
	return &values{node: v.node, done: pos != nil}, nil
}

func (v *values) Close() error { return nil }

func (v *values) Next(context.Context) (*connectors.Chunk, error) {
	if v.done {
		return nil, io.EOF
	}
	v.done = true
	rows := v.node.Values.Rows
	b := vec.NewBatch(v.node.Schema.Types(), len(rows))
	for _, row := range rows {
		for i, x := range row {
			b.Cols[i].AppendValue(x)
		}
		b.N++
	}
	return &connectors.Chunk{Batch: b, Pos: connectors.Position(`"end"`)}, nil
}
