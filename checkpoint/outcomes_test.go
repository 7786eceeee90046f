package checkpoint

import (
	"errors"
	"testing"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// TestManifestRead is what is made of a manifest whose creation was reported as failed,
// once the store says whose it is.
func TestManifestRead(t *testing.T) {
	const mine = 5
	source := TaskID{}
	lost := errors.New("no answer")
	for _, c := range []struct {
		what  string
		read  ManifestRead
		check func(acts []Action) bool
	}{
		{"made by this attempt", ManifestRead{Found: true, Attempt: mine, Checksum: "c"}, func(acts []Action) bool {
			_, ok := acts[0].(Complete)
			return ok
		}},
		{"made by an attempt thought dead: start again from it", ManifestRead{Found: true, Attempt: mine - 1}, func(acts []Action) bool {
			f, ok := acts[0].(Fail)
			return ok && errors.Is(f.Err, ErrOvertaken) && sqlerr.As(f.Err).Retry
		}},
		{"made by a later attempt: over", ManifestRead{Found: true, Attempt: mine + 1}, func(acts []Action) bool {
			f, ok := acts[0].(Fail)
			return ok && sqlerr.CodeOf(f.Err) == sqlerr.CodeFenced && !sqlerr.As(f.Err).Retry
		}},
		{"not there: given up", ManifestRead{}, func(acts []Action) bool {
			a, ok := acts[0].(Abort)
			return ok && a.Epoch == 9
		}},
	} {
		c.read.Epoch = 9
		co := NewCoordinator(Start{Next: 9, Sources: []TaskID{source}, Manifest: Manifest{Job: "j", Attempt: mine}, Settings: Settings{Interval: 10}})
		co.Step(Tick{Now: 100})
		co.Step(TaskSealed{Task: source, Epoch: 9, Moved: true})
		if acts := co.Step(ManifestFailed{Epoch: 9, Err: lost}); len(acts) != 1 || acts[0] != (ReadManifest{Epoch: 9}) {
			t.Fatalf("a create without an answer: %v", acts)
		}
		if acts := co.Step(c.read); len(acts) == 0 || !c.check(acts) {
			t.Errorf("%s: %+v", c.what, acts)
		}
	}
}

// TestNothingMoved: an epoch in which no task has anything new is given up instead of
// stored, again and again; one in which a single task has is stored, and a stop always is.
func TestNothingMoved(t *testing.T) {
	a, b := TaskID{}, TaskID{Node: 1}
	co := NewCoordinator(Start{Next: 9, Sources: []TaskID{a}, Others: []TaskID{b}, Manifest: Manifest{Job: "j", Attempt: 1}, Settings: Settings{Interval: 10}})
	now := int64(0)
	cut := func(moved bool) Action {
		t.Helper()
		now += 100
		co.Step(Tick{Now: now})
		e := co.Epoch()
		if e == 0 {
			t.Fatal("no barrier")
		}
		co.Step(TaskSealed{Task: a, Epoch: e})
		acts := co.Step(TaskSealed{Task: b, Epoch: e, Moved: moved})
		if len(acts) != 1 {
			t.Fatalf("%+v", acts)
		}
		return acts[0]
	}
	for range 20 {
		if got, ok := cut(false).(Abort); !ok {
			t.Fatalf("nothing moved: %+v", got)
		}
	}
	m, ok := cut(true).(PutManifest)
	if !ok || m.Manifest.Epoch != 29 {
		t.Fatalf("a task has moved: %+v", m)
	}
	co.Step(ManifestCreated{Epoch: 29})
	co.Step(StopRequested{})
	if m, ok := cut(false).(PutManifest); !ok || !m.Manifest.Stopped {
		t.Fatalf("a stop: %+v", m)
	}
}

// TestSavepointWaitsForItsSinks: a savepoint is written only when every group has
// confirmed its epoch, that of a stop too; a stop is over only then.
func TestSavepointWaitsForItsSinks(t *testing.T) {
	source := TaskID{}
	for _, stop := range []bool{false, true} {
		co := NewCoordinator(Start{Next: 9, Sources: []TaskID{source}, Groups: modelGroups, Sinks: []SinkState{{Node: 1}, {Node: 2}},
			Manifest: Manifest{Job: "j", Attempt: 1}, Settings: Settings{Interval: 1e9}})
		saved := func(acts []Action) (path string, finished bool) {
			for _, a := range acts {
				switch a := a.(type) {
				case Savepoint:
					path = a.Path
				case Finish:
					finished = true
				}
			}
			return path, finished
		}
		var e Event = SavepointRequested{Path: "sp"}
		if stop {
			e = StopRequested{Savepoint: "sp"}
		}
		co.Step(e)
		for _, e := range []Event{TaskSealed{Task: source, Epoch: 9}, ManifestCreated{Epoch: 9}, Committed{Group: "b", Epoch: 9}, Committed{Group: "b", Epoch: 9}, Tick{Now: 10}} {
			if path, finished := saved(co.Step(e)); path != "" || finished {
				t.Fatalf("stop %v: after %T, which a group has not confirmed: savepoint %q, finished %v", stop, e, path, finished)
			}
		}
		if path, finished := saved(co.Step(Committed{Group: "a", Epoch: 9})); path != "sp" || finished {
			t.Fatalf("stop %v, confirmed: savepoint %q, finished %v", stop, path, finished)
		}
		if _, finished := saved(co.Step(SavepointDone{Path: "sp"})); finished != stop {
			t.Fatalf("stop %v, saved: finished %v", stop, finished)
		}
	}
}
