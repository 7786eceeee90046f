package expr

import (
	"bytes"

	"github.com/streamsql/streamsql/internal/jsonb"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

func compareFuncs() []Func {
	cmp := func(name, doc, example, result string) Func {
		pg := example
		if name == "<" {
			pg += " COLLATE \"C\""
		}
		return Func{Name: name, Forms: []string{"any " + name + " any"}, Strict: true, Doc: doc, Example: example, ExampleResult: result, PG: pg,
			resolve: resolveCompare, kernel: compareKernel(name)}
	}
	test := func(name, doc, example, result string, run kernel) Func {
		return Func{Name: name, Doc: doc, Example: example, ExampleResult: result, PG: example,
			Sigs:   []Sig{{Args: []types.Kind{types.Bool}, Ret: types.TBool}},
			kernel: func([]Arg, types.Type) impl { return impl{run: run, cost: 1} }}
	}
	null := func(name, doc, example, result string, isNull bool) Func {
		return Func{Name: name, Doc: doc, Example: example, ExampleResult: result, PG: example,
			Sigs:   []Sig{{Args: []types.Kind{anyKind}, Ret: types.TBool}},
			kernel: func([]Arg, types.Type) impl { return impl{run: nullTest(isNull), cost: 1} }}
	}
	out := []Func{
		cmp("=", "Equal. Numbers compare by value whatever their type; NaN equals NaN.", "1.0 = 1.00", "t"),
		cmp("<>", "Not equal.", "1 <> 2", "t"),
		cmp("<", "Less. Strings compare by code point, NaN is above all numbers.", "'B' < 'a'", "t"),
		cmp("<=", "Less or equal.", "2 <= 2.0", "t"),
		cmp(">", "Greater.", "DATE '2024-01-02' > TIMESTAMP '2024-01-01 23:59:59'", "t"),
		cmp(">=", "Greater or equal.", "1 >= 2", "f"),
		{Name: "is distinct from", Forms: []string{"any IS DISTINCT FROM any"}, Doc: "Not equal, where NULL is an ordinary value.",
			Example: "NULL IS DISTINCT FROM 5", ExampleResult: "t", PG: "NULL IS DISTINCT FROM 5",
			resolve: resolveCompare, kernel: distinctKernel(false)},
		{Name: "is not distinct from", Forms: []string{"any IS NOT DISTINCT FROM any"}, Doc: "Equal, where NULL is an ordinary value.",
			Example: "NULL IS NOT DISTINCT FROM NULL", ExampleResult: "t", PG: "NULL IS NOT DISTINCT FROM NULL",
			resolve: resolveCompare, kernel: distinctKernel(true)},
		null("is null", "True for NULL.", "NULL IS NULL", "t", true),
		null("is not null", "True for everything but NULL.", "NULL IS NOT NULL", "f", false),
		test("is true", "True only for TRUE.", "NULL IS TRUE", "f", boolTest(true, false, false)),
		test("is not true", "True for FALSE and NULL.", "NULL IS NOT TRUE", "t", boolTest(false, true, true)),
		test("is false", "True only for FALSE.", "FALSE IS FALSE", "t", boolTest(false, true, false)),
		test("is not false", "True for TRUE and NULL.", "NULL IS NOT FALSE", "t", boolTest(true, false, true)),
		{Name: "not", Strict: true, Doc: "Negation; NULL stays NULL.", Example: "NOT 1 > 2", ExampleResult: "t", PG: "NOT 1 > 2",
			Sigs:   []Sig{{Args: []types.Kind{types.Bool}, Ret: types.TBool}},
			kernel: func([]Arg, types.Type) impl { return impl{run: notBits, cost: 1} }},
		{Name: "in", Forms: []string{"any IN (any, …)"}, Doc: "Equal to one of a list of constants.", Example: "3 IN (1, 2, 3)", ExampleResult: "t", PG: "3 IN (1, 2, 3)",
			lower: func(args []*Expr) (*Expr, error) {
				if len(args) < 2 {
					return nil, errNoSignature
				}
				return NewIn(args[0], args[1:], args[0].Pos)
			}, kernel: inKernel},
	}
	return out
}

// resolveCompare brings both sides to a type in which they compare exactly: integers
// to the wider, decimals keep their scales, times to the richer. Beside another number
// a REAL is a DOUBLE, as in arithmetic.
func resolveCompare(args []*Expr) ([]*Expr, types.Type, error) {
	if len(args) != 2 {
		return nil, types.TBool, errNoSignature
	}
	args, err := settleOpen(args)
	if err != nil {
		return nil, types.TBool, err
	}
	t, ok := CommonType(typesOf(args)...)
	if !ok {
		return nil, types.TBool, errNoSignature
	}
	if t.Kind == types.Real && args[0].Type != args[1].Type {
		t = types.TDouble
	}
	out := make([]*Expr, 2)
	for i, a := range args {
		to := t
		if t.Kind == types.Decimal {
			to = types.TDecimal(asDecimal(t))
			if a.Type.Kind == types.Decimal {
				to = a.Type
			} else if a.Type.IsInteger() && a.Kind != Literal {
				to = types.TDecimal(asDecimal(a.Type))
			}
		}
		if out[i], err = CoerceTo(a, to); err != nil {
			return nil, types.TBool, err
		}
	}
	return out, types.TBool, nil
}

// test is a comparison reduced to equality or order, possibly with the sides swapped
// and the result inverted: a >= b is NOT a < b.
type comparison struct{ less, swap, invert bool }

var comparisons = map[string]comparison{
	"=": {}, "<>": {invert: true},
	"<": {less: true}, ">=": {less: true, invert: true},
	">": {less: true, swap: true}, "<=": {less: true, swap: true, invert: true},
}

func compareKernel(name string) func([]Arg, types.Type) impl {
	c := comparisons[name]
	return func(args []Arg, _ types.Type) impl {
		l, r := 0, 1
		if c.swap {
			l, r = 1, 0
		}
		im := compareImpl(c.less, l, r, args)
		if c.invert {
			inner := im.run
			im.run = func(k *kctx, a []*vec.Vector, out *vec.Vector) {
				inner(k, a, out)
				for w := range vec.Words(k.n) {
					out.Bits[w] = ^out.Bits[w]
				}
			}
		}
		return im
	}
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// fillBits sets each word of out from 64 rows. f is called for rows below n.
func fillBits(k *kctx, out vec.Bitmap, f func(i int) bool) {
	if k.sel != nil {
		for _, i := range k.sel {
			out.SetTo(int(i), f(int(i)))
		}
		return
	}
	for w := range vec.Words(k.n) {
		var x uint64
		base := w << 6
		for j := range min(64, k.n-base) {
			x |= bit(f(base+j)) << uint(j)
		}
		out[w] = x
	}
}

func compareImpl(less bool, l, r int, args []Arg) impl {
	switch args[l].Type.Phys() {
	case types.PInt64:
		if c := args[r].Const; c != nil {
			return impl{run: intConst(less, l, c.I), cost: 1}
		}
		if c := args[l].Const; c != nil && less {
			return impl{run: constLessInt(c.I, r), cost: 1}
		}
		return impl{run: intPair(less, l, r), cost: 2}
	case types.PFloat64:
		return impl{run: func(k *kctx, a []*vec.Vector, out *vec.Vector) {
			x, y := a[l].F64[:k.n], a[r].F64[:k.n]
			if less {
				fillBits(k, out.Bits, func(i int) bool { return vec.LessFloat(x[i], y[i]) })
				return
			}
			fillBits(k, out.Bits, func(i int) bool { return x[i] == y[i] || x[i] != x[i] && y[i] != y[i] })
		}, cost: 3}
	case types.PInt128:
		return compareDec(less, l, r, args)
	case types.PInterval:
		return impl{run: func(k *kctx, a []*vec.Vector, out *vec.Vector) {
			x, y := a[l].Iv[:k.n], a[r].Iv[:k.n]
			fillBits(k, out.Bits, func(i int) bool {
				c := vec.CompareIntervals(x[i], y[i])
				return c == 0 && !less || c < 0 && less
			})
		}, cost: 10}
	case types.PBool:
		return impl{run: func(k *kctx, a []*vec.Vector, out *vec.Vector) {
			x, y := a[l].Bits, a[r].Bits
			for w := range vec.Words(k.n) {
				if less {
					out.Bits[w] = ^x[w] & y[w]
				} else {
					out.Bits[w] = ^(x[w] ^ y[w])
				}
			}
		}, cost: 1}
	}
	if args[l].Type.Kind == types.JSON {
		return impl{run: func(k *kctx, a []*vec.Vector, out *vec.Vector) {
			if less {
				fillBits(k, out.Bits, func(i int) bool { return jsonb.Compare(a[l].Bytes(i), a[r].Bytes(i)) < 0 })
				return
			}
			fillBits(k, out.Bits, func(i int) bool { return jsonb.Equal(a[l].Bytes(i), a[r].Bytes(i)) })
		}, cost: 100}
	}
	if !less {
		for _, side := range [2]int{l, r} {
			if c := args[side].Const; c != nil {
				return impl{run: bytesConst(l+r-side, []byte(c.S)), cost: 3}
			}
		}
		return impl{run: func(k *kctx, a []*vec.Vector, out *vec.Vector) {
			fillBits(k, out.Bits, func(i int) bool { return bytes.Equal(a[l].Bytes(i), a[r].Bytes(i)) })
		}, cost: 5}
	}
	return impl{run: func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		fillBits(k, out.Bits, func(i int) bool { return bytes.Compare(a[l].Bytes(i), a[r].Bytes(i)) < 0 })
	}, cost: 6}
}

// intConst is column = c or column < c.
func intConst(less bool, l int, c int64) kernel {
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		x, d := a[l].I64[:k.n], out.Bits
		if k.sel != nil {
			for _, i := range k.sel {
				d.SetTo(int(i), !less && x[i] == c || less && x[i] < c)
			}
			return
		}
		for w := 0; len(x) > 0; w++ {
			m := min(64, len(x))
			var b uint64
			if less {
				for j, v := range x[:m] {
					b |= bit(v < c) << uint(j&63)
				}
			} else {
				for j, v := range x[:m] {
					b |= bit(v == c) << uint(j&63)
				}
			}
			d[w] = b
			x = x[m:]
		}
	}
}

// constLessInt is c < column.
func constLessInt(c int64, r int) kernel {
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		x, d := a[r].I64[:k.n], out.Bits
		if k.sel != nil {
			for _, i := range k.sel {
				d.SetTo(int(i), c < x[i])
			}
			return
		}
		for w := 0; len(x) > 0; w++ {
			m := min(64, len(x))
			var b uint64
			for j, v := range x[:m] {
				b |= bit(c < v) << uint(j&63)
			}
			d[w] = b
			x = x[m:]
		}
	}
}

func intPair(less bool, l, r int) kernel {
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		x, y := a[l].I64[:k.n], a[r].I64[:k.n]
		if less {
			fillBits(k, out.Bits, func(i int) bool { return x[i] < y[i] })
			return
		}
		fillBits(k, out.Bits, func(i int) bool { return x[i] == y[i] })
	}
}

// compareDec compares decimals exactly whatever their scales.
func compareDec(less bool, l, r int, args []Arg) impl {
	sl, sr := int(args[l].Type.Scale), int(args[r].Type.Scale)
	for _, side := range [2]int{l, r} {
		v := args[side].Const
		if v == nil {
			continue
		}
		other := l + r - side
		if c, ok := rescaleExact(v.Dec, int(args[side].Type.Scale), int(args[other].Type.Scale)); ok {
			return impl{run: decConst(less, other, side == l, c), cost: 2}
		}
	}
	return impl{run: func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		x, y := a[l].I128[:k.n], a[r].I128[:k.n]
		fillBits(k, out.Bits, func(i int) bool {
			c := types.CompareDecimal(x[i], sl, y[i], sr)
			return c == 0 && !less || c < 0 && less
		})
	}, cost: 5}
}

// rescaleExact brings an unscaled value to another scale if nothing is lost.
func rescaleExact(v types.Int128, from, to int) (types.Int128, bool) {
	r, ok := v.Rescale(from, to)
	return r, ok && types.CompareDecimal(v, from, r, to) == 0
}

// decConst is column = c, column < c or, with left, c < column, at one scale.
func decConst(less bool, arg int, left bool, c types.Int128) kernel {
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		x, d := a[arg].I128[:k.n], out.Bits
		one := func(v types.Int128) bool {
			switch {
			case !less:
				return v == c
			case left:
				return c.Hi < v.Hi || c.Hi == v.Hi && c.Lo < v.Lo
			}
			return v.Hi < c.Hi || v.Hi == c.Hi && v.Lo < c.Lo
		}
		if k.sel != nil {
			for _, i := range k.sel {
				d.SetTo(int(i), one(x[i]))
			}
			return
		}
		for w := 0; len(x) > 0; w++ {
			m := min(64, len(x))
			var b uint64
			for j := range x[:m] {
				b |= bit(one(x[j])) << uint(j&63)
			}
			d[w] = b
			x = x[m:]
		}
	}
}

// bytesConst is column = c for bytes.
func bytesConst(arg int, c []byte) kernel {
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		v := a[arg]
		if k.sel != nil {
			for _, i := range k.sel {
				out.Bits.SetTo(int(i), string(v.Bytes(int(i))) == string(c))
			}
			return
		}
		off, data, d := v.Off[:k.n+1], v.Data, out.Bits
		n := int32(len(c))
		for w := range vec.Words(k.n) {
			var b uint64
			base := w << 6
			for j := range min(64, k.n-base) {
				lo, hi := off[base+j], off[base+j+1]
				if hi-lo == n && string(data[lo:hi]) == string(c) {
					b |= 1 << uint(j&63)
				}
			}
			d[w] = b
		}
	}
}
