package planner

import (
	"maps"

	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/planner/logical"
)

// withCSVColumns adds to the options of a table in format csv the fields of its records
// in order, unless they say so themselves: a scan that reads some of the columns still
// has to know the places of all.
func withCSVColumns(options map[string]string, t *logical.Table) (map[string]string, error) {
	if options[format.CSVColumns] != "" {
		return options, nil
	}
	var fields []string
	for _, r := range t.Read {
		if r.Metadata == "" {
			fields = append(fields, r.Field)
		}
	}
	list, err := format.AppendCSVFields(nil, fields, options)
	if err != nil {
		return nil, err
	}
	out := maps.Clone(options)
	if out == nil {
		out = map[string]string{}
	}
	out[format.CSVColumns] = string(list)
	return out, nil
}
