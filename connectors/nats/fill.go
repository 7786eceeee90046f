package nats

import (
	"bytes"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// filler writes a template with a row's values.
type filler struct {
	template
	cols []int // of each part, -1 for a literal
}

// newFiller binds the names of a template to columns.
func newFiller(option string, t template, schema types.Schema) (filler, error) {
	f := filler{template: t}
	for _, p := range t.parts {
		col := -1
		if p.name != "" {
			if col = schema.Index(p.name); col < 0 {
				e := sqlerr.New(sqlerr.CodeUndefinedColumn, 0, "%q names column %q, which the table does not have", option, p.name)
				if near := sqlerr.Nearest(p.name, schema.Names()); near != "" {
					e = e.WithHint("Did you mean %q?", near)
				}
				return f, e
			}
		}
		f.cols = append(f.cols, col)
	}
	return f, nil
}

func (f *filler) constant() bool { return len(f.parts) == 1 && f.cols[0] < 0 || len(f.parts) == 0 }

// subject appends the subject of row i; a value that would change the number of tokens
// refuses the row.
func (f *filler) subject(dst []byte, b *vec.Batch, i int) ([]byte, *sqlerr.Error) {
	for k, p := range f.parts {
		if f.cols[k] < 0 {
			dst = append(dst, p.literal...)
			continue
		}
		c := b.Cols[f.cols[k]]
		if c.IsNull(i) {
			return dst, sqlerr.New(sqlerr.CodeNotNull, 0, "column %q is NULL and part of the subject %q", p.name, f.text)
		}
		at := len(dst)
		dst = vec.AppendText(dst, c, i)
		if len(dst) == at || bytes.ContainsAny(dst[at:], ".*> \t\r\n\x00") {
			return dst, sqlerr.New(sqlerr.CodeInvalidParameter, 0, "column %q has %q, which cannot be a token of the subject %q", p.name, dst[at:], f.text)
		}
	}
	return dst, nil
}

// value appends the text of row i, NULL as nothing, line ends as spaces.
func (f *filler) value(dst []byte, b *vec.Batch, i int) []byte {
	for k, p := range f.parts {
		if f.cols[k] < 0 {
			dst = append(dst, p.literal...)
			continue
		}
		at := len(dst)
		dst = vec.AppendText(dst, b.Cols[f.cols[k]], i)
		for j := at; j < len(dst); j++ {
			if dst[j] == '\n' || dst[j] == '\r' {
				dst[j] = ' '
			}
		}
	}
	return dst
}
