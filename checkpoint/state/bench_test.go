package state

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

const benchBatch = 4096

// countSum is what an operator does with the records that Upsert found.
func countSum(t *Table, ids []uint32, vals []int64) {
	t.Cells().Touch(ids)
	pages, width, off := t.Cells().Pages, t.Cells().Width(), t.ValueOffset()
	for k, id := range ids {
		rec := pages[id>>6].W[int(id&63)*width+off:]
		rec[1] += uint64(vals[k])
		rec[0]++
	}
}

type benchInput struct {
	keys   []*vec.Vector
	hashes []uint64
}

func benchInputs(keys int, text bool) []benchInput {
	rng := rand.New(rand.NewPCG(1, 2))
	n := max(64, min(512, 2*keys/benchBatch))
	out := make([]benchInput, n)
	for b := range out {
		typ := types.TBigInt
		if text {
			typ = types.TText
		}
		v := vec.New(typ, benchBatch)
		for range benchBatch {
			k := rng.IntN(keys)
			if text {
				v.AppendString(fmt.Sprintf("customer-%d", k))
			} else {
				v.AppendInt64(int64(k))
			}
		}
		out[b] = benchInput{keys: []*vec.Vector{v}, hashes: make([]uint64, benchBatch)}
		vec.HashColumns(out[b].keys, benchBatch, out[b].hashes)
	}
	return out
}

func benchTable(b *testing.B, typ types.Type) (*Backend, *Table) {
	be, err := New(Decl{Name: "agg", Keys: []types.Type{typ}, Words: 2, Values: []string{"count", "sum(int)"}})
	if err != nil {
		b.Fatal(err)
	}
	return be, be.Table("agg")
}

func benchUpsert(b *testing.B, keys int, text, update bool) {
	typ := types.TBigInt
	if text {
		typ = types.TText
	}
	_, t := benchTable(b, typ)
	in := benchInputs(keys, text)
	ids := make([]uint32, benchBatch)
	vals := make([]int64, benchBatch)
	for _, x := range in {
		t.Upsert(x.hashes, x.keys, nil, ids)
	}
	b.ResetTimer()
	rows := 0
	for i := 0; b.Loop(); i++ {
		x := in[i%len(in)]
		t.Upsert(x.hashes, x.keys, nil, ids)
		if update {
			countSum(t, ids, vals)
		}
		rows += benchBatch
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

func BenchmarkUpsert10k(b *testing.B)         { benchUpsert(b, 10_000, false, false) }
func BenchmarkUpsert10kCountSum(b *testing.B) { benchUpsert(b, 10_000, false, true) }
func BenchmarkUpsert1M(b *testing.B)          { benchUpsert(b, 1_000_000, false, false) }
func BenchmarkUpsert1MCountSum(b *testing.B)  { benchUpsert(b, 1_000_000, false, true) }
func BenchmarkUpsertText10k(b *testing.B)     { benchUpsert(b, 10_000, true, false) }
func BenchmarkUpsertText1M(b *testing.B)      { benchUpsert(b, 1_000_000, true, false) }

// BenchmarkUpsertTwoInts10k has keys of two integer columns.
func BenchmarkUpsertTwoInts10k(b *testing.B) {
	be, err := New(Decl{Name: "agg", Keys: []types.Type{types.TBigInt, types.TInt}, Words: 2})
	if err != nil {
		b.Fatal(err)
	}
	t, in, ids := be.Table("agg"), benchInputs(10_000, false), make([]uint32, benchBatch)
	for i := range in {
		second := vec.New(types.TInt, benchBatch)
		for _, x := range in[i].keys[0].I64 {
			second.AppendInt64(x % 7)
		}
		in[i].keys = append(in[i].keys, second)
		vec.HashColumns(in[i].keys, benchBatch, in[i].hashes)
		t.Upsert(in[i].hashes, in[i].keys, nil, ids)
	}
	rows := 0
	for i := 0; b.Loop(); i++ {
		x := in[i%len(in)]
		t.Upsert(x.hashes, x.keys, nil, ids)
		rows += benchBatch
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

// fill makes a table of n integer keys.
func fill(b *testing.B, n int) (*Backend, *Table) {
	be, t := benchTable(b, types.TBigInt)
	v := vec.New(types.TBigInt, benchBatch)
	hashes, ids := make([]uint64, benchBatch), make([]uint32, benchBatch)
	for from := 0; from < n; from += benchBatch {
		v.Resize(min(benchBatch, n-from))
		for i := range v.I64 {
			v.I64[i] = int64(from + i)
		}
		vec.HashColumns([]*vec.Vector{v}, v.Len, hashes)
		t.Upsert(hashes, []*vec.Vector{v}, nil, ids[:v.Len])
	}
	return be, t
}

// benchFreeze measures the pause of a barrier when touched random records changed
// since the one before.
func benchFreeze(b *testing.B, n, touched int, image bool) {
	be, t := fill(b, n)
	be.Complete(be.Freeze(true))
	rng := rand.New(rand.NewPCG(1, 2))
	ids := make([]uint32, touched)
	worst, total, rounds := time.Duration(0), time.Duration(0), 0
	for b.Loop() {
		for i := range ids {
			ids[i] = rng.Uint32N(uint32(n))
		}
		t.Cells().Touch(ids)
		start := time.Now()
		s := be.Freeze(image)
		d := time.Since(start)
		be.Complete(s)
		worst, total, rounds = max(worst, d), total+d, rounds+1
	}
	b.ReportMetric(float64(total.Microseconds())/float64(rounds), "pause-µs")
	b.ReportMetric(float64(worst.Microseconds()), "worst-µs")
}

func BenchmarkFreeze1M(b *testing.B)       { benchFreeze(b, 1_000_000, 100_000, false) }
func BenchmarkFreeze10M(b *testing.B)      { benchFreeze(b, 10_000_000, 100_000, false) }
func BenchmarkFreeze10MAll(b *testing.B)   { benchFreeze(b, 10_000_000, 2_000_000, false) }
func BenchmarkFreeze10MImage(b *testing.B) { benchFreeze(b, 10_000_000, 2_000_000, true) }

// BenchmarkEncodeDelta is the background work for 100 000 changed records of 1 M.
func BenchmarkEncodeDelta(b *testing.B) {
	be, t := fill(b, 1_000_000)
	be.Complete(be.Freeze(true))
	rng := rand.New(rand.NewPCG(1, 2))
	ids := make([]uint32, 100_000)
	var out []byte
	for b.Loop() {
		for i := range ids {
			ids[i] = rng.Uint32N(1_000_000)
		}
		countSum(t, ids, make([]int64, len(ids)))
		s := be.Freeze(false)
		var err error
		if out, err = s.AppendTo(out[:0]); err != nil {
			b.Fatal(err)
		}
		be.Complete(s)
	}
	b.ReportMetric(float64(len(out))/1e6, "MB")
}

func benchRestore(b *testing.B, owned stream.GroupRange) {
	be, _ := fill(b, 1_000_000)
	image, err := be.Freeze(true).AppendTo(nil)
	if err != nil {
		b.Fatal(err)
	}
	parts := []Part{{Groups: stream.GroupRange{From: 0, To: 256}, Blobs: [][]byte{image}}}
	b.SetBytes(int64(len(image)))
	for b.Loop() {
		be, _ := benchTable(b, types.TBigInt)
		if err := be.Restore(owned, 256, parts); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRestore1M(b *testing.B) { benchRestore(b, stream.GroupRange{From: 0, To: 256}) }
func BenchmarkRestore1MRescaled(b *testing.B) {
	benchRestore(b, stream.GroupRange{From: 0, To: 128})
}

// BenchmarkGrowth fills a table with 10 M keys, batch by batch: the longest batch is the
// pause that growing makes.
func BenchmarkGrowth(b *testing.B) {
	const n = 10_000_000
	var worst time.Duration
	for b.Loop() {
		_, t := benchTable(b, types.TBigInt)
		v := vec.New(types.TBigInt, benchBatch)
		hashes, ids := make([]uint64, benchBatch), make([]uint32, benchBatch)
		for from := 0; from < n; from += benchBatch {
			v.Resize(min(benchBatch, n-from))
			for i := range v.I64 {
				v.I64[i] = int64(from + i)
			}
			vec.HashColumns([]*vec.Vector{v}, v.Len, hashes)
			start := time.Now()
			t.Upsert(hashes, []*vec.Vector{v}, nil, ids[:v.Len])
			worst = max(worst, time.Since(start))
		}
	}
	b.ReportMetric(float64(worst.Microseconds())/1000, "worst-ms")
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
