package planner

import (
	"testing"

	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/logical"
	"github.com/streamsql/streamsql/planner/plan"
)

func TestCSVColumns(t *testing.T) {
	tab := &logical.Table{Read: []plan.ReadColumn{
		{Column: types.Column{Name: "id"}, Field: "id"},
		{Column: types.Column{Name: "at"}, Metadata: "timestamp"},
		{Column: types.Column{Name: "a;b"}, Field: "a;b"},
	}}
	for _, c := range []struct {
		options map[string]string
		want    string
	}{
		{nil, "id,a;b"},
		{map[string]string{"csv.delimiter": ";"}, `id;"a;b"`},
		{map[string]string{"csv.columns": "x,id"}, "x,id"},
	} {
		n := len(c.options)
		got, err := withCSVColumns(c.options, tab)
		if err != nil || got[format.CSVColumns] != c.want {
			t.Errorf("%v: %q %v, want %q", c.options, got[format.CSVColumns], err, c.want)
		}
		if len(c.options) != n {
			t.Errorf("the table's options were changed: %v", c.options)
		}
	}
}
