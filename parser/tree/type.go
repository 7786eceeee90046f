package tree

import "github.com/streamsql/streamsql/internal/types"

// TypeShape tells scalar types from the nested ones.
type TypeShape uint8

const (
	// ScalarType has its meaning in TypeName.Type.
	ScalarType TypeShape = iota
	// ArrayType is ARRAY<Elem> or Elem[].
	ArrayType
	// RowType is ROW<Fields>.
	RowType
	// MapType is MAP<Key, Elem>.
	MapType
)

// TypeName is a type as written. Type is set for scalars only; the nested shapes
// are kept so that the binder can refuse or plan them by position.
type TypeName struct {
	Span
	Shape TypeShape
	Type  types.Type
	// Spelling is the first word of the name as typed, in upper case: VARCHAR and
	// TEXT are one type but give a cast's column different names.
	Spelling string
	Elem     *TypeName
	Key      *TypeName
	Fields   []RowField
}

// RowField is one field of ROW<…>.
type RowField struct {
	Name Name
	Type TypeName
}

// String gives the SQL spelling.
func (t TypeName) String() string {
	switch t.Shape {
	case ArrayType:
		return "ARRAY<" + t.Elem.String() + ">"
	case MapType:
		return "MAP<" + t.Key.String() + ", " + t.Elem.String() + ">"
	case RowType:
		s := "ROW<"
		for i, f := range t.Fields {
			if i > 0 {
				s += ", "
			}
			s += QuoteName(f.Name) + " " + f.Type.String()
		}
		return s + ">"
	}
	return t.Type.String()
}
