package generator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/connectors/generator/nexmark"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

var (
	tts  = types.TTimestamp(3)
	bids = types.Schema{
		{Name: "auction", Type: types.TBigInt}, {Name: "bidder", Type: types.TBigInt}, {Name: "price", Type: types.TBigInt},
		{Name: "channel", Type: types.TText}, {Name: "url", Type: types.TText}, {Name: "dateTime", Type: tts}, {Name: "extra", Type: types.TText},
	}
	persons = types.Schema{
		{Name: "id", Type: types.TBigInt}, {Name: "name", Type: types.TText}, {Name: "emailAddress", Type: types.TText},
		{Name: "creditCard", Type: types.TText}, {Name: "city", Type: types.TText}, {Name: "state", Type: types.TText},
		{Name: "dateTime", Type: tts}, {Name: "extra", Type: types.TText},
	}
	auctions = types.Schema{
		{Name: "id", Type: types.TBigInt}, {Name: "itemName", Type: types.TText}, {Name: "description", Type: types.TText},
		{Name: "initialBid", Type: types.TBigInt}, {Name: "reserve", Type: types.TBigInt}, {Name: "dateTime", Type: tts},
		{Name: "expires", Type: tts}, {Name: "seller", Type: types.TBigInt}, {Name: "category", Type: types.TBigInt}, {Name: "extra", Type: types.TText},
	}
)

func options(pairs ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

func mustOpen(t testing.TB, schema types.Schema, pairs ...string) connectors.Source {
	t.Helper()
	s, err := Connector().OpenSource(context.Background(), connectors.Config{Options: options(pairs...), Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// readAll reads a split to its end as text, one row a line, and the positions after
// each chunk with the number of rows up to there.
func readAll(t testing.TB, s connectors.Source, split string, pos connectors.Position) (rows []string, cuts map[int]connectors.Position) {
	t.Helper()
	r, err := s.Open(context.Background(), connectors.Split{ID: split}, pos)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cuts = map[int]connectors.Position{}
	for {
		c, err := r.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return rows, cuts
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Batch.N {
			rows = append(rows, rowText(c.Batch, i))
		}
		cuts[len(rows)] = c.Pos
	}
}

func rowText(b *vec.Batch, i int) string {
	var out []byte
	for k, c := range b.Cols {
		if k > 0 {
			out = append(out, '|')
		}
		if c.IsNull(i) {
			out = append(out, "NULL"...)
		}
		out = vec.AppendText(out, c, i)
	}
	return string(out)
}

// The columns hold what the JSON of the events says.
func TestColumnsAreTheEvents(t *testing.T) {
	const events = 20000
	g := nexmark.New(nexmark.Config{Seed: 7, Base: nexmark.DefaultBase})
	json, err := format.Find("json")
	if err != nil {
		t.Fatal(err)
	}
	for kind, schema := range map[nexmark.Kind]types.Schema{nexmark.KindPerson: persons, nexmark.KindAuction: auctions, nexmark.KindBid: bids} {
		got, _ := readAll(t, mustOpen(t, schema, "nexmark.event", kind.String(), "rows", fmt.Sprint(events), "seed", "7"), "0", nil)
		var cols []format.Column
		for _, c := range schema {
			cols = append(cols, format.Column{Field: c.Name, Type: c.Type, NotNull: true})
		}
		d, err := json.NewDecoder(cols, nil)
		if err != nil {
			t.Fatal(err)
		}
		var payloads [][]byte
		for n := range int64(events) {
			if nexmark.KindOf(n) == kind {
				payloads = append(payloads, g.AppendJSON(nil, n))
			}
		}
		want := vec.NewBatch(schema.Types(), 0)
		if _, errs := d.Decode(payloads, want, nil, nil); len(errs) > 0 {
			t.Fatal(errs[0])
		}
		if len(got) != want.N {
			t.Fatalf("%s: %d rows, want %d", kind, len(got), want.N)
		}
		for i := range got {
			if w := rowText(want, i); got[i] != w {
				t.Fatalf("%s row %d:\n got %s\nwant %s", kind, i, got[i], w)
			}
		}
	}
}

// Fewer columns in another order give the same values.
func TestProjectionChangesNothing(t *testing.T) {
	opts := []string{"nexmark.event", "bid", "rows", "1000"}
	all, _ := readAll(t, mustOpen(t, bids, opts...), "0", nil)
	some, _ := readAll(t, mustOpen(t, types.Schema{bids[6], bids[2]}, opts...), "0", nil)
	for i := range all {
		f := strings.Split(all[i], "|")
		if want := f[6] + "|" + f[2]; some[i] != want {
			t.Fatalf("row %d: %s, want %s", i, some[i], want)
		}
	}
	none, _ := readAll(t, mustOpen(t, nil, opts...), "0", nil)
	if len(none) != len(all) || len(all) != 920 {
		t.Fatalf("%d rows without columns, %d with", len(none), len(all))
	}
}

// Reading goes on from any position with the rows that follow, and the splits together
// hold every event once.
func TestReplayAndSplits(t *testing.T) {
	opts := []string{"nexmark.event", "bid", "rows", "50000"}
	whole, cuts := readAll(t, mustOpen(t, bids, opts...), "0", nil)
	if len(cuts) < 5 {
		t.Fatalf("only %d chunks", len(cuts))
	}
	for at, pos := range cuts {
		rest, _ := readAll(t, mustOpen(t, bids, opts...), "0", pos)
		if strings.Join(rest, "\n") != strings.Join(whole[at:], "\n") {
			t.Fatalf("from row %d: other rows", at)
		}
	}
	seen := map[string]int{}
	s := mustOpen(t, bids, append(opts, "splits", "3")...)
	splits, err := s.Splits(context.Background())
	if err != nil || len(splits) != 3 {
		t.Fatalf("%v %v", splits, err)
	}
	n := 0
	for _, sp := range splits {
		rows, cuts := readAll(t, s, sp.ID, nil)
		n += len(rows)
		for _, r := range rows {
			seen[r]++
		}
		for at, pos := range cuts {
			rest, _ := readAll(t, s, sp.ID, pos)
			if len(rest) != len(rows)-at {
				t.Fatalf("split %s from row %d: %d rows, want %d", sp.ID, at, len(rest), len(rows)-at)
			}
		}
	}
	for _, r := range whole {
		seen[r]--
	}
	for r, c := range seen {
		if c != 0 {
			t.Fatalf("%s: %+d", r, c)
		}
	}
	if n != len(whole) {
		t.Fatalf("%d rows in splits, %d in one", n, len(whole))
	}
	if _, err := s.Open(context.Background(), splits[0], connectors.Position(`{"next":4096,"splits":1}`)); sqlerr.CodeOf(err) != sqlerr.CodeGap {
		t.Fatalf("position of another number of splits: %v", err)
	}
}

func TestRate(t *testing.T) {
	s := mustOpen(t, types.Schema{bids[0]}, "kind", "columns", "rate", "5000")
	r, err := s.Open(context.Background(), connectors.Split{ID: "0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 400*time.Millisecond)
	defer cancel()
	rows, caughtUp := 0, false
	start := time.Now()
	for {
		c, err := r.Next(ctx)
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			break
		}
		rows += c.Batch.N
		caughtUp = c.CaughtUp
	}
	// Never faster than asked; how much slower is up to the machine.
	if took := time.Since(start).Seconds(); rows == 0 || float64(rows) > 5000*took || !caughtUp {
		t.Fatalf("%d rows in %.3f s, caught up %v", rows, took, caughtUp)
	}
}

func TestCapabilities(t *testing.T) {
	c := Connector()
	got, err := c.Capabilities(options("nexmark.event", "bid"), false)
	if err != nil || got.Bounded || !got.CanRead || got.CanWrite || !got.SelfDecoding || !got.Replayable || got.Splits != 1 {
		t.Fatalf("%+v %v", got, err)
	}
	got, err = c.Capabilities(options("nexmark.event", "bid", "rows", "0", "splits", "4"), false)
	if err != nil || !got.Bounded || got.Splits != 4 {
		t.Fatalf("%+v %v", got, err)
	}
}

func TestRefusals(t *testing.T) {
	text := types.TText
	for _, c := range []struct {
		schema types.Schema
		opts   []string
		code   string
		says   string
	}{
		{bids, nil, sqlerr.CodeOption, `option "nexmark.event" is missing`},
		{bids, []string{"nexmark.event", "bids"}, sqlerr.CodeOption, `"bids"`},
		{bids, []string{"nexmark.event", "bid", "rate", "-1"}, sqlerr.CodeOption, `"rate"`},
		{bids, []string{"nexmark.event", "bid", "nexmark.base-time", "soon"}, sqlerr.CodeOption, `"soon"`},
		{bids, []string{"nexmark.event", "person"}, sqlerr.CodeSchema, `a nexmark person has no column "auction"`},
		{types.Schema{{Name: "datetime", Type: tts}}, []string{"nexmark.event", "bid"}, sqlerr.CodeSchema, `no column "datetime"`},
		{types.Schema{{Name: "price", Type: text}}, []string{"nexmark.event", "bid"}, sqlerr.CodeSchema, `column "price" of a nexmark bid is declared VARCHAR`},
		{types.Schema{{Name: "url", Type: types.TBigInt}}, []string{"nexmark.event", "bid"}, sqlerr.CodeSchema, `column "url"`},
		{types.Schema{{Name: "a", Type: types.TInt}}, []string{"kind", "columns", "fields.a.min", "x"}, sqlerr.CodeOption, `"fields.a.min"`},
		{types.Schema{{Name: "a", Type: types.TInt}}, []string{"kind", "columns", "fields.a.min", "5", "fields.a.max", "4"}, sqlerr.CodeOption, `"fields.a.min"`},
		{types.Schema{{Name: "a", Type: types.TInt}}, []string{"kind", "columns", "fields.a.minimum", "5"}, sqlerr.CodeOption, `"fields.a.minimum"`},
		{types.Schema{{Name: "a", Type: types.TInt, NotNull: true}}, []string{"kind", "columns", "fields.a.null-rate", "0.5"}, sqlerr.CodeOption, `NOT NULL`},
		{types.Schema{{Name: "a", Type: types.TInterval}}, []string{"kind", "columns"}, sqlerr.CodeNotSupported, `random INTERVAL`},
		{types.Schema{{Name: "a", Type: types.TInt}}, []string{"kind", "columns", "fields.b.min", "5"}, sqlerr.CodeOption, `"fields.b.min" is for a column "b"`},
		{types.Schema{{Name: "a", Type: types.TInt}}, []string{"kind", "columns", "fields.a.start", "5"}, sqlerr.CodeOption, `no use for random values of type INT`},
		{types.Schema{{Name: "a", Type: types.TInt}}, []string{"kind", "columns", "fields.a.kind", "sequence", "fields.a.length", "5"}, sqlerr.CodeOption, `no use for a sequence of type INT`},
		{types.Schema{{Name: "a", Type: types.TInt}}, []string{"kind", "columns", "nexmark.event", "bid"}, sqlerr.CodeOption, `"nexmark.event" is for kind = 'nexmark'`},
		{types.Schema{{Name: "a", Type: types.TInt}}, []string{"kind", "columns", "nexmark.out-of-order", "2"}, sqlerr.CodeOption, `"nexmark.out-of-order" is for`},
		{bids, []string{"nexmark.event", "bid", "fields.price.min", "5"}, sqlerr.CodeOption, `"fields.price.min" is for kind = 'columns'`},
	} {
		err := Connector().CheckColumns(options(c.opts...), c.schema)
		if sqlerr.CodeOf(err) != c.code || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%v: %v (%s), want %s with %s", c.opts, err, sqlerr.CodeOf(err), c.code, c.says)
		}
	}
}

func TestFreeColumns(t *testing.T) {
	schema := types.Schema{
		{Name: "seq", Type: types.TBigInt}, {Name: "wrap", Type: types.TInt}, {Name: "r", Type: types.TSmallInt}, {Name: "d", Type: types.TDecimal(10, 2)},
		{Name: "f", Type: types.TDouble}, {Name: "t", Type: types.Type{Kind: types.Text, Length: 5}}, {Name: "b", Type: types.TBool},
		{Name: "at", Type: tts}, {Name: "day", Type: types.TDate}, {Name: "n", Type: types.TInt},
	}
	s := mustOpen(t, schema, "kind", "columns", "rows", "10000",
		"fields.seq.kind", "sequence", "fields.seq.start", "-3", "fields.seq.step", "2",
		"fields.wrap.kind", "sequence", "fields.wrap.min", "1", "fields.wrap.max", "3", "fields.wrap.start", "2",
		"fields.r.min", "-2", "fields.r.max", "2", "fields.d.min", "0.01", "fields.d.max", "0.03",
		"fields.f.min", "10", "fields.f.max", "20", "fields.at.kind", "sequence",
		"fields.day.min", "2024-02-28", "fields.day.max", "2024-03-01", "fields.n.null-rate", "0.25", "fields.n.max", "0")
	rows, _ := readAll(t, s, "0", nil)
	if len(rows) != 10000 {
		t.Fatalf("%d rows", len(rows))
	}
	distinct := make([]map[string]int, len(schema))
	for i := range distinct {
		distinct[i] = map[string]int{}
	}
	for i, row := range rows {
		for k, x := range strings.Split(row, "|") {
			distinct[k][x]++
			switch k {
			case 0:
				if want := fmt.Sprint(-3 + 2*i); x != want {
					t.Fatalf("row %d: sequence %s, want %s", i, x, want)
				}
			case 1:
				if want := fmt.Sprint((i+1)%3 + 1); x != want {
					t.Fatalf("row %d: sequence %s, want %s", i, x, want)
				}
			case 4:
				var f float64
				if fmt.Sscan(x, &f); f < 10 || f >= 20 {
					t.Fatalf("row %d: %s", i, x)
				}
			case 5:
				if len(x) != 5 {
					t.Fatalf("row %d: %q", i, x)
				}
			case 7:
				if want := fmt.Sprintf("2015-07-15 00:00:00.%03d", i/10); strings.TrimRight(want, "0.") != strings.TrimRight(x, "0.") {
					t.Fatalf("row %d: %s, want %s", i, x, want)
				}
			}
		}
	}
	even := func(k int, values ...string) {
		t.Helper()
		if len(distinct[k]) != len(values) {
			t.Errorf("column %s holds %v", schema[k].Name, distinct[k])
		}
		for _, v := range values {
			if share := float64(distinct[k][v]) / 10000 * float64(len(values)); math.Abs(share-1) > 0.1 {
				t.Errorf("column %s: %d times %s", schema[k].Name, distinct[k][v], v)
			}
		}
	}
	even(2, "-2", "-1", "0", "1", "2")
	even(3, "0.01", "0.02", "0.03")
	even(6, "t", "f")
	even(8, "2024-02-28", "2024-02-29", "2024-03-01")
	if nulls := distinct[9]["NULL"]; nulls < 2300 || nulls > 2700 || nulls+distinct[9]["0"] != 10000 {
		t.Errorf("nulls: %v", distinct[9])
	}
}

func BenchmarkBids(b *testing.B) {
	s := mustOpen(b, bids, "nexmark.event", "bid")
	r, err := s.Open(context.Background(), connectors.Split{ID: "0"}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	rows := 0
	for rows < b.N {
		c, err := r.Next(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		rows += c.Batch.N
		c.Batch.Release()
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
