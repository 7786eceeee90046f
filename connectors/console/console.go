// Package console is the sinks that end in the process itself: console prints rows as
// they come, blackhole counts them. It also holds what prints the result of a query:
// Printer for rows as they come, Folder for the final rows of a changelog.
package console

import (
	"context"
	"io"
	"sync"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/vec"
)

// Connector describes the console.
func Connector() connectors.Connector {
	return connectors.Connector{
		Name: "console",
		Doc:  "Prints every change as it comes, with its op",
		Options: []connectors.Option{
			{Name: "format", Type: connectors.OptEnum, Enum: Formats(), Doc: "how rows are printed; without it as the program's --format says"},
		},
		Capabilities: func(options map[string]string, _ bool) (connectors.Capabilities, error) {
			if f := options["format"]; f != "" {
				if err := checkFormat(f); err != nil {
					return connectors.Capabilities{}, err
				}
			}
			return connectors.Capabilities{CanWrite: true, Changelog: true, Early: true, Transient: true}, nil
		},
		OpenSink: func(_ context.Context, c connectors.Config) (connectors.Sink, error) {
			f := c.Format
			for _, other := range []string{c.Options["format"], c.Env.OutputFormat, FormatTable} {
				if f == "" {
					f = other
				}
			}
			w := c.Env.Stdout
			if w == nil {
				w = io.Discard
			}
			p, err := NewPrinter(w, c.Schema, f, true)
			if err != nil {
				return nil, err
			}
			return &sink{name: "console", take: p.Print}, nil
		},
	}
}

// Blackhole describes the sink that counts rows and forgets them.
func Blackhole() connectors.Connector {
	return connectors.Connector{
		Name: "blackhole",
		Doc:  "Counts rows and forgets them",
		Capabilities: func(map[string]string, bool) (connectors.Capabilities, error) {
			return connectors.Capabilities{CanWrite: true, Upserts: true, Changelog: true, Early: true, Idempotent: true, Transient: true}, nil
		},
		OpenSink: func(context.Context, connectors.Config) (connectors.Sink, error) {
			return newBlackhole(), nil
		},
	}
}

// sink hands the batches of all its writers to one function, one at a time.
type sink struct {
	name string
	mu   sync.Mutex
	take func(b *vec.Batch) error
}

// Check implements connectors.Sink: there is nothing that could not fit.
func (s *sink) Check(context.Context) error { return nil }

// OpenWriter implements connectors.Sink.
func (s *sink) OpenWriter(context.Context, connectors.WriterContext) (connectors.Writer, error) {
	return writer{s}, nil
}

// Group implements connectors.Sink: nothing is fenced.
func (s *sink) Group() string { return "" }

// Committer implements connectors.Sink. Capabilities say that there is none.
func (s *sink) Committer(context.Context, string, uint64) (connectors.Committer, error) {
	return nil, sqlerr.Internalf("the %s sink has nothing to commit", s.name)
}

// Close implements connectors.Sink.
func (s *sink) Close() error { return nil }

type writer struct{ s *sink }

// Write implements connectors.Writer.
func (w writer) Write(_ context.Context, b *vec.Batch) error {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return w.s.take(b)
}

// Flush implements connectors.Writer: Write keeps nothing back.
func (w writer) Flush(context.Context) error { return nil }

// Seal implements connectors.Writer.
func (w writer) Seal(context.Context, stream.Epoch) ([]byte, error) { return nil, nil }

// Close implements connectors.Writer.
func (w writer) Close() error { return nil }

// BlackholeSink is the sink of connector blackhole.
type BlackholeSink struct {
	sink
	rows int64
}

func newBlackhole() *BlackholeSink {
	s := &BlackholeSink{}
	s.name = "blackhole"
	s.take = func(b *vec.Batch) error {
		s.rows += int64(b.N)
		return nil
	}
	return s
}

// Rows is the number of rows of all writers so far, whatever their ops. Any goroutine
// may call it.
func (s *BlackholeSink) Rows() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows
}
