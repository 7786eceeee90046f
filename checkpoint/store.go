// Package checkpoint holds the epoch protocol as a pure state machine, the manifest
// that commits an epoch, and the Store that manifests and state lie in.
package checkpoint

import (
	"context"
	"errors"
)

// ErrNotFound is returned by Get for an object that does not exist.
var ErrNotFound = errors.New("object not found")

// ErrExists is returned by Create for a name that is taken. Because a create whose
// answer was lost may be repeated, the caller reads the object back and compares.
var ErrExists = errors.New("object exists")

// Store keeps named immutable objects. Names are slash-separated ASCII paths. Any
// call may fail, succeed, or succeed and report failure; every call may be
// repeated. Methods are safe for concurrent use.
type Store interface {
	// Get returns the whole object; ErrNotFound when there is none. A damaged object
	// is an *sqlerr.Error with CodeCheckpoint: each carries a checksum.
	Get(ctx context.Context, name string) ([]byte, error)
	// Create makes the object durable and visible in one step, or fails with
	// ErrExists, whoever made it.
	Create(ctx context.Context, name string, data []byte) error
	// List gives the names with this prefix, sorted.
	List(ctx context.Context, prefix string) ([]string, error)
	// Delete removes the object; deleting what is not there is no error.
	Delete(ctx context.Context, name string) error
}
