//go:build !unix

package flock

import (
	"errors"
	"os"
	"runtime"
)

func supported() error {
	return errors.New("files cannot be locked on " + runtime.GOOS + ": streamsql needs a Unix system")
}

func lock(*os.File) error { return supported() }

func tryLock(*os.File) (bool, error) { return false, supported() }

func unlock(*os.File) {}
