//go:build unix

package file

import (
	"os"
	"syscall"
)

// identityOf gives the device and inode of a file, and how many names it has.
func identityOf(info os.FileInfo) (id identity, names uint64) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return identity{Dev: uint64(s.Dev), Ino: s.Ino}, uint64(s.Nlink)
	}
	return identity{}, 1
}

const knowsIdentity = true
