package format

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

var bidColumns = []Column{
	{Field: "auction", Type: types.TBigInt}, {Field: "bidder", Type: types.TBigInt}, {Field: "price", Type: types.TBigInt},
	{Field: "channel", Type: types.TText}, {Field: "url", Type: types.TText},
	{Field: "dateTime", Type: types.TTimestamp(3)}, {Field: "extra", Type: types.TText},
}

// bidPayloads are n bids of about 200 bytes.
func bidPayloads(n int, number bool) [][]byte {
	r := rand.New(rand.NewPCG(1, 1))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('a' + r.IntN(26))
		}
		return string(b)
	}
	out := make([][]byte, n)
	for i := range out {
		at := fmt.Sprintf(`"2015-07-15T00:00:%02d.%03d"`, i/1000%60, i%1000)
		if number {
			at = fmt.Sprint(1436918400000 + i)
		}
		out[i] = fmt.Appendf(nil, `{"auction":%d,"bidder":%d,"price":%d,"channel":"channel-%d","url":"https://www.nexmark.com/%s/%s/%s/item.htm?query=1&channel_id=%d","dateTime":%s,"extra":"%s"}`,
			1000+r.IntN(30000), 1000+r.IntN(10000), 100+r.IntN(10000000), r.IntN(10000), word(4), word(4), word(4), r.IntN(1<<30), at, word(20+r.IntN(20)))
	}
	return out
}

func BenchmarkDecodeBid(b *testing.B) {
	for _, c := range []struct {
		name    string
		number  bool
		columns []Column
	}{
		{"7 fields, ISO time", false, bidColumns},
		{"7 fields, time in ms", true, bidColumns},
		{"3 fields", false, []Column{bidColumns[0], bidColumns[2], bidColumns[5]}},
	} {
		b.Run(c.name, func(b *testing.B) {
			unit := isoText
			if c.number {
				unit = 3
			}
			payloads := bidPayloads(1024, c.number)
			size := 0
			for _, p := range payloads {
				size += len(p)
			}
			d := newJSONDecoder(c.columns, unit)
			ts := make([]types.Type, len(c.columns))
			for i := range ts {
				ts[i] = c.columns[i].Type
			}
			b.SetBytes(int64(size / len(payloads)))
			b.ReportAllocs()
			var origin []int32
			var errs []RowError
			for n := 0; n < b.N; n += len(payloads) {
				out := vec.NewBatch(ts, len(payloads))
				origin, errs = d.Decode(payloads, out, origin[:0], errs[:0])
				if len(errs) > 0 {
					b.Fatal(errs[0])
				}
				out.Release()
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}
