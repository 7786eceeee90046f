package file

import (
	"encoding/json"
	"hash/crc32"
	"io"
	"os"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// position is how far the files of a split were read, in the order of reading.
type position struct {
	Files []mark `json:"files"`
}

// mark is the place in one file. Offset counts uncompressed bytes. Head and Tail are
// checksums of its first bytes and of those before Offset, by which a file that was
// written anew is told from one that has grown, and a renamed or copied one found.
type mark struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	identity
	HeadLen int    `json:"head_len,omitempty"`
	Head    uint32 `json:"head,omitempty"`
	TailLen int    `json:"len,omitempty"`
	Tail    uint32 `json:"sum,omitempty"`
	// Ended: the file was read whole, up to a last line without its end. While following,
	// Size is what it had then.
	Ended bool  `json:"ended,omitempty"`
	Size  int64 `json:"size,omitempty"`
	// Done: all was read, and nobody writes to the file any more as far as can be seen:
	// when it is gone, no row is.
	Done bool `json:"done,omitempty"`
}

// identity is what a file keeps when it is renamed. Another file may have it later.
type identity struct {
	Dev uint64 `json:"dev,omitempty"`
	Ino uint64 `json:"ino,omitempty"`
}

const (
	maxHead = 1 << 10
	maxTail = 4 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sumOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// advance moves the mark behind n bytes, of which text is the end.
func (m *mark) advance(text []byte, n int) {
	m.Offset += int64(n)
	text = text[max(0, len(text)-maxTail):]
	m.TailLen, m.Tail = len(text), sumOf(text)
}

// begin adds to Head what was read of the file's beginning: text lies at byte at.
func (m *mark) begin(text []byte, at int64) {
	if more := int64(m.HeadLen) - at; m.HeadLen < maxHead && more >= 0 && more < int64(len(text)) {
		text = text[more:min(int64(len(text)), maxHead-at)]
		m.Head = crc32.Update(m.Head, castagnoli, text)
		m.HeadLen += len(text)
	}
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
	if least := max(m.Offset, int64(m.HeadLen)); size < least {
		return m.shorter(size, least)
	}
	for _, part := range []struct {
		at  int64
		n   int
		sum uint32
	}{{0, m.HeadLen, m.Head}, {m.Offset - int64(m.TailLen), m.TailLen, m.Tail}} {
		b := make([]byte, part.n)
		if _, err := f.ReadAt(b, part.at); err != nil && part.n > 0 {
			return unreadable(m.Path, err)
		}
		if sumOf(b) != part.sum {
			return m.rewritten()
		}
	}
	return nil
}

// checkStream compares the beginning of a file, read in one go, with the mark.
func (m *mark) checkStream(in io.Reader) (bool, error) {
	head := make([]byte, min(int64(m.HeadLen), m.Offset))
	if _, err := io.ReadFull(in, head); err != nil {
		return false, err
	}
	if len(head) == m.HeadLen && sumOf(head) != m.Head {
		return false, nil
	}
	from := m.Offset - int64(m.TailLen)
	tail := head[min(from, int64(len(head))):]
	if _, err := io.CopyN(io.Discard, in, max(0, from-int64(len(head)))); err != nil {
		return false, err
	}
	rest := make([]byte, m.TailLen-len(tail))
	_, err := io.ReadFull(in, rest)
	return sumOf(append(tail, rest...)) == m.Tail, err
}

func (m *mark) shorter(size, read int64) error {
	return sqlerr.New(sqlerr.CodeGap, 0, "file %q has %d bytes, fewer than the %d that were read", m.Path, size, read).
		WithDetail("It was cut or written anew.").WithHint(resetHint)
}

func (m *mark) rewritten() error {
	return sqlerr.New(sqlerr.CodeGap, 0, "file %q has other content before byte %d than what was read", m.Path, m.Offset).
		WithDetail("It was written anew.").WithHint(resetHint)
}

func (m *mark) gone() error {
	return sqlerr.New(sqlerr.CodeGap, 0, "file %q is gone, of which %d bytes were read", m.Path, m.Offset).
		WithDetail("Nothing that is in its directory begins with them.").WithHint(resetHint)
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
