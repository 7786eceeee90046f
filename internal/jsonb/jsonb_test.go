package jsonb_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lib/pq"

	"github.com/streamsql/streamsql/internal/jsonb"
	"github.com/streamsql/streamsql/internal/pgtest"
)

// writer draws JSON texts from a small world: what decides the value, how its spelling.
type writer struct{ what, how *rand.Rand }

func newWriter(what, how uint64) writer {
	return writer{rand.New(rand.NewPCG(what, 1)), rand.New(rand.NewPCG(how, 2))}
}

func (w writer) blank() string { return []string{"", "", " ", "\n\t"}[w.how.IntN(4)] }

func (w writer) spelling(of ...string) string { return of[w.how.IntN(len(of))] }

func (w writer) document(depth int) string {
	n := w.what.IntN(4)
	if depth == 0 || n == 3 {
		return w.scalar()
	}
	parts := make([]string, n)
	if w.what.IntN(2) == 0 {
		for i := range parts {
			parts[i] = w.blank() + w.document(depth-1) + w.blank()
		}
		return "[" + strings.Join(parts, ",") + w.blank() + "]"
	}
	first := w.what.IntN(100)
	for i := range parts {
		key := w.text(first + i)
		parts[i] = w.blank() + key + w.blank() + ":" + w.blank() + w.document(depth-1) + w.blank()
	}
	w.how.Shuffle(n, func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	if n > 0 && w.how.IntN(3) == 0 {
		// An earlier value of the last key.
		key, _, _ := strings.Cut(parts[n-1], ":")
		parts = append([]string{key + ":" + w.spelling("null", `{"x":[1]}`, "7")}, parts...)
	}
	return "{" + strings.Join(parts, ",") + w.blank() + "}"
}

// text is string i of a few.
func (w writer) text(i int) string {
	s := w.spelling("a", `\u0061`)
	switch i % 5 {
	case 0:
		s = ""
	case 1:
		s += w.spelling("é", `\u00e9`, `\u00E9`)
	case 2:
		s = w.spelling("😀", `\ud83d\ude00`, `\uD83D\uDE00`)
	case 3:
		s += w.spelling("/", `\/`) + w.spelling(`\n`, `\u000a`) + w.spelling(`\"`, `\u0022`) + `\\`
	}
	return `"` + s + strings.Repeat("b", i%3) + `"`
}

func (w writer) scalar() string {
	switch w.what.IntN(4) {
	case 0:
		return []string{"true", "false", "null"}[w.what.IntN(3)]
	case 1:
		return w.text(w.what.IntN(15))
	case 2:
		classes := [][]string{{"0", "-0", "0.00", "0e5"}, {"1", "1.0", "1.00", "10e-1", "0.1E1", "1e0"}, {"-1", "-1.0"}, {"12", "120e-1", "1.2e+1"}, {"123"}, {"-12"},
			{"9007199254740993", "9007199254740993.0"}, {"9007199254740992"}, {"1e400", "10e399"}, {"-1e400"}, {"1e-400"}, {"0.001", "1E-3"}}
		return w.spelling(classes[w.what.IntN(len(classes))]...)
	}
	x, zeros := 1+w.what.IntN(1000), w.how.IntN(3)
	return w.spelling(fmt.Sprint(x), fmt.Sprintf("%d%se-%d", x, strings.Repeat("0", zeros), zeros), fmt.Sprintf("%d.%s", x, strings.Repeat("0", zeros+1)))
}

// TestPostgres compares pairs of random documents as PostgreSQL does.
func TestPostgres(t *testing.T) {
	s := pgtest.Start(t)
	db := s.Open(t)
	const pairs = 20_000
	r := rand.New(rand.NewPCG(1, 2))
	as, bs := make([]string, pairs), make([]string, pairs)
	for i := range as {
		value, depth := r.Uint64N(2000), r.IntN(4)
		as[i] = newWriter(value, r.Uint64()).document(depth)
		if r.IntN(2) == 0 {
			value, depth = r.Uint64N(2000), r.IntN(4)
		}
		bs[i] = newWriter(value, r.Uint64()).document(depth)
	}
	rows, err := db.Query(`SELECT CASE WHEN a::jsonb < b::jsonb THEN -1 WHEN a::jsonb > b::jsonb THEN 1 ELSE 0 END
		FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS u(a, b, n) ORDER BY n`, pq.Array(as), pq.Array(bs))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	equal := 0
	for i := range as {
		var want int
		if !rows.Next() {
			t.Fatal(rows.Err())
		}
		if err := rows.Scan(&want); err != nil {
			t.Fatal(err)
		}
		if got := jsonb.Compare([]byte(as[i]), []byte(bs[i])); got != want {
			t.Errorf("%s and %s: %d, PostgreSQL %d", as[i], bs[i], got, want)
		}
		if got := jsonb.Equal([]byte(as[i]), []byte(bs[i])); got != (want == 0) {
			t.Errorf("%s = %s: %v, PostgreSQL %v", as[i], bs[i], got, want == 0)
		}
		if want == 0 && as[i] != bs[i] {
			equal++
		}
	}
	if equal < pairs/4 {
		t.Errorf("only %d pairs are equal in different spellings", equal)
	}
}

// TestTextsOfNoKind: what is no JSON equals itself only, and what PostgreSQL does not take
// has an equality all the same.
func TestTextsOfNoKind(t *testing.T) {
	texts := []string{"", " ", "{", "[", `{"a"}`, `{"a":}`, `{"a":1,}`, "[1,]", "[1 2]", "1 2", "tru", "01x", "-", "1.", "1e", `"`, `"\`, `"\u12`, `"\x"`, "{1:2}",
		`"\ud83d"`, `"\ud83d\ud83d"`, `"\ude00"`, `"\u0000"`, "1e99999999999999999999", "1e-99999999999999999999", "[[]", "]", "nullx"}
	for i, a := range texts {
		for j, b := range texts {
			if jsonb.Equal([]byte(a), []byte(b)) != (i == j) {
				t.Errorf("%q and %q", a, b)
			}
			if x, y := jsonb.Compare([]byte(a), []byte(b)), jsonb.Compare([]byte(b), []byte(a)); x != -y || (x == 0) != (i == j) {
				t.Errorf("%q and %q compare as %d and %d", a, b, x, y)
			}
		}
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	text := []byte(`{"b":[1,2.50,{"x":null,"a":"\u00e9"}],"aa":true,"a":-1e3}`)
	var e jsonb.Encoder
	var form []byte
	if n := testing.AllocsPerRun(100, func() { form = e.Append(form[:0], text) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	again := e.Append([]byte("x"), text)
	if !bytes.Equal(again[1:], form) {
		t.Error("what stands before the form changes it")
	}
}

// FuzzForms: any text has a form, and forms compare.
func FuzzForms(f *testing.F) {
	for i := range uint64(50) {
		f.Add([]byte(newWriter(i, 1).document(3)), []byte(newWriter(i/2*2, 2).document(3)))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		c, equal := jsonb.Compare(a, b), jsonb.Equal(a, b)
		if (c == 0) != equal || c != -jsonb.Compare(b, a) {
			t.Errorf("%q and %q: %d, %v", a, b, c, equal)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	text := []byte(`{"auction":1000,"bidder":2001,"price":1.50,"tags":["a","b"],"channel":"apple"}`)
	var e jsonb.Encoder
	var form []byte
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		form = e.Append(form[:0], text)
	}
}
