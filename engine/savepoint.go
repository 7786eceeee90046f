package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"time"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/checkpoint/dirstore"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser"
)

// Savepoint is a savepoint on disk.
type Savepoint struct {
	Path     string
	Manifest *checkpoint.Manifest
}

func openSavepoint(path string) (checkpoint.Store, error) { return dirstore.Open(path) }

// OpenSavepoint opens the savepoint at path, which must exist.
func OpenSavepoint(ctx context.Context, path string) (checkpoint.Store, *checkpoint.Manifest, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, nil, sqlerr.New(sqlerr.CodeCheckpoint, 0, "there is no savepoint at %q", path)
	}
	st, err := dirstore.Open(path)
	if err != nil {
		return nil, nil, err
	}
	m, err := checkpoint.ReadSavepoint(ctx, st)
	if err != nil {
		return nil, nil, fmt.Errorf("%q: %w", path, err)
	}
	return st, m, nil
}

// DropSavepoint deletes the savepoint at path.
func DropSavepoint(ctx context.Context, path string) error {
	if _, _, err := OpenSavepoint(ctx, path); err != nil {
		return err
	}
	return os.RemoveAll(path)
}

// Savepoints lists the savepoints of the data directory, oldest first.
func (e *Engine) Savepoints(ctx context.Context) ([]Savepoint, error) {
	dir := filepath.Join(e.opts.DataDir, "savepoints")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Savepoint
	for _, x := range entries {
		p := filepath.Join(dir, x.Name())
		_, m, err := OpenSavepoint(ctx, p)
		if err != nil {
			e.opts.Log.Warn("not a whole savepoint", "path", p, "error", err)
			continue
		}
		out = append(out, Savepoint{Path: p, Manifest: m})
	}
	sort.SliceStable(out, func(a, b int) bool { return out[a].Manifest.Created < out[b].Manifest.Created })
	return out, nil
}

// NewSavepointPath gives a directory for a savepoint of job that is made now.
func (e *Engine) NewSavepointPath(job string) string {
	return e.SavepointPath(job + "-" + time.Now().UTC().Format("20060102-150405.000"))
}

// StoredJobs lists the names of the jobs that have checkpoints here.
func (e *Engine) StoredJobs(ctx context.Context) ([]string, error) {
	return checkpoint.JobNames(ctx, e.store)
}

// Checkpoints lists the complete checkpoints of a job, oldest first.
func (e *Engine) Checkpoints(ctx context.Context, name string) ([]*checkpoint.Manifest, error) {
	id, err := checkpoint.JobOf(ctx, e.store, name)
	if err != nil {
		return nil, err
	}
	if id == "" {
		return nil, sqlerr.New(sqlerr.CodeUndefinedObject, 0, "there is no job %q in %q", name, e.opts.DataDir)
	}
	epochs, _, err := checkpoint.Epochs(ctx, e.store, id)
	if err != nil {
		return nil, err
	}
	var out []*checkpoint.Manifest
	for _, x := range epochs {
		m, _, err := checkpoint.Load(ctx, e.store, id, x)
		if errors.Is(err, checkpoint.ErrNotFound) {
			continue // collected meanwhile
		}
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// SavepointOf makes a savepoint of the newest checkpoint of a job that is not running
// in this process.
func (e *Engine) SavepointOf(ctx context.Context, name, path string) (*checkpoint.Manifest, error) {
	list, err := e.Checkpoints(ctx, name)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, sqlerr.New(sqlerr.CodeCheckpoint, 0, "job %q has no complete checkpoint yet", name)
	}
	m := list[len(list)-1]
	dst, err := dirstore.Open(path)
	if err != nil {
		return nil, err
	}
	return m, checkpoint.WriteSavepoint(ctx, e.store, dst, m)
}

func (s *Session) job(a parser.StringArg) (*Job, error) {
	j, ok := s.e.Job(a.Value)
	if !ok {
		var names []string
		for _, j := range s.e.Jobs() {
			names = append(names, j.Name)
		}
		e := sqlerr.New(sqlerr.CodeUndefinedObject, a.Pos, "there is no job %q", a.Value)
		if n := sqlerr.Nearest(a.Value, names); n != "" {
			return nil, e.WithHint("did you mean %q?", n)
		}
		return nil, e.WithHint("SHOW JOBS lists them.")
	}
	return j, nil
}

func (s *Session) command(ctx context.Context, st *parser.JobCommand) (*Result, error) {
	j, err := s.job(st.Job)
	if err != nil {
		return nil, err
	}
	switch st.Action {
	case parser.StopJob:
		path := ""
		if st.WithSavepoint {
			path = s.e.NewSavepointPath(j.Name)
			if st.Path != nil {
				path = s.e.SavepointPath(st.Path.Value)
			}
		}
		if err := j.Stop(ctx, path); err != nil {
			return nil, err
		}
		return &Result{Tag: "STOP JOB", Text: path}, nil
	case parser.CancelJob:
		j.Cancel()
		return &Result{Tag: "CANCEL JOB"}, nil
	}
	return nil, sqlerr.NotSupported(st.Pos, "PAUSE JOB and RESUME JOB")
}

func (s *Session) snapshot(ctx context.Context, st *parser.SnapshotJob) (*Result, error) {
	path := s.e.NewSavepointPath(st.Job.Value)
	if st.Path != nil {
		path = s.e.SavepointPath(st.Path.Value)
	}
	j, err := s.job(st.Job)
	if err != nil {
		return nil, err
	}
	if j.Running() {
		err = j.Savepoint(ctx, path)
	} else {
		_, err = s.e.SavepointOf(ctx, j.Name, path)
	}
	if err != nil {
		return nil, err
	}
	return &Result{Tag: "SNAPSHOT JOB", Text: path}, nil
}

// restore starts a job from a savepoint, with the plan that the savepoint holds.
func (s *Session) restore(ctx context.Context, st *parser.RestoreJob) (*Result, error) {
	if st.AllowNonRestored {
		return nil, sqlerr.NotSupported(st.Pos, "ALLOW NON RESTORED STATE")
	}
	path := s.e.SavepointPath(st.Path.Value)
	_, m, err := OpenSavepoint(ctx, path)
	if err != nil {
		return nil, at(err, st.Path.Pos)
	}
	p, err := decodePlan(m)
	if err != nil {
		return nil, at(err, st.Path.Pos)
	}
	j, err := s.e.start(ctx, jobSpec{name: st.Job.Value, src: m.SQL, stored: p, settings: s.settings.clone(),
		how: Start{Fresh: true, FromSavepoint: path, TakeOver: true}})
	if err != nil {
		return nil, err
	}
	return &Result{Tag: "RESTORE JOB", Job: j}, nil
}
