package runtime

import (
	"fmt"

	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// rowJSON shows a row as JSON, for dead letters and errors; schema may be nil.
func rowJSON(schema types.Schema, b *vec.Batch, row int) []byte {
	cols := make([]format.Column, len(b.Cols))
	for i, c := range b.Cols {
		cols[i] = format.Column{Field: fmt.Sprintf("column %d", i+1), Type: c.Type}
		if i < len(schema) {
			cols[i].Field = schema[i].Name
		}
	}
	f, err := format.Find("json")
	if err != nil {
		return nil
	}
	e, err := f.NewEncoder(cols, nil)
	if err != nil {
		return nil
	}
	return e.Append(nil, b, row)
}
