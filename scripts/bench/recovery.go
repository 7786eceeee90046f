package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// recoveryKeys make about 1 GB of state: 32 bytes a key.
const recoveryKeys = 32_000_000

// benchRecovery measures a restart with 1 GB of state: from the start of the job to the
// first new row at its sink, at the parallelism that wrote the state and at another one.
func benchRecovery() error {
	dir, err := os.MkdirTemp("", "streamsql-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	src := &counting{}
	open := func(parallelism int) (*engine.Engine, *engine.Job, time.Time, error) {
		e, err := engine.Open(ctx, engine.Options{DataDir: dir, Parallelism: parallelism, Connectors: []connectors.Connector{src.connector()},
			Settings: map[string]string{"checkpoint.interval": "2s"}})
		if err != nil {
			return nil, nil, time.Time{}, err
		}
		f, err := e.Load("recovery", `CREATE TABLE n (k BIGINT) WITH (connector = 'counting');
CREATE TABLE out (k BIGINT, n BIGINT, PRIMARY KEY (k)) WITH (connector = 'blackhole');
INSERT INTO out SELECT k, COUNT(*) FROM n GROUP BY k`)
		if err != nil {
			return nil, nil, time.Time{}, err
		}
		start := time.Now()
		j, err := e.Run(ctx, f, engine.Start{})
		return e, j, start, err
	}
	src.until = recoveryKeys
	e, j, _, err := open(runtime.GOMAXPROCS(0))
	if err != nil {
		return err
	}
	for j.Status().RowsOut < recoveryKeys && j.Running() {
		time.Sleep(10 * time.Millisecond)
	}
	if err := j.Stop(ctx, ""); err != nil {
		return err
	}
	if err := e.Close(ctx); err != nil {
		return err
	}
	size := int64(0)
	if err := filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			size += info.Size()
		}
		return err
	}); err != nil {
		return err
	}
	fmt.Printf("\nrestart with %.2f GB of checkpoints, %d keys, median of %d\n", float64(size)/1e9, recoveryKeys, *repeat)
	for _, parallelism := range []int{runtime.GOMAXPROCS(0), 2 * runtime.GOMAXPROCS(0)} {
		var cpu []time.Duration
		d, err := median(func() (time.Duration, error) {
			src.until += chunkRows // new rows, which the restored job finds at once
			before := cpuTime()
			e, j, start, err := open(parallelism)
			if err != nil {
				return 0, err
			}
			for j.Status().RowsOut <= src.until-chunkRows && j.Running() {
				time.Sleep(time.Millisecond)
			}
			d := time.Since(start)
			cpu = append(cpu, cpuTime()-before)
			j.Cancel()
			return d, e.Close(ctx)
		})
		if err != nil {
			return err
		}
		fmt.Printf("parallelism %d: first new row after %.2f s, %.2f s of CPU\n", parallelism, d.Seconds(), middle(cpu).Seconds())
	}
	return nil
}

// counting is a source of the numbers up to until, which waits there.
type counting struct{ until int64 }

func (c *counting) connector() connectors.Connector {
	return connectors.Connector{
		Name: "counting",
		Capabilities: func(map[string]string, bool) (connectors.Capabilities, error) {
			return connectors.Capabilities{CanRead: true, Splits: 1, Replayable: true, SelfDecoding: true}, nil
		},
		OpenSource: func(context.Context, connectors.Config) (connectors.Source, error) { return c, nil },
	}
}

func (c *counting) Splits(context.Context) ([]connectors.Split, error) {
	return []connectors.Split{{ID: "all"}}, nil
}

func (c *counting) Close() error { return nil }

func (c *counting) Open(_ context.Context, _ connectors.Split, pos connectors.Position) (connectors.Reader, error) {
	r := &countingReader{until: c.until}
	if pos == nil {
		return r, nil
	}
	var err error
	r.next, err = strconv.ParseInt(string(pos), 10, 64)
	return r, err
}

type countingReader struct{ next, until int64 }

func (r *countingReader) Close() error { return nil }

func (r *countingReader) Next(ctx context.Context) (*connectors.Chunk, error) {
	if r.next >= r.until {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	b := vec.NewBatch([]types.Type{types.TBigInt}, chunkRows)
	for b.N < chunkRows && r.next < r.until {
		b.Cols[0].AppendInt64(r.next)
		b.N++
		r.next++
	}
	return &connectors.Chunk{Batch: b, Pos: connectors.Position(strconv.FormatInt(r.next, 10)), Pending: -1,
		Where: func(int) (string, string) { return "", "" }}, nil
}
