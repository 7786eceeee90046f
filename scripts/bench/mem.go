package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/generator/nexmark"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// bids are the benchmark's bids in memory, as columns and as JSON. Each of its splits
// reads its share of them.
type bids struct {
	n       int
	splits  int
	batches []*vec.Batch
	texts   []texts
	bytes   int
}

// texts are the payloads of a chunk, end to end: without pointers, so that what waits to
// be read costs the collector nothing.
type texts struct {
	data []byte
	ends []int32
}

// payloads gives them one by one, as a reader makes them for every chunk.
func (t texts) payloads() [][]byte {
	out := make([][]byte, len(t.ends))
	from := int32(0)
	for i, to := range t.ends {
		out[i], from = t.data[from:to:to], to
	}
	return out
}

var bidColumns = types.Schema{
	{Name: "auction", Type: types.TBigInt}, {Name: "bidder", Type: types.TBigInt}, {Name: "price", Type: types.TBigInt},
	{Name: "channel", Type: types.TText}, {Name: "url", Type: types.TText}, {Name: "dateTime", Type: types.TTimestamp(3)},
	{Name: "extra", Type: types.TText},
}

const chunkRows = 2048

func makeBids(n int) *bids {
	out := &bids{n: n, splits: 1}
	gen := nexmark.New(nexmark.Config{Seed: 1, Base: nexmark.DefaultBase})
	var b *vec.Batch
	var text texts
	flush := func() {
		if b != nil && b.N > 0 {
			out.batches = append(out.batches, b)
			out.texts = append(out.texts, text)
		}
		b = vec.NewBatch(bidColumns.Types(), chunkRows)
		text = texts{data: make([]byte, 0, chunkRows*260)}
	}
	flush()
	for e, made := int64(0), 0; made < n; e++ {
		if nexmark.KindOf(e) != nexmark.KindBid {
			continue
		}
		x := gen.Bid(e)
		b.Cols[0].AppendInt64(x.Auction)
		b.Cols[1].AppendInt64(x.Bidder)
		b.Cols[2].AppendInt64(x.Price)
		b.Cols[3].AppendString(x.Channel)
		b.Cols[4].AppendString(x.URL)
		b.Cols[5].AppendInt64(x.DateTime.UnixMicro())
		b.Cols[6].AppendString(x.Extra)
		b.N++
		from := len(text.data)
		text.data = gen.AppendJSON(text.data, e)
		text.ends = append(text.ends, int32(len(text.data)))
		out.bytes += len(text.data) - from
		if made++; b.N == chunkRows {
			flush()
		}
	}
	flush()
	return out
}

// connector serves the bids: kind columns or json.
func (m *bids) connector(kind string) connectors.Connector {
	return connectors.Connector{
		Name: "mem-" + kind,
		Capabilities: func(map[string]string, bool) (connectors.Capabilities, error) {
			return connectors.Capabilities{CanRead: true, Bounded: true, Splits: m.splits, Replayable: true, SelfDecoding: kind == "columns"}, nil
		},
		OpenSource: func(_ context.Context, c connectors.Config) (connectors.Source, error) {
			s := &memSource{m: m, json: kind == "json"}
			for _, col := range c.Schema {
				i := bidColumns.Index(col.Name)
				if i < 0 {
					return nil, fmt.Errorf("no column %q", col.Name)
				}
				s.cols = append(s.cols, i)
			}
			return s, nil
		},
	}
}

type memSource struct {
	m    *bids
	json bool
	cols []int
}

func (s *memSource) Splits(context.Context) ([]connectors.Split, error) {
	var out []connectors.Split
	for i := range s.m.splits {
		out = append(out, connectors.Split{ID: strconv.Itoa(i)})
	}
	return out, nil
}
func (s *memSource) Close() error { return nil }
func (s *memSource) Open(_ context.Context, split connectors.Split, _ connectors.Position) (connectors.Reader, error) {
	first, err := strconv.Atoi(split.ID)
	return &memReader{s: s, next: first}, err
}

type memReader struct {
	s    *memSource
	next int
}

func (r *memReader) Close() error { return nil }

func (r *memReader) Next(context.Context) (*connectors.Chunk, error) {
	if r.next >= len(r.s.m.batches) {
		return nil, io.EOF
	}
	c := &connectors.Chunk{Pos: connectors.Position(strconv.Itoa(r.next + 1)), Pending: -1,
		Where: func(int) (string, string) { return "", "" }}
	if r.s.json {
		c.Payloads = r.s.m.texts[r.next].payloads()
	} else {
		full := r.s.m.batches[r.next]
		b := &vec.Batch{N: full.N, WM: types.MinTime}
		for _, i := range r.s.cols {
			b.Cols = append(b.Cols, full.Cols[i].Retain())
		}
		c.Batch = b
	}
	r.next += r.s.m.splits
	return c, nil
}
