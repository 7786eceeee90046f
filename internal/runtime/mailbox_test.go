package runtime

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
)

func ints(ops []vec.Op, keys ...int64) *vec.Batch {
	b := vec.NewBatch([]types.Type{types.TBigInt, types.TBigInt}, len(keys))
	for i, k := range keys {
		b.Cols[0].AppendInt64(k)
		b.Cols[1].AppendInt64(int64(i))
		b.N++
	}
	b.Ops = ops
	return b
}

func batchOf(n int) stream.Message {
	return stream.Message{Kind: stream.KindBatch, Batch: ints(nil, make([]int64, n)...)}
}

// TestPortHoldsBack: a port takes batches up to its limit, one of any size when it is
// empty, control messages always, and nothing while it is shut.
func TestPortHoldsBack(t *testing.T) {
	owner, sender := newWaker(), newWaker()
	box := newMailbox(owner)
	p := box.addPort(sender)
	woken := func(w waker) bool {
		select {
		case <-w:
			return true
		default:
			return false
		}
	}
	if !p.TrySend(batchOf(3 * portRows)) {
		t.Fatal("an empty port refuses a large batch")
	}
	if !woken(owner) {
		t.Error("the owner was not woken")
	}
	if p.TrySend(batchOf(1)) {
		t.Fatal("a full port takes a batch")
	}
	if !p.TrySend(stream.Message{Kind: stream.KindBarrier, Barrier: stream.Barrier{Epoch: 1}}) {
		t.Fatal("a full port refuses a barrier")
	}
	if m, ok := box.take(0); !ok || m.Kind != stream.KindBatch {
		t.Fatal("the batch does not come out first")
	}
	if !woken(sender) {
		t.Error("the refused sender was not woken")
	}
	box.gate(0, true)
	if _, ok := box.take(0); ok {
		t.Error("a shut port gives")
	}
	if p.TrySend(stream.Message{Kind: stream.KindWatermark}) {
		t.Error("a shut port takes")
	}
	box.gate(0, false)
	if !woken(sender) {
		t.Error("opening the port does not wake its sender")
	}
	if m, _ := box.take(0); m.Barrier.Epoch != 1 {
		t.Error("the barrier is lost")
	}
	for w := range int64(1000) {
		p.TrySend(stream.Message{Kind: stream.KindWatermark, Time: w})
	}
	if m, _ := box.take(0); m.Time != 999 || !p.Empty() {
		t.Error("watermarks in a row do not become one")
	}
}

func TestPortDoesNotAllocate(t *testing.T) {
	box := newMailbox(newWaker())
	p := box.addPort(newWaker())
	m := batchOf(10)
	if n := testing.AllocsPerRun(1000, func() {
		p.TrySend(m)
		p.TrySend(stream.Message{Kind: stream.KindWatermark})
		box.take(0)
		box.take(0)
	}); n != 0 {
		t.Errorf("%v allocations a message", n)
	}
}

// script is an exchange whose outlets write down what they get.
type script struct {
	got  []string
	full bool
}

func (s *script) TrySend(m stream.Message) bool {
	if s.full {
		return false
	}
	switch m.Kind {
	case stream.KindBatch:
		for i := range m.Batch.N {
			s.got = append(s.got, fmt.Sprintf("%s%d", m.Batch.Op(i), m.Batch.Cols[0].I64[i]))
		}
	case stream.KindWatermark:
		s.got = append(s.got, fmt.Sprintf("w%d", m.Time))
	default:
		s.got = append(s.got, m.Kind.String())
	}
	return true
}

func (s *script) Room() <-chan struct{} { return nil }

func newScript(kind plan.Exchange, n int) (*exchange, *outbox, []*script) {
	box := &outbox{}
	x := &exchange{kind: kind, keys: []int{0}, types: []types.Type{types.TBigInt, types.TBigInt}, groups: 256, box: box}
	box.exchanges = append(box.exchanges, x)
	var out []*script
	for range n {
		s := &script{}
		out = append(out, s)
		x.targets = append(x.targets, &target{outlet: s, wm: types.MinTime, sent: types.MinTime})
	}
	for g := range 256 {
		x.sub = append(x.sub, uint16(stream.SubtaskOf(g, n, 256)))
	}
	return x, box, out
}

// TestExchangeSplitsUpdates: the halves of an update stay together while they have the
// same key, and become a delete and an insert when they have not.
func TestExchangeSplitsUpdates(t *testing.T) {
	x, box, out := newScript(plan.Hash, 2)
	x.moves = true
	home := func(k int64) int {
		h := make([]uint64, 1)
		vec.HashColumns(ints(nil, k).Cols[:1], 1, h)
		return int(x.sub[stream.KeyGroup(h[0], 256)])
	}
	a, b := int64(0), int64(1)
	for home(b) == home(a) {
		b++
	}
	c := a + 1
	for home(c) != home(a) {
		c++
	}
	ops := []vec.Op{vec.UpdateBefore, vec.UpdateAfter, vec.UpdateBefore, vec.UpdateAfter, vec.UpdateBefore, vec.UpdateAfter}
	in := ints(slices.Clone(ops), a, a, a, b, a, c)
	x.batch(in)
	if !slices.Equal(ops, []vec.Op{2, 3, 2, 3, 2, 3}) {
		t.Error("the sender's ops were changed")
	}
	box.flushAll()
	box.send()
	wantA := fmt.Sprintf("[-U%d +U%d -D%d -D%d +I%d]", a, a, a, a, c)
	if got := fmt.Sprint(out[home(a)].got); got != wantA {
		t.Errorf("got %s, want %s", got, wantA)
	}
	if got := fmt.Sprint(out[home(b)].got); got != fmt.Sprintf("[+I%d]", b) {
		t.Errorf("got %s", got)
	}
	x, box, out = newScript(plan.Hash, 1)
	x.moves = true
	x.batch(ints(slices.Clone(ops), a, a, a, b, a, c))
	box.flushAll()
	box.send()
	if got, want := fmt.Sprint(out[0].got), fmt.Sprintf("[-U%d +U%d -D%d +I%d -D%d +I%d]", a, a, a, b, a, c); got != want {
		t.Errorf("a single target got %s, want %s", got, want)
	}
}

// TestExchangeKeepsOrder: whatever is gathered, refused and sent later, each target
// gets the rows of a key in order, and no watermark or barrier before rows that
// came earlier.
func TestExchangeKeepsOrder(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		kind := []plan.Exchange{plan.Hash, plan.Gather, plan.Forward}[rng.IntN(3)]
		n := 1
		if kind == plan.Hash {
			n = 1 + rng.IntN(4)
		}
		x, box, out := newScript(kind, n)
		sent, wm, barriers := int64(0), int64(0), 0
		for range 60 {
			switch rng.IntN(5) {
			case 0, 1:
				keys := make([]int64, 1+rng.IntN(800))
				for i := range keys {
					sent++
					keys[i] = sent
				}
				x.batch(ints(nil, keys...))
			case 2:
				wm = sent // every row so far has a time of at most its number
				x.watermark(wm)
			case 3:
				barriers++
				x.toAll(stream.Message{Kind: stream.KindBarrier})
			default:
				for _, s := range out {
					s.full = rng.IntN(2) == 0
				}
				box.send()
			}
		}
		box.flushAll()
		for _, s := range out {
			s.full = false
		}
		box.send()
		if box.queued != 0 || box.gathered != 0 {
			t.Fatalf("seed %d: %d queued, %d gathered after all was sent", seed, box.queued, box.gathered)
		}
		total := int64(0)
		for _, s := range out {
			last, mark, seen := int64(0), int64(0), 0
			for _, g := range s.got {
				var v int64
				switch g[0] {
				case '+':
					v, _ = strconv.ParseInt(g[2:], 10, 64)
					if v <= last || v <= mark {
						t.Fatalf("seed %d: row %d after row %d and watermark %d", seed, v, last, mark)
					}
					last = v
					total++
				case 'w':
					mark, _ = strconv.ParseInt(g[1:], 10, 64)
				default:
					seen++
				}
			}
			if mark != wm || seen != barriers {
				t.Fatalf("seed %d: watermark %d of %d, %d barriers of %d", seed, mark, wm, seen, barriers)
			}
		}
		if total != sent {
			t.Fatalf("seed %d: %d rows of %d", seed, total, sent)
		}
	}
}
