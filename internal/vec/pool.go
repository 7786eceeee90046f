package vec

import (
	"sync"

	"github.com/streamsql/streamsql/internal/types"
)

// pools hold released vectors by layout, so that a steady stream allocates nothing.
var pools [types.PInterval + 1]sync.Pool

// maxPooled bounds what one pooled vector may hold on to: one that carried an
// unusually large row is left to the garbage collector.
const maxPooled = 4 << 20

func get(p types.Phys) *Vector {
	if v, ok := pools[p].Get().(*Vector); ok {
		return v
	}
	return &Vector{}
}

// Retain adds a holder. A vector starts with one.
func (v *Vector) Retain() *Vector {
	v.refs.Add(1)
	return v
}

// Release drops a holder; the last one returns the memory to the pool, after which
// nobody may touch the vector. Releasing is an optimisation: a vector that is
// never released is collected as garbage.
func (v *Vector) Release() {
	if v.refs.Add(-1) >= 0 {
		return
	}
	v.refs.Store(0)
	if o := v.owner; o != nil {
		v.owner = nil
		o.Release()
		return
	}
	if v.Size() > maxPooled {
		return
	}
	poison(v)
	p := v.Type.Phys()
	v.Len, v.Valid = 0, nil
	v.Bits, v.I64, v.F64, v.I128, v.Data, v.Iv = v.Bits[:0], v.I64[:0], v.F64[:0], v.I128[:0], v.Data[:0], v.Iv[:0]
	v.Off = v.Off[:0]
	pools[p].Put(v)
}
