package file

import (
	"encoding/json"
	"hash/crc32"
	"os"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// position is how far the files of a split were read, in the order of reading.
type position struct {
	Files []mark `json:"files"`
}

// mark is the place in one file. Offset counts uncompressed bytes. Len and Sum are the
// length and checksum (CRC-32C) of the bytes before Offset, by which a file that was
// written anew is told from one that has grown.
type mark struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Len    int    `json:"len,omitempty"`
	Sum    uint32 `json:"sum,omitempty"`
	// Ended: a bounded read has read the file whole, up to a last line without its end.
	Ended bool `json:"ended,omitempty"`
}

// maxTail bounds the bytes that Sum covers.
const maxTail = 4 << 10

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (m *mark) advance(text []byte, n int) {
	m.Offset += int64(n)
	if len(text) > maxTail {
		text = text[len(text)-maxTail:]
	}
	m.Len, m.Sum = len(text), crc32.Checksum(text, castagnoli)
}

func (p position) encode() connectors.Position {
	b, err := json.Marshal(p)
	if err != nil {
		return nil
	}
	return b
}

func decodePosition(b connectors.Position) (position, error) {
	var p position
	if err := json.Unmarshal(b, &p); err != nil {
		return p, sqlerr.New(sqlerr.CodeCheckpoint, 0, "the stored position of a file cannot be read").
			WithDetail("It is %q.", string(b))
	}
	return p, nil
}

const resetHint = "Put the file back, or start the job anew with --fresh."

// check compares an uncompressed file with the mark.
func (m *mark) check(f *os.File, size int64) error {
	if size < m.Offset {
		return m.shorter(size, m.Offset)
	}
	if m.Len == 0 {
		return nil
	}
	tail := make([]byte, m.Len)
	if _, err := f.ReadAt(tail, m.Offset-int64(m.Len)); err != nil {
		return unreadable(m.Path, err)
	}
	if crc32.Checksum(tail, castagnoli) != m.Sum {
		return sqlerr.New(sqlerr.CodeGap, 0, "file %q has other content before byte %d than what was read", m.Path, m.Offset).
			WithDetail("It was written anew.").WithHint(resetHint)
	}
	return nil
}

func (m *mark) shorter(size, read int64) error {
	return sqlerr.New(sqlerr.CodeGap, 0, "file %q has %d bytes, fewer than the %d that were read", m.Path, size, read).
		WithDetail("It was cut or written anew.").WithHint(resetHint)
}

func unreadable(path string, err error) *sqlerr.Error {
	if os.IsNotExist(err) {
		return sqlerr.New(sqlerr.CodeSchema, 0, "file %q does not exist", path)
	}
	if os.IsPermission(err) {
		return sqlerr.New(sqlerr.CodeAuth, 0, "file %q may not be read", path)
	}
	return sqlerr.Externalf(sqlerr.CodeConnection, err, "cannot read file %q", path)
}
