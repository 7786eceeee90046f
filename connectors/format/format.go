// Package format turns payload bytes into columns and rows back into bytes.
package format

import (
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// Column is one column to decode or encode.
type Column struct {
	Field   string // name in the payload, matched exactly
	Type    types.Type
	NotNull bool
}

// RowError says why a payload, or one row of it, was not decoded.
type RowError struct {
	Payload int    // index in the call
	Field   string // column's field, "" when the text itself is broken
	Code    string
	Msg     string // names the field
}

// Decoder turns payloads into rows. It holds scratch memory: one goroutine uses it at
// a time, and every decode worker has its own.
type Decoder interface {
	// Decode appends the rows of every payload to out, whose columns are the decoder's
	// columns in order, and to origin the payload index of each row. A payload that
	// cannot be decoded adds no rows and one error; a payload with several rows is
	// taken whole or not at all. Bytes are copied; payloads stay the caller's.
	Decode(payloads [][]byte, out *vec.Batch, origin []int32, errs []RowError) ([]int32, []RowError)
}

// Encoder turns rows into bytes.
type Encoder interface {
	// Append appends row i of b, without a line end.
	Append(dst []byte, b *vec.Batch, i int) []byte
}

// Format is one row of the list of formats.
type Format struct {
	Name string
	Doc  string
	// Options are keys of WITH (…) that the format reads, "format option" in
	// connectors.Option's sense, by name and default.
	Options []Option
	// Check judges columns before a job starts: a type that the format cannot carry.
	Check      func(cols []Column, options map[string]string) error
	NewDecoder func(cols []Column, options map[string]string) (Decoder, error)
	NewEncoder func(cols []Column, options map[string]string) (Encoder, error)
}

// Option is a key of WITH (…) that a format reads.
type Option struct {
	Name, Default, Doc string
	Enum               []string
}
