package state

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"math/bits"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/streamsql/streamsql/internal/cell"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// The format of a blob. Integers are little endian; everything but a compressed
// payload is a multiple of 8 bytes.
//
//	file    = magic "ssqlstat", version u16, kind u16 (0 image, 1 delta), crc u32 of the 12
//	          bytes before; then sections, the first tables, the last end
//	section = type u8, flags u8 (1: zstd), table u16, raw length u32, stored length u32,
//	          crc u32 of the other header bytes and the payload, bucket i64; payload
//	tables  = JSON list of table signatures, padded with spaces
//	drops   = bucket i64 …
//	pages   = page …
//	page    = index u32, heap length u32, changed u64, live u64; the words of the records in
//	          changed & live, in order; the heap, padded with zeros. References count
//	          from the start of this heap.
//	end     = number of sections before it u64
const (
	magic         = "ssqlstat"
	formatVersion = 1

	fileHeader    = 16
	sectionHeader = 24
	pageHeader    = 24

	sectionTables = 1
	sectionDrops  = 2
	sectionPages  = 3
	sectionEnd    = 4

	flagZstd = 1

	// sectionSize is where a section of pages ends; maxCompressed is the largest one that
	// is compressed.
	sectionSize   = 256 << 10
	maxCompressed = 4 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func crcOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

var compressor = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(2*sectionSize), zstd.WithEncoderCRC(false))
})

// header is the payload of the tables section.
func header(decls []Decl) ([]byte, error) {
	sigs := make([]signature, len(decls))
	for i, d := range decls {
		sigs[i] = d.signature()
	}
	out, err := json.Marshal(sigs)
	if err != nil {
		return nil, sqlerr.Internalf("write state signatures: %v", err)
	}
	return pad(out, ' '), nil
}

func pad(b []byte, with byte) []byte {
	for len(b)%8 != 0 {
		b = append(b, with)
	}
	return b
}

// ErrEnded is returned by Encode for a snapshot that was aborted, completed or encoded
// before.
var ErrEnded = errors.New("snapshot has ended")

// Encode writes the snapshot to w. It may run on any goroutine while the owner of the
// backend works on, and once only; when it returns, the snapshot holds no page any
// more. A w with a method Grow, as bytes.Buffer has, is told the likely size. Other
// errors than ErrEnded are those of w.
func (s *Snapshot) Encode(w io.Writer) error {
	if !s.phase.CompareAndSwap(phaseWaiting, phaseRunning) {
		return ErrEnded
	}
	defer s.phase.Store(phaseOver)
	defer s.release()
	if g, ok := w.(interface{ Grow(n int) }); ok {
		g.Grow(s.estimate())
	}
	e := &encoder{w: w, compress: !s.image}
	e.file(s.image)
	e.section(sectionTables, 0, 0, s.header)
	for _, d := range s.drops {
		if s.image {
			break
		}
		var raw []byte
		for _, bucket := range sortedSet(d.buckets) {
			raw = binary.LittleEndian.AppendUint64(raw, uint64(bucket))
		}
		e.section(sectionDrops, d.decl, 0, raw)
	}
	for i := range s.parts {
		e.pages(&s.parts[i], s.image)
	}
	e.section(sectionEnd, 0, 0, binary.LittleEndian.AppendUint64(nil, uint64(e.sections)))
	s.size.Store(e.written)
	return e.err
}

// AppendTo is Encode to the end of a slice.
func (s *Snapshot) AppendTo(dst []byte) ([]byte, error) {
	w := sliceWriter{dst}
	err := s.Encode(&w)
	return w.b, err
}

// estimate is about the size of an image without its bytes; a delta is small.
func (s *Snapshot) estimate() int {
	n := 1024
	for _, p := range s.parts {
		if s.image {
			n += sectionHeader + len(p.cells.Pages)*(pageHeader+8*cell.PageRows*p.width)
		}
	}
	return n + n/1000
}

type sliceWriter struct{ b []byte }

func (w *sliceWriter) Grow(n int) { w.b = slices.Grow(w.b, n) }

func (w *sliceWriter) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}

func sortedSet(xs []int64) []int64 {
	xs = slices.Clone(xs)
	slices.Sort(xs)
	return slices.Compact(xs)
}

type encoder struct {
	w        io.Writer
	compress bool
	err      error
	written  int64
	sections int
	raw      []byte
	packed   []byte
	heap     []byte
}

func (e *encoder) write(p []byte) {
	if e.err != nil {
		return
	}
	n, err := e.w.Write(p)
	e.written += int64(n)
	e.err = err
}

func (e *encoder) file(image bool) {
	h := append(make([]byte, 0, fileHeader), magic...)
	h = binary.LittleEndian.AppendUint16(h, formatVersion)
	kind := uint16(1)
	if image {
		kind = 0
	}
	h = binary.LittleEndian.AppendUint16(h, kind)
	e.write(binary.LittleEndian.AppendUint32(h, crcOf(h)))
}

func (e *encoder) section(typ byte, table int, bucket int64, raw []byte) {
	payload, flags := raw, byte(0)
	if e.compress && typ == sectionPages && len(raw) <= maxCompressed {
		z, err := compressor()
		if err != nil {
			e.err = sqlerr.Internalf("start zstd: %v", err)
			return
		}
		e.packed = z.EncodeAll(raw, e.packed[:0])
		if len(e.packed) < len(raw) {
			payload, flags = e.packed, flagZstd
		}
	}
	var h [sectionHeader]byte
	h[0], h[1] = typ, flags
	binary.LittleEndian.PutUint16(h[2:], uint16(table))
	binary.LittleEndian.PutUint32(h[4:], uint32(len(raw)))
	binary.LittleEndian.PutUint32(h[8:], uint32(len(payload)))
	binary.LittleEndian.PutUint64(h[16:], uint64(bucket))
	binary.LittleEndian.PutUint32(h[12:], sectionSum(h[:], payload))
	e.write(h[:])
	e.write(payload)
	e.sections++
}

// sectionSum is the checksum of a section, its own field left out.
func sectionSum(h, payload []byte) uint32 {
	sum := crc32.Update(0, castagnoli, h[:12])
	sum = crc32.Update(sum, castagnoli, h[16:])
	return crc32.Update(sum, castagnoli, payload)
}

func (e *encoder) pages(f *frozen, image bool) {
	e.raw = e.raw[:0]
	for k, p := range f.cells.Pages {
		changed := f.cells.Changed[k]
		if image {
			changed = ^uint64(0)
		}
		e.page(f, f.cells.Place(k), p, changed)
		if len(e.raw) >= sectionSize {
			e.section(sectionPages, f.decl, f.bucket, e.raw)
			e.raw = e.raw[:0]
		}
	}
	if len(e.raw) > 0 || image {
		e.section(sectionPages, f.decl, f.bucket, e.raw)
	}
}

func (e *encoder) page(f *frozen, index uint32, p *cell.Page, changed uint64) {
	start := len(e.raw)
	raw := append(e.raw, make([]byte, pageHeader)...)
	e.heap = e.heap[:0]
	for in := changed & p.Live; in != 0; in &= in - 1 {
		rec := p.Record(bits.TrailingZeros64(in), f.width)
		at := len(raw)
		for _, x := range rec {
			raw = binary.LittleEndian.AppendUint64(raw, x)
		}
		for _, w := range f.heaps {
			b := p.Bytes(rec[w])
			ref := uint64(0)
			if len(b) > 0 {
				ref = uint64(len(e.heap))<<32 | uint64(len(b))
			}
			binary.LittleEndian.PutUint64(raw[at+8*w:], ref)
			e.heap = append(e.heap, b...)
		}
	}
	raw = pad(append(raw, e.heap...), 0)
	binary.LittleEndian.PutUint32(raw[start:], index)
	binary.LittleEndian.PutUint32(raw[start+4:], uint32(len(e.heap)))
	binary.LittleEndian.PutUint64(raw[start+8:], changed)
	binary.LittleEndian.PutUint64(raw[start+16:], p.Live)
	e.raw = raw
}
