package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

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
