package tree

import (
	"strings"

	"github.com/streamsql/streamsql/internal/types"
)

// FoldName gives the form under which PostgreSQL would look a name up.
func FoldName(n Name) string {
	if n.Quoted {
		return n.Text
	}
	return strings.ToLower(n.Text)
}

// QuoteName prints a name so that it reads back as the same name.
func QuoteName(n Name) string {
	if !n.Quoted && isPlainWord(n.Text) {
		return n.Text
	}
	return QuoteIdent(n.Text)
}

// QuoteIdent puts s in double quotes.
func QuoteIdent(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// QuoteString puts s in single quotes.
func QuoteString(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// OutputName is the name of the column that the item makes: its alias, else what
// PostgreSQL derives from the expression, else "?column?". Column names keep the
// spelling typed; the binder replaces it by the declared one. A Star has none.
func (it SelectItem) OutputName() string {
	if it.Alias != nil {
		return it.Alias.Text
	}
	if name, _ := derivedName(it.Expr); name != "" {
		return name
	}
	return "?column?"
}

// derivedName follows PostgreSQL's FigureColname: a strength of 2 is a real name, 1
// a name that a better one may replace, 0 none.
func derivedName(e Expr) (name string, strength int) {
	switch e := e.(type) {
	case *ColumnRef:
		return e.Parts[len(e.Parts)-1].Text, 2
	case *FieldExpr:
		return e.Field.Text, 2
	case *SubscriptExpr:
		return derivedName(e.X)
	case *CallExpr:
		return e.FuncName(), 2
	case *ExtractExpr:
		return "extract", 2
	case *AtTimeZoneExpr:
		return "timezone", 2
	case *ExistsExpr:
		return "exists", 2
	case *ArrayExpr:
		return "array", 2
	case *RowExpr:
		return "row", 2
	case *MapExpr:
		return "map", 2
	case *SubqueryExpr:
		return derivedSubqueryName(e.Query.Body)
	case *CastExpr:
		if name, strength = derivedName(e.X); strength < 2 && typeColumnName(e.Type) != "" {
			return typeColumnName(e.Type), 1
		}
		return name, strength
	case *TypedLit:
		return typeColumnName(e.Type), 1
	case *IntervalLit:
		return "interval", 1
	case *CaseExpr:
		if e.Else != nil {
			if name, strength = derivedName(e.Else); strength == 2 {
				return name, 2
			}
		}
		return "case", 1
	}
	return "", 0
}

// derivedSubqueryName is the name of a scalar query's one column.
func derivedSubqueryName(b QueryBody) (string, int) {
	switch b := b.(type) {
	case *Select:
		if b.Items[0].Alias != nil {
			return b.Items[0].Alias.Text, 2
		}
		return derivedName(b.Items[0].Expr)
	case *Values:
		return "column1", 2
	case *SetOp:
		return derivedSubqueryName(b.Left)
	case *Query:
		return derivedSubqueryName(b.Body)
	}
	return "", 0
}

// typeColumnName is PostgreSQL's internal name of a type, which names a cast's column.
func typeColumnName(t TypeName) string {
	if t.Shape != ScalarType {
		return ""
	}
	switch t.Type.Kind {
	case types.Bool:
		return "bool"
	case types.SmallInt:
		return "int2"
	case types.Int:
		return "int4"
	case types.BigInt:
		return "int8"
	case types.Real:
		return "float4"
	case types.Double:
		return "float8"
	case types.Decimal:
		return "numeric"
	case types.Text:
		switch t.Spelling {
		case "VARCHAR", "CHARACTER", "CHAR":
			return "varchar"
		}
		return "text"
	case types.Bytes:
		return "bytea"
	case types.Date:
		return "date"
	case types.Time:
		return "time"
	case types.Timestamp:
		return "timestamp"
	case types.TimestampTZ:
		return "timestamptz"
	case types.Interval:
		return "interval"
	case types.JSON:
		if t.Spelling == "JSON" {
			return "json"
		}
		return "jsonb"
	case types.UUID:
		return "uuid"
	}
	return ""
}

// isPlainWord reports that s can stand unquoted as a name.
func isPlainWord(s string) bool {
	if s == "" {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c >= 0x80:
		case i > 0 && (c >= '0' && c <= '9' || c == '$'):
		default:
			return false
		}
	}
	return true
}
