// Package sqlerr holds the one error type that crosses package borders: a class
// that says who has to act, a stable code (SQLSTATE where PostgreSQL has one), a
// position in the user's SQL text and a hint.
package sqlerr

import (
	"errors"
	"fmt"
)

// Class says whose fault an error is and so what the runtime does with it.
type Class uint8

const (
	// User errors come from the SQL text, an option or the data: the job stops and
	// the position and hint are shown.
	User Class = iota
	// External errors come from another system; with Retry set the job backs off
	// and restarts.
	External
	// Internal errors are faults of streamsql itself.
	Internal
)

func (c Class) String() string {
	switch c {
	case User:
		return "user"
	case External:
		return "external"
	default:
		return "internal"
	}
}

// Pos is a 1-based byte offset into the SQL text that was submitted; 0 means no
// position is known.
type Pos int32

// Error is the error value of streamsql. Msg starts in lower case, has no full
// stop and no newline, and puts user names in double quotes; Detail and Hint are
// whole sentences. Secrets never appear in any field.
type Error struct {
	Class  Class
	Code   string
	Msg    string
	Detail string
	Hint   string
	Pos    Pos
	Retry  bool
	Err    error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Msg + ": " + e.Err.Error()
	}
	return e.Msg
}

func (e *Error) Unwrap() error { return e.Err }

// New returns a User error.
func New(code string, pos Pos, format string, args ...any) *Error {
	return &Error{Class: User, Code: code, Pos: pos, Msg: fmt.Sprintf(format, args...)}
}

// Externalf returns an External error that may be retried.
func Externalf(code string, err error, format string, args ...any) *Error {
	return &Error{Class: External, Code: code, Msg: fmt.Sprintf(format, args...), Err: err, Retry: true}
}

// Internalf returns an Internal error.
func Internalf(format string, args ...any) *Error {
	return &Error{Class: Internal, Code: CodeInternal, Msg: fmt.Sprintf(format, args...)}
}

// NotSupported is the refusal of a construct that the dialect promises but this
// version does not run yet.
func NotSupported(pos Pos, what string) *Error {
	return &Error{Class: User, Code: CodeNotSupported, Pos: pos, Msg: what + " is not supported yet"}
}

// WithHint sets the hint, a whole sentence or a "did you mean" question.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// WithDetail sets the detail, a whole sentence.
func (e *Error) WithDetail(format string, args ...any) *Error {
	e.Detail = fmt.Sprintf(format, args...)
	return e
}

// As returns the first *Error in err's chain, or nil.
func As(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// ClassOf returns the class of err; an error without one is Internal.
func ClassOf(err error) Class {
	if e := As(err); e != nil {
		return e.Class
	}
	return Internal
}

// CodeOf returns the code of err; an error without one has CodeInternal.
func CodeOf(err error) string {
	if e := As(err); e != nil && e.Code != "" {
		return e.Code
	}
	return CodeInternal
}
