package runtime_test

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/checkpoint/memstore"
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/runtime"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
)

const benchRows = 4096

// ready is a source of batches that lie in memory, and a sink that drops them.
type ready struct {
	batches []*vec.Batch
	total   int // batches to give
}

var benchSchema = types.Schema{{Name: "k", Type: types.TBigInt}, {Name: "v", Type: types.TBigInt}, {Name: "ts", Type: types.TTimestamp(3)}}

// newReady makes batches whose times go on from one to the next; keys is the number
// of different keys.
func newReady(keys, total int) *ready {
	r := &ready{total: total}
	for i := range 256 {
		b := vec.NewBatch(benchSchema.Types(), benchRows)
		for k := range benchRows {
			n := int64(i*benchRows + k)
			b.Cols[0].AppendInt64(n * 7919 % int64(keys))
			b.Cols[1].AppendInt64(n)
			b.Cols[2].AppendInt64(n * 100)
			b.N++
		}
		r.batches = append(r.batches, b)
	}
	return r
}

func (r *ready) connector() connectors.Connector {
	return connectors.Connector{Name: "ready",
		OpenSource: func(context.Context, connectors.Config) (connectors.Source, error) { return r, nil },
		OpenSink:   func(context.Context, connectors.Config) (connectors.Sink, error) { return drop{}, nil }}
}

func (r *ready) Splits(context.Context) ([]connectors.Split, error) {
	return []connectors.Split{{ID: "0"}}, nil
}

func (r *ready) Open(_ context.Context, _ connectors.Split, pos connectors.Position) (connectors.Reader, error) {
	at, _ := strconv.Atoi(string(pos))
	return &readyReader{r: r, at: at}, nil
}

func (r *ready) Close() error { return nil }

type readyReader struct {
	r  *ready
	at int
}

func (x *readyReader) Next(context.Context) (*connectors.Chunk, error) {
	if x.at == x.r.total {
		return nil, io.EOF
	}
	b := x.r.batches[x.at%len(x.r.batches)].Retain()
	if round := int64(x.at / len(x.r.batches)); round > 0 {
		ts := vec.New(benchSchema[2].Type, benchRows)
		ts.Resize(benchRows)
		shift := round * int64(len(x.r.batches)) * benchRows * 100
		for i, t := range b.Cols[2].I64[:benchRows] {
			ts.I64[i] = t + shift
		}
		b.Cols[2].Release()
		b.Cols[2] = ts
	}
	x.at++
	return &connectors.Chunk{Batch: b, Pos: connectors.Position(strconv.Itoa(x.at))}, nil
}

func (x *readyReader) Close() error { return nil }

type drop struct{}

func (drop) Check(context.Context) error { return nil }
func (drop) OpenWriter(context.Context, connectors.WriterContext) (connectors.Writer, error) {
	return drop{}, nil
}
func (drop) Group() string { return "" }
func (drop) Committer(context.Context, string, uint64) (connectors.Committer, error) {
	return nil, nil
}
func (drop) Close() error                                       { return nil }
func (drop) Write(context.Context, *vec.Batch) error            { return nil }
func (drop) Flush(context.Context) error                        { return nil }
func (drop) Seal(context.Context, stream.Epoch) ([]byte, error) { return nil, nil }

func benchSource() *plan.Node {
	s := &plan.Source{Table: "t", Connector: "ready", TimeColumn: 2, Output: []int{0, 1, 2}, Bounded: true,
		Watermark: expr.Col(2, benchSchema[2].Type)}
	for _, c := range benchSchema {
		s.Read = append(s.Read, plan.ReadColumn{Column: c})
	}
	return &plan.Node{ID: 0, Schema: benchSchema, Role: "t", Parallelism: 1, Changelog: plan.Append, Time: 2, Deterministic: true, Source: s}
}

func benchSink(id int, from plan.Edge, schema types.Schema, par int) *plan.Node {
	return &plan.Node{ID: id, Schema: schema, Role: "out", Parallelism: par, Changelog: plan.Append, Time: -1,
		Inputs: []plan.Edge{from}, Sink: &plan.Sink{Table: "out", Connector: "ready", Columns: schema, Mode: plan.Early}}
}

func runBench(b *testing.B, r *ready, interval time.Duration, nodes ...*plan.Node) runtime.Status {
	c := r.connector()
	j, err := runtime.Start(context.Background(), runtime.Config{Plan: &plan.Plan{Version: 1, KeyGroups: 256, Nodes: nodes},
		Store: memstore.New(), Name: "bench", Settings: checkpoint.Settings{Interval: interval.Microseconds()},
		Connector: func(string) (connectors.Connector, bool) { return c, true }})
	if err != nil {
		b.Fatal(err)
	}
	if err := j.Wait(); err != nil {
		b.Fatal(err)
	}
	return j.Status()
}

// BenchmarkPipeline is what the runtime costs by itself: rows in memory through a
// source, a chain and a sink. One operation is a batch of 4096 rows.
func BenchmarkPipeline(b *testing.B) {
	b.Run("blackhole", func(b *testing.B) {
		b.ReportAllocs()
		runBench(b, newReady(1000, b.N), time.Second, benchSource(), benchSink(1, plan.Edge{From: 0, Exchange: plan.Forward}, benchSchema, 1))
		b.ReportMetric(float64(b.N)*benchRows/b.Elapsed().Seconds()/1e6, "Mrows/s")
	})
	for _, par := range []int{1, 2} {
		b.Run(fmt.Sprintf("exchange-%d", par), func(b *testing.B) {
			b.ReportAllocs()
			runBench(b, newReady(1000, b.N), time.Second, benchSource(),
				benchSink(1, plan.Edge{From: 0, Exchange: plan.Hash, Keys: []int{0}}, benchSchema, par))
			b.ReportMetric(float64(b.N)*benchRows/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
	for _, every := range []time.Duration{time.Hour, time.Second} {
		b.Run("window-checkpoint-"+every.String(), func(b *testing.B) {
			b.ReportAllocs()
			runBench(b, newReady(10000, b.N), every, benchSource(), benchWindow(1), benchSink(2, plan.Edge{From: 1, Exchange: plan.Forward}, benchOut, 1))
			b.ReportMetric(float64(b.N)*benchRows/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}

var benchOut = types.Schema{benchSchema[0], {Name: "n", Type: types.TBigInt}, {Name: "start", Type: types.TTimestamp(3)}}

func benchWindow(par int) *plan.Node {
	return &plan.Node{ID: 1, Schema: benchOut, Role: "w", Parallelism: par, Changelog: plan.Append, Time: -1, Deterministic: true,
		Inputs: []plan.Edge{{From: 0, Exchange: plan.Hash, Keys: []int{0}}},
		WindowAgg: &plan.WindowAgg{Window: plan.Window{Kind: "tumble", Size: 10e6, Slide: 10e6, Tick: 1000, TimeType: types.TTimestamp(3)},
			Time: 2, Keys: []int{0}, Aggs: []expr.AggCall{{Fn: "count", Filter: -1, Type: types.TBigInt}}, Props: []plan.WindowProp{plan.WindowStart}}}
}

// BenchmarkBarrierPause counts by a million keys with a checkpoint every 200 ms and
// reports the longest time for which a barrier held up a task.
func BenchmarkBarrierPause(b *testing.B) {
	out := types.Schema{benchSchema[0], {Name: "n", Type: types.TBigInt}}
	r := newReady(1_000_000, b.N)
	for _, x := range r.batches {
		for i := range x.N {
			x.Cols[0].I64[i] = x.Cols[1].I64[i] * 7919 % 1_000_000
		}
	}
	s := runBench(b, r, 200*time.Millisecond, benchSource(),
		&plan.Node{ID: 1, Schema: out, Role: "g", Changelog: plan.Retract, Key: []int{0}, Time: -1, Deterministic: true,
			Inputs:   []plan.Edge{{From: 0, Exchange: plan.Hash, Keys: []int{0}}},
			GroupAgg: &plan.GroupAgg{Keys: []int{0}, Aggs: []expr.AggCall{{Fn: "count", Filter: -1, Type: types.TBigInt}}}},
		benchSink(2, plan.Edge{From: 1, Exchange: plan.Forward}, out, 1))
	b.ReportMetric(float64(s.Pause.Microseconds()), "us-pause")
	b.ReportMetric(float64(s.Checkpoints), "checkpoints")
	b.ReportMetric(float64(b.N)*benchRows/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
