package parser

// job reads JOB name or QUERY name.
func (p *parser) job() (StringArg, error) {
	if !p.word("JOB") && !p.word("QUERY") {
		return StringArg{}, p.unexpected().expecting("JOB")
	}
	return p.stringArg("a job")
}

// jobCommand reads STOP, CANCEL, PAUSE and RESUME JOB.
func (p *parser) jobCommand() (Statement, error) {
	lo := p.i
	s := &JobCommand{}
	switch p.cur().up {
	case "CANCEL":
		s.Action = CancelJob
	case "PAUSE":
		s.Action = PauseJob
	case "RESUME":
		s.Action = ResumeJob
	}
	p.i++
	var err error
	if s.Job, err = p.job(); err != nil {
		return nil, err
	}
	if s.Action == StopJob && p.word("WITH", "SAVEPOINT") {
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
func (p *parser) snapshot() (Statement, error) {
	lo := p.i
	p.i++
	s := &SnapshotJob{}
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
func (p *parser) createSavepoint(h createHead) (Statement, error) {
	if h.orReplace || h.temporary {
		return nil, p.unexpected().Error
	}
	p.i++
	s := &SnapshotJob{}
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
func (p *parser) restore() (Statement, error) {
	lo := p.i
	p.i++
	s := &RestoreJob{}
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
