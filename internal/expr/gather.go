package expr

import (
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// gatherRows returns the values of src at the ascending rows sel as a new vector. Texts
// are copied by runs of neighbouring rows: most predicates keep most rows or few.
func gatherRows(src *vec.Vector, sel []int32) *vec.Vector {
	out := vec.New(src.Type, len(sel))
	if src.Type.Phys() != types.PBytes {
		out.AppendSel(src, sel)
		return out
	}
	off, data := out.Off[:1], out.Data[:0]
	from := src.Off
	for k := 0; k < len(sel); {
		first := sel[k]
		last := first + 1
		for k++; k < len(sel) && sel[k] == last; k++ {
			last++
		}
		shift := int32(len(data)) - from[first]
		data = append(data, src.Data[from[first]:from[last]]...)
		for _, o := range from[first+1 : last+1] {
			off = append(off, o+shift)
		}
	}
	out.Off, out.Data, out.Len = off, data, len(sel)
	if src.Valid != nil {
		out.Valid = gatherBits(src.Valid, sel)
	}
	return out
}

func gatherBits(src vec.Bitmap, sel []int32) vec.Bitmap {
	out := vec.NewBitmap(len(sel))
	for w := range out {
		rows := sel[w<<6 : min(w<<6+64, len(sel))]
		var b uint64
		for j, i := range rows {
			b |= src[i>>6] >> (uint(i) & 63) & 1 << uint(j&63)
		}
		out[w] = b
	}
	return out
}
