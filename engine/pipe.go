package engine

import (
	"context"
	"io"
	"sync"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/vec"
)

// queryConnector is the name of the sink that the rows of a SELECT go to. It cannot be
// named in WITH (…).
const queryConnector = "query"

// rowPipe hands the rows of a SELECT from its sink to the reader of the query. It
// holds the sink back while nobody reads.
type rowPipe struct {
	rows chan *vec.Batch
	done chan struct{} // closed when the job has ended; err is set before
	gone chan struct{} // closed when the reader stopped
	once sync.Once
	err  error
}

func newRowPipe() *rowPipe {
	return &rowPipe{rows: make(chan *vec.Batch, 4), done: make(chan struct{}), gone: make(chan struct{})}
}

// finish says that no more rows come, for this reason.
func (p *rowPipe) finish(err error) {
	p.err = err
	close(p.done)
}

// stop says that nobody reads any more.
func (p *rowPipe) stop() { p.once.Do(func() { close(p.gone) }) }

// drain lets go of the rows that nobody took, once the job has ended.
func (p *rowPipe) drain() {
	for {
		select {
		case b := <-p.rows:
			b.Release()
		default:
			return
		}
	}
}

// next returns the next rows; io.EOF after the last of a job that ended well.
func (p *rowPipe) next(ctx context.Context) (*vec.Batch, error) {
	select {
	case b := <-p.rows:
		return b, nil
	default:
	}
	select {
	case b := <-p.rows:
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.done:
		select {
		case b := <-p.rows:
			return b, nil
		default:
		}
		if p.err != nil {
			return nil, p.err
		}
		return nil, io.EOF
	}
}

// connector makes the pipe a sink of the runtime.
func (p *rowPipe) connector() connectors.Connector {
	return connectors.Connector{
		Name: queryConnector,
		Doc:  "the rows of a SELECT",
		Capabilities: func(map[string]string, bool) (connectors.Capabilities, error) {
			return connectors.Capabilities{CanWrite: true, Upserts: true, Changelog: true, Early: true, Transient: true}, nil
		},
		OpenSink: func(context.Context, connectors.Config) (connectors.Sink, error) { return pipeSink{p}, nil },
	}
}

type pipeSink struct{ p *rowPipe }

func (pipeSink) Check(context.Context) error { return nil }
func (pipeSink) Group() string               { return "" }
func (pipeSink) Close() error                { return nil }

func (pipeSink) Committer(context.Context, string, uint64) (connectors.Committer, error) {
	return nil, nil
}

func (s pipeSink) OpenWriter(context.Context, connectors.WriterContext) (connectors.Writer, error) {
	return pipeWriter(s), nil
}

type pipeWriter struct{ p *rowPipe }

func (w pipeWriter) Write(ctx context.Context, b *vec.Batch) error {
	c := b.Retain()
	select {
	case w.p.rows <- c:
	case <-w.p.gone:
		c.Release()
	case <-ctx.Done():
		c.Release()
		return ctx.Err()
	}
	return nil
}

func (pipeWriter) Flush(context.Context) error                        { return nil }
func (pipeWriter) Seal(context.Context, stream.Epoch) ([]byte, error) { return nil, nil }
func (pipeWriter) Close() error                                       { return nil }
