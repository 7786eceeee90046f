package expr

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

func splitIndex() Func {
	f := textFunc("split_index", "Part n, counted from 0, of a string split at a separator; NULL when there is none.",
		"SPLIT_INDEX('https://a.com/x/y', '/', 3)", "x", []types.Kind{kText, kText, kInt}, 0,
		func(_ *kctx, a []*vec.Vector, i int, dst []byte, _ *vec.Vector) ([]byte, bool) {
			part, ok := splitAt(a[0].Bytes(i), a[1].Bytes(i), a[2].I64[i])
			return append(dst, part...), ok
		})
	general := f.kernel
	f.kernel = func(args []Arg, t types.Type) impl {
		sep, n := args[1].Const, args[2].Const
		if sep == nil || n == nil || len(sep.S) != 1 || n.I < 0 || n.I >= marked {
			return general(args, t)
		}
		c, part := sep.S[0], int(n.I)
		some := rowBytes(func(_ *kctx, a []*vec.Vector, i int, dst []byte, _ *vec.Vector) ([]byte, bool) {
			s := a[0].Bytes(i)
			start, end, ok := between(uint64(a[3].I64[i]), part)
			if !ok {
				start, end, ok = splitFar(s, c, part)
			}
			return append(dst, s[start:end]...), ok
		})
		return impl{run: func(k *kctx, a []*vec.Vector, out *vec.Vector) {
			if k.sel != nil || out.Valid != nil {
				some(k, a, out)
				return
			}
			splitColumn(k, a[0], a[3].I64, c, part, out)
		}, cost: 10, before: &before{name: "marks " + sep.S, run: marks(c), cost: 10, most: part + 1}}
	}
	f.PG = ""
	return f
}

// splitColumn is splitMarked for a whole column without NULLs. The parts together are
// no longer than the column, so its bytes can always be addressed.
func splitColumn(k *kctx, in *vec.Vector, marks []int64, sep byte, part int, out *vec.Vector) {
	const near = 16 // what is copied at once; the next part is written over the rest
	src, data, n := in.Data, out.Data[:cap(out.Data)], 0
	marks = marks[:k.n]
	from, to, off := in.Off[:len(marks)], in.Off[1:][:len(marks)], out.Off[:len(marks)+1][1:]
	for i, m := range marks {
		at := int(from[i])
		start, end, ok := between(uint64(m), part)
		if !ok {
			if start, end, ok = splitFar(src[at:to[i]], sep, part); !ok {
				k.null(out, i)
			}
		}
		at, size := at+start, end-start
		if size <= near && at+near <= len(src) && n+near <= len(data) {
			*(*[near]byte)(data[n:]) = [near]byte(src[at:])
		} else {
			data = append(data[:n], src[at:at+size]...)
			data = slices.Grow(data, near)
			data = data[:cap(data)]
		}
		n += size
		off[i] = int32(n)
	}
	out.Data, out.Off, out.Len = data[:n], out.Off[:k.n+1], k.n
}

// splitAt gives part n (from 0) of s.
func splitAt(s, sep []byte, n int64) ([]byte, bool) {
	if n < 0 {
		return nil, false
	}
	if len(sep) == 0 {
		return s, n == 0
	}
	for ; n > 0; n-- {
		at := bytes.Index(s, sep)
		if at < 0 {
			return nil, false
		}
		s = s[at+len(sep):]
	}
	if at := bytes.Index(s, sep); at >= 0 {
		s = s[:at]
	}
	return s, true
}

// between gives the ends of part n, below marked, of a string with these marks, if
// they are among them.
func between(m uint64, n int) (start, end int, ok bool) {
	if n > 0 {
		for range n - 1 {
			m &= m - 1
		}
		start = bits.TrailingZeros64(m) + 1
		m &= m - 1
	}
	return start, bits.TrailingZeros64(m), m != 0
}

// splitFar gives the ends of a part that between did not find.
func splitFar(s []byte, sep byte, n int) (start, end int, ok bool) {
	if len(s) < marked {
		return 0, 0, false
	}
	for ; n > 0; n-- {
		at := bytes.IndexByte(s[start:], sep)
		if at < 0 {
			return 0, 0, false
		}
		start += at + 1
	}
	if at := bytes.IndexByte(s[start:], sep); at >= 0 {
		return start, start + at, true
	}
	return start, len(s), true
}

// marked is the number of bytes of a string that marks looks at.
const marked = 64

// marks finds a byte in each string: bit i is set when byte i is it, or the string
// ends there. Those that no call wants may be left out.
func marks(c byte) kernel {
	pattern := uint64(c) * 0x0101010101010101
	return func(k *kctx, a []*vec.Vector, out *vec.Vector) {
		src, off, dst := a[0].Data, a[0].Off[:k.n+1], out.I64[:k.n]
		if k.sel == nil {
			for i := range dst {
				dst[i] = int64(marksOf(src, int(off[i]), int(off[i+1]), pattern, k.node.most))
			}
			return
		}
		for _, i := range k.sel {
			dst[i] = int64(marksOf(src, int(off[i]), int(off[i+1]), pattern, k.node.most))
		}
	}
}

func marksOf(src []byte, from, to int, pattern uint64, most int) uint64 {
	if from+marked > len(src) { // near the end of the column
		s := make([]byte, marked)
		copy(s, src[from:])
		src, from, to = s, 0, to-from
	}
	s := (*[marked]byte)(src[from:])
	m := others(s, 0, pattern) | others(s, 8, pattern) | others(s, 16, pattern) |
		others(s, 24, pattern) | others(s, 32, pattern) | others(s, 40, pattern)
	if bits.OnesCount64(m) > 48-most {
		m |= others(s, 48, pattern) | others(s, 56, pattern)
	} else {
		m |= 0xffff << 48
	}
	m = ^m
	if n := to - from; n < marked {
		m = m&(1<<n-1) | 1<<n
	}
	return m
}

// others has bit i set where byte i of s is not that of the pattern, for eight of them:
// the high bits of the bytes that differ, brought together.
func others(s *[marked]byte, i int, pattern uint64) uint64 {
	const low7, high = 0x7f7f7f7f7f7f7f7f, 0x8080808080808080
	x := binary.LittleEndian.Uint64(s[i:]) ^ pattern
	return (x&low7 + low7 | x) & high * 0x0002040810204081 >> 56 << i
}
