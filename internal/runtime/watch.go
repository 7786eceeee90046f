package runtime

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
)

// WatchEdge gives the watch of a lane of the edge that is an input of to; nil watches
// nothing there. It is for tests.
type WatchEdge = func(from, to *plan.Node, input int, lane stream.Lane) stream.Watch

// watched is a watch and whom its errors concern.
type watched struct {
	stream.Watch
	a    *attempt
	name string
}

// watch opens the watch of a lane, nil for none.
func (a *attempt) watch(e edge, sender, receiver int) *watched {
	if a.cfg.WatchEdge == nil {
		return nil
	}
	lane := stream.Lane{Job: a.job, Attempt: a.n, Sender: sender, Receiver: receiver}
	if m := a.restored; m != nil {
		lane.Since = m.Epoch
		if a.carry != nil {
			lane.Since = 0 // other edges
		}
		if !m.Finished {
			lane.SinceAttempt = m.Attempt
		}
	}
	w := a.cfg.WatchEdge(e.from, e.to, e.input, lane)
	if w == nil {
		return nil
	}
	return &watched{w, a, "edge from " + nodeName(e.from) + " to " + nodeName(e.to)}
}

func (w *watched) tell(err error) {
	if err != nil {
		w.a.fail(w.name, sqlerr.Internalf("%v", err))
	}
}

// watchedLocal is a consumer in the same chain that is watched; the task tells of
// barriers when it seals.
type watchedLocal struct {
	local
	watch *watched
}

func (l watchedLocal) batch(b *vec.Batch) {
	l.watch.tell(l.watch.Batch(b))
	l.local.batch(b)
}

// watchedPort is an outlet that is watched. A message that was refused is seen once.
type watchedPort struct {
	*port
	watch *watched
	seen  bool
}

func (p *watchedPort) TrySend(m stream.Message) bool {
	if !p.seen {
		switch m.Kind {
		case stream.KindBatch:
			p.watch.tell(p.watch.Batch(m.Batch))
		case stream.KindBarrier:
			p.watch.tell(p.watch.Barrier(m.Barrier.Epoch))
		case stream.KindEnd:
			p.watch.tell(p.watch.End())
		}
	}
	p.seen = !p.port.TrySend(m)
	return !p.seen
}
