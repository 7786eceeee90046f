package opcheck

import (
	"strings"
	"testing"

	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/planner/plan"
)

// TestEdges follows an edge from one attempt to the next.
func TestEdges(t *testing.T) {
	from := &plan.Node{ID: 0, Changelog: plan.Retract, Key: []int{0}}
	to := &plan.Node{ID: 1, Inputs: []plan.Edge{{From: 0, Exchange: plan.Hash, Keys: []int{0}}}}
	for _, c := range []struct {
		name  string
		first []string // rows before the checkpoint, of the first sender unless they begin with /
		after []string // rows after it, which are lost
		then  []string // rows of the next attempt
		fault string
	}{
		{"what was live is taken away", []string{"+I a 1", "/+I b 2"}, nil, []string{"-D b 2", "/-D a 1"}, ""},
		{"twice", []string{"+I a 1"}, nil, []string{"-D a 1", "/-D a 1"}, "not there"},
		{"what came after the checkpoint", []string{"+I a 1"}, []string{"+I b 2"}, []string{"-D b 2"}, "not there"},
		{"what was taken after the checkpoint", []string{"+I a 1"}, []string{"-D a 1"}, []string{"-D a 1"}, ""},
		{"what was taken before it", []string{"+I a 1", "-D a 1"}, nil, []string{"-D a 1"}, "not there"},
		{"a key that exists", []string{"+I a 1"}, nil, []string{"+I a 2"}, "more than one row"},
		{"a key of both senders", nil, nil, []string{"+I a 1", "/+I a 2"}, "more than one row"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e Edges
			open := func(at stream.Lane) [2]stream.Watch {
				at.Job = "j"
				other := at
				other.Sender = 1
				return [2]stream.Watch{e.Watch(from, to, 0, at), e.Watch(from, to, 0, other)}
			}
			var err error
			send := func(w [2]stream.Watch, lines []string) {
				for _, l := range lines {
					text, other := strings.CutPrefix(l, "/")
					k := 0
					if other {
						k = 1
					}
					if ferr := w[k].Batch(batch(text)); err == nil {
						err = ferr
					}
				}
			}
			seal := func(w [2]stream.Watch, epoch stream.Epoch) {
				for _, x := range w {
					if ferr := x.Barrier(epoch); err == nil {
						err = ferr
					}
				}
			}
			one := open(stream.Lane{Attempt: 1})
			send(one, c.first)
			seal(one, 5)
			send(one, c.after)
			seal(one, 6) // did not become a checkpoint
			two := open(stream.Lane{Attempt: 2, Since: 5, SinceAttempt: 1})
			send(two, c.then)
			seal(two, 6)
			switch {
			case c.fault == "" && err != nil:
				t.Error(err)
			case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)):
				t.Errorf("%v, want %q", err, c.fault)
			}
		})
	}
}

// TestEdgesByHash: all rows of a key go to one subtask.
func TestEdgesByHash(t *testing.T) {
	var e Edges
	from := &plan.Node{ID: 0, Changelog: plan.Append}
	to := &plan.Node{ID: 1, Inputs: []plan.Edge{{From: 0, Exchange: plan.Hash, Keys: []int{0}}}}
	a := e.Watch(from, to, 0, stream.Lane{Attempt: 1, Receiver: 0})
	b := e.Watch(from, to, 0, stream.Lane{Attempt: 1, Receiver: 1})
	if err := a.Batch(batch("+I a 1", "+I b 1")); err != nil {
		t.Fatal(err)
	}
	if err := b.Batch(batch("+I c 1")); err != nil {
		t.Fatal(err)
	}
	if err := b.Batch(batch("+I b 2")); err == nil {
		t.Error("a key goes to two subtasks")
	}
	if e.Batches() != 3 {
		t.Errorf("%d batches", e.Batches())
	}
}
