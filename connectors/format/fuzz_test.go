package format

import (
	"bytes"
	"encoding/json"
	"io"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// objectsOf is the grammar by encoding/json: the objects of a payload, each key's last
// value, or ok false. The depth of nesting is judged apart.
func objectsOf(b []byte) (objs []map[string]json.RawMessage, ok bool) {
	if !utf8.Valid(b) {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	for {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err == io.EOF {
			return objs, len(objs) > 0
		} else if err != nil || raw[0] != '{' || nesting(raw) > MaxJSONDepth {
			return nil, false
		}
		var m map[string]json.RawMessage
		if json.Unmarshal(raw, &m) != nil {
			return nil, false
		}
		objs = append(objs, m)
	}
}

func nesting(b []byte) (deepest int) {
	depth, text := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case !text && (c == '{' || c == '['):
			depth++
			deepest = max(deepest, depth)
		case !text && (c == '}' || c == ']'):
			depth--
		}
	}
	return deepest
}

// fuzzColumns are decoded one at a time, so that the fault of one hides nothing of
// another.
var fuzzColumns = []Column{
	{Field: "i", Type: types.TBigInt}, {Field: "n", Type: types.TInt}, {Field: "f", Type: types.TDouble}, {Field: "s", Type: types.TText},
	{Field: "j", Type: types.TJSON}, {Field: "d", Type: types.TDecimal(20, 3)}, {Field: "b", Type: types.TBool},
}

// expected gives what a column of type t holds for a field's text, or ok false. sure is
// false where encoding/json does not say.
func expected(t types.Type, raw json.RawMessage) (want string, ok, sure bool) {
	if string(raw) == "null" {
		return "∅", true, true
	}
	quoted := raw[0] == '"'
	var s string
	if quoted {
		if json.Unmarshal(raw, &s) != nil {
			return "", false, true
		}
		// Halves of surrogate pairs become U+FFFD there and errors here.
		if strings.ContainsRune(s, utf8.RuneError) || strings.ContainsRune(s, 0) {
			return "", false, false
		}
	}
	number := raw[0] == '-' || raw[0]-'0' <= 9
	switch t.Kind {
	case types.Text:
		if quoted {
			return s, true, true
		}
		return string(raw), true, true
	case types.JSON:
		return string(raw), true, !strings.Contains(string(raw), `\u`)
	case types.Bool:
		return map[string]string{"true": "t", "false": "f"}[string(raw)], string(raw) == "true" || string(raw) == "false", !quoted
	}
	if !number {
		return "", false, !quoted
	}
	if e := strings.IndexAny(string(raw), "eE"); e >= 0 && len(raw)-e > 5 {
		return "", false, false // big.Rat would write the zeros out
	}
	rat, _ := new(big.Rat).SetString(string(raw))
	switch t.Kind {
	case types.Double:
		f, _ := rat.Float64()
		var g float64
		if json.Unmarshal(raw, &g) != nil || f == 0 && rat.Sign() != 0 {
			return "", false, true
		}
		return string(vec.AppendFloat(nil, g, 64)), true, true
	case types.Decimal:
		want = rat.FloatString(int(t.Scale)) // rounds half away from zero
		if strings.Trim(want, "-0.") == "" {
			want = strings.TrimPrefix(want, "-")
		}
		return want, len(strings.Trim(want, "-"))-1 <= int(t.Precision) || strings.HasPrefix(strings.Trim(want, "-"), "0."), true
	}
	if !rat.IsInt() || !rat.Num().IsInt64() || t.Kind == types.Int && rat.Num().Int64() != int64(int32(rat.Num().Int64())) {
		return "", false, true
	}
	return rat.Num().String(), true, true
}

func checkAgainstLibrary(t *testing.T, warm *jsonDecoder, b []byte) {
	objs, good := objectsOf(b)
	none := vec.NewBatch(nil, 0)
	_, errs := newJSONDecoder(nil, isoText).Decode([][]byte{b}, none, nil, nil)
	if (len(errs) == 0) != good || good && none.N != len(objs) {
		t.Fatalf("%q: %d rows, errors %v; encoding/json says %v, %d objects", b, none.N, errs, good, len(objs))
	}
	for _, c := range fuzzColumns {
		cols := []Column{c}
		out := newBatch(cols)
		_, errs := newJSONDecoder(cols, isoText).Decode([][]byte{b}, out, nil, nil)
		if !good {
			if len(errs) != 1 || out.N != 0 {
				t.Fatalf("%q as %s: no error", b, c.Type)
			}
			continue
		}
		allOK, allSure := true, true
		for i, m := range objs {
			raw, present := m[c.Field]
			want, ok, sure := "∅", true, true
			if present {
				want, ok, sure = expected(c.Type, raw)
			}
			allOK, allSure = allOK && ok, allSure && sure
			if len(errs) > 0 || !ok || !sure {
				continue
			}
			got := string(vec.AppendText(nil, out.Cols[0], i))
			if out.Cols[0].IsNull(i) {
				got = "∅"
			}
			if got != want {
				t.Fatalf("%q as %s, object %d: got %q, want %q", b, c.Type, i, got, want)
			}
		}
		if allSure && !repeats(b) && (len(errs) == 0) != allOK {
			t.Fatalf("%q as %s: errors %v, want accepted = %v", b, c.Type, errs, allOK)
		}
	}
	// A decoder that has learnt other texts decodes the same.
	x, y := newBatch(fuzzColumns), newBatch(fuzzColumns)
	ox, ex := warm.Decode([][]byte{b, b}, x, nil, nil)
	oy, ey := newJSONDecoder(fuzzColumns, isoText).Decode([][]byte{b, b}, y, nil, nil)
	if got, want := showDecoded(x, 2, ox, ex), showDecoded(y, 2, oy, ey); got != want {
		t.Fatalf("%q:\nwarm  %s\nfresh %s", b, got, want)
	}
}

// repeats reports a payload in which some key of fuzzColumns may occur twice: there an
// earlier, bad value is an error here and unseen by encoding/json.
func repeats(b []byte) bool {
	n := 0
	for _, c := range fuzzColumns {
		n = max(n, bytes.Count(b, []byte(`"`+c.Field+`"`)))
	}
	return n > 1 || bytes.Contains(b, []byte(`\u00`))
}

func warmDecoder(t testing.TB) *jsonDecoder {
	d := newJSONDecoder(fuzzColumns, isoText)
	out := newBatch(fuzzColumns)
	d.Decode([][]byte{
		[]byte(`{"i":1,"n":2,"f":3,"s":"x","j":{},"d":1,"b":true,"other":1}`),
		[]byte(`{"s":"x", "i": 5, "zzz":[1,2]}`), []byte(`{"a-long-key-that-is-more-than-16-bytes":1,"i":2}`),
	}, out, nil, nil)
	if out.N != 3 {
		t.Fatalf("%d rows", out.N)
	}
	return d
}

var jsonSeeds = []string{
	`{}`, `{"i":1}`, `{"i":9007199254740993,"f":1e-7,"s":"a\u00e9\ud83d\ude00\n","j":{"k":[1,2.50]},"d":12345.6789,"b":true}`,
	`{"i":-0,"n":2147483648,"d":-0.0005,"s":"\ud800"}`, ` {"i":1.0} {"i":1e3}` + "\n" + `{"i":12e-1}`, `{"i":"12","f":"NaN","s":5,"d":"1.5"}`,
	`{"s":"日本語","j":"x","i":12345678}`, `{"s":"abcdefgh","s":"abcdefghi"}`, `{"i":123456789012345678901}`, `{"i":00}`, `{"i":1}}`,
	`{"a-long-key-that-is-more-than-16-bytes":null,"i":99999999999999999}`, "{\"s\":\"\x80\"}", "{\"s\":\"\x01\"}", `[1]`, ``, `{"j":[[[[]]]]}`,
	`{"i":1,"n":2,"f":3,"s":"x","j":{},"d":1,"b":true,"other":1}`, `{"d":99999999999999999.9995}`, `{"f":4.9e-324}`, `{"i":1,"i":"x"}`,
	`{"i":12345678,"n":123456789,"f":0.1,"padding":"................"}`, `{"i":-9223372036854775808,"n":1234567,"padding":"................"}`,
}

func FuzzJSON(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
	}
	f.Add([]byte(strings.Repeat(`{"j":`, MaxJSONDepth) + `1` + strings.Repeat(`}`, MaxJSONDepth)))
	f.Add([]byte(strings.Repeat(`{"j":`, MaxJSONDepth+1) + `1` + strings.Repeat(`}`, MaxJSONDepth+1)))
	warm := warmDecoder(f)
	f.Fuzz(func(t *testing.T, b []byte) { checkAgainstLibrary(t, warm, b) })
}

// TestMutatedJSON tries every single-byte change of the seeds, in the middle of a
// longer payload too, so that the fast paths see each.
func TestMutatedJSON(t *testing.T) {
	warm := warmDecoder(t)
	for _, s := range jsonSeeds {
		for i := range len(s) {
			for _, c := range []byte("\"\\{}[]:, \x00\x1f\x80\xff0-.eEut9\n") {
				b := []byte(s)
				b[i] = c
				checkAgainstLibrary(t, warm, b)
			}
			checkAgainstLibrary(t, warm, []byte(s[:i]))
			checkAgainstLibrary(t, warm, []byte(s[:i]+s[i+1:]))
		}
	}
}

// FuzzCSV decodes anything, and reads back what it writes of what it read.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{"", "a,b", `"a,b",`, `"a""b","x` + "\n" + `y"`, `a"b"c,d`, `"open`, `\.,x`, ",", `"",""`, "\xff,x"} {
		f.Add([]byte(s))
	}
	cols := []Column{{Field: "a", Type: types.TText}, {Field: "b", Type: types.TText}}
	d, err := csvFormat.NewDecoder(cols, nil)
	if err != nil {
		f.Fatal(err)
	}
	e, err := csvFormat.NewEncoder(cols, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		out, again := newBatch(cols), newBatch(cols)
		if _, errs := d.Decode([][]byte{b}, out, nil, nil); len(errs) > 0 {
			return
		}
		rec := e.Append(nil, out, 0)
		if n, first, _ := SplitCSV(append(rec[:len(rec):len(rec)], '\n'), false); n != len(rec)+1 || !bytes.Equal(first, rec) && !bytes.HasSuffix(rec, []byte("\r")) {
			t.Fatalf("%q is written as %q, split after %d bytes", b, rec, n)
		}
		if _, errs := d.Decode([][]byte{rec}, again, nil, nil); len(errs) > 0 {
			t.Fatalf("%q is written as %q: %v", b, rec, errs)
		}
		if got, want := showRow(again, 0), showRow(out, 0); got != want {
			t.Fatalf("%q is written as %q: %s, want %s", b, rec, got, want)
		}
	})
}
