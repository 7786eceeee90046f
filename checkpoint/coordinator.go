package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
)

// Group is the sinks that commit together.
type Group struct {
	Name  string
	Nodes []int
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

func (c *Coordinator) taskSealed(e TaskSealed) {
	if c.cur == nil || c.cur.epoch != e.Epoch || c.cur.manifest != nil {
		return
	}
	if _, dup := c.cur.sealed[e.Task]; dup {
		return
	}
	c.cur.sealed[e.Task] = e
	c.cur.moved = c.cur.moved || e.Moved
	if len(c.cur.sealed) < len(c.tasks) {
		return
	}
	if !c.cur.moved && !c.cur.forced {
		c.do(Abort{Epoch: e.Epoch})
		c.cur, c.lastEnd = nil, c.now
		return
	}
	c.cur.manifest = c.manifest()
	c.do(PutManifest{Manifest: c.cur.manifest})
}

// manifest builds the manifest of the epoch whose tasks have all sealed.
func (c *Coordinator) manifest() *Manifest {
	m := c.start.Manifest
	m.Version, m.Epoch, m.Prev = ManifestVersion, c.cur.epoch, c.Newest()
	m.Stopped, m.Finished, m.Created = c.cur.stop, c.cur.final, c.now
	m.Tasks, m.Sinks, m.Counts = nil, nil, nil
	var parts []SealedSink
	for _, t := range c.tasks {
		s := c.cur.sealed[t]
		m.Tasks = append(m.Tasks, s.States...)
		parts = append(parts, s.Sinks...)
		m.Counts = addCounts(m.Counts, s.Counts)
	}
	slices.SortFunc(m.Tasks, func(a, b TaskState) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Subtask, b.Subtask))
	})
	if c.cur.final {
		m.Tasks = c.before
	}
	slices.SortStableFunc(parts, func(a, b SealedSink) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Subtask, b.Subtask))
	})
	for _, s := range c.start.Sinks {
		for _, p := range parts {
			if p.Node != s.Node {
				continue
			}
			if p.Token != nil {
				s.Tokens = append(s.Tokens, p.Token)
			}
			s.Rows = append(s.Rows, p.Rows...)
			s.Count += p.Count
		}
		m.Sinks = append(m.Sinks, s)
	}
	return &m
}

// addCounts adds up the counters of the subtasks of each node.
func addCounts(sum, more []NodeCounts) []NodeCounts {
	for _, x := range more {
		i, ok := slices.BinarySearchFunc(sum, x, func(a, b NodeCounts) int { return cmp.Compare(a.Node, b.Node) })
		if !ok {
			sum = slices.Insert(sum, i, NodeCounts{Node: x.Node, Values: map[string]int64{}})
		}
		for k, v := range x.Values {
			sum[i].Values[k] += v
		}
	}
	return sum
}

func (c *Coordinator) manifestRead(e ManifestRead) {
	if !c.putting(e.Epoch) || !c.cur.reading {
		return
	}
	switch {
	case e.Err != nil:
		c.cur.unknown = e.Err // asked again at the next Tick, until the timeout
		c.cur.reading = false
	case e.Found && e.Attempt == c.start.Manifest.Attempt:
		c.completed(e.Checksum)
	case e.Found && e.Attempt < c.start.Manifest.Attempt:
		c.fail(overtaken(e.Epoch))
	case e.Found:
		c.fail(&sqlerr.Error{Class: sqlerr.User, Code: sqlerr.CodeFenced,
			Msg: "another run of this job has made this checkpoint and this one ends"})
	default:
		c.abort(c.cur.unknown)
	}
}

func (c *Coordinator) checkTimeout() {
	if c.stopping && !c.saving && c.now-c.stopSince >= c.set.StopTimeout {
		c.fail(c.stopError())
		return
	}
	if c.cur == nil {
		return
	}
	if c.cur.manifest == nil {
		if c.now-c.cur.started >= c.set.Timeout {
			c.abort(errors.New("not complete within checkpoint.timeout"))
		}
		return
	}
	if c.cur.unknown == nil || c.cur.reading {
		return
	}
	if c.now-c.cur.started >= c.set.Timeout {
		c.fail(sqlerr.Externalf(sqlerr.CodeCheckpoint, c.cur.unknown, "the store does not say whether a checkpoint exists"))
		return
	}
	c.cur.reading = true
	c.do(ReadManifest{Epoch: c.cur.epoch})
}

// stopError says how far a stop came that did not end in time.
func (c *Coordinator) stopError() error {
	if n := c.Pending(); n > 0 {
		return &sqlerr.Error{Class: sqlerr.External, Code: sqlerr.CodeNotReady,
			Msg:  fmt.Sprintf("stopped, commit of epoch %d pending", c.Newest()),
			Hint: "The next start of the job finishes the commit."}
	}
	return &sqlerr.Error{Class: sqlerr.External, Code: sqlerr.CodeNotReady,
		Msg:  "stopped without a last checkpoint, which was not complete in time",
		Hint: "The next start of the job goes on from the checkpoint before."}
}

// abort gives the current epoch up as failed.
func (c *Coordinator) abort(cause error) {
	c.do(Abort{Epoch: c.cur.epoch})
	c.cur, c.lastEnd = nil, c.now
	c.failures++
	if c.set.TolerableFailures >= 0 && c.failures > c.set.TolerableFailures {
		c.fail(sqlerr.Externalf(sqlerr.CodeCheckpoint, cause, "%d checkpoints in a row have failed", c.failures))
	}
}

// completed takes the current epoch as complete: its manifest exists.
func (c *Coordinator) completed(checksum string) {
	cur := c.cur
	c.cur, c.failures, c.lastEnd = nil, 0, c.now
	k := kept{manifest: cur.manifest, checksum: checksum}
	for _, g := range c.start.Groups {
		k.open = append(k.open, g.Name)
	}
	c.kept = append(c.kept, k)
	c.do(Complete{Epoch: cur.epoch})
	if cur.stop {
		c.stopEpoch = cur.epoch
	}
	if cur.lastRows {
		c.before = cur.manifest.Tasks
	}
	if len(c.savepoints) > 0 || (cur.stop || cur.final) && c.stopPath != "" {
		c.saveEpoch = cur.epoch
	}
	c.startCommits()
	c.confirmed()
}

// startCommits starts the oldest open epoch of every group that is not committing.
func (c *Coordinator) startCommits() {
	for _, g := range c.start.Groups {
		st := c.commits[g.Name]
		if st.inFlight || st.retryAt != 0 {
			continue
		}
		for i := range c.kept {
			if slices.Contains(c.kept[i].open, g.Name) {
				st.inFlight = true
				c.do(Commit{Group: g.Name, Manifest: c.kept[i].manifest, Checksum: c.kept[i].checksum})
				break
			}
		}
	}
}

func (c *Coordinator) retryCommits() {
	for _, g := range c.start.Groups {
		if st := c.commits[g.Name]; st.retryAt != 0 && c.now >= st.retryAt {
			st.retryAt = 0
		}
	}
	c.startCommits()
}

func (c *Coordinator) committed(e Committed) {
	for i := range c.kept {
		k := &c.kept[i]
		if k.manifest.Epoch != e.Epoch {
			continue
		}
		at := slices.Index(k.open, e.Group)
		if at < 0 {
			return
		}
		k.open = slices.Delete(k.open, at, at+1)
		*c.commits[e.Group] = commitState{}
		c.startCommits()
		c.confirmed()
		return
	}
}

func (c *Coordinator) commitFailed(e CommitFailed) {
	st := c.commits[e.Group]
	if st == nil || !st.inFlight {
		return
	}
	if !e.Retry {
		c.fail(e.Err)
		return
	}
	st.inFlight = false
	st.backoff = min(max(2*st.backoff, 50e3), 5e6)
	st.retryAt = c.now + st.backoff
}

// confirmed releases and collects what the confirmations so far allow, and goes on
// with what waited for them.
func (c *Coordinator) confirmed() {
	drop := 0
	for len(c.kept)-drop > c.set.Retained && len(c.kept[drop].open) == 0 && len(c.kept[drop+1].open) == 0 {
		drop++
	}
	c.kept = slices.Delete(c.kept, 0, drop)
	last := c.kept[len(c.kept)-1]
	if len(last.open) > 0 {
		return
	}
	c.do(Release{Manifest: c.kept[0].manifest})
	keep := make([]stream.Epoch, len(c.kept))
	for i := range c.kept {
		keep[i] = c.kept[i].manifest.Epoch
	}
	c.do(Collect{Keep: keep})
	if c.saveEpoch == last.manifest.Epoch {
		c.save(last.manifest)
	}
	if c.phase == lastRows && c.before != nil && !c.stopping {
		c.phase = ending
		c.sendEnd()
	}
}

// save starts the next savepoint that is wanted, of m.
func (c *Coordinator) save(m *Manifest) {
	path := c.stopPath
	switch {
	case c.saving:
		return
	case len(c.savepoints) > 0:
		path, c.savepoints = c.savepoints[0], c.savepoints[1:]
	case path == "":
		return
	}
	c.saving = true
	c.do(Savepoint{Manifest: m, Path: path})
}

func (c *Coordinator) stopRequested(e StopRequested) {
	if c.stopping {
		return
	}
	c.stopping, c.stopPath, c.stopSince = true, e.Savepoint, c.now
}

func (c *Coordinator) savepointDone(e SavepointDone) {
	if !c.saving {
		return
	}
	c.saving, c.saveEpoch = false, 0
	if e.Path == c.stopPath {
		c.stopPath = ""
		if e.Err != nil {
			c.fail(e.Err)
			return
		}
	}
	// The last checkpoint serves every savepoint that is still wanted.
	if last := c.last(); last.Stopped || last.Finished {
		c.save(last)
	}
}

// drainedTask notes that a source has no more rows. The last of them wait for a
// checkpoint, so that End is not part of a state that can be restored.
func (c *Coordinator) drainedTask(t TaskID) {
	if c.drained[t] || !slices.Contains(c.start.Sources, t) {
		return
	}
	c.drained[t] = true
	if len(c.drained) == len(c.start.Sources) {
		c.phase = lastRows
		return
	}
	c.endSent[t] = true
	c.do(SendEnd{Tasks: []TaskID{t}})
}

func (c *Coordinator) sendEnd() {
	var to []TaskID
	for _, t := range c.start.Sources {
		if !c.endSent[t] {
			c.endSent[t] = true
			to = append(to, t)
		}
	}
	c.do(SendEnd{Tasks: to})
}

func (c *Coordinator) endedTask(t TaskID) {
	if c.ended[t] {
		return
	}
	c.ended[t] = true
	if c.cur != nil && c.cur.manifest == nil {
		if _, ok := c.cur.sealed[t]; !ok {
			c.do(Inject{Barrier: stream.Barrier{Epoch: c.cur.epoch, Stop: c.cur.stop}, Tasks: []TaskID{t}})
		}
	}
	if c.phase == ending && len(c.ended) == len(c.tasks) {
		c.phase = lastSeal
	}
}

// finishIfDone ends the job when its last checkpoint is confirmed and saved.
func (c *Coordinator) finishIfDone() {
	last := c.last()
	if !last.Stopped && !last.Finished || c.cur != nil || c.saving || c.Pending() > 0 {
		return
	}
	c.do(Finish{Stopped: last.Stopped})
	c.done = true
}

// String describes where the protocol stands, for diagnosis.
func (c *Coordinator) String() string {
	return fmt.Sprintf("phase %d, stopping %v, %d of %d sources drained, %d of %d tasks ended, saving %v, done %v",
		c.phase, c.stopping, len(c.drained), len(c.start.Sources), len(c.ended), len(c.tasks), c.saving, c.done)
}
