package format

import (
	"fmt"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// rawFormat is the payload itself as the value of the one column.
var rawFormat = Format{
	Name:  "raw",
	Doc:   "The payload is the value of the one column, VARCHAR or BYTES",
	Check: checkRaw,
	NewDecoder: func(cols []Column, options map[string]string) (Decoder, error) {
		if err := checkRaw(cols, options); err != nil {
			return nil, err
		}
		return &rawDecoder{builder: newBuilder(cols)}, nil
	},
	NewEncoder: func(cols []Column, options map[string]string) (Encoder, error) {
		if err := checkRaw(cols, options); err != nil {
			return nil, err
		}
		return rawEncoder{}, nil
	},
}

func checkRaw(cols []Column, _ map[string]string) error {
	if len(cols) > 1 {
		return sqlerr.New(sqlerr.CodeSchema, 0, "format %q carries one column, not %d", "raw", len(cols))
	}
	for _, c := range cols {
		if c.Type.Kind != types.Text && c.Type.Kind != types.Bytes {
			return sqlerr.New(sqlerr.CodeSchema, 0, "column %q of type %s cannot be carried by format %q", c.Field, c.Type, "raw").
				WithHint("Declare it as VARCHAR or BYTES.")
		}
	}
	return nil
}

type rawDecoder struct{ builder }

// Decode implements Decoder.
func (d *rawDecoder) Decode(payloads [][]byte, out *vec.Batch, origin []int32, errs []RowError) ([]int32, []RowError) {
	d.begin(out, len(payloads))
	for p, b := range payloads {
		if f := d.set(b); f != vec.Fine {
			c := &d.cols[0]
			e := vec.TextError(c.Type, b, f)
			d.undo(d.row)
			errs = append(errs, RowError{Payload: p, Field: c.Field, Code: e.Code, Msg: fmt.Sprintf("field %q: %s", c.Field, e.Msg)})
			continue
		}
		d.row++
		origin = append(origin, int32(p))
	}
	d.end()
	return origin, errs
}

func (d *rawDecoder) set(b []byte) vec.Fault {
	if len(d.cols) == 0 {
		return vec.Fine
	}
	c := &d.cols[0]
	if c.Type.Kind == types.Bytes {
		return c.setBytes(d.row, b)
	}
	if f := vec.CheckText(b, 0); f != vec.Fine {
		return f
	}
	return c.setText(d.row, b)
}

type rawEncoder struct{}

// Append implements Encoder; a NULL is an empty payload.
func (rawEncoder) Append(dst []byte, b *vec.Batch, i int) []byte {
	if len(b.Cols) == 0 || b.Cols[0].IsNull(i) {
		return dst
	}
	return append(dst, b.Cols[0].Bytes(i)...)
}
