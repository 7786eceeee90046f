//go:build streamsqltest

package vec

// poison overwrites released memory, so that a reader who came too late sees
// nonsense in tests and not yesterday's values.
func poison(v *Vector) {
	for i := range v.I64 {
		v.I64[i] = -0x6b6b6b6b6b6b6b6b
	}
	for i := range v.F64 {
		v.F64[i] = -6.66e66
	}
	for i := range v.I128 {
		v.I128[i].Hi, v.I128[i].Lo = -0x6b6b6b6b, 0x6b6b6b6b
	}
	for i := range v.Bits {
		v.Bits[i] = 0x6b6b6b6b6b6b6b6b
	}
	for i := range v.Iv {
		v.Iv[i].Months, v.Iv[i].Days, v.Iv[i].Micros = -0x6b6b, -0x6b6b, -0x6b6b6b6b
	}
	for i := range v.Data {
		v.Data[i] = 0x6b
	}
	for i := range v.Off {
		v.Off[i] = -1
	}
}
