package expr

import (
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

func distinctKernel(not bool) func([]Arg, types.Type) impl {
	return func(args []Arg, _ types.Type) impl {
		im := compareImpl(false, 0, 1, args)
		equal := im.run
		im.run = func(k *kctx, a []*vec.Vector, out *vec.Vector) {
			equal(k, a, out)
			x, y := a[0].Valid, a[1].Valid
			for w := range vec.Words(k.n) {
				l, r := ^uint64(0), ^uint64(0)
				if x != nil {
					l = x[w]
				}
				if y != nil {
					r = y[w]
				}
				same := out.Bits[w]&l&r | ^l&^r
				if !not {
					same = ^same
				}
				out.Bits[w] = same
			}
		}
		return im
	}
}

func nullTest(isNull bool) kernel {
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		for w := range vec.Words(k.n) {
			valid := ^uint64(0)
			if a[0].Valid != nil {
				valid = a[0].Valid[w]
			}
			if isNull {
				valid = ^valid
			}
			out.Bits[w] = valid
		}
	}
}

// boolTest gives the answers for TRUE, FALSE and NULL.
func boolTest(t, f, null bool) kernel {
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		mt, mf, mn := -bit(t), -bit(f), -bit(null)
		for w := range vec.Words(k.n) {
			valid := ^uint64(0)
			if a[0].Valid != nil {
				valid = a[0].Valid[w]
			}
			v := a[0].Bits[w]
			out.Bits[w] = v&valid&mt | ^v&valid&mf | ^valid&mn
		}
	}
}

func notBits(k *kctx, a []*vec.Vector, out *vec.Vector) {
	for w := range vec.Words(k.n) {
		out.Bits[w] = ^a[0].Bits[w]
	}
}

// inSetTakes reports the types for which IN a list of constants is one look-up.
func inSetTakes(t types.Type) bool {
	switch t.Phys() {
	case types.PInt64, types.PBytes:
		return t.Kind != types.JSON
	}
	return false
}

// inKernel looks a value up among constants: a scan for a few, a map for many.
func inKernel(args []Arg, _ types.Type) impl {
	nulls := false
	ints := make(map[int64]struct{})
	texts := make(map[string]struct{})
	var fewInts []int64
	var fewTexts [][]byte
	for _, a := range args[1:] {
		if a.Const == nil {
			nulls = true
			continue
		}
		ints[a.Const.I] = struct{}{}
		texts[a.Const.S] = struct{}{}
		fewInts = append(fewInts, a.Const.I)
		fewTexts = append(fewTexts, []byte(a.Const.S))
	}
	const few = 12
	hit := func(v *vec.Vector, i int) bool {
		x := v.Bytes(i)
		if len(fewTexts) > few {
			_, ok := texts[string(x)]
			return ok
		}
		for _, c := range fewTexts {
			if string(c) == string(x) {
				return true
			}
		}
		return false
	}
	if args[0].Type.Phys() == types.PInt64 {
		hit = func(v *vec.Vector, i int) bool {
			x := v.I64[i]
			if len(fewInts) > few {
				_, ok := ints[x]
				return ok
			}
			for _, c := range fewInts {
				if c == x {
					return true
				}
			}
			return false
		}
	}
	return impl{run: func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		if v := a[0].Valid; v != nil {
			out.Valid = k.node.state(k.frame).validity(k.n, false)
			copy(out.Valid, v)
		}
		fillBits(k, out.Bits, func(i int) bool { return hit(a[0], i) })
		if nulls {
			k.each(out, func(i int) {
				if !out.Bits.Get(i) {
					k.null(out, i)
				}
			})
		}
	}, cost: 6}
}
