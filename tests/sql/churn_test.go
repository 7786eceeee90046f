package sql

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// TestKeyChurn lets keys come and go for many windows: once the windows have passed,
// checkpoints are as small as they were at the beginning. STREAMSQL_WINDOWS is
// the number of windows.
func TestKeyChurn(t *testing.T) {
	t.Parallel()
	const keys = 200
	windows := int(fromEnv(t, "STREAMSQL_WINDOWS", 120))
	f := newFeed()
	begin := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for w := range windows {
		for k := range keys {
			at := begin.Add(time.Duration(w)*time.Minute + time.Duration(k)*time.Second/4)
			f.tables["t"] = append(f.tables["t"], fmt.Appendf(nil, `{"k":"key %d of window %d","ts":%q}`, k, w, at.Format("2006-01-02T15:04:05.000")))
		}
	}
	f.reset(0, 50)
	ctx := context.Background()
	e, err := engine.Open(ctx, engine.Options{DataDir: t.TempDir(), Parallelism: 2, Connectors: []connectors.Connector{f.connector()},
		Settings: map[string]string{"checkpoint.interval": "5ms"}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(ctx)
	j, err := start(ctx, e, `CREATE TABLE t (k VARCHAR, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector' = 'feed', 'format' = 'json');
CREATE TABLE out (s TIMESTAMP(3), k VARCHAR, n BIGINT, d BIGINT) WITH ('connector' = 'feed', 'format' = 'json');
INSERT INTO out SELECT window_start, k, COUNT(*), COUNT(DISTINCT k) FROM HOP(t, ts, INTERVAL '30' SECOND, INTERVAL '1' MINUTE) GROUP BY window_start, window_end, k;`)
	if err != nil {
		t.Fatal(err)
	}
	// measure gives the bytes of state in a checkpoint behind the first windows.
	measure := func(windows int) (state int64) {
		f.allow(windows * keys)
		for end := time.Now().Add(60 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			list, _, err := e.Checkpoints(ctx, "case")
			if err == nil && len(list) > 0 && read(list[len(list)-1]) == fmt.Sprint(windows*keys) {
				m := list[len(list)-1]
				for _, ts := range m.Tasks {
					for _, b := range ts.Blobs {
						state += b.Size
					}
				}
				return state
			}
			if time.Now().After(end) {
				t.Fatalf("no checkpoint of %d windows: %+v, %v", windows, j.Status(), err)
			}
		}
	}
	first := measure(10)
	last := int64(0)
	for _, n := range []int{windows / 2, windows - 1} {
		last = measure(n)
		if last > 3*first {
			t.Errorf("a checkpoint has %d bytes of state after 10 windows and %d after %d", first, last, n)
		}
	}
	f.allow(windows * keys)
	select {
	case <-j.Done():
	case <-time.After(60 * time.Second):
		t.Fatalf("the job does not end: %+v", j.Status())
	}
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := len(f.result()); got != 2*windows*keys {
		t.Errorf("%d rows, want %d", got, 2*windows*keys)
	}
	t.Logf("state: %d bytes after 10 windows, %d after %d", first, last, windows-1)
}

// read is the position of the only split of a checkpoint.
func read(m *checkpoint.Manifest) string {
	for _, ts := range m.Tasks {
		for _, s := range ts.Splits {
			return string(s.Position)
		}
	}
	return ""
}

// TestFloodedKeys groups by keys that were chosen to fall into one key group: one subtask
// has all the work, and the answer is right.
func TestFloodedKeys(t *testing.T) {
	t.Parallel()
	var keys []int64
	const round = 4096
	col := []*vec.Vector{vec.New(types.TBigInt, round)}
	hashes := make([]uint64, round)
	for from := int64(0); len(keys) < 1000; from += round {
		col[0].Resize(0)
		for i := range int64(round) {
			col[0].AppendInt64(from + i)
		}
		vec.HashColumns(col, round, hashes)
		for i, h := range hashes {
			if h>>52 == 0 {
				keys = append(keys, from+int64(i))
			}
		}
	}
	f := newFeed()
	want := make(map[string]bool)
	for i, k := range keys {
		for n := range 1 + i%3 {
			f.tables["t"] = append(f.tables["t"], fmt.Appendf(nil, `{"k":%d,"v":%d}`, k, n))
		}
		want[fmt.Sprintf("%d|%d|%d", k, 1+i%3, []int{0, 1, 3}[i%3])] = true
	}
	r := &runner{feed: f, lines: len(f.tables["t"])}
	r.declare("t", "CREATE TABLE t (k BIGINT, v BIGINT) WITH ('connector' = 'feed', 'format' = 'json');")
	job, err := r.job("SELECT k, COUNT(*), SUM(v) FROM t GROUP BY k")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []variant{{name: "whole", parallelism: 4}, {name: "killed", parallelism: 2, batch: 300, kill: true}} {
		rows, err := r.run(t, v, job)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if !want[row] {
				t.Fatalf("%s: %s", v.name, row)
			}
		}
		if len(rows) != len(want) {
			t.Errorf("%s: %d groups of %d: %s", v.name, len(rows), len(want), strings.Join(rows[:min(5, len(rows))], ", "))
		}
	}
}
