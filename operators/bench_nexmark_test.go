package operators_test

import (
	"testing"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/operators"
	"github.com/streamsql/streamsql/planner/plan"
)

// rankedBid computes what q15, q16 and q17 aggregate, in the columns of bidSchema,
// from the columns of a bid.
func rankedBid() *plan.Node {
	col := func(i int) *expr.Expr { return expr.Col(i, bidSchema[i].Type) }
	call := func(t types.Type, fn string, args ...*expr.Expr) *expr.Expr {
		return &expr.Expr{Kind: expr.Call, Type: t, Fn: fn, Args: args}
	}
	format := func(pattern string) *expr.Expr {
		return call(types.TText, "date_format", col(bidTime), expr.Lit(types.TextValue(pattern)))
	}
	compare := func(op string, x int64) *expr.Expr {
		return call(types.TBool, op, col(bidPrice), expr.Lit(types.IntValue(types.TBigInt, x)))
	}
	middle := &expr.Expr{Kind: expr.And, Type: types.TBool, Args: []*expr.Expr{compare(">=", 10_000), compare("<", 1_000_000)}}
	return &plan.Node{Schema: bidSchema, Calc: &plan.Calc{Exprs: []*expr.Expr{
		col(bidAuction), col(bidBidder), col(bidPrice), compare("<", 10_000), middle, compare(">=", 1_000_000),
		col(bidChannel), format("yyyy-MM-dd"), format("HH:mm"), col(bidKey), col(bidTime)}}}
}

// BenchmarkNexmark: the updating queries from the columns of bids on, expressions
// and aggregation.
func BenchmarkNexmark(b *testing.B) {
	q15 := append(append(counts(), countDistinct(bidBidder)...), countDistinct(bidAuction)...)
	q17 := append(counts(), aggOf("min", bidPrice, -1, types.TBigInt), aggOf("max", bidPrice, -1, types.TBigInt),
		aggOf("avg", bidPrice, -1, types.TDecimal(38, 16)), aggOf("sum", bidPrice, -1, types.TDecimal(38, 0)))
	for _, c := range []struct {
		name string
		keys []int
		aggs []expr.AggCall
	}{
		{"q15", []int{bidDay}, q15},
		{"q16", []int{bidChannel, bidDay}, append([]expr.AggCall{aggOf("max", bidMinute, -1, types.TText)}, q15...)},
		{"q17", []int{bidAuction, bidDay}, q17},
	} {
		b.Run(c.name, func(b *testing.B) {
			in := bids(128, 1)
			for i, x := range in {
				for k := range x.Cols[bidTime].I64 {
					x.Cols[bidTime].I64[k] = 1436918400e6 + int64(i*benchRows+k)*100
				}
			}
			n := groupNode(bidSchema, c.keys, c.aggs, plan.Upsert)
			events, rows := 0, 0
			var calc, group operators.Operator
			b.ReportAllocs()
			for b.Loop() {
				if events%(len(in)*benchRows) == 0 {
					calc, group = benchOperator(b, rankedBid()), benchOperator(b, n)
				}
				out, err := calc.Process(0, in[events/benchRows%len(in)].Retain())
				if err != nil {
					b.Fatal(err)
				}
				mid := out.Batch
				out, err = group.Process(0, mid)
				rows += drainBench(b, group, out, err)
				events += benchRows
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
			b.ReportMetric(float64(rows)/float64(events), "rows/event")
		})
	}
}
