package format

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// parseColumns reads "a INT, b VARCHAR(3) NOT NULL".
func parseColumns(t *testing.T, s string) (cols []Column) {
	t.Helper()
	names := map[string]types.Type{
		"BOOLEAN": types.TBool, "SMALLINT": types.TSmallInt, "INT": types.TInt, "BIGINT": types.TBigInt,
		"REAL": types.TReal, "DOUBLE": types.TDouble, "TEXT": types.TText, "BYTES": types.TBytes, "DATE": types.TDate,
		"TIME": types.TTime, "INTERVAL": types.TInterval, "JSON": types.TJSON, "UUID": types.TUUID,
	}
	for _, part := range strings.Split(s, ";") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		field, spec, _ := strings.Cut(part, " ")
		c := Column{Field: strings.ReplaceAll(field, "␠", " ")}
		spec, c.NotNull = strings.CutSuffix(spec, " NOT NULL")
		name, params, _ := strings.Cut(strings.TrimSuffix(spec, ")"), "(")
		p, s, _ := strings.Cut(params, ",")
		pn, _ := strconv.Atoi(p)
		sn, _ := strconv.Atoi(s)
		switch name {
		case "VARCHAR":
			c.Type = types.Type{Kind: types.Text, Length: int32(pn)}
		case "DECIMAL":
			c.Type = types.TDecimal(pn, sn)
		case "TIMESTAMP":
			c.Type = types.TTimestamp(pn)
		case "TIMESTAMPTZ":
			c.Type = types.TTimestampTZ(pn)
		default:
			ty, ok := names[name]
			if !ok {
				t.Fatalf("unknown type %q", name)
			}
			c.Type = ty
		}
		cols = append(cols, c)
	}
	return cols
}

// payloadsOf takes one payload a line; a line in double quotes is a Go string literal.
func payloadsOf(t *testing.T, input string) (out [][]byte) {
	t.Helper()
	for _, line := range strings.Split(input, "\n") {
		if strings.HasPrefix(line, `"`) {
			s, err := strconv.Unquote(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			line = s
		}
		out = append(out, []byte(line))
	}
	return out
}

func newBatch(cols []Column) *vec.Batch {
	ts := make([]types.Type, len(cols))
	for i, c := range cols {
		ts[i] = c.Type
	}
	return vec.NewBatch(ts, 0)
}

func showRow(b *vec.Batch, i int) string {
	var cells []string
	for _, c := range b.Cols {
		if c.IsNull(i) {
			cells = append(cells, "∅")
		} else {
			cells = append(cells, strconv.QuoteToGraphic(string(vec.AppendText(nil, c, i))))
			if q := cells[len(cells)-1]; !strings.ContainsAny(q, `\, `) && q != `""` && q != `"∅"` {
				cells[len(cells)-1] = q[1 : len(q)-1]
			}
		}
	}
	return strings.Join(cells, " ")
}

// showDecoded gives the outcome of every payload, in order.
func showDecoded(b *vec.Batch, payloads int, origin []int32, errs []RowError) string {
	var out strings.Builder
	row := 0
	for p := range payloads {
		fmt.Fprintf(&out, "%d:", p+1)
		for ; row < len(origin) && int(origin[row]) == p; row++ {
			fmt.Fprintf(&out, " %s", showRow(b, row))
			if row+1 < len(origin) && int(origin[row+1]) == p {
				out.WriteString(" |")
			}
		}
		if len(errs) > 0 && errs[0].Payload == p {
			fmt.Fprintf(&out, " %s %s", errs[0].Code, errs[0].Msg)
			errs = errs[1:]
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// TestScripts runs testdata/*.test. "decode format=json cols=(a INT; b TEXT)" decodes
// one payload a line; "encode" decodes from JSON and encodes in the format. Each decode runs
// in one call, payload by payload, and again with the same decoder: all agree.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.HasSuffix(path, "fuzz") {
			return
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			name, options := "json", map[string]string{}
			var cols []Column
			for _, a := range d.CmdArgs {
				switch a.Key {
				case "cols":
					cols = parseColumns(t, strings.Join(a.Vals, ","))
				case "format":
					name = a.Vals[0]
				default:
					options[a.Key] = strings.Join(a.Vals, ",")
				}
			}
			f, err := Find(name)
			if err != nil {
				return err.Error() + "\n"
			}
			payloads := payloadsOf(t, d.Input)
			switch d.Cmd {
			case "decode":
				dec, err := f.NewDecoder(cols, options)
				if err != nil {
					return err.Error() + "\n"
				}
				out := newBatch(cols)
				origin, errs := dec.Decode(payloads, out, nil, nil)
				got := showDecoded(out, len(payloads), origin, errs)
				again := newBatch(cols)
				var oneByOne []int32
				var oneErrs []RowError
				for p := range payloads {
					from, fromErr := len(oneByOne), len(oneErrs)
					oneByOne, oneErrs = dec.Decode(payloads[p:p+1], again, oneByOne, oneErrs)
					for i := from; i < len(oneByOne); i++ {
						oneByOne[i] = int32(p)
					}
					for i := fromErr; i < len(oneErrs); i++ {
						oneErrs[i].Payload = p
					}
				}
				if second := showDecoded(again, len(payloads), oneByOne, oneErrs); second != got {
					t.Fatalf("one by one:\n%s\nat once:\n%s", second, got)
				}
				return got
			case "encode":
				out := newBatch(cols)
				if _, errs := newJSONDecoder(cols, isoText).Decode(payloads, out, nil, nil); len(errs) > 0 {
					t.Fatal(errs)
				}
				enc, err := f.NewEncoder(cols, options)
				if err != nil {
					return err.Error() + "\n"
				}
				var text []byte
				for i := range out.N {
					text = append(enc.Append(text, out, i), '\n')
				}
				return string(text)
			}
			t.Fatalf("unknown command %q", d.Cmd)
			return ""
		})
	})
}
