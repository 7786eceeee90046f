package vec

import (
	"math"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/internal/types"
)

func one(t types.Type, x types.Value) *Vector {
	x.Type = t
	v := New(t, 1)
	v.AppendValue(x)
	return v
}

func dec(s string) types.Int128 {
	d, f := ParseDecimal([]byte(s), 38, 0)
	if f != Fine {
		panic(s)
	}
	return d
}

func anInt(x int64) types.Value     { return types.Value{I: x} }
func aFloat(x float64) types.Value  { return types.Value{F: x} }
func aText(x string) types.Value    { return types.Value{S: x} }
func aDecimal(x string) types.Value { return types.Value{Dec: dec(x)} }
func iv(months, days int32, micros int64) types.Value {
	return types.Value{Iv: types.IntervalValue{Months: months, Days: days, Micros: micros}}
}

// The vectors were computed by another implementation of the same definition. They are
// the format ssh1: where one changes, HashVersion must.
func TestHashVectors(t *testing.T) {
	if HashVersion != "ssh1" {
		t.Fatalf("version %s has no vectors", HashVersion)
	}
	negativeZero := math.Copysign(0, -1)
	otherNaN := math.Float64frombits(0xfff8000000000042)
	for _, c := range []struct {
		hash uint64
		of   []*Vector
	}{
		{0xe220a8397b1dcdaf, []*Vector{one(types.TBigInt, anInt(0)), one(types.TDecimal(5, 3), aDecimal("0")), one(types.TBool, anInt(0)), one(types.TDate, anInt(0))}},
		{0x910a2dec89025cc1, []*Vector{one(types.TSmallInt, anInt(1)), one(types.TInt, anInt(1)), one(types.TBigInt, anInt(1)), one(types.TBool, anInt(1)),
			one(types.TDecimal(5, 0), aDecimal("1")), one(types.TDecimal(5, 2), aDecimal("100")), one(types.TDecimal(38, 30), aDecimal("1000000000000000000000000000000"))}},
		{0xe4d971771b652c20, []*Vector{one(types.TBigInt, anInt(-1)), one(types.TDecimal(5, 2), aDecimal("-100"))}},
		{0x481ec0a212a9f3db, []*Vector{one(types.TBigInt, anInt(math.MinInt64)), one(types.TDecimal(38, 1), aDecimal("-92233720368547758080"))}},
		{0xf2fea5823ed3a667, []*Vector{one(types.TDouble, aFloat(0)), one(types.TDouble, aFloat(negativeZero)), one(types.TReal, aFloat(negativeZero))}},
		{0x6f907349e8957495, []*Vector{one(types.TDouble, aFloat(1.5)), one(types.TReal, aFloat(1.5))}},
		{0x4dbf121bf93450d1, []*Vector{one(types.TDouble, aFloat(math.NaN())), one(types.TDouble, aFloat(otherNaN)), one(types.TDouble, aFloat(-math.NaN()))}},
		{0xb760672ed3af6909, []*Vector{one(types.TDecimal(2, 1), aDecimal("5")), one(types.TDecimal(9, 4), aDecimal("5000"))}},
		{0x39889e629086cb71, []*Vector{one(types.TDecimal(4, 2), aDecimal("-1234")), one(types.TDecimal(8, 3), aDecimal("-12340"))}},
		{0x174943fdd21f01bb, []*Vector{one(types.TDecimal(38, 0), aDecimal("1000000000000000000000000000000")), one(types.TDecimal(38, 2), aDecimal("100000000000000000000000000000000"))}},
		{0xef46db3751d8e999, []*Vector{one(types.TText, aText("")), one(types.TBytes, aText(""))}},
		{0x44bc2cf5ad770999, []*Vector{one(types.TText, aText("abc")), one(types.Type{Kind: types.Text, Length: 5}, aText("abc"))}},
		{0x92f0de5a88a3c094, []*Vector{one(types.TText, aText(strings.Repeat("x", 100)))}},
		{0x81fc6a508784162b, []*Vector{one(types.TInterval, iv(1, 0, 0)), one(types.TInterval, iv(0, 30, 0)), one(types.TInterval, iv(0, 0, 30*86400000000)),
			one(types.TInterval, iv(2, -31, 86400000000))}},
		{0xf359007e2577452f, []*Vector{one(types.TInterval, iv(0, 0, -1)), one(types.TInterval, iv(0, -1, 86399999999)), one(types.TInterval, iv(-1, 30, -1))}},
		{0x383dbd2e59a5ba81, []*Vector{one(types.TJSON, aText(`{"a":1,"b":[true,null]}`)), one(types.TJSON, aText(` { "b" : [ true,null ], "a" : 7, "a" : 1.00 } `)), one(types.TJSON, aText(`{"b":[true,null],"\u0061":0.1e1}`))}},
		{0x729ca1ef9f1ccf55, []*Vector{one(types.TJSON, aText(`0`)), one(types.TJSON, aText(`-0.00`)), one(types.TJSON, aText(`0e7`))}},
		{0xc518b63db8d31190, []*Vector{one(types.TJSON, aText(`-120.50`)), one(types.TJSON, aText(`-12050E-2`)), one(types.TJSON, aText(`-0.1205e+3`))}},
		{0x6a7b853175cc6d39, []*Vector{one(types.TJSON, aText(`"é"`)), one(types.TJSON, aText(`"\u00e9"`)), one(types.TJSON, aText(`"\u00E9"`))}},
		{0xad14a64e34a31898, []*Vector{one(types.TJSON, aText(`{}`)), one(types.TJSON, aText(`{ }`))}},
		{0x6a09e667f3bcc909, []*Vector{one(types.TBigInt, types.Value{Null: true}), one(types.TText, types.Value{Null: true})}},
	} {
		for _, v := range c.of {
			if got := HashValue(v, 0); got != c.hash {
				t.Errorf("%s %+v: %#x, want %#x", v.Type, v.Value(0), got, c.hash)
			}
		}
		for _, a := range c.of {
			for _, b := range c.of {
				if a.Type.Phys() == b.Type.Phys() && a.Type.IsNumeric() == b.Type.IsNumeric() && !EqualValues(a, 0, b, 0) {
					t.Errorf("%s %+v and %s %+v hash alike and are not equal", a.Type, a.Value(0), b.Type, b.Value(0))
				}
			}
		}
	}
}

func TestHashColumnsVectors(t *testing.T) {
	null := types.Value{Null: true}
	for _, c := range []struct {
		hash uint64
		key  []*Vector
	}{
		{0x243f6a8885a308d3, nil},
		{0xabea78ae0a6855db, []*Vector{one(types.TBigInt, null)}},
		{0x6e007430ca26093c, []*Vector{one(types.TBigInt, anInt(1)), one(types.TText, aText("a"))}},
		{0x6e007430ca26093c, []*Vector{one(types.TDecimal(4, 1), aDecimal("10")), one(types.TText, aText("a"))}},
	} {
		got := make([]uint64, 1)
		HashColumns(c.key, 1, got)
		if got[0] != c.hash {
			t.Errorf("key of %d columns: %#x, want %#x", len(c.key), got[0], c.hash)
		}
	}
}

// The two loops over a column agree: with NULLs about and without.
func TestHashColumnsLoops(t *testing.T) {
	plain, holed := New(types.TInt, 3), New(types.TInt, 3)
	for k := range int64(3) {
		plain.AppendInt64(k)
		holed.AppendInt64(k)
	}
	holed.SetNull(1)
	a, b := make([]uint64, 3), make([]uint64, 3)
	HashColumns([]*Vector{plain}, 3, a)
	HashColumns([]*Vector{holed}, 3, b)
	if a[0] != b[0] || a[1] == b[1] || a[2] != b[2] {
		t.Fatalf("%x and %x", a, b)
	}
}

func TestEqualValues(t *testing.T) {
	null := types.Value{Null: true}
	for _, c := range []struct {
		a, b *Vector
		want bool
	}{
		{one(types.TInt, null), one(types.TInt, null), true},
		{one(types.TInt, null), one(types.TInt, anInt(0)), false},
		{one(types.TInt, anInt(0)), one(types.TInt, null), false},
		{one(types.TSmallInt, anInt(7)), one(types.TBigInt, anInt(7)), true},
		{one(types.TBool, anInt(1)), one(types.TBool, anInt(0)), false},
		{one(types.TDouble, aFloat(math.NaN())), one(types.TDouble, aFloat(1)), false},
		{one(types.TDouble, aFloat(0)), one(types.TDouble, aFloat(math.Copysign(0, -1))), true},
		{one(types.TDecimal(38, 0), aDecimal("10")), one(types.TDecimal(38, 37), aDecimal("10")), false},
		{one(types.TDecimal(38, 0), aDecimal("1")), one(types.TDecimal(38, 37), aDecimal("10000000000000000000000000000000000000")), true},
		{one(types.TInterval, iv(1, 0, 0)), one(types.TInterval, iv(0, 31, 0)), false},
		{one(types.TInterval, iv(math.MaxInt32, 0, 0)), one(types.TInterval, iv(math.MinInt32, 0, 0)), false},
		{one(types.TText, aText("a")), one(types.TText, aText("a ")), false},
		{one(types.TText, aText("日本")), one(types.TText, aText("日本")), true},
	} {
		if got := EqualValues(c.a, 0, c.b, 0); got != c.want {
			t.Errorf("%+v = %+v: %v", c.a.Value(0), c.b.Value(0), got)
		}
		if ha, hb := HashValue(c.a, 0), HashValue(c.b, 0); (ha == hb) != c.want {
			t.Errorf("%+v and %+v hash to %#x and %#x", c.a.Value(0), c.b.Value(0), ha, hb)
		}
	}
}
