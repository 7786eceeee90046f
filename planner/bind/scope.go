package bind

import (
	"strings"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner/logical"
)

// relation is one entry of FROM: its name and the columns that it has in the node
// below.
type relation struct {
	name  string // "" for a derived table without alias
	first int    // place of its first column in the node
	cols  []logical.Column
}

// scope is what a column reference can mean.
type scope struct {
	rels []relation
}

func newScope(name string, node logical.Node) *scope {
	return &scope{rels: []relation{{name: name, cols: node.Columns()}}}
}

// column resolves a reference: quoted names exactly, others exactly or else to the
// only column that is equal but for case.
func (s *scope) column(ref *tree.ColumnRef) (*expr.Expr, error) {
	if len(ref.Parts) > 2 {
		return nil, sqlerr.New(sqlerr.CodeUndefinedTable, ref.Pos, "invalid reference to FROM-clause entry for table %q", ref.Parts[len(ref.Parts)-2].Text).
			WithHint("Tables are in no schema: write table.column.")
	}
	name := ref.Parts[len(ref.Parts)-1]
	rels := s.rels
	if len(ref.Parts) == 2 {
		r, err := s.relation(ref.Parts[0])
		if err != nil {
			return nil, err
		}
		rels = []relation{*r}
	}
	for _, match := range []func(string) bool{
		func(c string) bool { return c == name.Text },
		func(c string) bool { return name.Matches(c) },
	} {
		var hit *expr.Expr
		n := 0
		for _, r := range rels {
			for i, c := range r.cols {
				if match(c.Name) {
					hit = expr.Col(r.first+i, c.Type)
					n++
				}
			}
		}
		if n == 1 {
			hit.Pos = ref.Pos
			return hit, nil
		}
		if n > 1 {
			return nil, ambiguous(ref, name, rels)
		}
	}
	return nil, s.missing(ref, name, rels)
}

func ambiguous(ref *tree.ColumnRef, name tree.Name, rels []relation) error {
	e := sqlerr.New(sqlerr.CodeAmbiguousColumn, ref.Pos, "column reference %q is ambiguous", name.Text)
	var spelled []string
	for _, r := range rels {
		for _, c := range r.cols {
			if name.Matches(c.Name) && c.Name != name.Text {
				spelled = append(spelled, tree.QuoteIdent(c.Name))
			}
		}
	}
	if len(spelled) > 1 {
		return e.WithHint("Write it in double quotes: %s.", strings.Join(spelled, " or "))
	}
	return e
}

func (s *scope) missing(ref *tree.ColumnRef, name tree.Name, rels []relation) error {
	var e *sqlerr.Error
	if len(ref.Parts) == 2 {
		e = sqlerr.New(sqlerr.CodeUndefinedColumn, ref.Pos, "column %s.%s does not exist", ref.Parts[0].Text, name.Text)
	} else {
		e = sqlerr.New(sqlerr.CodeUndefinedColumn, ref.Pos, "column %q does not exist", name.Text)
	}
	var names []string
	for _, r := range rels {
		for _, c := range r.cols {
			names = append(names, c.Name)
		}
	}
	if near := sqlerr.Nearest(name.Text, names); near != "" {
		return e.WithHint("did you mean %q?", near)
	}
	return e
}

func (s *scope) relation(name tree.Name) (*relation, error) {
	var names []string
	for i := range s.rels {
		if s.rels[i].name == name.Text {
			return &s.rels[i], nil
		}
		names = append(names, s.rels[i].name)
	}
	for i := range s.rels {
		if name.Matches(s.rels[i].name) {
			return &s.rels[i], nil
		}
	}
	e := sqlerr.New(sqlerr.CodeUndefinedTable, name.Pos, "missing FROM-clause entry for table %q", name.Text)
	if near := sqlerr.Nearest(name.Text, names); near != "" {
		return nil, e.WithHint("did you mean %q?", near)
	}
	return nil, e
}

// exprName is the name of a plain column, else other.
func (s *scope) exprName(e *expr.Expr, other string) string {
	if e.Kind == expr.Column {
		for _, r := range s.rels {
			if e.Col >= r.first && e.Col < r.first+len(r.cols) {
				return r.cols[e.Col-r.first].Name
			}
		}
	}
	return other
}

// nameOf describes column i for a message: relation and column.
func (s *scope) nameOf(i int) string {
	for _, r := range s.rels {
		if i >= r.first && i < r.first+len(r.cols) {
			if r.name == "" {
				return r.cols[i-r.first].Name
			}
			return r.name + "." + r.cols[i-r.first].Name
		}
	}
	return "?column?"
}
