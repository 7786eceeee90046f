// Package types holds SQL types, schemas and single values: the vocabulary that
// every other package shares. Nothing here is on the row path; columns of values
// live in package vec.
package types

import (
	"fmt"
	"strings"
)

// Kind is a SQL type without its parameters.
type Kind uint8

const (
	// Unknown is the type of an untyped NULL or string literal before the binder
	// settles it, as in PostgreSQL.
	Unknown Kind = iota
	Bool
	SmallInt
	Int
	BigInt
	Real
	Double
	// Decimal has Precision (0 = unconstrained, at most MaxPrecision) and Scale.
	Decimal
	// Text covers VARCHAR, TEXT, STRING and CHAR; Length 0 is unlimited.
	Text
	Bytes
	// Date is days since 1970-01-01.
	Date
	// Time is microseconds since midnight; Precision as Timestamp.
	Time
	// Timestamp is microseconds since 1970-01-01 00:00:00 without a zone;
	// Precision is the number of fractional digits kept, 0 to 6.
	Timestamp
	// TimestampTZ is microseconds since the epoch in UTC; Precision as Timestamp.
	TimestampTZ
	Interval
	JSON
	UUID
)

// MaxPrecision is the largest precision of a DECIMAL: 38 digits fit in 128 bits.
const MaxPrecision = 38

// Type is a SQL type. The zero Type is Unknown. Types compare with ==.
type Type struct {
	Kind      Kind  `json:"k"`
	Precision uint8 `json:"p,omitempty"`
	Scale     uint8 `json:"s,omitempty"`
	// Length is the limit in characters of VARCHAR(n) and CHAR(n), 0 for none.
	Length int32 `json:"n,omitempty"`
}

// Phys is how a column of a type lies in memory. There are six layouts, so that a
// kernel is written six times and not seventeen; integers of every width are 64
// bits wide (the Arrow edge narrows them in one pass).
type Phys uint8

const (
	// PBool is one bit per value.
	PBool Phys = iota
	// PInt64 is SMALLINT, INT, BIGINT, DATE, TIME, TIMESTAMP and TIMESTAMPTZ.
	PInt64
	// PFloat64 is REAL (already rounded to 32 bits) and DOUBLE.
	PFloat64
	// PInt128 is DECIMAL: the unscaled value; the scale is in the type.
	PInt128
	// PBytes is TEXT, BYTES, JSON and UUID: offsets into bytes.
	PBytes
	// PInterval is months, days, microseconds.
	PInterval
)

// Phys gives the layout of columns of t. An Unknown column is laid out as text.
func (t Type) Phys() Phys {
	switch t.Kind {
	case Bool:
		return PBool
	case SmallInt, Int, BigInt, Date, Time, Timestamp, TimestampTZ:
		return PInt64
	case Real, Double:
		return PFloat64
	case Decimal:
		return PInt128
	case Interval:
		return PInterval
	default:
		return PBytes
	}
}

// Convenience constructors.
var (
	TBool     = Type{Kind: Bool}
	TSmallInt = Type{Kind: SmallInt}
	TInt      = Type{Kind: Int}
	TBigInt   = Type{Kind: BigInt}
	TReal     = Type{Kind: Real}
	TDouble   = Type{Kind: Double}
	TText     = Type{Kind: Text}
	TBytes    = Type{Kind: Bytes}
	TDate     = Type{Kind: Date}
	TTime     = Type{Kind: Time, Precision: 6}
	TInterval = Type{Kind: Interval}
	TJSON     = Type{Kind: JSON}
	TUUID     = Type{Kind: UUID}
)

// TDecimal returns DECIMAL(p, s).
func TDecimal(p, s int) Type { return Type{Kind: Decimal, Precision: uint8(p), Scale: uint8(s)} }

// TTimestamp returns TIMESTAMP(p).
func TTimestamp(p int) Type { return Type{Kind: Timestamp, Precision: uint8(p)} }

// TTimestampTZ returns TIMESTAMP(p) WITH TIME ZONE.
func TTimestampTZ(p int) Type { return Type{Kind: TimestampTZ, Precision: uint8(p)} }

// IsInteger reports SMALLINT, INT or BIGINT.
func (t Type) IsInteger() bool { return t.Kind >= SmallInt && t.Kind <= BigInt }

// IsFloat reports REAL or DOUBLE.
func (t Type) IsFloat() bool { return t.Kind == Real || t.Kind == Double }

// IsNumeric reports any number type.
func (t Type) IsNumeric() bool { return t.Kind >= SmallInt && t.Kind <= Decimal }

// IsTimestamp reports TIMESTAMP with or without zone.
func (t Type) IsTimestamp() bool { return t.Kind == Timestamp || t.Kind == TimestampTZ }

// Tick is the smallest step of a time column in microseconds: 1000 for TIMESTAMP(3).
func (t Type) Tick() int64 {
	n := int64(1)
	for p := t.Precision; p < 6; p++ {
		n *= 10
	}
	return n
}

// String gives the SQL spelling.
func (t Type) String() string {
	switch t.Kind {
	case Unknown:
		return "UNKNOWN"
	case Bool:
		return "BOOLEAN"
	case SmallInt:
		return "SMALLINT"
	case Int:
		return "INT"
	case BigInt:
		return "BIGINT"
	case Real:
		return "REAL"
	case Double:
		return "DOUBLE"
	case Decimal:
		if t.Precision == 0 {
			return "DECIMAL"
		}
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)
	case Text:
		if t.Length > 0 {
			return fmt.Sprintf("VARCHAR(%d)", t.Length)
		}
		return "VARCHAR"
	case Bytes:
		return "BYTES"
	case Date:
		return "DATE"
	case Time:
		if t.Precision < 6 {
			return fmt.Sprintf("TIME(%d)", t.Precision)
		}
		return "TIME"
	case Timestamp:
		return fmt.Sprintf("TIMESTAMP(%d)", t.Precision)
	case TimestampTZ:
		return fmt.Sprintf("TIMESTAMP(%d) WITH TIME ZONE", t.Precision)
	case Interval:
		return "INTERVAL"
	case JSON:
		return "JSON"
	case UUID:
		return "UUID"
	}
	return fmt.Sprintf("KIND(%d)", t.Kind)
}

// Column is one column of a schema.
type Column struct {
	Name    string `json:"name"`
	Type    Type   `json:"type"`
	NotNull bool   `json:"notnull,omitempty"`
}

// Schema is an ordered list of columns. Names may repeat in a query's output.
type Schema []Column

// Index returns the position of the column with exactly this name, or -1.
func (s Schema) Index(name string) int {
	for i := range s {
		if s[i].Name == name {
			return i
		}
	}
	return -1
}

// Names lists the column names in order.
func (s Schema) Names() []string {
	out := make([]string, len(s))
	for i := range s {
		out[i] = s[i].Name
	}
	return out
}

// Types lists the column types in order.
func (s Schema) Types() []Type {
	out := make([]Type, len(s))
	for i := range s {
		out[i] = s[i].Type
	}
	return out
}

func (s Schema) String() string {
	var b strings.Builder
	for i, c := range s {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %s", c.Name, c.Type)
		if c.NotNull {
			b.WriteString(" NOT NULL")
		}
	}
	return b.String()
}
