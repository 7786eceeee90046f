//go:build unix

package flock

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestCloseWithAnHeir: a lock ends with Close though another process has inherited the
// file.
func TestCloseWithAnHeir(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	var files [2]*os.File
	for i := range files {
		var err error
		if files[i], err = os.Create(name); err != nil {
			t.Fatal(err)
		}
	}
	defer files[1].Close()
	if err := Lock(files[0]); err != nil {
		t.Fatal(err)
	}
	heir, err := syscall.Dup(int(files[0].Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(heir)
	if err := Close(files[0]); err != nil {
		t.Fatal(err)
	}
	if ok, err := TryLock(files[1]); !ok || err != nil {
		t.Fatalf("it is still locked: %v", err)
	}
}
