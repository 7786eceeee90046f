package engine

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser"
	"github.com/streamsql/streamsql/parser/tree"
)

// Script is a text whose ${NAME} were replaced, and its statements. Inside the engine
// positions count in the replaced text; Fix brings an error back to what was typed.
type Script struct {
	Statements []tree.Statement
	src        *parser.Source
}

// parse replaces ${NAME} and parses.
func (e *Engine) parse(text string) (*Script, error) {
	src, err := parser.Substitute(text, e.lookup, e.opts.PlanOnly)
	if err != nil {
		return nil, err
	}
	s := &Script{src: src}
	if s.Statements, err = parser.Parse(src.Text); err != nil {
		return nil, s.Fix(err)
	}
	return s, nil
}

// Text is the replaced text; ${NAME} in the values of WITH (…) are still in it.
func (s *Script) Text() string { return s.src.Text }

// Fix gives err the position of its place in the text as typed.
func (s *Script) Fix(err error) error {
	return move(err, func(p sqlerr.Pos) sqlerr.Pos {
		if p == 0 {
			return 0
		}
		return s.src.Pos(int(p) - 1)
	})
}

// moved is an error whose position is another than the one its chain has.
type moved struct {
	error
	as *sqlerr.Error
}

// Unwrap finds the error with the new position first.
func (m moved) Unwrap() []error { return []error{m.as, m.error} }

// move gives err the position that to makes of its own. Errors are shared, so it is a
// copy that gets it.
func move(err error, to func(sqlerr.Pos) sqlerr.Pos) error {
	e := sqlerr.As(err)
	if e == nil {
		return err
	}
	pos := to(e.Pos)
	if pos == e.Pos {
		return err
	}
	c := *e
	c.Pos = pos
	if err == error(e) {
		return &c
	}
	return moved{err, &c}
}

// at gives err a position when it has none.
func at(err error, pos sqlerr.Pos) error {
	return move(err, func(p sqlerr.Pos) sqlerr.Pos {
		if p == 0 {
			return pos
		}
		return p
	})
}
