package types

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// plainValue is Value without its methods.
type plainValue Value

// valueJSON adds what JSON has no form for: a number that is not finite (or is -0), and
// bytes that are not UTF-8.
type valueJSON struct {
	plainValue
	Float string `json:"float,omitempty"`
	Raw   []byte `json:"raw,omitempty"`
}

// MarshalJSON writes v such that every value comes back as it was.
func (v Value) MarshalJSON() ([]byte, error) {
	x := valueJSON{plainValue: plainValue(v)}
	if math.IsNaN(v.F) || math.IsInf(v.F, 0) || v.F == 0 && math.Signbit(v.F) {
		x.F, x.Float = 0, strconv.FormatFloat(v.F, 'g', -1, 64)
	}
	if !utf8.ValidString(v.S) {
		x.S, x.Raw = "", []byte(v.S)
	}
	return json.Marshal(x)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (v *Value) UnmarshalJSON(b []byte) error {
	var x valueJSON
	if err := json.Unmarshal(b, &x); err != nil {
		return err
	}
	*v = Value(x.plainValue)
	if x.Float != "" {
		f, err := strconv.ParseFloat(x.Float, 64)
		if err != nil {
			return err
		}
		v.F = f
	}
	if x.Raw != nil {
		v.S = string(x.Raw)
	}
	return nil
}
