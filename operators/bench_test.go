package operators_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/operators"
	"github.com/streamsql/streamsql/planner/plan"
)

// Columns of the bids that the benchmarks feed: what is left of a Nexmark bid when
// the expressions below the aggregation have run.
const (
	bidAuction = iota
	bidBidder
	bidPrice
	bidRank1 // price < 10,000
	bidRank2 // up to 1,000,000
	bidRank3
	bidChannel
	bidDay
	bidMinute
	bidKey // uniform among the keys of the benchmark
	bidTime
)

var bidSchema = types.Schema{
	{Name: "auction", Type: types.TBigInt}, {Name: "bidder", Type: types.TBigInt}, {Name: "price", Type: types.TBigInt},
	{Name: "rank1", Type: types.TBool}, {Name: "rank2", Type: types.TBool}, {Name: "rank3", Type: types.TBool},
	{Name: "channel", Type: types.TText}, {Name: "day", Type: types.TText}, {Name: "minute", Type: types.TText},
	{Name: "key", Type: types.TBigInt}, {Name: "dateTime", Type: types.TTimestamp(3)},
}

const benchRows = 4096

// bids makes batches with Nexmark's proportions: half of the bids on a few hot
// auctions and channels, the others spread.
func bids(batches, keys int) []*vec.Batch {
	r := rand.New(rand.NewPCG(1, 1))
	out := make([]*vec.Batch, batches)
	for i := range out {
		b := vec.NewBatch(bidSchema.Types(), benchRows)
		for k := range benchRows {
			n := i*benchRows + k
			auction, bidder, channel := 1000+n/15, 1000+n/46+r.IntN(1000), fmt.Sprintf("channel-%d", r.IntN(10000))
			if r.IntN(2) == 0 {
				auction = auction / 100 * 100
				channel = [...]string{"Google", "Facebook", "Baidu", "Apple"}[r.IntN(4)]
			} else {
				auction -= r.IntN(100)
			}
			if r.IntN(4) > 0 {
				bidder = bidder / 100 * 100
			}
			price := int64(1) << r.IntN(27) * (100 + int64(r.IntN(100))) / 100
			for c, x := range []int64{int64(auction), int64(bidder), price} {
				b.Cols[c].AppendInt64(x)
			}
			b.Cols[bidRank1].AppendBool(price < 10_000)
			b.Cols[bidRank2].AppendBool(price >= 10_000 && price < 1_000_000)
			b.Cols[bidRank3].AppendBool(price >= 1_000_000)
			b.Cols[bidChannel].AppendString(channel)
			b.Cols[bidDay].AppendString("2015-07-15")
			b.Cols[bidMinute].AppendString("00:07")
			b.Cols[bidKey].AppendInt64(int64(r.IntN(keys)))
			b.Cols[bidTime].AppendInt64(0)
		}
		b.N = benchRows
		out[i] = b
	}
	return out
}

func aggOf(fn string, col, filter int, t types.Type) expr.AggCall {
	c := expr.AggCall{Fn: fn, Filter: filter, Type: t}
	if col >= 0 {
		c.Args = []int{col}
	}
	return c
}

func countDistinct(col int) []expr.AggCall {
	var out []expr.AggCall
	for _, f := range []int{-1, bidRank1, bidRank2, bidRank3} {
		c := aggOf("count", col, f, types.TBigInt)
		c.Distinct = true
		out = append(out, c)
	}
	return out
}

func counts() []expr.AggCall {
	var out []expr.AggCall
	for _, f := range []int{-1, bidRank1, bidRank2, bidRank3} {
		out = append(out, aggOf("count", -1, f, types.TBigInt))
	}
	return out
}

func benchOperator(b *testing.B, n *plan.Node) operators.Operator {
	op, err := operators.Build(n, operators.Context{Inputs: []types.Schema{bidSchema}, BatchRows: benchRows,
		Errors: func(*vec.Batch, expr.RowError) error { return nil },
		Late:   func(*vec.Batch, []int32) error { b.Fatal("late"); return nil }})
	if err != nil {
		b.Fatal(err)
	}
	return op
}

// drainBench takes what an operator has to say and counts its rows.
func drainBench(b *testing.B, op operators.Operator, out operators.Output, err error) (rows int) {
	for {
		if err != nil {
			b.Fatal(err)
		}
		if out.Batch != nil {
			rows += out.Batch.N
			out.Batch.Release()
		}
		if !out.Again {
			return rows
		}
		out, err = op.Resume()
	}
}

// BenchmarkWindowAgg: count and sum by key at 100,000 events a second of event time.
func BenchmarkWindowAgg(b *testing.B) {
	second := int64(1e6)
	for _, c := range []struct {
		name        string
		size, slide int64
		keys        int
		disorder    int64 // up to so many seconds, times being random
	}{
		{"tumble10s/keys=10k", 10, 10, 10_000, 0},
		{"tumble10s/keys=1M", 10, 10, 1_000_000, 0},
		{"tumble10s/keys=10k/disorder=30s", 10, 10, 10_000, 30},
		{"tumble1s/keys=10/disorder=1h", 1, 1, 10, 3600},
		{"hop10s2s/keys=10k", 10, 2, 10_000, 0},
		{"hop10s2s/keys=1M", 10, 2, 1_000_000, 0},
	} {
		b.Run(c.name, func(b *testing.B) {
			in := bids(64, c.keys)
			aggs := []expr.AggCall{aggOf("count", -1, -1, types.TBigInt), aggOf("sum", bidPrice, -1, types.TDecimal(38, 0))}
			n := &plan.Node{Time: -1, Changelog: plan.Append, WindowAgg: &plan.WindowAgg{
				Window: plan.Window{Size: c.size * second, Slide: c.slide * second, Tick: 1000, TimeType: types.TTimestamp(3)},
				Time:   bidTime, Keys: []int{bidKey}, Aggs: aggs, Props: []plan.WindowProp{plan.WindowStart, plan.WindowEnd}}}
			n.Schema = types.Schema{bidSchema[bidKey], {Type: types.TBigInt}, {Type: types.TDecimal(38, 0)},
				{Type: types.TTimestamp(3)}, {Type: types.TTimestamp(3)}}
			op := benchOperator(b, n)
			r := rand.New(rand.NewPCG(2, 2))
			now, events, rows := int64(0), 0, 0
			delay := (4 + c.disorder) * second
			b.ReportAllocs()
			for b.Loop() {
				x := in[events/benchRows%len(in)].Retain()
				x.Cols[bidTime] = vec.New(types.TTimestamp(3), benchRows)
				x.Cols[bidTime].Resize(benchRows)
				for i := range x.Cols[bidTime].I64 {
					x.Cols[bidTime].I64[i] = now / 1000 * 1000
					if c.disorder > 0 {
						x.Cols[bidTime].I64[i] -= r.Int64N(c.disorder*1000) * 1000
					}
					now += 10
				}
				x.WM = now - delay
				out, err := op.Process(0, x)
				rows += drainBench(b, op, out, err)
				out, err = op.Advance(now - delay)
				rows += drainBench(b, op, out, err)
				events += benchRows
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
			b.ReportMetric(float64(rows)/float64(events), "rows/event")
		})
	}
}

// BenchmarkGroupAgg: the aggregations of Nexmark's updating queries.
func BenchmarkGroupAgg(b *testing.B) {
	q15 := append(append(counts(), countDistinct(bidBidder)...), countDistinct(bidAuction)...)
	q16 := append([]expr.AggCall{aggOf("max", bidMinute, -1, types.TText)}, q15...)
	q17 := append(counts(), aggOf("min", bidPrice, -1, types.TBigInt), aggOf("max", bidPrice, -1, types.TBigInt),
		aggOf("avg", bidPrice, -1, types.TDecimal(38, 16)), aggOf("sum", bidPrice, -1, types.TDecimal(38, 0)))
	for _, c := range []struct {
		name string
		keys []int
		aggs []expr.AggCall
	}{
		{"q15", []int{bidDay}, q15},
		{"q16", []int{bidChannel, bidDay}, q16},
		{"q17", []int{bidAuction, bidDay}, q17},
		{"countsum/keys=10k", []int{bidKey}, q17[7:]},
	} {
		for _, mode := range []plan.ChangelogMode{plan.Upsert, plan.Retract} {
			b.Run(c.name+"/"+string(mode), func(b *testing.B) {
				in := bids(256, 10_000)
				n := groupNode(bidSchema, c.keys, c.aggs, mode)
				events, rows := 0, 0
				var op operators.Operator
				b.ReportAllocs()
				for b.Loop() {
					if events%(len(in)*benchRows) == 0 {
						op = benchOperator(b, n)
					}
					out, err := op.Process(0, in[events/benchRows%len(in)].Retain())
					rows += drainBench(b, op, out, err)
					events += benchRows
				}
				b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
				b.ReportMetric(float64(rows)/float64(events), "rows/event")
			})
		}
	}
}

// BenchmarkMaterialize: a key of bids whose newest row shows.
func BenchmarkMaterialize(b *testing.B) {
	in := bids(64, 100_000)
	schema := types.Schema{bidSchema[bidAuction], bidSchema[bidPrice], bidSchema[bidChannel], bidSchema[bidKey]}
	n := &plan.Node{Schema: schema, Key: []int{3}, Changelog: plan.Upsert, Materialize: &plan.Materialize{Key: []int{3}}}
	op, err := operators.Build(n, operators.Context{Inputs: []types.Schema{schema}})
	if err != nil {
		b.Fatal(err)
	}
	events := 0
	b.ReportAllocs()
	for b.Loop() {
		x := in[events/benchRows%len(in)]
		for _, change := range []vec.Op{vec.Insert, vec.Delete} {
			y := &vec.Batch{N: x.N}
			for _, c := range []int{bidAuction, bidPrice, bidChannel, bidKey} {
				y.Cols = append(y.Cols, x.Cols[c].Retain())
			}
			for range x.N {
				y.Ops = append(y.Ops, change)
			}
			out, err := op.Process(0, y)
			drainBench(b, op, out, err)
			events += benchRows
		}
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

// BenchmarkMaxOfCounts: the largest count of 10 k keys, where each batch takes nearly half
// of the counts back.
func BenchmarkMaxOfCounts(b *testing.B) {
	in := bids(64, 10_000)
	counted := types.Schema{bidSchema[bidKey], {Name: "n", Type: types.TBigInt}}
	inner := benchOperator(b, &plan.Node{Changelog: plan.Retract, Schema: counted,
		GroupAgg: &plan.GroupAgg{Keys: []int{bidKey}, Aggs: []expr.AggCall{aggOf("count", -1, -1, types.TBigInt)}}})
	outer, err := operators.Build(&plan.Node{Changelog: plan.Retract, Schema: counted[1:],
		GroupAgg: &plan.GroupAgg{Aggs: []expr.AggCall{aggOf("max", 1, -1, types.TBigInt)}, Changing: true}},
		operators.Context{Inputs: []types.Schema{counted}})
	if err != nil {
		b.Fatal(err)
	}
	events, changes := 0, 0
	b.ReportAllocs()
	for b.Loop() {
		out, err := inner.Process(0, in[events/benchRows%len(in)].Retain())
		if err != nil {
			b.Fatal(err)
		}
		changes += out.Batch.N
		out, err = outer.Process(0, out.Batch)
		drainBench(b, outer, out, err)
		events += benchRows
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
	b.ReportMetric(float64(changes)/float64(events), "changes/event")
}
