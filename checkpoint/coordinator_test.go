package checkpoint

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/streamsql/streamsql/internal/stream"
)

// drive runs coordinators against a model of everything else: tasks that number
// their work, a store, sinks. Answers come late, twice, or say "failed" of what was
// done; attempts die and are followed by others. What is checked is stated where it
// is checked.
type drive struct {
	rng      *rand.Rand
	groups   []Group
	store    map[stream.Epoch]*Manifest
	highest  stream.Epoch            // manifest name ever
	used     stream.Epoch            // newest epoch that this attempt must not use again
	shown    map[string]stream.Epoch // by group: what its sinks show
	attempt  uint64
	now      int64
	settings Settings

	c          *Coordinator
	tasks      map[TaskID]*modelTask
	mail       []Event
	released   stream.Epoch
	faults     int
	finished   bool
	failed     bool
	completes  map[stream.Epoch]bool
	committing map[string]bool
	lastCommit map[string]stream.Epoch
}

// modelTask counts its work; an epoch's share is the range of work since the epoch
// completed last.
type modelTask struct {
	id      TaskID
	from    int // first piece of work not in a complete epoch
	to      int
	seal    map[stream.Epoch]int // epoch -> to
	aborted stream.Epoch
	drained bool
	ended   bool
	endSent bool
	before  int // work when End came
}

var modelGroups = []Group{{Name: "a", Nodes: []int{1}}, {Name: "b", Nodes: []int{2}}}

// after is modelGroups with the second waiting for the first.
var after = []Group{modelGroups[0], {Name: "b", Nodes: []int{2}, After: []string{"a"}}}

func newDrive(seed uint64) *drive {
	rng := rand.New(rand.NewPCG(seed, 9))
	groups := [][]Group{modelGroups, after}[rng.IntN(2)]
	return &drive{rng: rng, groups: groups, store: map[stream.Epoch]*Manifest{}, shown: map[string]stream.Epoch{}, faults: rng.IntN(20), now: 1e9,
		settings: Settings{Interval: 10, MinPause: int64(rng.IntN(10)), Timeout: 200, MaxPendingCommits: 1 + rng.IntN(2),
			TolerableFailures: rng.IntN(4) - 1, Retained: 1 + rng.IntN(3)}}
}

// newest is the manifest with the highest epoch.
func (d *drive) newest() *Manifest {
	var m *Manifest
	for _, x := range d.store {
		if m == nil || x.Epoch > m.Epoch {
			m = x
		}
	}
	return m
}

// open starts the next attempt as recovery does: from the newest manifest, its pending
// commits settled first.
func (d *drive) open() error {
	d.attempt++
	d.mail, d.failed, d.completes, d.committing = nil, false, map[stream.Epoch]bool{}, map[string]bool{}
	d.lastCommit = map[string]stream.Epoch{}
	d.tasks = map[TaskID]*modelTask{}
	start := Start{Settings: d.settings, Now: d.now, Groups: d.groups, Bounded: d.rng.IntN(2) == 0, Manifest: Manifest{Job: "j", Attempt: d.attempt},
		Sinks: []SinkState{{Node: 1}, {Node: 2}}, Next: max(d.highest, d.shown["a"], d.shown["b"]) + 1}
	var epochs []stream.Epoch
	for e := range d.store {
		epochs = append(epochs, e)
	}
	slices.Sort(epochs)
	m := d.newest()
	for _, e := range epochs {
		start.Kept = append(start.Kept, d.store[e])
	}
	for _, g := range modelGroups {
		if m == nil {
			break
		}
		var chain []*Manifest
		for x := m; x != nil && x.Epoch > d.shown[g.Name]; x = d.store[x.Prev] {
			chain = append(chain, x)
		}
		slices.Reverse(chain)
		for _, x := range chain {
			if err := d.show(g.Name, x); err != nil {
				return fmt.Errorf("recovery: %w", err)
			}
		}
		if d.shown[g.Name] != m.Epoch {
			return fmt.Errorf("recovery: group %s shows %d, the newest manifest is %d", g.Name, d.shown[g.Name], m.Epoch)
		}
	}
	for i := range 3 {
		for node := range 3 {
			t := &modelTask{id: TaskID{Node: node, Subtask: i}, seal: map[stream.Epoch]int{}}
			if m != nil {
				for _, s := range m.Tasks {
					if s.Node == node && s.Subtask == i {
						t.to = int(s.Watermark)
						t.from = t.to
					}
				}
			}
			d.tasks[t.id] = t
			if node == 0 {
				start.Sources = append(start.Sources, t.id)
			} else {
				start.Others = append(start.Others, t.id)
			}
		}
	}
	d.used = start.Next - 1
	d.c = NewCoordinator(start)
	return nil
}

// show commits a manifest in a group: exactly the successor of what it shows.
func (d *drive) show(group string, m *Manifest) error {
	switch d.shown[group] {
	case m.Epoch:
		return nil
	case m.Prev:
		for _, g := range d.groups {
			if g.Name == group && len(g.After) > 0 && d.shown[g.After[0]] < m.Epoch {
				return fmt.Errorf("group %s shows epoch %d before group %s", group, m.Epoch, g.After[0])
			}
		}
		d.shown[group] = m.Epoch
		return nil
	}
	return fmt.Errorf("group %s is to show epoch %d after %d and shows %d", group, m.Epoch, m.Prev, d.shown[group])
}

func (d *drive) post(e Event) {
	d.mail = append(d.mail, e)
	if d.rng.IntN(10) == 0 {
		d.mail = append(d.mail, e) // twice
	}
}

func (d *drive) fault() bool { return d.rng.IntN(100) < d.faults }

// sealTask is a task reaching the barrier.
func (d *drive) sealTask(t *modelTask, e stream.Epoch) {
	if _, done := t.seal[e]; done || e <= t.aborted {
		return
	}
	if d.fault() {
		d.post(SealFailed{Task: t.id, Epoch: e, Err: errors.New("disk")})
		return
	}
	t.seal[e] = t.to
	s := TaskSealed{Task: t.id, Epoch: e, Moved: t.to > t.from,
		States: []TaskState{{Node: t.id.Node, Subtask: t.id.Subtask, Watermark: int64(t.to)}}}
	if t.id.Node > 0 {
		s.Sinks = []SealedSink{{Node: t.id.Node, Subtask: t.id.Subtask, Rows: []Blob{{Name: fmt.Sprint(t.id, t.from, "-", t.to)}}, Count: int64(t.to - t.from)}}
	}
	d.post(s)
}

// step lets one thing happen.
func (d *drive) step(work bool) error {
	var e Event
	switch k := d.rng.IntN(4); {
	case k == 0 && work:
		for _, t := range d.tasks {
			if !t.drained && d.rng.IntN(3) == 0 {
				t.to++
			}
		}
		return nil
	case k <= 1:
		d.now += int64(d.rng.IntN(8))
		e = Tick{Now: d.now}
	case k == 2 && !work:
		d.endSome()
		return nil
	case len(d.mail) > 0:
		i := d.rng.IntN(len(d.mail)) // in any order
		e = d.mail[i]
		d.mail = slices.Delete(d.mail, i, i+1)
		switch e := e.(type) {
		case Committed:
			d.answered(e.Group, e.Epoch)
		case CommitFailed:
			d.answered(e.Group, e.Epoch)
		}
	default:
		return nil
	}
	for _, a := range d.c.Step(e) {
		if err := d.act(a); err != nil {
			return err
		}
	}
	return nil
}

// ends reports whether all sources have sent End, and whether all tasks have.
func (d *drive) ends() (sent, ended bool) {
	sent, ended = true, true
	for _, t := range d.tasks {
		sent = sent && (t.id.Node > 0 || t.endSent)
		ended = ended && t.ended
	}
	return sent, ended
}

// answered notes the answer to a commit; only the first one of an epoch counts.
func (d *drive) answered(group string, e stream.Epoch) {
	if d.lastCommit[group] == e {
		d.committing[group] = false
	}
}

// endSome lets sources drain, and tasks end once all sources have sent End.
func (d *drive) endSome() {
	all := true
	for i := range 3 {
		t := d.tasks[TaskID{Subtask: i}]
		if !t.drained && d.rng.IntN(3) == 0 {
			t.drained = true
			d.post(Drained{Task: t.id})
		}
		all = all && t.endSent
	}
	for i := range 3 {
		for node := range 3 {
			t := d.tasks[TaskID{Node: node, Subtask: i}]
			if !t.ended && (all || node == 0 && t.endSent) {
				t.ended = true
				t.before = t.to
				if node > 0 {
					t.to++ // what End fires
				}
				d.post(TaskEnded{Task: t.id})
			}
		}
	}
}

func TestCoordinator(t *testing.T) {
	for seed := range uint64(400) {
		d := newDrive(seed)
		if err := d.run(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func (d *drive) run() error {
	for life := range 40 {
		if life > 5 {
			d.faults = 0
		}
		if err := d.open(); err != nil {
			return err
		}
		if m := d.newest(); m != nil && m.Finished {
			return nil
		}
		steps, work := d.rng.IntN(2000), d.rng.IntN(1000)
		if life > 5 {
			steps = 100000
		}
		stop := d.rng.IntN(8) == 0
		for i := 0; i < steps && !d.failed && !d.finished; i++ {
			if stop && i == work {
				for _, a := range d.c.Step(StopRequested{}) {
					if err := d.act(a); err != nil {
						return err
					}
				}
			}
			if err := d.step(i < work); err != nil {
				return fmt.Errorf("life %d, step %d: %w", life, i, err)
			}
		}
		if d.finished {
			if more := d.c.Step(Tick{Now: d.now + 1e6}); more != nil {
				return fmt.Errorf("after the end: %v", more)
			}
			if d.newest().Finished {
				return nil
			}
			d.finished = false // stopped; goes on
		}
	}
	return errors.New("no end")
}
