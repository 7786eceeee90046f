package engine

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser"
)

// Script is a text whose ${NAME} were replaced, and its statements. Inside the engine
// positions count in the replaced text; Fix brings an error back to what was typed.
type Script struct {
	Statements []parser.Statement
	src        *parser.Source
}

// parse replaces ${NAME} and parses.
func (e *Engine) parse(text string) (*Script, error) {
	src, err := parser.Substitute(text, e.lookup)
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
	e := sqlerr.As(err)
	if e == nil || e.Pos == 0 {
		return err
	}
	c := *e
	c.Pos = s.src.Pos(int(e.Pos) - 1)
	return &c
}
