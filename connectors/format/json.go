package format

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

const timestampFormat = "timestamp.format"

// jsonFormat is one JSON object a row.
var jsonFormat = Format{
	Name: "json",
	Doc:  "One JSON object a row; several objects may follow one another in a payload",
	Options: []Option{{
		Name: timestampFormat, Default: "iso", Enum: []string{"iso", "unix-s", "unix-ms", "unix-us"},
		Doc: "how TIMESTAMP values are written: ISO 8601 text, or a number of seconds, milliseconds or microseconds since 1970",
	}},
	Check: checkJSON,
	NewDecoder: func(cols []Column, options map[string]string) (Decoder, error) {
		if err := checkJSON(cols, options); err != nil {
			return nil, err
		}
		unit, _ := timeUnit(options)
		return newJSONDecoder(cols, unit), nil
	},
	NewEncoder: func(cols []Column, options map[string]string) (Encoder, error) {
		unit, err := timeUnit(options)
		if err != nil {
			return nil, err
		}
		return newJSONEncoder(cols, unit), nil
	},
}

// isoText stands for timestamps as text among the units, which are the number of
// decimal digits of a second.
const isoText = -1

func timeUnit(options map[string]string) (int, error) {
	switch s := options[timestampFormat]; s {
	case "", "iso":
		return isoText, nil
	case "unix-s":
		return 0, nil
	case "unix-ms":
		return 3, nil
	case "unix-us":
		return 6, nil
	default:
		return 0, sqlerr.New(sqlerr.CodeOption, 0, "option %q is %q", timestampFormat, s).
			WithHint("It can be iso, unix-s, unix-ms or unix-us.")
	}
}

func checkJSON(cols []Column, options map[string]string) error {
	if _, err := timeUnit(options); err != nil {
		return err
	}
	return checkColumns("json", cols)
}

// checkColumns refuses two columns of one field and types without a text form.
func checkColumns(format string, cols []Column) error {
	seen := make(map[string]bool, len(cols))
	for _, c := range cols {
		if seen[c.Field] {
			return sqlerr.New(sqlerr.CodeDuplicateColumn, 0, "field %q is read by two columns", c.Field)
		}
		seen[c.Field] = true
		if c.Type.Kind == types.Unknown || c.Type.Kind > types.UUID {
			return sqlerr.New(sqlerr.CodeSchema, 0, "column %q of type %s cannot be carried by format %q", c.Field, c.Type, format)
		}
	}
	return nil
}
