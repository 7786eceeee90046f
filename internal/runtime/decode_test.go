package runtime

import (
	"bytes"
	"testing"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/plan"
)

// TestFailuresOutliveTheChunk: the text of rows that could not be read stays when the
// payloads' bytes are given back, and is there once for a payload of many rows.
func TestFailuresOutliveTheChunk(t *testing.T) {
	f, err := format.Find("json")
	if err != nil {
		t.Fatal(err)
	}
	src := &plan.Source{Table: "t", Read: []plan.ReadColumn{{Column: types.Column{Name: "v", Type: types.TTimestamp(3)}}},
		Watermark: expr.Col(0, types.TTimestamp(3)), Output: []int{0}}
	d := newDecoding(src, func() (format.Decoder, error) {
		return f.NewDecoder([]format.Column{{Field: "v", Type: types.TTimestamp(3)}}, nil)
	})
	const broken = 1000
	payloads := [][]byte{bytes.Repeat([]byte(`{"v":null}`+"\n"), broken), []byte(`{"v":"2024-01-01 00:00:00"}`), []byte(`{"v":null,"a":1}`)}
	want := []string{string(payloads[0]), string(payloads[2])}
	a := &ahead{chunk: &connectors.Chunk{Payloads: payloads}}
	released := 0
	a.chunk.Release = func() {
		released++
		for _, p := range payloads {
			clear(p)
		}
	}
	d.decode(a)
	if a.err != nil || released != 1 {
		t.Fatalf("released %d times, %v", released, a.err)
	}
	failed := a.parts[0].failed
	if len(failed) != broken+1 {
		t.Fatalf("%d rows failed", len(failed))
	}
	for i, x := range failed {
		if text := want[i/broken]; string(x.text) != text {
			t.Fatalf("failure %d, in payload %d, has %.20q", i, x.payload, x.text)
		}
		if i > 0 && i < broken && &x.text[0] != &failed[0].text[0] {
			t.Fatalf("failure %d has a copy of its own", i)
		}
	}
}
