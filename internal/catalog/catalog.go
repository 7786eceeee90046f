// Package catalog holds the immutable snapshot of tables and views against which a
// statement is planned.
package catalog

import (
	"sort"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// Access says what a table may be used for, by the word it was created with.
type Access string

const (
	ReadWrite Access = "table"
	ReadOnly  Access = "source"
	WriteOnly Access = "sink"
)

// Option is one WITH entry as written, with the places of key and value.
type Option struct {
	Key, Value       string
	KeyPos, ValuePos sqlerr.Pos
}

// TableColumn is one column of a declared table.
type TableColumn struct {
	types.Column
	// Computed is the expression's SQL text, "" for a physical column. It is bound
	// anew for each statement, against the table's other columns.
	Computed string
	// ComputedPos is where Computed starts in the text that declared it.
	ComputedPos sqlerr.Pos
	// Metadata is the connector's key of a METADATA column, "" for none.
	Metadata string
	// Virtual: a metadata column that is not written when the table is a sink.
	Virtual bool
	Pos     sqlerr.Pos
}

// Table is a table on an external system.
type Table struct {
	Name    string
	Access  Access
	Columns []TableColumn
	Key     []string // PRIMARY KEY
	// Watermark is the expression's SQL text for WatermarkColumn, "" for none.
	WatermarkColumn string
	Watermark       string
	WatermarkPos    sqlerr.Pos
	Options         []Option
	Pos             sqlerr.Pos
	SQL             string // the CREATE statement as typed
	// Source is the whole text that Pos values count in.
	Source string
}

// Option returns the value of key.
func (t *Table) Option(key string) (Option, bool) {
	for _, o := range t.Options {
		if o.Key == key {
			return o, true
		}
	}
	return Option{}, false
}

// View is a named query.
type View struct {
	Name  string
	Query string // SQL text
	// QueryPos is where Query starts in Source.
	QueryPos sqlerr.Pos
	// Columns are the names of the view's column list, nil without one.
	Columns []string
	Pos     sqlerr.Pos
	SQL     string
	// Source is the whole text that Pos values count in.
	Source string
}

// Snapshot is an immutable set of named tables and views. With returns a new one.
type Snapshot struct {
	tables map[string]*Table
	views  map[string]*View
}

// Empty is a snapshot without objects.
var Empty = &Snapshot{}

func (s *Snapshot) clone() *Snapshot {
	n := &Snapshot{tables: make(map[string]*Table, len(s.tables)+1), views: make(map[string]*View, len(s.views)+1)}
	for k, v := range s.tables {
		n.tables[k] = v
	}
	for k, v := range s.views {
		n.views[k] = v
	}
	return n
}

// WithTable returns a snapshot in which t stands under its name.
func (s *Snapshot) WithTable(t *Table) *Snapshot {
	n := s.clone()
	delete(n.views, t.Name)
	n.tables[t.Name] = t
	return n
}

// WithView returns a snapshot in which v stands under its name.
func (s *Snapshot) WithView(v *View) *Snapshot {
	n := s.clone()
	delete(n.tables, v.Name)
	n.views[v.Name] = v
	return n
}

// Without returns a snapshot that lacks name.
func (s *Snapshot) Without(name string) *Snapshot {
	n := s.clone()
	delete(n.tables, name)
	delete(n.views, name)
	return n
}

// Find looks name up: exactly first; an unquoted name then also without regard to
// case, when that is unambiguous. At most one of the results is set.
func (s *Snapshot) Find(name string, quoted bool) (*Table, *View) {
	if t, ok := s.tables[name]; ok {
		return t, nil
	}
	if v, ok := s.views[name]; ok {
		return nil, v
	}
	if quoted {
		return nil, nil
	}
	hit := ""
	for _, n := range s.Names() {
		if strings.EqualFold(n, name) {
			if hit != "" {
				return nil, nil
			}
			hit = n
		}
	}
	return s.tables[hit], s.views[hit]
}

// Names lists all names, sorted.
func (s *Snapshot) Names() []string {
	out := make([]string, 0, len(s.tables)+len(s.views))
	for n := range s.tables {
		out = append(out, n)
	}
	for n := range s.views {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// Tables lists the tables by name.
func (s *Snapshot) Tables() []*Table {
	out := make([]*Table, 0, len(s.tables))
	for _, n := range s.Names() {
		if t, ok := s.tables[n]; ok {
			out = append(out, t)
		}
	}
	return out
}

// Views lists the views by name.
func (s *Snapshot) Views() []*View {
	out := make([]*View, 0, len(s.views))
	for _, n := range s.Names() {
		if v, ok := s.views[n]; ok {
			out = append(out, v)
		}
	}
	return out
}
