package types

import "time"

// IntervalValue is PostgreSQL's interval: three parts that do not mix, because a
// month has no fixed number of days and a day no fixed number of hours.
type IntervalValue struct {
	Months int32 `json:"m,omitempty"`
	Days   int32 `json:"d,omitempty"`
	Micros int64 `json:"us,omitempty"`
}

// Value is one SQL value: a literal, an option, a cell in a test. It is never used
// per row on the data path.
//
// The field that counts is the one of Type.Phys(): I for PInt64 and PBool (0 or
// 1), F for PFloat64, Dec for PInt128, S for PBytes (raw bytes for BYTES and UUID's
// canonical text for UUID), Iv for PInterval.
type Value struct {
	Type Type          `json:"t"`
	Null bool          `json:"null,omitempty"`
	I    int64         `json:"i,omitempty"`
	F    float64       `json:"f,omitempty"`
	Dec  Int128        `json:"dec,omitzero"`
	S    string        `json:"s,omitempty"`
	Iv   IntervalValue `json:"iv,omitzero"`
}

// Null returns a NULL of type t.
func Null(t Type) Value { return Value{Type: t, Null: true} }

// IntValue returns a value of the integer or time type t.
func IntValue(t Type, i int64) Value { return Value{Type: t, I: i} }

// TextValue returns a TEXT value.
func TextValue(s string) Value { return Value{Type: TText, S: s} }

// BoolValue returns a BOOLEAN value.
func BoolValue(b bool) Value {
	v := Value{Type: TBool}
	if b {
		v.I = 1
	}
	return v
}

// FloatValue returns a DOUBLE value.
func FloatValue(f float64) Value { return Value{Type: TDouble, F: f} }

// DecimalValue returns a value of the DECIMAL type t with unscaled value d.
func DecimalValue(t Type, d Int128) Value { return Value{Type: t, Dec: d} }

// Micros converts a time to microseconds since the epoch, rounding down.
func Micros(t time.Time) int64 { return t.Unix()*1e6 + int64(t.Nanosecond()/1000) }

// MinTime and MaxTime are the ends of event time. MinTime is the watermark before
// any row, MaxTime the watermark after the last row of bounded input.
const (
	MinTime = int64(-1 << 63)
	MaxTime = int64(1<<63 - 1)
)
