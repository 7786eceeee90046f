// Package dirstore keeps the objects of a checkpoint.Store as files in a local
// directory, one file each, under the object's name.
//
// An object is written to a temporary file, synced, and linked to its name: link(2)
// fails if the name is taken, so that of several processes one wins; then the
// directory is synced. A file is the object's bytes and a footer with a checksum.
package dirstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/internal/crashpoint"
	"github.com/streamsql/streamsql/internal/flock"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// tempDir holds files that are being written. It is no object's name.
const tempDir = ".tmp"

// Store is a checkpoint.Store in a directory. Several processes may use one directory
// at the same time.
type Store struct {
	root     string
	readOnly bool
}

var _ checkpoint.Store = (*Store)(nil)

// Open opens the store in dir, which is made when it does not exist. It removes the
// temporary files of processes that died, and syncs the directories: what can be
// seen is durable, even if its maker died before saying so.
func Open(dir string) (*Store, error) {
	if err := flock.Supported(); err != nil {
		return nil, sqlerr.New(sqlerr.CodeNotSupported, 0, "directory %q cannot be used: %v", dir, err)
	}
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, failed(err, "open directory %q", dir)
	}
	s := &Store{root: root}
	if err := s.mkdir(filepath.Join(root, tempDir)); err != nil {
		return nil, failed(err, "open directory %q", dir)
	}
	if err := collectTemp(filepath.Join(root, tempDir)); err != nil {
		return nil, failed(err, "clean up directory %q", dir)
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return syncDir(path)
	})
	if err != nil {
		return nil, failed(err, "sync directory %q", dir)
	}
	return s, nil
}

// OpenReadOnly opens the store in dir, which must exist, and changes nothing in it nor
// below it: whoever asks may not be allowed to write there, and dir may be no store.
func OpenReadOnly(dir string) (*Store, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, failed(err, "open directory %q", dir)
	}
	if _, err := os.ReadDir(root); err != nil {
		return nil, failed(err, "open directory %q", dir)
	}
	return &Store{root: root, readOnly: true}, nil
}

func (s *Store) writable() error {
	if s.readOnly {
		return sqlerr.Internalf("directory %q is open for reading", s.root)
	}
	return nil
}

// Dir is the directory of the store.
func (s *Store) Dir() string { return s.root }

// failed is the error of a system call: the disk may be full now and not later.
func failed(err error, format string, args ...any) error {
	return sqlerr.Externalf(sqlerr.CodeCheckpoint, err, format, args...)
}

// path is the file of an object. A name is slash-separated parts of printable ASCII
// other than backslash, none empty, "." or "..", each up to 255 bytes.
func (s *Store) path(name string) (string, error) {
	for i, part := range strings.Split(name, "/") {
		bad := part == "" || part == "." || part == ".." || i == 0 && part == tempDir || len(part) > 255
		if bad || strings.ContainsFunc(part, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }) {
			return "", sqlerr.New(sqlerr.CodeInvalidName, 0, "%q is no name of an object", name)
		}
	}
	return filepath.Join(s.root, filepath.FromSlash(name)), nil
}

// Get implements checkpoint.Store.
func (s *Store) Get(ctx context.Context, name string) ([]byte, error) {
	path, err := s.path(name)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	switch {
	case missing(err) || isDir(path):
		return nil, checkpoint.ErrNotFound
	case err != nil:
		return nil, failed(err, "read object %q", name)
	}
	data, ok := unseal(b)
	if !ok {
		return nil, &sqlerr.Error{Class: sqlerr.External, Code: sqlerr.CodeCheckpoint,
			Msg: fmt.Sprintf("object %q is damaged: its checksum does not match", name)}
	}
	return data, nil
}

// missing reports that nothing has that path, be it because a part of it is a file.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func isDir(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && st.IsDir()
}

// Create implements checkpoint.Store. When it fails with another error than ErrExists
// the object may exist all the same.
func (s *Store) Create(ctx context.Context, name string, data []byte) error {
	if err := s.writable(); err != nil {
		return err
	}
	path, err := s.path(name)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.create(path, data); err != nil {
		if errors.Is(err, checkpoint.ErrExists) {
			return err
		}
		return failed(err, "create object %q", name)
	}
	return nil
}

func (s *Store) create(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := s.mkdir(dir); err != nil {
		return err
	}
	t, err := writeTemp(filepath.Join(s.root, tempDir), data)
	if err != nil {
		return err
	}
	defer t.remove()
	crashpoint.Here("store-temporary")
	switch err := os.Link(t.path, path); {
	case errors.Is(err, fs.ErrExist):
		// Whoever made it may not have come to sync it, and the caller relies on it now.
		if err := syncDir(dir); err != nil {
			return err
		}
		return checkpoint.ErrExists
	case err != nil:
		return err
	}
	crashpoint.Here("store-linked")
	return syncDir(dir)
}

// List implements checkpoint.Store.
func (s *Store) List(ctx context.Context, prefix string) ([]string, error) {
	start := s.root
	if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
		p, err := s.path(prefix[:i])
		if err != nil {
			return nil, err
		}
		start = p
	}
	var names []string
	err := filepath.WalkDir(start, func(path string, d fs.DirEntry, err error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if missing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(s.root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case d.IsDir() && name == tempDir:
			return filepath.SkipDir
		case d.IsDir():
			if name != "." && !strings.HasPrefix(name+"/", prefix) && !strings.HasPrefix(prefix, name+"/") {
				return filepath.SkipDir
			}
		case strings.HasPrefix(name, prefix):
			names = append(names, name)
		}
		return nil
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, failed(err, "list objects %q", prefix)
	}
	slices.Sort(names)
	return names, nil
}

// Delete implements checkpoint.Store.
func (s *Store) Delete(ctx context.Context, name string) error {
	if err := s.writable(); err != nil {
		return err
	}
	path, err := s.path(name)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if isDir(path) {
		return nil
	}
	switch err := os.Remove(path); {
	case missing(err):
		return nil
	case err != nil:
		return failed(err, "delete object %q", name)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return failed(err, "delete object %q", name)
	}
	return nil
}
