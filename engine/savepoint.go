package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	pathpkg "path"
	"path/filepath"
	"sort"
	"time"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/checkpoint/dirstore"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Savepoint is a savepoint on disk.
type Savepoint struct {
	Path     string
	Manifest *checkpoint.Manifest
}

// createSavepoint opens the directory path, which is made when it does not exist, to
// write a savepoint there.
func createSavepoint(path string) (checkpoint.Store, error) {
	if err := onlySavepoint(path); err != nil {
		return nil, err
	}
	return dirstore.Open(path)
}

// savepointParts are the directories of a savepoint and what may lie in them.
var savepointParts = []string{".tmp", ".tmp/*", "savepoint", "savepoint/manifest", "job", "job/*", "job/*/blob", "job/*/blob/*"}

// onlySavepoint fails when path holds anything but a savepoint or a part of one: the
// directory is a savepoint's as a whole, and goes with it.
func onlySavepoint(path string) error {
	err := filepath.WalkDir(path, func(p string, _ fs.DirEntry, err error) error {
		if err != nil || p == path {
			return err
		}
		rel, err := filepath.Rel(path, p)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		for _, part := range savepointParts {
			if ok, _ := pathpkg.Match(part, name); ok {
				return nil
			}
		}
		return sqlerr.New(sqlerr.CodeCheckpoint, 0, "directory %q holds something else than a savepoint: %q", path, rel).
			WithHint("Give a savepoint a directory of its own.")
	})
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return nil
	case sqlerr.As(err) != nil:
		return err
	}
	return sqlerr.Externalf(sqlerr.CodeCheckpoint, err, "read directory %q", path)
}

// OpenSavepoint opens the savepoint at path, which must exist, for reading.
func OpenSavepoint(ctx context.Context, path string) (checkpoint.Store, *checkpoint.Manifest, error) {
	if fi, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && !fi.IsDir() {
		return nil, nil, sqlerr.New(sqlerr.CodeCheckpoint, 0, "there is no savepoint at %q", path).WithHint("\"streamsql savepoint list\" and SHOW SAVEPOINTS list them.")
	}
	st, err := dirstore.OpenReadOnly(path)
	if err != nil {
		return nil, nil, err
	}
	m, err := checkpoint.ReadSavepoint(ctx, st)
	if err != nil {
		return nil, nil, fmt.Errorf("%q: %w", path, err)
	}
	return st, m, nil
}

// DropSavepoint deletes the savepoint at path, and with it the directory, which must
// hold nothing else.
func DropSavepoint(ctx context.Context, path string) error {
	if _, _, err := OpenSavepoint(ctx, path); err != nil {
		return err
	}
	if err := onlySavepoint(path); err != nil {
		return err
	}
	if err := os.RemoveAll(path); err != nil {
		return sqlerr.Externalf(sqlerr.CodeCheckpoint, err, "drop savepoint %q", path)
	}
	return nil
}

func (e *Engine) savepointDir() string { return filepath.Join(e.opts.DataDir, "savepoints") }

// Savepoints lists the savepoints of the data directory, oldest first, and says of each
// that cannot be read why.
func (e *Engine) Savepoints(ctx context.Context) (list []Savepoint, unreadable []error, err error) {
	entries, err := os.ReadDir(e.savepointDir())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, sqlerr.Externalf(sqlerr.CodeCheckpoint, err, "list savepoints")
	}
	for _, x := range entries {
		p := filepath.Join(e.savepointDir(), x.Name())
		_, m, err := OpenSavepoint(ctx, p)
		switch {
		case err == nil:
			list = append(list, Savepoint{Path: p, Manifest: m})
		case ctx.Err() != nil:
			return nil, nil, err
		case !x.IsDir() || errors.Is(err, checkpoint.ErrNotFound):
			e.opts.Log.Warn("not a whole savepoint", "path", p, "error", err)
		default:
			unreadable = append(unreadable, err)
		}
	}
	sort.SliceStable(list, func(a, b int) bool { return list[a].Manifest.Created < list[b].Manifest.Created })
	return list, unreadable, nil
}

// SavepointPath makes a savepoint's name a directory: a bare name lies in the data
// directory.
func (e *Engine) SavepointPath(p string) string {
	if filepath.Base(p) == p && p != "." && p != ".." {
		return filepath.Join(e.savepointDir(), p)
	}
	return p
}

// NewSavepointPath gives a directory for a savepoint of job that is made now.
func (e *Engine) NewSavepointPath(job string) string {
	return filepath.Join(e.savepointDir(), url.PathEscape(job)+"-"+time.Now().UTC().Format("20060102-150405.000"))
}

// StoredJobs lists the names of the jobs that have checkpoints here.
func (e *Engine) StoredJobs(ctx context.Context) ([]string, error) {
	return checkpoint.JobNames(ctx, e.store)
}

// VerifyJob reads all that the data directory holds of a job back, and fails with every
// object that is damaged.
func (e *Engine) VerifyJob(ctx context.Context, name string) error {
	id, err := checkpoint.JobOf(ctx, e.store, name)
	if err != nil {
		return err
	}
	if id == "" {
		return e.noJob(name)
	}
	damaged, err := checkpoint.VerifyJob(ctx, e.store, id)
	if err != nil {
		return err
	}
	return errors.Join(damaged...)
}

func (e *Engine) noJob(name string) error {
	return sqlerr.New(sqlerr.CodeUndefinedObject, 0, "there is no job %q in %q", name, e.opts.DataDir)
}

// Checkpoints lists the complete checkpoints of a job, oldest first, and says of each
// that cannot be read why.
func (e *Engine) Checkpoints(ctx context.Context, name string) (list []*checkpoint.Manifest, unreadable []error, err error) {
	id, err := checkpoint.JobOf(ctx, e.store, name)
	if err != nil {
		return nil, nil, err
	}
	if id == "" {
		return nil, nil, e.noJob(name)
	}
	epochs, _, err := checkpoint.Epochs(ctx, e.store, id)
	if err != nil {
		return nil, nil, err
	}
	for _, x := range epochs {
		m, _, err := checkpoint.Load(ctx, e.store, id, x)
		switch {
		case err == nil:
			list = append(list, m)
		case ctx.Err() != nil:
			return nil, nil, err
		case !errors.Is(err, checkpoint.ErrNotFound): // else collected meanwhile
			unreadable = append(unreadable, fmt.Errorf("job %q: %w", name, err))
		}
	}
	return list, unreadable, nil
}
