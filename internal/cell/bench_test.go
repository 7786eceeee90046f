package cell

import "testing"

// BenchmarkSetBytes makes records of 20 bytes and writes them again, longer and shorter.
func BenchmarkSetBytes(b *testing.B) {
	const rows = 10_000
	text := make([]byte, 64)
	for b.Loop() {
		s := NewStore(2, 1)
		for range rows {
			s.SetBytes(s.Alloc(), 1, text[:20])
		}
		for n := range 4 {
			for id := range uint32(rows) {
				s.SetBytes(id, 1, text[:10+n*10])
			}
		}
	}
	b.ReportMetric(float64(b.N)*5*rows/b.Elapsed().Seconds()/1e6, "Mwrites/s")
}
