package format

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestSplitCSV(t *testing.T) {
	for in, want := range map[string][]string{
		"":                         nil,
		"a,b\n":                    {"a,b"},
		"a\r\nb":                   {"a", "b"},
		"a,\"x\ny\"\n\nb\n":        {"a,\"x\ny\"", "", "b"},
		"\"a\"\"\n\"\"b\",c\nd":    {"\"a\"\"\n\"\"b\",c", "d"},
		"a,\"open\nnever closed\n": {"a,\"open\nnever closed\n"},
	} {
		for name, r := range map[string]*bufio.Scanner{
			"whole":     bufio.NewScanner(strings.NewReader(in)),
			"byte-wise": bufio.NewScanner(iotest.OneByteReader(strings.NewReader(in))),
		} {
			r.Split(SplitCSV)
			var got []string
			for r.Scan() {
				got = append(got, r.Text())
			}
			if !slices.Equal(got, want) || r.Err() != nil {
				t.Errorf("%q %s: %q %v, want %q", in, name, got, r.Err(), want)
			}
		}
	}
}

func TestCSVFieldsRoundTrip(t *testing.T) {
	for _, fields := range [][]string{{"a"}, {""}, {"a b", "c,d", `e"f`, "g\nh", "", `"`, `""`}, {`\.`}, {`\.`, "x"}} {
		rec, err := AppendCSVFields([]byte("#"), fields, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := CSVFields(rec[1:], nil)
		if err != nil || !slices.Equal(got, fields) {
			t.Errorf("%q: %q %v, written as %q", fields, got, err, rec)
		}
	}
	// As COPY writes it.
	if got, _ := AppendCSVFields(nil, []string{"x\ry", "tab\there"}, nil); string(got) != "\"x\ry\",tab\there" {
		t.Errorf("%q", got)
	}
	if _, err := CSVFields([]byte(`a,"b`), nil); err == nil {
		t.Error("open quotes accepted")
	}
}

// Rows append to what a batch already holds, broken payloads leave no trace, and room
// grows when a payload holds more rows than expected.
func TestDecodeAppends(t *testing.T) {
	cols := parseColumns(t, "i BIGINT; b BOOLEAN; t TEXT; d DECIMAL(10,2); f DOUBLE; v INTERVAL")
	d := newJSONDecoder(cols, isoText)
	out := newBatch(cols)
	var want, got strings.Builder
	row := 0
	for call := range 7 {
		var payloads [][]byte
		for p := range call * 9 {
			var b bytes.Buffer
			for range p % 5 * call {
				null := row%7 == call
				if null {
					b.WriteString(`{"i":null}`)
					want.WriteString("∅ ∅ ∅ ∅ ∅ ∅\n")
				} else {
					fmt.Fprintf(&b, `{"i":%d,"b":%v,"t":"%s","d":%d.5,"f":%d.25,"v":"%d mons"}`, row, row%2 == 0, strings.Repeat("x", row%11+1), row, row, row%3+1)
					v := []string{`"1 mon"`, `"2 mons"`, `"3 mons"`}[row%3]
					fmt.Fprintf(&want, "%d %s %s %d.50 %d.25 %s\n", row, map[bool]string{true: "t", false: "f"}[row%2 == 0], strings.Repeat("x", row%11+1), row, row, v)
				}
				row++
			}
			if b.Len() == 0 {
				b.WriteString(`{"i":-1,"b":true,"t":"gone","d":1,"f":1,"v":"1 day"}{"i":-2,"t":"gone too","b":null,`)
			}
			payloads = append(payloads, b.Bytes())
		}
		d.Decode(payloads, out, nil, nil)
	}
	for i := range out.N {
		got.WriteString(showRow(out, i) + "\n")
	}
	if got.String() != want.String() {
		t.Fatalf("got\n%s\nwant\n%s", got.String(), want.String())
	}
	for _, c := range out.Cols {
		if c.Len != out.N || c.Valid != nil && c.Valid.Count(out.N) != out.N-c.NullCount() {
			t.Fatalf("column of %d values in a batch of %d", c.Len, out.N)
		}
	}
}

// A stream whose keys are data: more texts than a decoder learns, long ones, and one
// order of fields after the other.
func TestManyKeys(t *testing.T) {
	cols := parseColumns(t, "a INT; b TEXT")
	d := newJSONDecoder(cols, isoText)
	out := newBatch(cols)
	var payloads [][]byte
	for i := range 3 * maxLeads {
		key := fmt.Sprintf("key-%d%s", i, strings.Repeat("x", i%90))
		payloads = append(payloads,
			fmt.Appendf(nil, `{"%s":%d,"a":%d,"b":"v%d","%s":"again"}`, key, i, i, i, key),
			fmt.Appendf(nil, `{"b":"v%d", "%s":[1,{}], "a":%d}`, i, key, i))
	}
	if _, errs := d.Decode(payloads, out, nil, nil); len(errs) > 0 {
		t.Fatal(errs[0])
	}
	for i := range out.N {
		if got, want := showRow(out, i), fmt.Sprintf("%d v%d", i/2, i/2); got != want {
			t.Fatalf("row %d: %s, want %s", i, got, want)
		}
	}
	if len(d.leads) > maxLeads || len(d.byText) > maxLeads {
		t.Fatalf("%d leads", len(d.leads))
	}
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	payloads := bidPayloads(64, false)
	d := newJSONDecoder(bidColumns, isoText)
	out, origin := newBatch(bidColumns), make([]int32, 0, 64)
	run := func() {
		d.Decode(payloads, out, origin, nil)
		for _, c := range out.Cols {
			c.Truncate(0)
		}
		out.N = 0
	}
	run()
	if n := testing.AllocsPerRun(100, run); n > 0 {
		t.Fatalf("%v allocations for 64 rows", n)
	}
}

func TestListIsComplete(t *testing.T) {
	for _, f := range List() {
		got, err := Find(f.Name)
		if err != nil || got.Name != f.Name {
			t.Errorf("format %q is not found: %v", f.Name, err)
		}
		if f.Doc == "" || f.Check == nil || f.NewDecoder == nil || f.NewEncoder == nil {
			t.Errorf("format %q is incomplete", f.Name)
		}
		for _, o := range f.Options {
			if o.Doc == "" || len(o.Enum) > 0 && !slices.Contains(o.Enum, o.Default) {
				t.Errorf("option %q is incomplete", o.Name)
			}
		}
	}
}
