// Package flock locks files between processes. The operating system gives a lock up with
// the process that holds it; one file is locked by one open file at a time.
package flock

import "os"

// Supported is nil on systems that have such locks.
func Supported() error { return supported() }

// Lock waits until f is locked by nobody else, and locks it until it is closed.
func Lock(f *os.File) error { return lock(f) }

// TryLock locks f until it is closed; ok is false when somebody else has locked it.
func TryLock(f *os.File) (ok bool, err error) { return tryLock(f) }

// Close gives up the lock of f and closes it. Closing alone leaves the lock for a moment
// when the process is starting another, which has not yet closed what it was born with.
func Close(f *os.File) error {
	unlock(f)
	return f.Close()
}
