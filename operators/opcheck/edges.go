package opcheck

import (
	"fmt"
	"maps"
	"sync"

	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
)

// Edges checks every edge of jobs over all their attempts: what a restored attempt takes
// away must have been live in the checkpoint that it began with. The zero value is ready.
type Edges struct {
	mu      sync.Mutex
	sealed  map[moment]map[stream.Lane]sealed
	lanes   map[place][]*lane // of the attempt at the place
	befores map[place]*before
	owners  map[place]map[string]int // receiver of each key of an exchange by hash
	seen    int
}

// place is an edge in one attempt, moment is a place when an epoch was sealed.
type place struct {
	job     string
	attempt uint64
	edge    string // by the roles of its ends: plans may change
}

type moment struct {
	place
	epoch stream.Epoch
}

// sealed is what a lane had carried: rows that are live, and those taken from before.
type sealed struct {
	live  relation
	taken map[string]int
}

// before is what was live on an edge when an attempt began. All lanes take from it.
type before struct {
	since stream.Epoch
	mu    sync.Mutex
	base  relation // as it was
	left  relation
	// unknown: the checkpoint was made elsewhere, anything may have been live.
	unknown bool
}

func (b *before) has(id string) (row string, ok bool) {
	if b == nil {
		return "", false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	l, ok := b.left[id]
	return l.row, ok
}

func (b *before) take(id string) bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	l, ok := b.left[id]
	if l.n--; l.n > 0 {
		b.left[id] = l
	} else {
		delete(b.left, id)
	}
	return ok || b.unknown
}

// lane is the watch of a lane.
type lane struct {
	edges *Edges
	place place
	lane  stream.Lane
	hash  []int // keys of an exchange by hash
	check *Checker
	ended bool
}

// Watch is a runtime.WatchEdge.
func (e *Edges) Watch(from, to *plan.Node, input int, at stream.Lane) stream.Watch {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sealed == nil {
		e.sealed, e.lanes = map[moment]map[stream.Lane]sealed{}, map[place][]*lane{}
		e.befores, e.owners = map[place]*before{}, map[place]map[string]int{}
	}
	l := &lane{edges: e, place: place{at.Job, at.Attempt, fmt.Sprintf("%s to %s, input %d", from.Role, to.Role, input)}, lane: at, check: New(from.Changelog, from.Key)}
	in := to.Inputs[input]
	if in.Port != plan.Rows {
		l.check = New(plan.Append, nil)
	}
	if in.Exchange == plan.Hash {
		l.hash = in.Keys
	}
	// An attempt that gave a damaged checkpoint up begins again with an older one.
	if b := e.befores[l.place]; b == nil || b.since != at.Since {
		e.befores[l.place], e.owners[l.place] = e.restored(l.place, at), map[string]int{}
		e.lanes[l.place] = nil
	}
	l.check.before = e.befores[l.place]
	e.lanes[l.place] = append(e.lanes[l.place], l)
	return l
}

// restored is what was live on an edge in the checkpoint that an attempt began with.
func (e *Edges) restored(p place, at stream.Lane) *before {
	b := &before{since: at.Since, base: relation{}, left: relation{}}
	if at.Since == 0 {
		b.unknown = at.SinceAttempt > 0
		return b
	}
	p.attempt = at.SinceAttempt
	if len(e.lanes[p]) == 0 {
		b.unknown = true
		return b
	}
	base, all := e.at(p, at.Since)
	if !all {
		panic(fmt.Sprintf("checkpoint %d is complete without a barrier from %s", at.Since, p.edge))
	}
	b.base, b.left, b.unknown = base, maps.Clone(base), e.befores[p].unknown
	return b
}

// at sums up what the lanes of an edge carried until an epoch was sealed. It is all
// when every lane has sealed it, or has ended.
func (e *Edges) at(p place, epoch stream.Epoch) (sum relation, all bool) {
	sum = maps.Clone(e.befores[p].base)
	var taken []map[string]int
	for _, l := range e.lanes[p] {
		s, ok := e.sealed[moment{p, epoch}][l.lane]
		if !ok && l.ended {
			s = sealed{l.check.live, l.check.taken}
		} else if !ok {
			return nil, false
		}
		for id, x := range s.live {
			x.n += sum[id].n
			sum[id] = x
		}
		taken = append(taken, s.taken)
	}
	for _, t := range taken {
		for id, n := range t {
			x := sum[id]
			if x.n -= n; x.n > 0 {
				sum[id] = x
			} else {
				delete(sum, id)
			}
		}
	}
	return sum, true
}

// Batches is how many batches were checked.
func (e *Edges) Batches() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seen
}

// Batch implements stream.Watch.
func (l *lane) Batch(b *vec.Batch) error {
	if err := l.owned(b); err != nil {
		return err
	}
	return l.check.Check(b)
}

// owned checks that all rows of a key of an exchange by hash go to one subtask.
func (l *lane) owned(b *vec.Batch) error {
	l.edges.mu.Lock()
	defer l.edges.mu.Unlock()
	l.edges.seen++
	if l.hash == nil {
		return nil
	}
	owners := l.edges.owners[l.place]
	for i := range b.N {
		k := Row(b, i, l.hash)
		switch r, known := owners[k]; {
		case !known:
			owners[k] = l.lane.Receiver
		case r != l.lane.Receiver:
			return fmt.Errorf("the key %s goes to subtask %d and to %d", k, r, l.lane.Receiver)
		}
		if b.Op(i) == vec.UpdateAfter && i > 0 && b.Op(i-1) == vec.UpdateBefore && Row(b, i-1, l.hash) != k {
			return fmt.Errorf("an update moves the key %s to %s", Row(b, i-1, l.hash), k)
		}
	}
	return nil
}

// Barrier implements stream.Watch. When all lanes have it, no key may have two rows.
func (l *lane) Barrier(epoch stream.Epoch) error {
	e := l.edges
	e.mu.Lock()
	defer e.mu.Unlock()
	m := moment{l.place, epoch}
	if e.sealed[m] == nil {
		e.sealed[m] = map[stream.Lane]sealed{}
	}
	e.sealed[m][l.lane] = sealed{maps.Clone(l.check.live), maps.Clone(l.check.taken)}
	if epoch > keep {
		delete(e.sealed, moment{l.place, epoch - keep})
	}
	if sum, all := e.at(l.place, epoch); all {
		return sum.unique()
	}
	return nil
}

// keep is how many epochs of an attempt are remembered.
const keep = 32

// End implements stream.Watch.
func (l *lane) End() error {
	l.edges.mu.Lock()
	defer l.edges.mu.Unlock()
	l.ended = true
	if sum, all := l.edges.at(l.place, 0); all {
		return sum.unique()
	}
	return nil
}
