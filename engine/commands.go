package engine

import (
	"context"
	"slices"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser"
)

// job finds the job that a statement names, among those of this process.
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

// savepointAt is the directory that a statement names, else a new one.
func (s *Session) savepointAt(path *parser.StringArg, job string) string {
	if path != nil {
		return s.e.SavepointPath(path.Value)
	}
	return s.e.NewSavepointPath(job)
}

// command runs STOP JOB and CANCEL JOB.
func (s *Session) command(ctx context.Context, st *parser.JobCommand) (*Result, error) {
	switch st.Action {
	case parser.PauseJob:
		return nil, sqlerr.NotSupported(st.Pos, "PAUSE JOB")
	case parser.ResumeJob:
		return nil, sqlerr.NotSupported(st.Pos, "RESUME JOB")
	}
	j, err := s.job(st.Job)
	if err != nil {
		return nil, err
	}
	if st.Action == parser.CancelJob {
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
func (s *Session) snapshot(ctx context.Context, st *parser.SnapshotJob) (*Result, error) {
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
// which may write only where nobody else does.
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
		how: Start{Fresh: true, FromSavepoint: path, TakeOver: m.Name == st.Job.Value, ReplayIntoSinks: true},
		// Positions count in the savepoint's text, which nobody typed here.
		fix: func(err error) error { return move(err, func(sqlerr.Pos) sqlerr.Pos { return 0 }) }})
	if err != nil {
		return nil, at(err, st.Job.Pos)
	}
	return &Result{Tag: "RESTORE JOB", Job: j}, nil
}
