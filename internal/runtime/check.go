package runtime

import (
	"context"
)

// Check opens everything outside that cfg's plan names, compares it with what was
// declared, and closes it again. Nothing is read, written or claimed.
func Check(ctx context.Context, cfg Config) (err error) {
	cfg = cfg.withDefaults()
	a := &attempt{cfg: cfg}
	a.clock.us.Store(cfg.Clock.Now())
	defer func() {
		if cerr := a.close(); err == nil {
			err = cerr
		}
	}()
	if a.graph, err = newGraph(cfg.Plan, cfg.Parallelism); err != nil {
		return err
	}
	if err := a.openSinks(ctx); err != nil {
		return err
	}
	for _, n := range cfg.Plan.Nodes {
		if n.Source == nil {
			continue
		}
		t := &sourceTask{src: n.Source}
		t.par = 1
		if _, err := a.openSource(ctx, t, n); err != nil {
			return at(n.Source.Pos, err)
		}
		if _, err := t.conn.Splits(ctx); err != nil {
			return at(n.Source.Pos, err)
		}
	}
	return nil
}
