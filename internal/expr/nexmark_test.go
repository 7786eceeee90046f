package expr_test

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

var bidSchema = types.Schema{
	{Name: "auction", Type: types.TBigInt}, {Name: "bidder", Type: types.TBigInt}, {Name: "price", Type: types.TBigInt},
	{Name: "channel", Type: types.TText}, {Name: "url", Type: types.TText}, {Name: "dateTime", Type: types.TTimestamp(3)},
	{Name: "extra", Type: types.TText},
}

// nexmarkProgram is the stateless part of a published query.
type nexmarkProgram struct {
	name      string
	predicate string
	outputs   []string
}

var nexmark = []nexmarkProgram{
	{"Q0", "", []string{"auction", "bidder", "price", "dateTime", "extra"}},
	{"Q1", "", []string{"auction", "bidder", "0.908 * price", "dateTime", "extra"}},
	{"Q2", "MOD(auction, 123) = 0", []string{"auction", "price"}},
	{"Q10", "", []string{"auction", "bidder", "price", "dateTime", "extra", "DATE_FORMAT(dateTime, 'yyyy-MM-dd')", "DATE_FORMAT(dateTime, 'HH:mm')"}},
	{"Q14", "0.908 * price > 1000000 AND 0.908 * price < 50000000", []string{"auction", "bidder", "0.908 * price",
		"CASE WHEN HOUR(dateTime) >= 8 AND HOUR(dateTime) <= 18 THEN 'dayTime' WHEN HOUR(dateTime) <= 6 OR HOUR(dateTime) >= 20 THEN 'nightTime' ELSE 'otherTime' END",
		"dateTime", "extra", "count_char(extra, 'c')"}},
	{"Q15", "", []string{"DATE_FORMAT(dateTime, 'yyyy-MM-dd')", "bidder", "auction", "price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000"}},
	{"Q16", "", []string{"channel", "DATE_FORMAT(dateTime, 'yyyy-MM-dd')", "DATE_FORMAT(dateTime, 'HH:mm')", "bidder", "auction", "price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000"}},
	{"Q17", "", []string{"auction", "DATE_FORMAT(dateTime, 'yyyy-MM-dd')", "price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000", "price"}},
	{"Q21", "REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) IS NOT NULL OR LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu')",
		[]string{"auction", "bidder", "price", "channel",
			"CASE WHEN LOWER(channel) = 'apple' THEN '0' WHEN LOWER(channel) = 'google' THEN '1' WHEN LOWER(channel) = 'facebook' THEN '2' WHEN LOWER(channel) = 'baidu' THEN '3' ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) END"}},
	{"Q22", "", []string{"auction", "bidder", "price", "channel", "SPLIT_INDEX(url, '/', 3)", "SPLIT_INDEX(url, '/', 4)", "SPLIT_INDEX(url, '/', 5)"}},
}

// bids makes n bids in the shape of Nexmark's.
func bids(n int) *vec.Batch {
	r := rand.New(rand.NewPCG(7, 7))
	b := vec.NewBatch(bidSchema.Types(), n)
	letters := func(n int) string {
		s := make([]byte, n)
		for i := range s {
			s[i] = byte('a' + r.IntN(26))
		}
		return string(s)
	}
	for i := range n {
		b.Cols[0].AppendInt64(1000 + int64(r.IntN(5000)))
		b.Cols[1].AppendInt64(1000 + int64(r.IntN(5000)))
		b.Cols[2].AppendInt64(int64(100 * 1000000 / (1 + r.IntN(1000000))))
		url := fmt.Sprintf("https://www.nexmark.com/%s/%s/%s/item.htm?query=1", letters(5), letters(5), letters(5))
		if r.IntN(2) == 0 {
			b.Cols[3].AppendString([]string{"Google", "Facebook", "Baidu", "Apple"}[r.IntN(4)])
		} else {
			k := r.IntN(10000)
			b.Cols[3].AppendString(fmt.Sprintf("channel-%d", k))
			if k%10 != 0 {
				url += fmt.Sprintf("&channel_id=%d", r.Uint32()>>1)
			}
		}
		b.Cols[4].AppendString(url)
		b.Cols[5].AppendInt64((1436918400000 + int64(i/10)) * 1000)
		b.Cols[6].AppendString(letters(60))
		b.N++
	}
	return b
}

func (q nexmarkProgram) compile(t testing.TB) *expr.Program {
	t.Helper()
	var predicate *expr.Expr
	if q.predicate != "" {
		predicate = mustBind(t, q.predicate, bidSchema)
	}
	var outputs []*expr.Expr
	for _, o := range q.outputs {
		outputs = append(outputs, mustBind(t, o, bidSchema))
	}
	p, err := expr.Compile(predicate, outputs, bidSchema.Types())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestNexmark checks every program against its rows one by one.
func TestNexmark(t *testing.T) {
	b := bids(500)
	for _, q := range nexmark {
		var predicate *expr.Expr
		if q.predicate != "" {
			predicate = mustBind(t, q.predicate, bidSchema)
		}
		var outputs []*expr.Expr
		for _, o := range q.outputs {
			outputs = append(outputs, mustBind(t, o, bidSchema))
		}
		checkRun(t, q.compile(t), b, predicate, outputs, q.name)
	}
	if got := mustBind(t, "0.908 * price", bidSchema).Type; got != types.TDecimal(23, 3) {
		t.Errorf("0.908 * price is %s", got)
	}
}

// TestNoAllocationPerRow: what a Run allocates does not grow with the batch.
func TestNoAllocationPerRow(t *testing.T) {
	const rows = 4096
	b := bids(rows)
	for _, q := range nexmark {
		p := q.compile(t)
		var errs expr.RowErrors
		n := testing.AllocsPerRun(20, func() {
			out, _, _ := p.Run(b, &errs)
			for _, v := range out {
				v.Release()
			}
		})
		if n > 64 {
			t.Errorf("%s: %v allocations for %d rows", q.name, n, rows)
		}
	}
}

func BenchmarkPrograms(b *testing.B) {
	const rows = 2048
	batch := bids(rows)
	for _, q := range nexmark {
		b.Run(q.name, func(b *testing.B) {
			p := q.compile(b)
			var errs expr.RowErrors
			b.ReportAllocs()
			start := cpuTime()
			for b.Loop() {
				out, _, _ := p.Run(batch, &errs)
				for _, v := range out {
					v.Release()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/event")
			b.ReportMetric(float64(cpuTime()-start)/float64(b.N)/rows, "cpu-ns/event")
		})
	}
}

// cpuTime is what the process has used of all processors, in nanoseconds: on a busy
// machine it says more than the clock.
func cpuTime() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
