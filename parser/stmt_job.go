package parser

import (
	"github.com/streamsql/streamsql/parser/tree"
)

// job reads JOB name or QUERY name.
func (p *parser) job() (tree.StringArg, error) {
	if !p.word("JOB") && !p.word("QUERY") {
		return tree.StringArg{}, p.unexpected().expecting("JOB")
	}
	return p.stringArg("a job")
}

// jobCommand reads STOP, CANCEL, PAUSE and RESUME JOB.
func (p *parser) jobCommand() (tree.Statement, error) {
	lo := p.i
	s := &tree.JobCommand{}
	switch p.cur().up {
	case "CANCEL":
		s.Action = tree.CancelJob
	case "PAUSE":
		s.Action = tree.PauseJob
	case "RESUME":
		s.Action = tree.ResumeJob
	}
	p.i++
	var err error
	if s.Job, err = p.job(); err != nil {
		return nil, err
	}
	if s.Action == tree.StopJob && p.word("WITH", "SAVEPOINT") {
		s.WithSavepoint = true
		if !p.atEnd() {
			a, err := p.stringArg("a path")
			if err != nil {
				return nil, err
			}
			s.Path = &a
		}
	}
	s.Span = p.span(lo, p.i)
	return s, nil
}

// snapshot reads SNAPSHOT JOB j [TO 'path'].
func (p *parser) snapshot() (tree.Statement, error) {
	lo := p.i
	p.i++
	s := &tree.SnapshotJob{}
	var err error
	if s.Job, err = p.job(); err != nil {
		return nil, err
	}
	if p.word("TO") {
		a, err := p.stringArg("a path")
		if err != nil {
			return nil, err
		}
		s.Path = &a
	}
	s.Span = p.span(lo, p.i)
	return s, nil
}

// createSavepoint reads CREATE SAVEPOINT ['path'] FOR JOB j.
func (p *parser) createSavepoint(h createHead) (tree.Statement, error) {
	if h.orReplace || h.temporary {
		return nil, p.unexpected().Error
	}
	p.i++
	s := &tree.SnapshotJob{}
	if !p.isWord("FOR") {
		a, err := p.stringArg("a path")
		if err != nil {
			return nil, err
		}
		s.Path = &a
	}
	if err := p.expectWord("FOR"); err != nil {
		return nil, err
	}
	var err error
	if s.Job, err = p.job(); err != nil {
		return nil, err
	}
	s.Span = p.span(h.lo, p.i)
	return s, nil
}

// restore reads RESTORE JOB j FROM 'path' [ALLOW NON RESTORED STATE].
func (p *parser) restore() (tree.Statement, error) {
	lo := p.i
	p.i++
	s := &tree.RestoreJob{}
	var err error
	if s.Job, err = p.job(); err != nil {
		return nil, err
	}
	if err := p.expectWord("FROM"); err != nil {
		return nil, err
	}
	if s.Path, err = p.stringArg("a savepoint"); err != nil {
		return nil, err
	}
	if p.word("ALLOW") {
		if err := p.expectWord("NON", "RESTORED", "STATE"); err != nil {
			return nil, err
		}
		s.AllowNonRestored = true
	}
	s.Span = p.span(lo, p.i)
	return s, nil
}
