package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
)

// savepointName is the manifest of a savepoint; its blobs lie beside it under the
// names they have in the job's store. It is made last: a directory without it is not
// a savepoint.
const savepointName = "savepoint/manifest"

// WriteSavepoint copies m, all of whose sinks have confirmed, and the state it
// needs from src to dst, which can then be moved and read without src. Nothing is
// written when dst holds another savepoint.
func WriteSavepoint(ctx context.Context, src, dst Store, m *Manifest) error {
	sp := *m
	sp.Savepoint, sp.Sinks = true, make([]SinkState, len(m.Sinks))
	for i, s := range m.Sinks {
		sp.Sinks[i] = SinkState{Node: s.Node, Mode: s.Mode, Target: s.Target}
	}
	data, err := json.Marshal(&sp) // the blobs keep their names
	if err != nil {
		return sqlerr.Internalf("encode savepoint: %v", err)
	}
	same := func() error {
		old, err := dst.Get(ctx, savepointName)
		switch e := sqlerr.As(err); {
		case errors.Is(err, ErrNotFound), err == nil && Checksum(old) == Checksum(data):
			return err
		case err != nil && (e == nil || e.Class != sqlerr.User):
			return fmt.Errorf("write savepoint: %w", err)
		}
		return &sqlerr.Error{Class: sqlerr.User, Code: sqlerr.CodeCheckpoint, Msg: "the directory already holds a savepoint"}
	}
	if err := same(); !errors.Is(err, ErrNotFound) {
		return err
	}
	if err := copyBlobs(ctx, src, dst, &sp, func(n string) string { return n }); err != nil {
		return err
	}
	err = dst.Create(ctx, savepointName, data)
	if errors.Is(err, ErrExists) {
		return same()
	}
	if err != nil {
		return fmt.Errorf("write savepoint: %w", err)
	}
	return nil
}

// ReadSavepoint reads the manifest of a savepoint.
func ReadSavepoint(ctx context.Context, s Store) (*Manifest, error) {
	data, err := s.Get(ctx, savepointName)
	if errors.Is(err, ErrNotFound) {
		return nil, &sqlerr.Error{Class: sqlerr.User, Code: sqlerr.CodeCheckpoint, Msg: "there is no savepoint here", Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("read savepoint: %w", err)
	}
	return DecodeManifest(data)
}

// ImportSavepoint copies a savepoint's blobs into the store of the job that starts
// from it, under that job's names, and returns the manifest with those names: the
// savepoint may then go. Its Epoch and Prev are 0: for the new job it is the state
// before the first checkpoint.
func ImportSavepoint(ctx context.Context, sp, dst Store, job string, attempt uint64) (*Manifest, error) {
	m, err := ReadSavepoint(ctx, sp)
	if err != nil {
		return nil, err
	}
	n := 0
	rename := func(string) string {
		n++
		return fmt.Sprintf("%s%d", BlobPrefix(job, attempt, 0, 0, 0), n)
	}
	if err := copyBlobs(ctx, sp, dst, m, rename); err != nil {
		return nil, err
	}
	m.Job, m.Attempt, m.Epoch, m.Prev = job, attempt, stream.Epoch(0), 0
	m.Savepoint, m.Stopped, m.Finished = false, false, false
	return m, nil
}

// copyBlobs copies the state blobs of m and renames them in it.
func copyBlobs(ctx context.Context, src, dst Store, m *Manifest, rename func(string) string) error {
	tasks := make([]TaskState, len(m.Tasks))
	copy(tasks, m.Tasks)
	for i := range tasks {
		blobs := make([]Blob, len(tasks[i].Blobs))
		for k, b := range tasks[i].Blobs {
			data, err := src.Get(ctx, b.Name)
			if err != nil {
				return Damaged(m.Epoch, b.Name, err)
			}
			b.Name = rename(b.Name)
			if err := dst.Create(ctx, b.Name, data); err != nil && !errors.Is(err, ErrExists) {
				return fmt.Errorf("copy state: %w", err)
			}
			blobs[k] = b
		}
		tasks[i].Blobs = blobs
	}
	m.Tasks = tasks
	return nil
}
