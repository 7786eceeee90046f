package runtime

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
)

// Status is what can be told of a running job.
type Status struct {
	Job, Name string
	Attempt   uint64
	Nodes     []NodeStatus
	// Epoch of the newest complete checkpoint of this attempt, 0 for none; when it was
	// complete, and how long it took from its barrier to its manifest.
	Epoch          stream.Epoch
	CheckpointTime time.Time
	CheckpointTook time.Duration
	Checkpoints    int64
	Restarts       int
	LastError      error
	// Pause is the longest time for which a barrier has held up a task.
	Pause time.Duration
	// Stall says what the job waits for outside, "" for nothing.
	Stall string
	// Warnings counts what the readers of this attempt have read over by option, such as
	// messages that the server no longer has; Warning is the newest.
	Warnings int64
	Warning  string
	Memory   Memory
	Uptime   time.Duration
}

// Memory is what the rows that a job holds take, in bytes. State and Kept are as of an
// earlier Status.
type Memory struct {
	Ports    int64 // batches between tasks
	State    int64 // keyed state, its indexes, and the old versions that snapshots hold
	Kept     int64 // rows that sinks keep, on their way to the store
	Snapshot int64 // encoded state on its way to the store
}

// Sum is all of it.
func (m Memory) Sum() int64 { return m.Ports + m.State + m.Kept + m.Snapshot }

// NodeStatus is the sum over the subtasks of a node.
type NodeStatus struct {
	Node int
	Name string
	// In counts the rows that came in, of a source those that it read and that were not
	// broken; Out those that went on, of a sink those that it took and its target has
	// not refused.
	In, Out int64
	// Late counts the rows that were dropped because all their windows had fired,
	// PartlyLate those that are in the result but not in all their windows.
	Late, PartlyLate int64
	// Errors counts the broken rows that were dropped, by code, Letters the broken and
	// the late ones ("late") that went to the dead letters instead.
	Errors, Letters map[string]int64
	State           int64 // bytes of keyed state, as in Memory
	// Watermark is the lowest of the subtasks', types.MinTime when there is none yet.
	Watermark int64
}

// values gives the counters for the manifest.
func (c *counters) values() map[string]int64 {
	m := map[string]int64{"in": c.in.Load(), "out": c.out.Load(), "late": c.late.Load(), "partly late": c.partly.Load()}
	c.dropped.into(m, "")
	c.letters.into(m, letterCount)
	for k, v := range m {
		if v == 0 {
			delete(m, k)
		}
	}
	return m
}

// letterCount begins the names of counted dead letters in a manifest.
const letterCount = "dead letter "

// restoreCounts gives the counters of a manifest to the nodes' first subtasks.
func (a *attempt) restoreCounts(m *checkpoint.Manifest) {
	for _, x := range m.Counts {
		c := a.count(x.Node)
		if c == nil {
			continue
		}
		for k, v := range x.Values {
			code, isLetter := strings.CutPrefix(k, letterCount)
			switch {
			case isLetter:
				c.letters.add(code, v)
			case k == "in":
				c.in.Store(v)
			case k == "out":
				c.out.Store(v)
			case k == "late":
				c.late.Store(v)
			case k == "partly late":
				c.partly.Store(v)
			default:
				c.dropped.add(k, v)
			}
		}
	}
}

// count gives the counters of a node's first subtask. A predecessor's are those of the
// node that goes on, or nobody's.
func (a *attempt) count(node int) *counters {
	if a.heir != nil {
		if id := a.heir.heirOf(node); id >= 0 {
			return a.heir.count(id)
		}
		return &counters{}
	}
	for _, t := range a.tasks {
		for _, n := range t.chain.nodes {
			if n.plan.ID == node && t.id.Subtask == 0 {
				return n.count
			}
		}
	}
	return nil
}

// Status tells how the job is doing. Any goroutine may call it.
func (j *Job) Status() Status {
	j.mu.Lock()
	a := j.cur
	s := Status{Job: j.id, Name: j.cfg.Name, Restarts: j.restarts, LastError: j.lastError,
		Uptime: time.Duration(j.cfg.Clock.Now()-j.started) * time.Microsecond}
	j.mu.Unlock()
	if a == nil {
		if s.LastError != nil {
			s.Stall = s.LastError.Error()
		}
		return s
	}
	s.Attempt = a.n
	at := make([]int, len(a.cfg.Plan.Nodes))
	for i, n := range a.cfg.Plan.Nodes {
		at[i] = i
		s.Nodes = append(s.Nodes, NodeStatus{Node: n.ID, Name: nodeName(n), Errors: map[string]int64{}, Letters: map[string]int64{}, Watermark: types.MaxTime})
	}
	for _, t := range a.tasks {
		t.askMemory()
		s.Memory.Ports += int64(t.box.memory())
		s.Pause = max(s.Pause, time.Duration(t.pause.Load()))
		for _, n := range t.chain.nodes {
			x := &s.Nodes[at[n.plan.ID]]
			x.In += n.count.in.Load()
			x.Out += n.count.out.Load()
			x.Late += n.count.late.Load()
			x.PartlyLate += n.count.partly.Load()
			x.State += n.count.state.Load()
			s.Memory.State += n.count.state.Load()
			x.Watermark = min(x.Watermark, n.count.wm.Load())
			n.count.dropped.into(x.Errors, "")
			n.count.letters.into(x.Letters, "")
		}
		if t.sink != nil {
			s.Memory.Kept += t.sink.kept.Load()
			if s.Stall == "" {
				s.Stall = t.sink.stalled.reason()
			}
			s.ask(t.sink.writer)
		}
	}
	s.Memory.Snapshot = a.encoded.Load()
	select {
	case <-j.Done():
		s.Memory = Memory{}
		for i := range s.Nodes {
			s.Nodes[i].State = 0
		}
	default:
	}
	for _, g := range a.groups {
		s.ask(g.committer)
	}
	for _, r := range a.readers {
		s.ask(r.reader)
	}
	info := a.driver.status.get()
	s.Epoch, s.Checkpoints = stream.Epoch(info.epoch), info.count
	s.CheckpointTime = time.UnixMicro(info.at)
	s.CheckpointTook = time.Duration(info.took) * time.Microsecond
	if s.Stall == "" {
		s.Stall = info.stall
	}
	return s
}

// ask adds what a reader, writer or committer tells of itself.
func (s *Status) ask(x any) {
	rep, ok := x.(connectors.Reporter)
	if !ok {
		return
	}
	st := rep.Status()
	if s.Stall == "" {
		s.Stall = st.Waiting
	}
	if s.Warnings += st.Warnings; st.Warning != "" {
		s.Warning = st.Warning
	}
}

// stallNote is why a writer waits.
type stallNote struct {
	mu  sync.Mutex
	why error
}

func (s *stallNote) set(cause error) {
	s.mu.Lock()
	s.why = cause
	s.mu.Unlock()
}

func (s *stallNote) reason() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why == nil {
		return ""
	}
	return s.why.Error()
}

// driverStatus is what Status shows of checkpoints, and who waits for savepoints.
type driverStatus struct {
	mu      sync.Mutex
	info    checkpointInfo
	stalls  map[string]string // why one waits for a target system, or under "" for the store
	started int64
	waiting map[string][]chan error
}

type checkpointInfo struct {
	epoch           uint64
	at, took, count int64
	stall           string
}

func (s *driverStatus) begin(_ stream.Epoch, now int64) {
	s.mu.Lock()
	s.started = now
	s.mu.Unlock()
}

func (s *driverStatus) completed(e stream.Epoch, now int64) {
	s.mu.Lock()
	s.info.epoch, s.info.at, s.info.took = uint64(e), now, now-s.started
	s.info.count++
	s.mu.Unlock()
}

// stalled notes why group, or the store under "", is waited for; "" when it no longer is.
func (s *driverStatus) stalled(group, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stalls == nil {
		s.stalls = map[string]string{}
	}
	s.stalls[group] = why
	if why == "" {
		delete(s.stalls, group)
	}
}

// get gives the figures, and of all that is waited for what comes first by name.
func (s *driverStatus) get() checkpointInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	info := s.info
	if len(s.stalls) > 0 {
		info.stall = s.stalls[slices.Min(slices.Collect(maps.Keys(s.stalls)))]
	}
	return info
}

// expect returns a channel that gets the outcome of the savepoint at path.
func (s *driverStatus) expect(path string) <-chan error {
	ch := make(chan error, 1)
	s.mu.Lock()
	if s.waiting == nil {
		s.waiting = map[string][]chan error{}
	}
	s.waiting[path] = append(s.waiting[path], ch)
	s.mu.Unlock()
	return ch
}

func (s *driverStatus) savepointDone(path string, err error) {
	s.mu.Lock()
	for _, ch := range s.waiting[path] {
		ch <- err
	}
	delete(s.waiting, path)
	s.mu.Unlock()
}
