package runtime

import "github.com/streamsql/streamsql/operators"

// askMemory has the task measure what it holds, at its next step: only its own goroutine
// may look at its state. Any goroutine may call it.
func (t *task) askMemory() {
	if t.asked.CompareAndSwap(false, true) {
		t.box.tell(control{kind: ctlMeasure})
	}
}

// measure notes what the operators' state takes, and what else they hold.
func (t *task) measure() {
	t.asked.Store(false)
	for _, n := range t.chain.nodes {
		if n.op == nil {
			continue
		}
		held := 0
		if s := n.op.State(); s != nil {
			held = s.Memory()
		}
		if h, ok := n.op.(operators.Holder); ok {
			held += h.Held()
		}
		n.count.state.Store(int64(held))
	}
}

// measureKept notes what the rows take that the sink keeps.
func (t *sinkTask) measureKept() {
	n := cap(t.buf) + cap(t.free)
	if t.spool != nil {
		n += cap(t.spool.buf)
	}
	t.kept.Store(int64(n))
}
