package decoders

import (
	"encoding/json"
	"syscall"
	"testing"

	"github.com/buger/jsonparser"
	gojson "github.com/goccy/go-json"
	"github.com/valyala/fastjson"

	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/connectors/generator/nexmark"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

const rows = 1024

var schema = []format.Column{
	{Field: "auction", Type: types.TBigInt}, {Field: "bidder", Type: types.TBigInt}, {Field: "price", Type: types.TBigInt},
	{Field: "channel", Type: types.TText}, {Field: "url", Type: types.TText}, {Field: "dateTime", Type: types.TTimestamp(3)},
	{Field: "extra", Type: types.TText},
}

// bid is the payload as the libraries' struct decoders see it.
type bid struct {
	Auction  int64  `json:"auction"`
	Bidder   int64  `json:"bidder"`
	Price    int64  `json:"price"`
	Channel  string `json:"channel"`
	URL      string `json:"url"`
	DateTime int64  `json:"dateTime"`
	Extra    string `json:"extra"`
}

// payloads are Nexmark bids with the time in milliseconds, so that no library pays for
// parsing a date.
func payloads(t testing.TB) (out [][]byte, size int) {
	g := nexmark.New(nexmark.Config{Base: nexmark.DefaultBase})
	for n := int64(100000); len(out) < rows; n++ {
		if nexmark.KindOf(n) != nexmark.KindBid {
			continue
		}
		b := g.Bid(n)
		p, err := json.Marshal(bid{b.Auction, b.Bidder, b.Price, b.Channel, b.URL, b.DateTime.UnixMilli(), b.Extra[:30]})
		if err != nil {
			t.Fatal(err)
		}
		// encoding/json writes & as \u0026; producers do not.
		p = unescapeAmp(p)
		out = append(out, p)
		size += len(p)
	}
	return out, size / rows
}

func unescapeAmp(p []byte) []byte {
	var out []byte
	for i := 0; i < len(p); i++ {
		if i+6 <= len(p) && string(p[i:i+6]) == `\u0026` {
			out = append(out, '&')
			i += 5
			continue
		}
		out = append(out, p[i])
	}
	return out
}

type decoder struct {
	name string
	// decode appends every payload to b's columns.
	decode func(t testing.TB, payloads [][]byte, b *vec.Batch)
}

func decoders(t testing.TB) []decoder {
	f, err := format.Find("json")
	if err != nil {
		t.Fatal(err)
	}
	own, err := f.NewDecoder(schema, map[string]string{"timestamp.format": "unix-ms"})
	if err != nil {
		t.Fatal(err)
	}
	var origin []int32
	var errs []format.RowError
	var parser fastjson.Parser
	paths := [][]string{{"auction"}, {"bidder"}, {"price"}, {"channel"}, {"url"}, {"dateTime"}, {"extra"}}
	keys := []string{"auction", "bidder", "price", "channel", "url", "dateTime", "extra"}
	return []decoder{
		{"streamsql", func(t testing.TB, payloads [][]byte, b *vec.Batch) {
			if origin, errs = own.Decode(payloads, b, origin[:0], errs[:0]); len(errs) > 0 {
				t.Fatal(errs[0])
			}
		}},
		{"jsonparser EachKey", func(t testing.TB, payloads [][]byte, b *vec.Batch) {
			for _, p := range payloads {
				jsonparser.EachKey(p, func(i int, value []byte, _ jsonparser.ValueType, err error) {
					if err != nil {
						t.Fatal(err)
					}
					jsonparserValue(t, b, i, value)
				}, paths...)
				b.N++
			}
		}},
		{"jsonparser ObjectEach", func(t testing.TB, payloads [][]byte, b *vec.Batch) {
			for _, p := range payloads {
				err := jsonparser.ObjectEach(p, func(key, value []byte, _ jsonparser.ValueType, _ int) error {
					for i, k := range keys {
						if string(key) == k {
							jsonparserValue(t, b, i, value)
							break
						}
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				b.N++
			}
		}},
		{"fastjson Get", func(t testing.TB, payloads [][]byte, b *vec.Batch) {
			for _, p := range payloads {
				v, err := parser.ParseBytes(p)
				if err != nil {
					t.Fatal(err)
				}
				b.Cols[0].AppendInt64(v.GetInt64("auction"))
				b.Cols[1].AppendInt64(v.GetInt64("bidder"))
				b.Cols[2].AppendInt64(v.GetInt64("price"))
				b.Cols[3].AppendBytes(v.GetStringBytes("channel"))
				b.Cols[4].AppendBytes(v.GetStringBytes("url"))
				b.Cols[5].AppendInt64(v.GetInt64("dateTime") * 1000)
				b.Cols[6].AppendBytes(v.GetStringBytes("extra"))
				b.N++
			}
		}},
		{"goccy/go-json struct", func(t testing.TB, payloads [][]byte, b *vec.Batch) {
			for _, p := range payloads {
				var x bid
				if err := gojson.Unmarshal(p, &x); err != nil {
					t.Fatal(err)
				}
				appendBid(b, &x)
			}
		}},
		{"encoding/json struct", func(t testing.TB, payloads [][]byte, b *vec.Batch) {
			for _, p := range payloads {
				var x bid
				if err := json.Unmarshal(p, &x); err != nil {
					t.Fatal(err)
				}
				appendBid(b, &x)
			}
		}},
	}
}

func jsonparserValue(t testing.TB, b *vec.Batch, i int, value []byte) {
	switch i {
	case 0, 1, 2, 5:
		x, err := jsonparser.ParseInt(value)
		if err != nil {
			t.Fatal(err)
		}
		if i == 5 {
			x *= 1000
		}
		b.Cols[i].AppendInt64(x)
	default:
		b.Cols[i].AppendBytes(value)
	}
}

func appendBid(b *vec.Batch, x *bid) {
	b.Cols[0].AppendInt64(x.Auction)
	b.Cols[1].AppendInt64(x.Bidder)
	b.Cols[2].AppendInt64(x.Price)
	b.Cols[3].AppendString(x.Channel)
	b.Cols[4].AppendString(x.URL)
	b.Cols[5].AppendInt64(x.DateTime * 1000)
	b.Cols[6].AppendString(x.Extra)
	b.N++
}

func newBatch() *vec.Batch {
	ts := make([]types.Type, len(schema))
	for i, c := range schema {
		ts[i] = c.Type
	}
	return vec.NewBatch(ts, rows)
}

// All decoders give the same columns.
func TestSameColumns(t *testing.T) {
	p, _ := payloads(t)
	var want *vec.Batch
	for _, d := range decoders(t) {
		b := newBatch()
		d.decode(t, p, b)
		if want == nil {
			want = b
		}
		if b.N != rows {
			t.Fatalf("%s: %d rows", d.name, b.N)
		}
		for c := range b.Cols {
			for i := range b.N {
				if !vec.EqualValues(b.Cols[c], i, want.Cols[c], i) {
					t.Fatalf("%s: row %d column %d differs", d.name, i, c)
				}
			}
		}
	}
}

// cpuSeconds is the processor time that the process has used, which other programs on
// the machine do not add to.
func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func BenchmarkDecode(b *testing.B) {
	p, size := payloads(b)
	for _, d := range decoders(b) {
		b.Run(d.name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			start := cpuSeconds(b)
			done := 0
			for ; done < b.N; done += rows {
				out := newBatch()
				d.decode(b, p, out)
				out.Release()
			}
			b.ReportMetric(float64(done)/(cpuSeconds(b)-start)/1e6, "Mevents/cpu-s")
		})
	}
}
