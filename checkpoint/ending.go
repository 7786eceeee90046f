package checkpoint

import (
	"slices"

	"github.com/streamsql/streamsql/internal/stream"
)

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

// drainedTask notes that a source has no more rows. When all have none, a checkpoint
// comes before End, so that End is not part of a state that can be restored.
func (c *Coordinator) drainedTask(t TaskID) {
	if c.drained[t] || !slices.Contains(c.start.Sources, t) {
		return
	}
	c.drained[t] = true
	if len(c.drained) == len(c.start.Sources) {
		c.phase = lastRows
		return
	}
	if c.start.Bounded {
		return
	}
	c.endSent[t] = true
	c.do(SendEnd{Tasks: []TaskID{t}})
}

// sendEnd lets the sources end that were held back.
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
	c.do(Finish{Stopped: last.Stopped, Manifest: last})
	c.done = true
}
