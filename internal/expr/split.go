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
		if sep == nil || n == nil || len(sep.S) != 1 || n.I < 0 {
			return general(args, t)
		}
		c, part := sep.S[0], int(n.I)
		some := rowBytes(func(_ *kctx, a []*vec.Vector, i int, dst []byte, _ *vec.Vector) ([]byte, bool) {
			s, ok := splitByte(a[0].Bytes(i), c, part)
			return append(dst, s...), ok
		})
		return impl{run: func(k *kctx, a []*vec.Vector, out *vec.Vector) {
			if k.sel != nil || out.Valid != nil {
				some(k, a, out)
				return
			}
			splitColumn(k, a[0], c, part, out)
		}, cost: 30}
	}
	f.PG = ""
	return f
}

// splitColumn is splitByte for a whole column without NULLs. The parts together are
// no longer than the column, so its bytes can always be addressed.
func splitColumn(k *kctx, in *vec.Vector, sep byte, part int, out *vec.Vector) {
	data, off, src := out.Data[:0], out.Off[:1], in.Data
	for i := range k.n {
		s, ok := splitByte(src[in.Off[i]:in.Off[i+1]:len(src)], sep, part)
		if !ok {
			k.null(out, i)
		}
		at, n := len(data), len(s)
		if cap(data)-at < max(n, 16) {
			data = slices.Grow(data, max(n, 16))
		}
		data = data[:at+n]
		if to := data[at : at+n : cap(data)]; n <= 16 && cap(s) >= 16 {
			*(*[16]byte)(to[:16]) = [16]byte(s[:16]) // what is beyond n is written over
		} else {
			copy(to, s)
		}
		off = append(off, int32(len(data)))
	}
	out.Data, out.Off, out.Len = data, off, k.n
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

// splitByte is splitAt for one byte: eight bytes at a time, skipping whole words by
// the number of separators in them.
func splitByte(s []byte, sep byte, n int) ([]byte, bool) {
	const low7 = 0x7f7f7f7f7f7f7f7f
	pattern := uint64(sep) * 0x0101010101010101
	start, i := 0, 0
	for ; i+8 <= len(s); i += 8 {
		x := binary.LittleEndian.Uint64(s[i:]) ^ pattern
		hits := ^((x&low7 + low7) | x | low7) // the high bit of each byte that is sep
		if hits == 0 {
			continue
		}
		if c := bits.OnesCount64(hits); c <= n {
			n -= c
			start = i + 8 - bits.LeadingZeros64(hits)>>3
			continue
		}
		for ; n > 0; n-- {
			start = i + bits.TrailingZeros64(hits)>>3 + 1
			hits &= hits - 1
		}
		return s[start : i+bits.TrailingZeros64(hits)>>3], true
	}
	for ; i < len(s); i++ {
		if s[i] != sep {
			continue
		}
		if n == 0 {
			return s[start:i], true
		}
		n--
		start = i + 1
	}
	return s[start:], n == 0
}
