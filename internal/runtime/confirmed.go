package runtime

import (
	"context"

	"github.com/streamsql/streamsql/checkpoint"
)

// Confirmed reports that every sink of cfg's plan has made the epoch of m visible. It
// reads the fences of the targets for which m holds something to commit, and makes and
// claims nothing.
func Confirmed(ctx context.Context, cfg Config, m *checkpoint.Manifest) (ok bool, err error) {
	if !m.Pending() {
		return true, nil
	}
	pending := map[string]bool{}
	for _, s := range m.Sinks {
		if s.Pending() {
			pending[s.Target] = true
		}
	}
	cfg = cfg.withDefaults()
	a := &attempt{cfg: cfg, job: m.Job, asking: true}
	a.clock.us.Store(cfg.Clock.Now())
	defer func() {
		if cerr := a.close(); err == nil {
			err = cerr
		}
	}()
	if a.graph, err = newGraph(cfg.Plan, cfg.Parallelism); err != nil {
		return false, err
	}
	if err := a.openSinks(ctx); err != nil {
		return false, err
	}
	diversions, err := findDiversions(a.graph)
	if err != nil {
		return false, err
	}
	for _, d := range diversions {
		for _, s := range m.Sinks {
			if to := a.target(d.to.ID).Group(); to != "" && s.Node == d.from.ID && len(s.Rows) > 0 {
				pending[to] = true
			}
		}
	}
	for _, s := range a.sinks {
		name := s.target.Group()
		if !pending[name] {
			continue
		}
		delete(pending, name)
		c, err := s.target.Committer(ctx, m.Job, m.Attempt)
		if err != nil {
			return false, err
		}
		a.closers = append(a.closers, c.Close)
		f, err := c.Fence(ctx)
		if err != nil {
			return false, err
		}
		if !f.Known || f.Job != m.Job || f.Epoch < m.Epoch {
			return false, nil
		}
	}
	// What is left belongs to a target that the plan no longer has.
	return len(pending) == 0, nil
}
