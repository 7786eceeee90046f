package generator

import (
	"maps"
	"slices"
	"strings"

	"github.com/streamsql/streamsql/connectors/generator/nexmark"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// columnKeys are what stands after fields.<column>.
var columnKeys = []string{"kind", "min", "max", "length", "null-rate", "start", "step"}

// fills gives what fills the columns; fields are their names in an event where these
// differ.
func (s settings) fills(columns types.Schema, fields []string, r *optionReader) (out []fill, err error) {
	g := nexmark.New(s.config)
	for i, col := range columns {
		field := col.Name
		if i < len(fields) && fields[i] != "" {
			field = fields[i]
		}
		var f fill
		if s.kind == kindNexmark {
			f, err = nexmarkColumn(g, s.event, field, col.Type)
		} else {
			f, err = freeColumn(s, field, col, r)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// checkColumns refuses columns that cannot be filled, and options of columns that
// nothing reads.
func checkColumns(options map[string]string, columns types.Schema) error {
	s, err := readSettings(options)
	if err != nil {
		return err
	}
	r := &optionReader{options: options}
	if _, err := s.fills(columns, nil, r); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if strings.HasPrefix(key, fieldPrefix) && !r.asked[key] {
			return unused(s.kind, options, key, columns)
		}
	}
	return nil
}

// unused says why nothing reads the option key.
func unused(kind string, options map[string]string, key string, columns types.Schema) error {
	if kind != kindColumns {
		return sqlerr.New(sqlerr.CodeOption, 0, "option %q is for %s = '%s'", key, optKind, kindColumns)
	}
	rest := strings.TrimPrefix(key, fieldPrefix)
	dot := strings.LastIndexByte(rest, '.')
	if dot < 0 || !slices.Contains(columnKeys, rest[dot+1:]) {
		return sqlerr.New(sqlerr.CodeOption, 0, "unknown option %q", key).
			WithHint("Below %s<column> there are %s.", fieldPrefix, strings.Join(columnKeys, ", "))
	}
	name := rest[:dot]
	if i := columns.Index(name); i >= 0 {
		values := "random values"
		if options[fieldPrefix+name+".kind"] == "sequence" {
			values = "a sequence"
		}
		return sqlerr.New(sqlerr.CodeOption, 0, "option %q has no use for %s of type %s", key, values, columns[i].Type)
	}
	e := sqlerr.New(sqlerr.CodeOption, 0, "option %q is for a column %q, which is not one that the generator fills", key, name)
	if near := sqlerr.Nearest(name, columns.Names()); near != "" {
		return e.WithHint("did you mean %q?", near)
	}
	return e
}
