package dirstore

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/checkpoint/storetest"
	"github.com/streamsql/streamsql/internal/crashpoint"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

var ctx = context.Background()

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) checkpoint.Store {
		return open(t, filepath.Join(t.TempDir(), "new", "store"))
	})
}

func TestNamesAreValidated(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "store"))
	for _, name := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../../b", "a/..", ".tmp/x", "a b", "a\x00b", "a\\b", "ä", "a\nb",
		strings.Repeat("x", 256),
	} {
		if err := s.Create(ctx, name, nil); sqlerr.CodeOf(err) != sqlerr.CodeInvalidName {
			t.Errorf("create %q: error is %v", name, err)
		}
		if _, err := s.Get(ctx, name); sqlerr.CodeOf(err) != sqlerr.CodeInvalidName {
			t.Errorf("get %q: error is %v", name, err)
		}
		if err := s.Delete(ctx, name); sqlerr.CodeOf(err) != sqlerr.CodeInvalidName {
			t.Errorf("delete %q: error is %v", name, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("outside the store: %v, %v", entries, err)
	}
}

// TestDamageIsFound flips and cuts a file at every byte.
func TestDamageIsFound(t *testing.T) {
	s := open(t, t.TempDir())
	if err := s.Create(ctx, "a/b", []byte("some bytes")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.Dir(), "a", "b")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(bad []byte) {
		t.Helper()
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if b, err := s.Get(ctx, "a/b"); sqlerr.CodeOf(err) != sqlerr.CodeCheckpoint || b != nil {
			t.Fatalf("%q is read as %q, %v", bad, b, err)
		}
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		try(bad)
		try(good[:i])
		try(good[i+1:])
	}
	try(append(bytes.Clone(good), 0))
}

// TestCrash kills a process inside Create and looks at what the next one finds. It
// runs itself as that process.
func TestCrash(t *testing.T) {
	const where = "DIRSTORE_TEST_DIR"
	if dir := os.Getenv(where); dir != "" {
		s, err := Open(dir)
		if err == nil {
			err = s.Create(ctx, "a/b", []byte("data"))
		}
		t.Fatalf("was to be killed: %v", err)
	}
	for _, c := range []struct {
		point  string
		exists bool
	}{{"store-temporary", false}, {"store-linked", true}} {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^TestCrash$")
		cmd.Env = append(os.Environ(), where+"="+dir, crashpoint.Variable+"="+c.point)
		if out, err := cmd.CombinedOutput(); err == nil || len(out) > 0 {
			t.Fatalf("%s: %v: %s", c.point, err, out)
		}
		if n := temporaries(t, dir); n != 1 {
			t.Fatalf("%s: %d temporary files are left, want 1", c.point, n)
		}
		s := open(t, dir)
		if n := temporaries(t, dir); n != 0 {
			t.Fatalf("%s: %d temporary files are left after Open", c.point, n)
		}
		b, err := s.Get(ctx, "a/b")
		if c.exists && (err != nil || string(b) != "data") || !c.exists && !errors.Is(err, checkpoint.ErrNotFound) {
			t.Fatalf("%s: object is %q, %v", c.point, b, err)
		}
		err = s.Create(ctx, "a/b", []byte("other"))
		if c.exists != errors.Is(err, checkpoint.ErrExists) || !c.exists && err != nil {
			t.Fatalf("%s: create again: %v", c.point, err)
		}
	}
}

// TestOpenSparesLivingWriters: what another store is writing now is not collected.
func TestOpenSparesLivingWriters(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	w, err := writeTemp(filepath.Join(dir, tempDir), []byte("data"))
	if err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	if n := temporaries(t, dir); n != 1 {
		t.Fatalf("%d temporary files, want the one in use", n)
	}
	w.remove()
	if n := temporaries(t, dir); n != 0 {
		t.Fatalf("%d temporary files after remove", n)
	}
}

func temporaries(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, tempDir))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestReadOnly reads a store, and leaves no trace where there is none.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	if err := open(t, filepath.Join(dir, "store")).Create(ctx, "a/b", []byte("x")); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, "store", tempDir, "object-1")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := OpenReadOnly(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := s.Get(ctx, "a/b"); err != nil || string(b) != "x" {
		t.Errorf("read %q, %v", b, err)
	}
	if s.Create(ctx, "c", nil) == nil || s.Delete(ctx, "a/b") == nil {
		t.Error("a store that is open for reading was written")
	}
	if _, err := os.Stat(left); err != nil {
		t.Errorf("a store that is open for reading was cleaned up: %v", err)
	}
	if _, err := OpenReadOnly(dir); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("opening a directory for reading left %v, %v", entries, err)
	}
	if _, err := OpenReadOnly(filepath.Join(dir, "nosuch")); err == nil {
		t.Error("opened a directory that does not exist")
	}
}
