package state

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

func orderedBackend(t testing.TB, typ types.Type) *Backend {
	t.Helper()
	b, err := New(Decl{Name: "g", Keys: []types.Type{types.TBigInt}},
		Decl{Name: "v", Kind: KindChild, Keys: []types.Type{typ}, Words: 2, Parent: "g"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// addValues counts the values of one column under a parent by add, in value word w.
func addValues(t *Table, o *Order, w int, parent uint32, col *vec.Vector, add int64) {
	hashes, ids := make([]uint64, col.Len), make([]uint32, col.Len)
	keys := []*vec.Vector{col}
	vec.HashColumns(keys, col.Len, hashes)
	t.UpsertOf(slices.Repeat([]uint32{parent}, col.Len), hashes, keys, nil, ids)
	t.Cells().Touch(ids)
	for _, id := range ids {
		word := &t.Cells().Record(id)[t.ValueOffset()+w]
		was := int64(*word)
		*word = uint64(was + add)
		switch is := was + add; {
		case was <= 0 && is > 0:
			o.Enter(id)
		case was > 0 && is <= 0:
			o.Leave(id)
			t.Delete(id)
		}
	}
}

// TestOrderOfEveryType: the ends of the order are those of a sorted list, while values
// come and go, and after a restore.
func TestOrderOfEveryType(t *testing.T) {
	inf := math.Inf(1)
	dec := types.TDecimal(38, 2)
	draw := map[types.Type]func(r *rand.Rand) types.Value{
		types.TBigInt: func(r *rand.Rand) types.Value {
			return types.IntValue(types.TBigInt, []int64{math.MinInt64, math.MaxInt64, r.Int64N(100) - 50}[min(2, r.IntN(9))])
		},
		types.TDouble: func(r *rand.Rand) types.Value {
			return types.FloatValue([]float64{inf, -inf, math.NaN(), math.Copysign(0, -1), r.NormFloat64()}[min(4, r.IntN(40))])
		},
		dec: func(r *rand.Rand) types.Value {
			v, _ := types.I128(int64(r.Uint64())).Mul(types.Pow10(r.IntN(18)))
			return types.DecimalValue(dec, v)
		},
		types.TText: func(r *rand.Rand) types.Value {
			return types.TextValue(strings.Repeat("aé", r.IntN(4)) + string(rune('a'+r.IntN(26))))
		},
		types.TBool: func(r *rand.Rand) types.Value { return types.BoolValue(r.IntN(2) == 0) },
		types.TInterval: func(r *rand.Rand) types.Value {
			return types.Value{Type: types.TInterval, Iv: types.IntervalValue{Months: r.Int32N(5) - 2, Days: r.Int32N(90) - 45, Micros: r.Int64N(1e12) - 5e11}}
		},
	}
	for typ, value := range draw {
		for seed := range uint64(4) {
			r := rand.New(rand.NewPCG(seed, 31))
			b := orderedBackend(t, typ)
			tab := b.Table("v")
			parents := []uint32{0, 1, 2}
			var hash [3]uint64
			vec.HashColumns(intColumn(1, 2, 3), 3, hash[:])
			b.Table("g").Upsert(hash[:], intColumn(1, 2, 3), nil, parents)
			live := map[uint32][]*vec.Vector{}
			o := tab.Order(1)
			for step := range 400 {
				p := parents[r.IntN(3)]
				if have := live[p]; len(have) > 0 && r.IntN(2) == 0 {
					i := r.IntN(len(have))
					addValues(tab, o, 1, p, have[i], -1)
					live[p] = slices.Delete(have, i, i+1)
				} else {
					col := vec.New(typ, 1)
					col.AppendValue(value(r))
					addValues(tab, o, 1, p, col, 1)
					live[p] = append(have, col)
				}
				for _, p := range parents {
					checkEnds(t, tab, o, p, live[p])
				}
				if step == 300 {
					tab, o = reordered(t, b, typ)
				}
			}
		}
	}
}

// reordered restores the tables into a new backend and asks for the order again.
func reordered(t *testing.T, b *Backend, typ types.Type) (*Table, *Order) {
	t.Helper()
	var blob bytes.Buffer
	if err := b.Freeze(true).Encode(&blob); err != nil {
		t.Fatal(err)
	}
	n := orderedBackend(t, typ)
	all := stream.GroupRange{To: 256}
	if err := n.Restore(all, 256, []Part{{Groups: all, Blobs: [][]byte{blob.Bytes()}}}); err != nil {
		t.Fatal(err)
	}
	return n.Table("v"), n.Table("v").Order(1)
}

func checkEnds(t *testing.T, tab *Table, o *Order, parent uint32, live []*vec.Vector) {
	t.Helper()
	least, greatest := o.Least(parent), o.Greatest(parent)
	if len(live) == 0 {
		if least != NoRecord || greatest != NoRecord {
			t.Fatalf("ends %d and %d of nothing", least, greatest)
		}
		return
	}
	by := func(a, b *vec.Vector) int { return vec.CompareValues(a, 0, b, 0) }
	for id, want := range map[uint32]*vec.Vector{least: slices.MinFunc(live, by), greatest: slices.MaxFunc(live, by)} {
		got := vec.New(want.Type, 1)
		tab.AppendKeys([]uint32{id}, []*vec.Vector{got})
		if !vec.EqualValues(got, 0, want, 0) {
			t.Fatalf("%s: an end is %v, want %v", want.Type, got.Value(0), want.Value(0))
		}
	}
}

// TestOrderStaysShallow: values that come in their order, as times do, do not make a list
// of the tree.
func TestOrderStaysShallow(t *testing.T) {
	const n = 100_000
	b := orderedBackend(t, types.TBigInt)
	tab := b.Table("v")
	o := tab.Order(0)
	before := tab.Memory()
	xs := make([]int64, n)
	for i := range xs {
		xs[i] = int64(i)
	}
	addValues(tab, o, 0, 0, intColumn(xs...)[0], 1)
	if tab.Memory() < before+16*n {
		t.Error("the order's memory is not counted")
	}
	var depth func(at uint32) int
	depth = func(at uint32) int {
		if at == 0 {
			return 0
		}
		return 1 + max(depth(o.nodes[at-1].left), depth(o.nodes[at-1].right))
	}
	if d := depth(o.roots[0]); d > 100 {
		t.Errorf("%d values are %d deep", n, d)
	}
}

func BenchmarkOrder(b *testing.B) {
	for _, n := range []int{1000, 1_000_000} {
		be := orderedBackend(b, types.TBigInt)
		tab := be.Table("v")
		o := tab.Order(0)
		xs := make([]int64, n)
		for i := range xs {
			xs[i] = int64(rand.Uint64())
		}
		addValues(tab, o, 0, 0, intColumn(xs...)[0], 1)
		b.Run(map[int]string{1000: "1k", 1_000_000: "1M"}[n], func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				id := uint32(i*7919) % uint32(n)
				o.Leave(id)
				o.Enter(id)
			}
		})
		b.Run(map[int]string{1000: "rebuild-1k", 1_000_000: "rebuild-1M"}[n], func(b *testing.B) {
			for b.Loop() {
				tab.orders = nil
				o = tab.Order(0)
			}
		})
	}
}
