package repl

import (
	"testing"
	"time"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/runtime"
)

// TestStatusText leaves the least important parts out where there is no room, and never
// what was dropped or what the job waits for.
func TestStatusText(t *testing.T) {
	now := time.Unix(1e9, 0)
	quiet := engine.Status{Counts: engine.Counts{RowsIn: 1234567, RowsOut: 20},
		Status: runtime.Status{Epoch: 17, Memory: runtime.Memory{State: 3 << 20},
			Nodes: []runtime.NodeStatus{{Watermark: now.Add(-time.Minute).UnixMicro()}}}}
	dropping := quiet
	dropping.Late, dropping.PartlyLate, dropping.Broken, dropping.DeadLetters = 1, 2, 3, 4
	waiting := quiet
	waiting.Stall = "commit of epoch 17 to postgres host:5432/db: connection refused"
	for _, c := range []struct {
		st    engine.Status
		width int
		want  string
	}{
		{quiet, 79, "in 1234.6k  1500/s  out 20  epoch 17  memory 3.0 MiB  behind 1m0s"},
		{quiet, 60, "in 1234.6k  1500/s  out 20  memory 3.0 MiB  behind 1m0s"},
		{quiet, 40, "in 1234.6k  out 20  memory 3.0 MiB"},
		{dropping, 120, "in 1234.6k  1500/s  out 20  late 1  partly late 2  broken 3  dead letters 4  epoch 17  memory 3.0 MiB  behind 1m0s"},
		{dropping, 79, "in 1234.6k  out 20  late 1  partly late 2  broken 3  dead letters 4"},
		{waiting, 150, "in 1234.6k  1500/s  out 20  epoch 17  memory 3.0 MiB  behind 1m0s  waiting: commit of epoch 17 to postgres host:5432/db: connection refused"},
		{waiting, 79, "in 1234.6k  out 20  waiting: commit of epoch 17 to postgres host:5432/db: conne"},
		{waiting, 40, "waiting: commit of epoch 17 to postgres "},
	} {
		if got := statusText(c.st, 1500, now, c.width); got != c.want {
			t.Errorf("in %d columns\n%q, want\n%q", c.width, got, c.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{1400 * time.Millisecond, "1s"},
		{47*time.Hour + time.Minute, "47h1m0s"},
		{99744*time.Hour + 45*time.Minute, "4156 days"},
	} {
		if got := duration(c.d); got != c.want {
			t.Errorf("%d is shown as %q, want %q", c.d, got, c.want)
		}
	}
}
