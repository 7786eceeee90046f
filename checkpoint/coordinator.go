package checkpoint

import (
	"fmt"
	"slices"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
)

// Group is the sinks that commit together.
type Group struct {
	Name  string
	Nodes []int
	// After are the groups that have to commit an epoch before this one does.
	After []string
}

// Start is what a Coordinator begins with.
type Start struct {
	Settings Settings
	// Manifest holds the fields that every manifest of the attempt shares: Job, Name,
	// Attempt, Program, Hash, Groups, SQL, Plan.
	Manifest Manifest
	// Sinks are the sinks without their shares: Node, Mode, Target.
	Sinks []SinkState
	// Groups are the groups that commit every epoch, in a fixed order.
	Groups []Group
	// Sources and Others are the tasks.
	Sources, Others []TaskID
	// Bounded: all sources end. Then none sends End before all have drained and a
	// checkpoint was cut; else each does as soon as it has drained.
	Bounded bool
	// Next is the first epoch to use: above every manifest name and fence ever seen.
	Next stream.Epoch
	// Kept are the retained manifests, oldest first, all committed.
	Kept []*Manifest
	Now  int64
}

// epochState is the epoch between its barrier and its manifest.
type epochState struct {
	epoch   stream.Epoch
	started int64
	stop    bool
	forced  bool
	final   bool
	// lastRows: cut when all sources had drained.
	lastRows bool
	sealed   map[TaskID]TaskSealed
	moved    bool
	// manifest is set once it was put; unknown while its creation is in doubt.
	manifest *Manifest
	unknown  error
	reading  bool
}

// kept is a complete epoch.
type kept struct {
	manifest *Manifest
	checksum string
	// open are the groups that have not confirmed yet.
	open []string
}

// finishing is how far a job is whose input has ended.
type finishing uint8

const (
	running  finishing = iota
	lastRows           // all sources drained: the checkpoint before End is due
	ending             // End is on its way
	lastSeal           // all tasks ended: the final checkpoint is due
)

// Coordinator is the epoch protocol of one attempt as a state machine: no I/O, no
// clock, no goroutine. Step takes what happened and says what to do.
//
// An epoch happened if and only if its manifest exists. An aborted epoch's shares join
// the next one's. A manifest's creation whose answer was lost is settled by reading
// it back. Only when all sinks have confirmed an epoch do sources release what it
// covers, and nothing that an unconfirmed epoch needs is collected.
type Coordinator struct {
	start Start
	set   Settings
	now   int64

	tasks   []TaskID // all
	drained map[TaskID]bool
	endSent map[TaskID]bool
	ended   map[TaskID]bool

	next     stream.Epoch
	cur      *epochState
	kept     []kept
	failures int
	// lastStart and lastEnd are of the newest epoch, for Interval and MinPause.
	lastStart, lastEnd int64

	commits map[string]*commitState
	phase   finishing
	// before holds the states of the checkpoint before End, which the final one repeats.
	before []TaskState

	stopping   bool
	stopPath   string
	stopSince  int64
	stopEpoch  stream.Epoch // complete, 0 before
	savepoints []string     // wanted, in order
	saving     bool
	saveEpoch  stream.Epoch
	done       bool
	out        []Action
}

type commitState struct {
	inFlight bool
	retryAt  int64 // 0: not waiting
	backoff  int64
}

// NewCoordinator returns the coordinator of an attempt whose tasks have started.
func NewCoordinator(s Start) *Coordinator {
	c := &Coordinator{start: s, set: s.Settings.WithDefaults(), now: s.Now, next: s.Next,
		drained: map[TaskID]bool{}, endSent: map[TaskID]bool{}, ended: map[TaskID]bool{},
		commits: map[string]*commitState{}, lastStart: s.Now, lastEnd: s.Now}
	c.tasks = append(slices.Clone(s.Sources), s.Others...)
	for _, m := range s.Kept {
		c.kept = append(c.kept, kept{manifest: m})
	}
	for _, g := range s.Groups {
		c.commits[g.Name] = &commitState{}
	}
	return c
}

// Epoch is the epoch in flight, 0 for none.
func (c *Coordinator) Epoch() stream.Epoch {
	if c.cur == nil {
		return 0
	}
	return c.cur.epoch
}

// Newest is the newest complete epoch, 0 for none.
func (c *Coordinator) Newest() stream.Epoch {
	if len(c.kept) == 0 {
		return 0
	}
	return c.kept[len(c.kept)-1].manifest.Epoch
}

// last is the newest complete manifest of this attempt, or an empty one.
func (c *Coordinator) last() *Manifest {
	if n := len(c.kept); n > 0 && c.kept[n-1].manifest.Attempt == c.start.Manifest.Attempt {
		return c.kept[n-1].manifest
	}
	return &Manifest{}
}

// Pending counts the complete epochs that some sink has not confirmed.
func (c *Coordinator) Pending() int {
	n := 0
	for i := range c.kept {
		if len(c.kept[i].open) > 0 {
			n++
		}
	}
	return n
}

func (c *Coordinator) do(a Action) { c.out = append(c.out, a) }

func (c *Coordinator) fail(err error) {
	c.do(Fail{Err: err})
	c.done = true
}

// Step takes one event and returns what to do now. After Finish or Fail it answers
// nothing more.
func (c *Coordinator) Step(e Event) []Action {
	c.out = nil
	if c.done {
		return nil
	}
	switch e := e.(type) {
	case Tick:
		c.now = max(c.now, e.Now)
		c.checkTimeout()
		c.retryCommits()
	case TaskSealed:
		c.taskSealed(e)
	case SealFailed:
		if c.cur != nil && c.cur.epoch == e.Epoch && c.cur.manifest == nil {
			c.abort(e.Err)
		}
	case Drained:
		c.drainedTask(e.Task)
	case TaskEnded:
		c.endedTask(e.Task)
	case ManifestCreated:
		if c.putting(e.Epoch) {
			c.completed(e.Checksum)
		}
	case ManifestFailed:
		if c.putting(e.Epoch) && !c.cur.reading {
			c.cur.unknown, c.cur.reading = e.Err, true
			c.do(ReadManifest{Epoch: e.Epoch})
		}
	case ManifestRead:
		c.manifestRead(e)
	case Committed:
		c.committed(e)
	case CommitFailed:
		c.commitFailed(e)
	case StopRequested:
		c.stopRequested(e)
	case SavepointRequested:
		c.savepoints = append(c.savepoints, e.Path)
	case SavepointDone:
		c.savepointDone(e)
	case AttemptSuperseded:
		c.fail(&sqlerr.Error{Class: sqlerr.User, Code: sqlerr.CodeFenced,
			Msg: "another run of this job has started and this one ends"})
	}
	if !c.done {
		c.advance()
	}
	return c.out
}

func (c *Coordinator) putting(e stream.Epoch) bool {
	return c.cur != nil && c.cur.epoch == e && c.cur.manifest != nil
}

// advance starts what is due.
func (c *Coordinator) advance() {
	c.finishIfDone()
	if c.done || c.cur != nil || c.saving || c.stopEpoch != 0 || c.Pending() >= c.set.MaxPendingCommits {
		return
	}
	switch {
	case c.phase == ending, c.phase == lastRows && c.before != nil && !c.stopping, c.last().Finished:
		return
	case c.phase == lastSeal:
		c.trigger(false, true)
	case c.stopping:
		c.trigger(true, true)
	case c.phase == lastRows, len(c.savepoints) > 0:
		c.trigger(false, true)
	case c.now-c.lastStart >= c.set.Interval && c.now-c.lastEnd >= c.set.MinPause:
		c.trigger(false, false)
	}
}

func (c *Coordinator) trigger(stop, forced bool) {
	if c.failures > 0 && c.now-c.lastEnd < min(c.set.Interval, 1e6) {
		return // after a failure even a forced one waits
	}
	c.cur = &epochState{epoch: c.next, started: c.now, stop: stop, forced: forced,
		final: c.phase == lastSeal, lastRows: c.phase == lastRows, sealed: make(map[TaskID]TaskSealed, len(c.tasks))}
	c.next++
	c.lastStart = c.now
	to := slices.Clone(c.start.Sources)
	for _, t := range c.start.Others {
		if c.ended[t] {
			to = append(to, t)
		}
	}
	c.do(Inject{Barrier: stream.Barrier{Epoch: c.cur.epoch, Stop: stop}, Tasks: to})
}

// String describes where the protocol stands, for diagnosis.
func (c *Coordinator) String() string {
	return fmt.Sprintf("phase %d, stopping %v, %d of %d sources drained, %d of %d tasks ended, saving %v, done %v",
		c.phase, c.stopping, len(c.drained), len(c.start.Sources), len(c.ended), len(c.tasks), c.saving, c.done)
}
