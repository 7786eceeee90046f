package state

import (
	"encoding/binary"
	"encoding/json"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

var decompressor = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(2*maxCompressed))
})

// damaged is the error of bytes that are not a snapshot as Encode writes it.
func damaged(format string, args ...any) *sqlerr.Error {
	return sqlerr.New(sqlerr.CodeCheckpoint, 0, "state snapshot is damaged: "+format, args...)
}

// blob is a parsed snapshot; the payloads are still those of the input.
type blob struct {
	image    bool
	sigs     []signature
	sections []section
	raw      int // bytes of all payloads, unpacked
}

type section struct {
	typ, flags byte
	table      int
	bucket     int64
	rawLen     int
	payload    []byte
}

// parse checks the frame and every checksum of a blob.
func parse(data []byte) (*blob, error) {
	if len(data) < fileHeader || string(data[:8]) != magic {
		return nil, damaged("no snapshot header")
	}
	if crcOf(data[:12]) != binary.LittleEndian.Uint32(data[12:]) {
		return nil, damaged("checksum of the header does not match")
	}
	if v := binary.LittleEndian.Uint16(data[8:]); v != formatVersion {
		return nil, sqlerr.New(sqlerr.CodeVersion, 0, "state snapshot has format version %d, this program reads version %d", v, formatVersion)
	}
	b := &blob{image: binary.LittleEndian.Uint16(data[10:]) == 0}
	rest := data[fileHeader:]
	for n := 0; ; n++ {
		if len(rest) < sectionHeader {
			return nil, damaged("it is cut off after section %d", n)
		}
		h := rest[:sectionHeader]
		stored := int(binary.LittleEndian.Uint32(h[8:]))
		if len(rest)-sectionHeader < stored {
			return nil, damaged("it is cut off in section %d", n)
		}
		x := section{typ: h[0], flags: h[1], table: int(binary.LittleEndian.Uint16(h[2:])),
			rawLen: int(binary.LittleEndian.Uint32(h[4:])), bucket: int64(binary.LittleEndian.Uint64(h[16:])),
			payload: rest[sectionHeader : sectionHeader+stored]}
		if sectionSum(h, x.payload) != binary.LittleEndian.Uint32(h[12:]) {
			return nil, damaged("checksum of section %d does not match", n)
		}
		rest = rest[sectionHeader+stored:]
		if packed := x.flags == flagZstd; x.flags > flagZstd || packed && x.rawLen > maxCompressed || !packed && x.rawLen != stored {
			return nil, damaged("header of section %d is malformed", n)
		}
		if (x.typ == sectionTables) != (n == 0) {
			return nil, damaged("section %d is out of place", n)
		}
		switch x.typ {
		case sectionTables:
			if err := json.Unmarshal(x.payload, &b.sigs); err != nil {
				return nil, damaged("list of tables is malformed")
			}
		case sectionDrops, sectionPages:
			if x.table >= len(b.sigs) {
				return nil, damaged("section %d belongs to no table", n)
			}
			b.sections = append(b.sections, x)
			b.raw += x.rawLen
		case sectionEnd:
			if len(x.payload) != 8 || binary.LittleEndian.Uint64(x.payload) != uint64(n) || len(rest) != 0 {
				return nil, damaged("end does not match")
			}
			return b, nil
		default:
			return nil, damaged("section %d is of unknown type %d", n, x.typ)
		}
	}
}

// unpack returns the payload of a section, uncompressed.
func (x *section) unpack() ([]byte, error) {
	if x.flags != flagZstd {
		return x.payload, nil
	}
	z, err := decompressor()
	if err != nil {
		return nil, sqlerr.Internalf("start zstd: %v", err)
	}
	raw, err := z.DecodeAll(x.payload, make([]byte, 0, x.rawLen))
	if err != nil || len(raw) != x.rawLen {
		return nil, damaged("section does not unpack")
	}
	return raw, nil
}

// checkTables compares what a snapshot holds with what an operator declares.
func checkTables(have []signature, want []Decl) error {
	for i := range max(len(have), len(want)) {
		switch {
		case i >= len(have):
			return mismatch("the snapshot has no state table %q", want[i].Name)
		case i >= len(want):
			return mismatch("the operator has no state table %q", have[i].Name)
		}
		if w := want[i].signature(); !have[i].equal(w) {
			return mismatch("state table %q is %v in the snapshot and %q is %v in the operator", have[i].Name, have[i], w.Name, w)
		}
	}
	return nil
}

func mismatch(format string, args ...any) *sqlerr.Error {
	return sqlerr.New(sqlerr.CodeStateMismatch, 0, format, args...)
}
