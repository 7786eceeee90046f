package file

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

const (
	blockSize = 256 << 10
	// maxRecord bounds a line or record; a stray quote in a CSV file would otherwise
	// take in the rest of it.
	maxRecord = 64 << 20
)

// tail is one file that is being read. Blocks are handed out with the lines in them and
// never written again.
type tail struct {
	mark   mark
	f      *os.File
	in     io.Reader
	plain  bool // not compressed
	block  []byte
	start  int // of what was not handed out
	atEOF  bool
	quiet  bool // all was read when it was looked at last
	header bool // the header was read or there is none

	// What follow needs.
	cleared bool      // it is no copy of another
	waiting int64     // the size since which it is waited whether it is one
	since   time.Time // of waiting
	listed  bool      // it is one of the files of the path
	moved   time.Time // when its name was seen to be another's or nobody's, zero for never
	active  time.Time // when bytes came last
	written time.Time // when it was written last
}

// open opens the file and goes to the mark.
func (t *tail) open(compression string) error {
	f, err := os.Open(t.mark.Path)
	if err != nil {
		if os.IsNotExist(err) && t.mark.Offset > 0 {
			return t.mark.gone()
		}
		return unreadable(t.mark.Path, err)
	}
	t.f, t.in, t.plain, t.active = f, f, true, time.Now()
	info, err := f.Stat()
	if err != nil {
		err = unreadable(t.mark.Path, err)
	} else {
		t.mark.identity, _ = identityOf(info)
		t.written = info.ModTime()
		err = t.uncompress(compression)
	}
	if err == nil {
		err = t.seek()
	}
	if err != nil {
		t.close()
	}
	return err
}

// compressed tells how a file is compressed, "none" for not.
func compressed(path, compression string) string {
	switch {
	case compression != "auto" && compression != "":
		return compression
	case strings.HasSuffix(path, ".gz"):
		return "gzip"
	case strings.HasSuffix(path, ".zst"):
		return "zstd"
	}
	return "none"
}

func (t *tail) uncompress(compression string) error {
	switch compressed(t.mark.Path, compression) {
	case "gzip":
		z, err := gzip.NewReader(t.f)
		if err != nil {
			return t.broken(err)
		}
		t.in, t.plain = z, false
	case "zstd":
		z, err := zstd.NewReader(t.f, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return t.broken(err)
		}
		t.in, t.plain = z.IOReadCloser(), false
	}
	return nil
}

func (t *tail) broken(err error) error {
	return sqlerr.New(sqlerr.CodeDecode, 0, "file %q cannot be uncompressed: %v", t.mark.Path, err)
}

func (t *tail) seek() error {
	if t.mark.Offset == 0 {
		return nil
	}
	if t.plain {
		info, err := t.f.Stat()
		if err != nil {
			return unreadable(t.mark.Path, err)
		}
		if err := t.mark.check(t.f, info.Size()); err != nil {
			return err
		}
		if _, err := t.f.Seek(t.mark.Offset, io.SeekStart); err != nil {
			return unreadable(t.mark.Path, err)
		}
		return nil
	}
	n, err := io.CopyN(io.Discard, t.in, t.mark.Offset)
	if errors.Is(err, io.EOF) {
		return sqlerr.New(sqlerr.CodeGap, 0, "file %q has %d bytes when uncompressed, fewer than the %d that were read", t.mark.Path, n, t.mark.Offset).WithHint(resetHint)
	}
	if err != nil {
		return t.broken(err)
	}
	return nil
}

// fill reads more behind what is there and reports whether anything came.
func (t *tail) fill() (bool, error) {
	rest := t.block[t.start:]
	if len(rest) > maxRecord {
		return false, sqlerr.New(sqlerr.CodeDecode, 0, "file %q has a record of more than %d bytes at byte %d", t.mark.Path, maxRecord, t.mark.Offset)
	}
	if cap(t.block)-len(t.block) < blockSize/4 {
		nb := make([]byte, len(rest), len(rest)*2+blockSize)
		copy(nb, rest)
		t.block, t.start = nb, 0
	}
	at := t.taken()
	n, err := t.in.Read(t.block[len(t.block):cap(t.block)])
	t.block = t.block[:len(t.block)+n]
	if n > 0 {
		t.mark.begin(t.block[len(t.block)-n:], at)
		t.active = time.Now()
	}
	t.atEOF = errors.Is(err, io.EOF)
	switch {
	case err == nil || t.atEOF:
		return n > 0, nil
	case t.plain:
		return false, unreadable(t.mark.Path, err)
	}
	return false, t.broken(err)
}

// taken is the size of the file as far as it was read.
func (t *tail) taken() int64 { return t.mark.Offset + int64(len(t.block)-t.start) }

// unchanged looks, before reading on behind an end, whether the file has only grown.
func (t *tail) unchanged() error {
	if !t.quiet {
		return nil
	}
	t.quiet = false
	info, err := t.f.Stat()
	if err != nil {
		return unreadable(t.mark.Path, err)
	}
	t.written = info.ModTime()
	if info.Size() < t.taken() {
		return t.mark.shorter(info.Size(), t.taken())
	}
	return t.mark.check(t.f, info.Size())
}

// next gives the next line or record without its end, and how many bytes it took; n is
// 0 when it is not there whole. last hands out what stands before the end of the file.
func (t *tail) next(csv, last bool) (line []byte, n int, err error) {
	rest := t.block[t.start:]
	if csv {
		n, line, err = format.SplitCSV(rest, last)
		if err != nil {
			return nil, 0, sqlerr.New(sqlerr.CodeDecode, 0, "file %q at byte %d: %v", t.mark.Path, t.mark.Offset, err)
		}
	} else if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		line, n = rest[:i], i+1
	} else if last && len(rest) > 0 {
		line, n = rest, len(rest)
	}
	if n == 0 {
		return nil, 0, nil
	}
	if k := len(line); !csv && k > 0 && line[k-1] == '\r' {
		line = line[:k-1]
	}
	if t.mark.Offset == 0 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	t.mark.Offset += int64(n)
	t.start += n
	return line[:len(line):len(line)], n, nil
}

// sum notes the end of what was handed out, the last n bytes of it.
func (t *tail) sum(n int) {
	t.mark.Offset -= int64(n)
	t.mark.advance(t.block[t.start-n:t.start], n)
}

func (t *tail) close() {
	if z, ok := t.in.(io.Closer); ok && !t.plain {
		_ = z.Close()
	}
	if t.f != nil {
		_ = t.f.Close()
	}
	t.f, t.in = nil, nil
}
