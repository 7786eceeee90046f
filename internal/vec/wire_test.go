package vec

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

var wireTypes = []types.Type{
	types.TBool, types.TSmallInt, types.TBigInt, types.TReal, types.TDouble, types.TDecimal(38, 3),
	{Kind: types.Text, Length: 7}, types.TBytes, types.TDate, types.TTimestamp(3), types.TTimestampTZ(6),
	types.TInterval, types.TJSON, types.TUUID,
}

// randomValue draws a value of t, NULL one time in five when nulls are allowed.
func randomValue(r *rand.Rand, t types.Type, nulls bool) types.Value {
	if nulls && r.IntN(5) == 0 {
		return types.Null(t)
	}
	v := types.Value{Type: t}
	switch t.Phys() {
	case types.PBool:
		v.I = int64(r.IntN(2))
	case types.PInt64:
		v.I = int64(r.Uint64())
	case types.PFloat64:
		v.F = math.Float64frombits(r.Uint64())
		if v.F != v.F {
			v.F = math.Inf(-1)
		}
	case types.PInt128:
		v.Dec = types.Int128{Hi: int64(r.Uint64()), Lo: r.Uint64()}
	case types.PInterval:
		v.Iv = types.IntervalValue{Months: int32(r.Uint32()), Days: int32(r.Uint32()), Micros: int64(r.Uint64())}
	case types.PBytes:
		v.S = strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(12))
	}
	return v
}

func randomBatch(r *rand.Rand, ts []types.Type, n int, nulls bool) *Batch {
	b := NewBatch(ts, r.IntN(n+1))
	for range n {
		for i, t := range ts {
			b.Cols[i].AppendValue(randomValue(r, t, nulls))
		}
		op := Insert
		if nulls {
			op = Op(r.IntN(4))
		}
		b.AppendOp(op)
	}
	b.WM = int64(r.Uint64())
	if nulls && n > 0 {
		b.RowWM = make([]int64, n)
		for i := range b.RowWM {
			b.RowWM[i] = int64(r.Uint64())
		}
	}
	return b
}

func wantSame(t *testing.T, got, want *Batch) {
	t.Helper()
	if got.N != want.N || len(got.Cols) != len(want.Cols) || got.WM != want.WM {
		t.Fatalf("got %d rows, %d columns, watermark %d; want %d, %d, %d", got.N, len(got.Cols), got.WM, want.N, len(want.Cols), want.WM)
	}
	for i := range want.N {
		if got.Op(i) != want.Op(i) || got.RowWatermark(i) != want.RowWatermark(i) {
			t.Fatalf("row %d: op %s watermark %d, want %s %d", i, got.Op(i), got.RowWatermark(i), want.Op(i), want.RowWatermark(i))
		}
		for c := range want.Cols {
			if g, w := got.Cols[c].Value(i), want.Cols[c].Value(i); g != w {
				t.Fatalf("row %d column %d: got %+v, want %+v", i, c, g, w)
			}
		}
	}
}

func TestWireRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var all []byte
	var batches []*Batch
	for _, n := range []int{0, 1, 2, 63, 64, 65, 128, 1000} {
		for _, nulls := range []bool{false, true} {
			b := randomBatch(r, wireTypes, n, nulls)
			batches = append(batches, b)
			all = AppendWire(all, b)
		}
	}
	for _, want := range batches {
		got, rest, err := ReadWire(all, wireTypes)
		if err != nil {
			t.Fatal(err)
		}
		wantSame(t, got, want)
		all = rest
	}
	if len(all) != 0 {
		t.Fatalf("%d bytes left", len(all))
	}
}

func TestWireNoColumns(t *testing.T) {
	form := AppendWire([]byte("x"), &Batch{N: 3, WM: types.MinTime})[1:]
	got, rest, err := ReadWire(append(form, 'y'), nil)
	if err != nil || got.N != 3 || string(rest) != "y" {
		t.Fatalf("got %+v, rest %q, %v", got, rest, err)
	}
}

// Every cut and every flipped bit is noticed.
func TestWireDamage(t *testing.T) {
	form := AppendWire(nil, randomBatch(rand.New(rand.NewPCG(3, 4)), wireTypes, 5, true))
	for n := range form {
		if _, _, err := ReadWire(form[:n], wireTypes); sqlerr.CodeOf(err) != sqlerr.CodeCheckpoint {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
	for i := range 8 * len(form) {
		bad := bytes.Clone(form)
		bad[i/8] ^= 1 << (i % 8)
		if _, _, err := ReadWire(bad, wireTypes); sqlerr.CodeOf(err) != sqlerr.CodeCheckpoint {
			t.Fatalf("bit %d flipped: %v", i, err)
		}
	}
	if _, _, err := ReadWire(form, wireTypes[1:]); err == nil {
		t.Fatal("other column count accepted")
	}
	other := append([]types.Type{types.TText}, wireTypes[1:]...)
	if _, _, err := ReadWire(form, other); err == nil || !strings.Contains(err.Error(), "type BOOLEAN where VARCHAR is due") {
		t.Fatalf("other column type: %v", err)
	}
}

// reseal gives a body a right header and checksum, so that what is behind the
// checksum is tried too.
func reseal(body []byte) []byte {
	form := append([]byte{WireVersion}, binary.LittleEndian.AppendUint32(nil, uint32(len(body)))...)
	form = append(form, body...)
	return binary.LittleEndian.AppendUint64(form, xxhash.Sum64(form))
}

// A body that lies behind a right checksum is refused as well, whatever bit is wrong,
// or gives a batch that can be read and written again.
func TestWireLies(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	form := AppendWire(nil, randomBatch(r, wireTypes, 5, true))
	body := form[wireHeader : len(form)-wireSum]
	for i := range 8 * len(body) {
		bad := bytes.Clone(body)
		bad[i/8] ^= 1 << (i % 8)
		readAll(t, reseal(bad))
	}
	huge := bytes.Clone(body)
	binary.LittleEndian.PutUint32(huge, math.MaxInt32)
	if allocs := testing.AllocsPerRun(1, func() {
		if _, _, err := ReadWire(reseal(huge), wireTypes); err == nil {
			t.Fatal("more rows than bytes accepted")
		}
	}); allocs > 100 {
		t.Fatalf("%v allocations", allocs)
	}
}

func readAll(t *testing.T, form []byte) {
	b, _, err := ReadWire(form, wireTypes)
	if err != nil {
		if b != nil || sqlerr.CodeOf(err) != sqlerr.CodeCheckpoint {
			t.Fatalf("got %v with error %v", b, err)
		}
		return
	}
	for c := range b.Cols {
		for i := range b.N {
			b.Cols[c].Value(i)
		}
	}
	again, rest, err := ReadWire(AppendWire(nil, b), wireTypes)
	if err != nil || len(rest) != 0 || again.N != b.N {
		t.Fatalf("written again: %v", err)
	}
	b.Release()
}

func FuzzReadWire(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{0, 1, 3, 70} {
		form := AppendWire(nil, randomBatch(r, wireTypes, n, n > 1))
		f.Add(form[wireHeader : len(form)-wireSum])
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		readAll(t, body)
		readAll(t, reseal(body))
	})
}
