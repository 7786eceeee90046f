package engine

import (
	"context"
	"slices"

	"github.com/streamsql/streamsql/internal/runtime"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// job finds the job that a statement names, among those of this process.
func (s *Session) job(a tree.StringArg) (*Job, error) {
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

// savepointAt is the directory that a statement names, else a new one.
func (s *Session) savepointAt(path *tree.StringArg, job string) string {
	if path != nil {
		return s.e.SavepointPath(path.Value)
	}
	return s.e.NewSavepointPath(job)
}

// command runs STOP JOB and CANCEL JOB.
func (s *Session) command(ctx context.Context, st *tree.JobCommand) (*Result, error) {
	switch st.Action {
	case tree.PauseJob:
		return nil, sqlerr.NotSupported(st.Pos, "PAUSE JOB")
	case tree.ResumeJob:
		return nil, sqlerr.NotSupported(st.Pos, "RESUME JOB")
	}
	j, err := s.job(st.Job)
	if err != nil {
		return nil, err
	}
	if st.Action == tree.CancelJob {
		if !j.Running() {
			return nil, at(j.notRunning(), st.Job.Pos)
		}
		j.Cancel()
		return &Result{Tag: "CANCEL JOB"}, nil
	}
	path := ""
	if st.WithSavepoint {
		path = s.savepointAt(st.Path, j.Name)
	}
	if err := j.Stop(ctx, path); err != nil {
		return nil, at(err, st.Job.Pos)
	}
	return &Result{Tag: "STOP JOB", Text: path}, nil
}

// snapshot makes a savepoint of a running job, or of the checkpoints that one left in
// the data directory.
func (s *Session) snapshot(ctx context.Context, st *tree.SnapshotJob) (*Result, error) {
	path := s.savepointAt(st.Path, st.Job.Value)
	j, err := s.job(st.Job)
	if err != nil {
		if stored, lerr := s.e.StoredJobs(ctx); lerr != nil || !slices.Contains(stored, st.Job.Value) {
			return nil, err
		}
	}
	if j != nil && j.Running() {
		err = j.Savepoint(ctx, path)
	} else {
		_, err = s.e.SavepointOf(ctx, st.Job.Value, path)
	}
	if err != nil {
		return nil, at(err, st.Job.Pos)
	}
	return &Result{Tag: "SNAPSHOT JOB", Text: path}, nil
}

// restore starts a job from a savepoint, with the plan that the savepoint holds. Under
// the name it was made of it takes the job's targets back; under another it is a fork,
// which may write only where nobody else does. ALLOW NON RESTORED STATE starts the text
// that the job has now, where that is another than the savepoint's.
func (s *Session) restore(ctx context.Context, st *tree.RestoreJob) (*Result, error) {
	path := s.e.SavepointPath(st.Path.Value)
	_, m, err := OpenSavepoint(ctx, path)
	if err != nil {
		return nil, at(err, st.Path.Pos)
	}
	p, err := decodePlan(m)
	if err != nil {
		return nil, at(err, st.Path.Pos)
	}
	spec := jobSpec{name: st.Job.Value, src: m.SQL, stored: p, settings: s.settings.clone()}
	if st.AllowNonRestored {
		if spec, err = s.currentText(ctx, spec); err != nil {
			return nil, elsewhere(err, st.Job)
		}
	}
	spec.how = Start{Fresh: true, FromSavepoint: path, TakeOver: m.Name == st.Job.Value, ReplayIntoSinks: true, AllowNonRestored: st.AllowNonRestored}
	// Positions count in a text which nobody typed here.
	spec.fix = func(err error) error { return move(err, func(sqlerr.Pos) sqlerr.Pos { return 0 }) }
	j, err := s.e.start(ctx, spec)
	if err != nil {
		return nil, at(err, st.Job.Pos)
	}
	return &Result{Tag: "RESTORE JOB", Job: j, Text: j.Upgrade}, nil
}

// currentText puts the text that a job has now in the place of a savepoint's: that of
// the job as this process or, before it, the data directory knows it.
func (s *Session) currentText(ctx context.Context, spec jobSpec) (jobSpec, error) {
	text := spec.src
	if j, ok := s.e.Job(spec.name); ok {
		text = j.SQL
	} else if m, err := runtime.Latest(ctx, s.e.store, spec.name); err != nil {
		return spec, err
	} else if m != nil {
		text = m.SQL
	}
	if text == spec.src {
		return spec, nil
	}
	f, err := s.e.Load(spec.name, text)
	if err != nil {
		return spec, err
	}
	now := f.spec(Start{})
	now.name = spec.name
	return now, nil
}
