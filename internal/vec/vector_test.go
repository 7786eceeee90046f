package vec

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/streamsql/streamsql/internal/types"
)

func TestBitmap(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, n := range []int{0, 1, 63, 64, 65, 127, 128, 200} {
		b := NewBitmap(n)
		var want []int32
		for i := range n {
			if r.IntN(2) == 0 {
				b.Set(i)
				want = append(want, int32(i))
			}
		}
		if got := b.AppendIndexes(nil, n); !slices.Equal(got, want) {
			t.Errorf("%d bits: indexes %v, want %v", n, got, want)
		}
		if got := b.Count(n); got != len(want) {
			t.Errorf("%d bits: count %d, want %d", n, got, len(want))
		}
		for i := range n {
			b.SetTo(i, !b.Get(i))
		}
		if got := b.Count(n); got != n-len(want) {
			t.Errorf("%d bits turned: count %d, want %d", n, got, n-len(want))
		}
		full := NewBitmap(n + 70)
		full.SetFirst(n)
		if full.Count(n) != n || full.Count(n+70) != n {
			t.Errorf("first %d set: %d within, %d in all", n, full.Count(n), full.Count(n+70))
		}
		if n > 0 {
			full.clearFrom(n / 2)
			if got := full.Count(n + 70); got != n/2 {
				t.Errorf("cleared from %d: %d left", n/2, got)
			}
		}
	}
}

// A bitmap that grows into memory used before finds zeros there.
func TestBitmapGrowsClean(t *testing.T) {
	b := NewBitmap(256)
	b.SetFirst(256)
	if got := b[:1].grow(256).Count(256); got != 64 {
		t.Fatalf("%d bits set, want 64", got)
	}
}

func values(v *Vector) []types.Value {
	out := make([]types.Value, v.Len)
	for i := range out {
		out[i] = v.Value(i)
	}
	return out
}

// Every way of copying values, over every layout, with and without NULLs on either side.
func TestVectorCopies(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	for _, ty := range wireTypes {
		for range 40 {
			src, dst := New(ty, 0), New(ty, r.IntN(5))
			srcNulls, dstNulls := r.IntN(2) == 0, r.IntN(2) == 0
			for range r.IntN(200) {
				src.AppendValue(randomValue(r, ty, srcNulls))
			}
			for range r.IntN(100) {
				dst.AppendValue(randomValue(r, ty, dstNulls))
			}
			want := values(dst)
			var sel []int32
			for i := range src.Len {
				for range r.IntN(3) {
					sel = append(sel, int32(i))
				}
			}
			taken := src.Take(sel)
			dst.AppendSel(src, sel)
			for _, i := range sel {
				want = append(want, src.Value(int(i)))
				dst.AppendFrom(src, int(i))
			}
			for _, i := range sel {
				want = append(want, src.Value(int(i)))
			}
			if got := values(dst); !slices.Equal(got, want) {
				t.Fatalf("%s: %v, want %v", ty, got, want)
			}
			if got := values(taken); !slices.Equal(got, want[len(want)-len(sel):]) {
				t.Fatalf("%s taken: %v", ty, got)
			}
			nulls := 0
			for _, x := range want {
				if x.Null {
					nulls++
				}
			}
			if dst.NullCount() != nulls {
				t.Fatalf("%s: %d NULLs, want %d", ty, dst.NullCount(), nulls)
			}
			cut := r.IntN(len(want) + 1)
			dst.Truncate(cut)
			want = want[:cut]
			for range 3 {
				x := randomValue(r, ty, true)
				dst.AppendValue(x)
				want = append(want, x)
			}
			if got := values(dst); !slices.Equal(got, want) {
				t.Fatalf("%s cut to %d: %v, want %v", ty, cut, got, want)
			}
			taken.Release()
			dst.Release()
			src.Release()
		}
	}
}

func TestSetNullAndResize(t *testing.T) {
	for _, ty := range wireTypes {
		v := New(ty, 0)
		v.AppendValue(randomValue(rand.New(rand.NewPCG(1, 1)), ty, false))
		v.AppendNull()
		v.SetNull(0)
		if v.NullCount() != 2 || !v.IsNull(0) || !v.IsNull(1) {
			t.Errorf("%s: %d NULLs", ty, v.NullCount())
		}
		v.Resize(70)
		switch {
		case ty.Phys() == types.PBytes:
			v.AppendString("x")
			if v.Len != 1 || string(v.Bytes(0)) != "x" {
				t.Errorf("%s after Resize: %d values", ty, v.Len)
			}
		case v.Len != 70 || v.NullCount() != 0:
			t.Errorf("%s after Resize: %d values, %d NULLs", ty, v.Len, v.NullCount())
		}
		if ty.Phys() == types.PBool && v.Bits.Count(70) != 0 {
			t.Errorf("%d bits set after Resize", v.Bits.Count(70))
		}
	}
}

// A vector seen under another type keeps the memory alive until both are released.
func TestAsTypeHolds(t *testing.T) {
	v := New(types.TInt, 1)
	v.AppendInt64(41)
	w := v.AsType(types.TBigInt)
	v.Release()
	for range 100 {
		other := New(types.TInt, 1)
		other.AppendInt64(-1)
		if w.I64[0] != 41 {
			t.Fatal("memory in use was handed out again")
		}
	}
	w.Release()
}

func TestRetain(t *testing.T) {
	v := New(types.TText, 1)
	v.AppendString("kept")
	b := &Batch{Cols: []*Vector{v}, N: 1}
	c := b.Retain()
	b.Release()
	for range 100 {
		New(types.TText, 1).AppendString("else")
		if got := string(c.Cols[0].Bytes(0)); got != "kept" {
			t.Fatalf("got %q", got)
		}
	}
	c.Release()
}

// Batches merge with their ops and watermarks whatever each of them carries.
func TestBatchAppendSel(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 12))
	ts := []types.Type{types.TInt, types.TText}
	type row struct {
		k  types.Value
		op Op
		wm int64
	}
	for range 300 {
		out := NewBatch(ts, 0)
		var want []row
		lowest := int64(types.MaxTime)
		for range 1 + r.IntN(4) {
			src := randomBatch(r, ts, r.IntN(10), false)
			src.WM = int64(r.IntN(100))
			if r.IntN(2) == 0 && src.N > 0 {
				src.Ops = make([]Op, src.N)
				for i := range src.Ops {
					src.Ops[i] = Op(r.IntN(4))
				}
			}
			if r.IntN(3) == 0 {
				src.RowWM = make([]int64, src.N)
				for i := range src.RowWM {
					src.RowWM[i] = src.WM + int64(r.IntN(9))
				}
			}
			var sel []int32
			for i := range src.N {
				if r.IntN(3) > 0 {
					sel = append(sel, int32(i))
					want = append(want, row{src.Cols[0].Value(i), src.Op(i), src.RowWatermark(i)})
				}
			}
			if len(sel) > 0 {
				lowest = min(lowest, src.WM)
			}
			out.AppendSel(src, sel)
		}
		if out.N != len(want) || out.N > 0 && out.WM != lowest {
			t.Fatalf("%d rows, watermark %d; want %d, %d", out.N, out.WM, len(want), lowest)
		}
		for i, w := range want {
			if out.Cols[0].Value(i) != w.k || out.Op(i) != w.op {
				t.Fatalf("row %d: %v %s, want %v", i, out.Cols[0].Value(i), out.Op(i), w)
			}
			// Without a column the scalar is a lower bound of what the rows carry.
			if got := out.RowWatermark(i); got > w.wm {
				t.Fatalf("row %d carries %d, want at most %d", i, got, w.wm)
			}
		}
	}
}
