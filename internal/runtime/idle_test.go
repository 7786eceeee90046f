package runtime_test

import (
	"testing"
	"time"
)

// TestIdleIsCaughtUp: a split is idle only when its reader says that nothing is there to
// be read; one that is behind, or whose other side is away, holds time back however long
// it is silent, also when it had been idle before.
func TestIdleIsCaughtUp(t *testing.T) {
	f := newFeed(2)
	p := feedPlan(t, "fail")
	p.Nodes[0].Source.IdleTimeout = 1e6
	j, c := startFeed(t, f, p)
	away := []string{}
	silence := func(what string, windows int) {
		t.Helper()
		for range 3 {
			c.Advance(1100 * time.Millisecond)
			time.Sleep(20 * time.Millisecond)
		}
		if got := f.got("windows"); len(got) != windows {
			t.Fatalf("%s: windows %q", what, got)
		}
	}
	f.splits[1] <- away
	f.splits[0] <- []string{row("x", 1, "10"), row("x", 2, "10"), row("x", 16, "10")}
	f.wait(t, "rows", 3)
	silence("behind", 0)
	f.splits[1] <- nil
	c.Advance(1100 * time.Millisecond)
	wantRows(t, "caught up", f.wait(t, "windows", 1), "x 2 0")
	// More than are read ahead: when the last is taken the first has been heard.
	for range 40 {
		f.splits[1] <- away
	}
	eventually(t, "room in the split", func() bool { return len(f.splits[1]) == 0 })
	f.splits[0] <- []string{row("x", 30, "10")}
	f.wait(t, "rows", 4)
	silence("behind again", 1)
	f.splits[1] <- []string{row("x", 12, "10")}
	f.wait(t, "rows", 5)
	close(f.splits[0])
	close(f.splits[1])
	if err := j.Wait(); err != nil {
		t.Fatal(err)
	}
	wantRows(t, "in the end", f.got("windows"), "x 2 0", "x 2 10000000", "x 1 30000000")
	if got := j.Status().Nodes[1].Late; got != 0 {
		t.Errorf("%d late rows", got)
	}
}
