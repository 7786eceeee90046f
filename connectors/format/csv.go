package format

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// CSVColumns is the option that names the fields of a record in their order, written
// as a CSV record. A reader that has seen a header line sets it.
const CSVColumns = "csv.columns"

const (
	csvDelimiter = "csv.delimiter"
	csvNull      = "csv.null"
)

// csvFormat is PostgreSQL's COPY … CSV: one record a row.
var csvFormat = Format{
	Name: "csv",
	Doc:  "One record a row, by the rules of PostgreSQL's COPY … CSV: an unquoted empty field is NULL, a quoted one the empty string",
	Options: []Option{
		{Name: csvDelimiter, Default: ",", Doc: "the one-byte character between fields"},
		{Name: "csv.header", Default: "false", Enum: []string{"false", "true"}, Doc: "the first record of a file names the fields"},
		{Name: csvNull, Default: "", Doc: "the unquoted text that stands for NULL"},
		{Name: CSVColumns, Default: "", Doc: "the fields of a record in order, as a CSV record; without it they are the table's columns"},
	},
	Check: func(cols []Column, options map[string]string) error {
		_, err := newCSVDecoder(cols, options)
		return err
	},
	NewDecoder: func(cols []Column, options map[string]string) (Decoder, error) {
		d, err := newCSVDecoder(cols, options)
		if err != nil {
			return nil, err
		}
		return d, nil
	},
	NewEncoder: func(_ []Column, options map[string]string) (Encoder, error) {
		style, err := csvStyleOf(options)
		if err != nil {
			return nil, err
		}
		return &csvEncoder{csvStyle: style}, nil
	},
}

// csvStyle is what the options say of the text.
type csvStyle struct {
	delimiter byte
	null      string
}

func csvStyleOf(options map[string]string) (csvStyle, error) {
	s := csvStyle{delimiter: ',', null: options[csvNull]}
	if d := options[csvDelimiter]; d != "" {
		s.delimiter = d[0]
		if len(d) != 1 || d[0] == '"' || d[0] == '\n' || d[0] == '\r' || d[0] >= 0x80 {
			return s, sqlerr.New(sqlerr.CodeOption, 0, "option %q is %q", csvDelimiter, d).
				WithHint("It is one ASCII character other than a quote or a line end.")
		}
	}
	for i := range len(s.null) {
		if c := s.null[i]; c == '"' || c == '\n' || c == '\r' || c == s.delimiter {
			return s, sqlerr.New(sqlerr.CodeOption, 0, "option %q holds a quote, a delimiter or a line end", csvNull)
		}
	}
	return s, nil
}

// SplitCSV is a bufio.SplitFunc for CSV records: a line end inside quotes belongs to
// the record. Records come without their line end, \n or \r\n.
func SplitCSV(data []byte, atEOF bool) (advance int, record []byte, err error) {
	quoted := false
	for i, c := range data {
		switch {
		case c == '"':
			quoted = !quoted
		case c == '\n' && !quoted:
			return i + 1, withoutCR(data[:i]), nil
		}
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

func withoutCR(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\r' {
		return b[:n-1]
	}
	return b
}

// CSVFields splits a record into its fields, quotes taken off; for header lines and
// options, not for rows.
func CSVFields(record []byte, options map[string]string) ([]string, error) {
	style, err := csvStyleOf(options)
	if err != nil {
		return nil, err
	}
	s := csvScanner{csvStyle: style, b: record}
	var out []string
	for s.more() {
		text, _, ok := s.next()
		if !ok {
			return nil, sqlerr.New(sqlerr.CodeDecode, 0, "unterminated quotes in a CSV record")
		}
		out = append(out, string(text))
	}
	return out, nil
}

// AppendCSVFields appends a record of these texts, quoted where COPY does; without a
// line end.
func AppendCSVFields(dst []byte, fields []string, options map[string]string) ([]byte, error) {
	style, err := csvStyleOf(options)
	if err != nil {
		return nil, err
	}
	for i, f := range fields {
		if i > 0 {
			dst = append(dst, style.delimiter)
		}
		start := len(dst)
		dst = style.quote(append(dst, f...), start, len(fields) == 1)
	}
	return dst, nil
}

// quote puts the field dst[start:] in quotes if COPY would; alone says that it is the
// only one of its record.
func (s csvStyle) quote(dst []byte, start int, alone bool) []byte {
	text := dst[start:]
	need := string(text) == s.null || alone && string(text) == `\.`
	quotes := 0
	for _, c := range text {
		switch c {
		case '"':
			quotes++
		case '\n', '\r', s.delimiter:
			need = true
		}
	}
	if !need && quotes == 0 {
		return dst
	}
	n := len(text)
	for range quotes + 2 {
		dst = append(dst, 0)
	}
	out := dst[start:]
	out[len(out)-1] = '"'
	k := len(out) - 2
	for i := n - 1; i >= 0; i-- {
		c := out[i]
		out[k] = c
		if k--; c == '"' {
			out[k] = '"'
			k--
		}
	}
	out[0] = '"'
	return dst
}
