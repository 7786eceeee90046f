package dirstore

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/streamsql/streamsql/internal/flock"
)

// The footer of a file: the length of the bytes before it u64, their CRC-32C u32,
// the magic; little endian.
const (
	footerMagic = "ssqlobj1"
	footerSize  = 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func footer(data []byte) []byte {
	f := binary.LittleEndian.AppendUint64(make([]byte, 0, footerSize), uint64(len(data)))
	f = binary.LittleEndian.AppendUint32(f, crc32.Checksum(data, castagnoli))
	return append(f, footerMagic...)
}

// unseal takes the footer off and reports whether it fits the bytes.
func unseal(file []byte) (data []byte, ok bool) {
	n := len(file) - footerSize
	if n < 0 {
		return nil, false
	}
	return file[:n:n], string(footer(file[:n])) == string(file[n:])
}

// temp is a file that is being written. Its lock says that its process lives, also
// to processes that do not see each other's numbers.
type temp struct {
	file *os.File
	path string
}

func writeTemp(dir string, data []byte) (*temp, error) {
	f, err := os.CreateTemp(dir, "object-")
	if err != nil {
		return nil, err
	}
	t := &temp{file: f, path: f.Name()}
	for _, step := range []func() error{
		func() error { return flock.Lock(f) },
		func() error { _, err := f.Write(data); return err },
		func() error { _, err := f.Write(footer(data)); return err },
		f.Sync,
	} {
		if err := step(); err != nil {
			t.remove()
			return nil, err
		}
	}
	return t, nil
}

// remove removes the temporary name. What fails here is collected by the next Open.
func (t *temp) remove() {
	os.Remove(t.path)
	t.file.Close()
}

// collectTemp removes the files in dir that no living process has locked.
func collectTemp(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		var dead bool
		if dead, err = flock.TryLock(f); dead {
			err = os.Remove(path)
		}
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// mkdir makes a directory and those above it, and syncs each one it made into its
// parent.
func (s *Store) mkdir(dir string) error {
	if st, err := os.Stat(dir); err == nil && st.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := s.mkdir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}
