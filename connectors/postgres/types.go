package postgres

import (
	"fmt"
	"strings"

	"github.com/streamsql/streamsql/internal/types"
)

// column is one column of the real table.
type column struct {
	name     string
	typ      string // format_type(): "character varying(10)"
	base     string // pg_type.typname of the base type
	enum     bool
	typmod   int32
	notNull  bool
	defaults bool // a DEFAULT, identity or generated value fills it when left out
	always   bool // GENERATED ALWAYS: nothing else may be written
}

// sqlType is the PostgreSQL type that CREATE TABLE would use for t.
func sqlType(t types.Type) string {
	switch t.Kind {
	case types.Bool:
		return "boolean"
	case types.SmallInt:
		return "smallint"
	case types.Int:
		return "integer"
	case types.BigInt:
		return "bigint"
	case types.Real:
		return "real"
	case types.Double:
		return "double precision"
	case types.Decimal:
		if t.Precision == 0 {
			return "numeric"
		}
		return fmt.Sprintf("numeric(%d,%d)", t.Precision, t.Scale)
	case types.Bytes:
		return "bytea"
	case types.Date:
		return "date"
	case types.Time:
		return "time"
	case types.Timestamp:
		return fmt.Sprintf("timestamp(%d)", t.Precision)
	case types.TimestampTZ:
		return fmt.Sprintf("timestamp(%d) with time zone", t.Precision)
	case types.Interval:
		return "interval"
	case types.JSON:
		return "jsonb"
	case types.UUID:
		return "uuid"
	}
	if t.Length > 0 {
		return fmt.Sprintf("varchar(%d)", t.Length)
	}
	return "text"
}

// takes reports whether a column of the real table can take every value of t without
// changing it. Text also goes into types that are written as text.
func (c *column) takes(t types.Type) bool {
	in := func(names ...string) bool {
		for _, n := range names {
			if c.base == n {
				return true
			}
		}
		return false
	}
	switch t.Kind {
	case types.Bool:
		return in("bool")
	case types.SmallInt:
		return in("int2", "int4", "int8", "float4", "float8") || c.holdsDigits(5, 0)
	case types.Int:
		return in("int4", "int8", "float8") || c.holdsDigits(10, 0)
	case types.BigInt:
		return in("int8") || c.holdsDigits(19, 0)
	case types.Real:
		return in("float4", "float8")
	case types.Double:
		return in("float8")
	case types.Decimal:
		return c.holdsDigits(int(t.Precision), int(t.Scale))
	case types.Text:
		if c.enum || in("text", "bpchar", "varchar", "citext", "name") {
			return true
		}
		return in("uuid", "json", "jsonb", "inet", "cidr", "macaddr", "xml", "ltree")
	case types.JSON:
		return in("json", "jsonb", "text")
	case types.UUID:
		return in("uuid", "text")
	case types.Bytes:
		return in("bytea")
	case types.Date:
		return in("date")
	case types.Time:
		return in("time")
	case types.Timestamp:
		return in("timestamp") && (c.typmod < 0 || int(c.typmod) >= int(t.Precision))
	case types.TimestampTZ:
		return in("timestamptz") && (c.typmod < 0 || int(c.typmod) >= int(t.Precision))
	case types.Interval:
		return in("interval")
	}
	return false
}

// holdsDigits reports a numeric column with room for p digits, s of them after the
// point; p = 0 is a number without declared limits.
func (c *column) holdsDigits(p, s int) bool {
	if c.base != "numeric" {
		return false
	}
	if c.typmod < 4 {
		return true
	}
	if p == 0 {
		return false
	}
	cp, cs := int((c.typmod-4)>>16), int((c.typmod-4)&0x7ff)
	return cs >= s && cp-cs >= p-s
}

// maxChars is the limit of a varchar(n) or char(n) column, 0 for none.
func (c *column) maxChars() int {
	if (c.base == "varchar" || c.base == "bpchar") && c.typmod >= 4 {
		return int(c.typmod - 4)
	}
	return 0
}

// param is how a column of values travels: the array type of the bound parameter and
// the expression that brings an element to the column's type.
func (c *column) param(t types.Type, alias string) (array, expr string) {
	switch t.Kind {
	case types.Bool:
		return "boolean[]", alias
	case types.SmallInt, types.Int, types.BigInt:
		if c.base == "int8" {
			return "bigint[]", alias
		}
		return "bigint[]", alias + "::" + c.typ
	case types.Real, types.Double:
		return "double precision[]", alias
	case types.Date:
		return "date[]", alias
	case types.Time:
		return "time[]", alias
	case types.Timestamp:
		return "timestamp[]", alias
	case types.TimestampTZ:
		return "timestamptz[]", alias
	case types.Interval:
		return "interval[]", alias
	case types.Bytes:
		return "bytea[]", alias
	}
	if c.base == "text" {
		return "text[]", alias
	}
	// The bare type name: a cast to varchar(3) would cut the text, an assignment refuses it.
	if c.base == "varchar" || c.base == "bpchar" {
		return "text[]", alias
	}
	return "text[]", alias + "::" + strings.SplitN(c.typ, "(", 2)[0]
}
