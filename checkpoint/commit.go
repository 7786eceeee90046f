package checkpoint

import (
	"slices"

	"github.com/streamsql/streamsql/internal/stream"
)

// startCommits starts the oldest open epoch of every group that is not committing.
func (c *Coordinator) startCommits() {
	for _, g := range c.start.Groups {
		st := c.commits[g.Name]
		if st.inFlight || st.retryAt != 0 {
			continue
		}
		for i := range c.kept {
			open := c.kept[i].open
			if !slices.Contains(open, g.Name) {
				continue
			}
			if !slices.ContainsFunc(g.After, func(o string) bool { return slices.Contains(open, o) }) {
				st.inFlight = true
				c.do(Commit{Group: g.Name, Manifest: c.kept[i].manifest, Checksum: c.kept[i].checksum})
			}
			break
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
