package sim

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// Row is a row of the simulated table: key, value, event time in microseconds.
type Row struct{ K, V, TS int64 }

// TableSchema is the schema of the simulated table.
var TableSchema = types.Schema{
	{Name: "k", Type: types.TBigInt}, {Name: "v", Type: types.TBigInt}, {Name: "ts", Type: types.TTimestamp(6)},
}

// Table is a stream of several splits; it outlives every attempt.
type Table struct {
	Splits [][]Row
	// Faults is the chance that reading fails, in percent. Chunk bounds the rows of a
	// chunk, 20 by default.
	Faults, Chunk int
	// Released is the position up to which each split may forget its rows.
	Released []int
	// Unbounded tables do not end: they are caught up.
	Unbounded bool

	mu  sync.Mutex
	rng *rand.Rand
}

// NewTable returns a table over these splits; its cuts and faults follow rng.
func NewTable(rng *rand.Rand, splits [][]Row) *Table {
	return &Table{Splits: splits, rng: rng, Released: make([]int, len(splits)), Chunk: 20}
}

// Connector is the descriptor under which the table is opened.
func (t *Table) Connector() connectors.Connector {
	return connectors.Connector{Name: "sim", OpenSource: func(context.Context, connectors.Config) (connectors.Source, error) {
		return source{t}, nil
	}}
}

type source struct{ t *Table }

func (s source) Splits(context.Context) ([]connectors.Split, error) {
	out := make([]connectors.Split, len(s.t.Splits))
	for i := range out {
		out[i].ID = strconv.Itoa(i)
	}
	return out, nil
}

func (s source) Open(_ context.Context, split connectors.Split, pos connectors.Position) (connectors.Reader, error) {
	i, err := strconv.Atoi(split.ID)
	if err != nil {
		return nil, err
	}
	at := 0
	if pos != nil {
		if at, err = strconv.Atoi(string(pos)); err != nil {
			return nil, err
		}
	}
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	if at < s.t.Released[i] {
		return nil, sqlerr.New(sqlerr.CodeGap, 0, "split %d is to be read from %d and was released up to %d", i, at, s.t.Released[i])
	}
	return &reader{t: s.t, split: i, at: at}, nil
}

func (s source) Release(_ context.Context, split connectors.Split, pos connectors.Position) error {
	i, _ := strconv.Atoi(split.ID)
	at, err := strconv.Atoi(string(pos))
	if err != nil {
		return err
	}
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	s.t.Released[i] = max(s.t.Released[i], at)
	return nil
}

func (s source) Close() error { return nil }

type reader struct {
	t         *Table
	split, at int
	told      bool
}

func (r *reader) Next(ctx context.Context) (*connectors.Chunk, error) {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	rows := r.t.Splits[r.split]
	if r.t.rng.IntN(100) < r.t.Faults {
		return nil, sqlerr.Externalf(sqlerr.CodeConnection, nil, "the stream is away")
	}
	if r.at == len(rows) {
		if !r.t.Unbounded {
			return nil, io.EOF
		}
		if r.told {
			return r.wait(ctx)
		}
		r.told = true
		return &connectors.Chunk{CaughtUp: true, Pos: r.pos()}, nil
	}
	n := min(1+r.t.rng.IntN(r.t.Chunk), len(rows)-r.at)
	b := vec.NewBatch(TableSchema.Types(), n)
	for _, x := range rows[r.at : r.at+n] {
		b.Cols[0].AppendInt64(x.K)
		b.Cols[1].AppendInt64(x.V)
		b.Cols[2].AppendInt64(x.TS)
		b.N++
	}
	r.at += n
	return &connectors.Chunk{Batch: b, Pos: r.pos(), CaughtUp: r.at == len(rows)}, nil
}

// wait is what an unbounded table does when it has told that it is caught up: in a
// simulation, whose context cannot end, nothing; else it waits for the end.
func (r *reader) wait(ctx context.Context) (*connectors.Chunk, error) {
	if ctx.Done() == nil {
		return nil, nil
	}
	r.t.mu.Unlock()
	<-ctx.Done()
	r.t.mu.Lock()
	return nil, ctx.Err()
}

func (r *reader) pos() connectors.Position { return connectors.Position(fmt.Sprint(r.at)) }

func (r *reader) Close() error { return nil }
