package file

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/vec"
)

const (
	chunkRows  = 1024
	chunkBytes = 1 << 20
)

// reader reads the files of a split in the order in which it found them.
type reader struct {
	src      *source
	only     string // the one file of the split, "" for all of the path
	files    []*tail
	caughtUp bool
	told     bool
}

// look adds files that are new, by name. One that is known already keeps its place.
func (r *reader) look() error {
	found := []string{r.only}
	if r.only == "" {
		var err error
		if found, err = r.src.list(); err != nil {
			return err
		}
	}
	known := make(map[string]bool, len(r.files))
	for _, f := range r.files {
		known[f.mark.Path] = true
	}
	for _, path := range found {
		if !known[path] {
			r.files = append(r.files, &tail{mark: mark{Path: path}})
		}
	}
	return nil
}

func (r *reader) openFile(f *tail) error {
	if f.f != nil {
		return nil
	}
	if err := f.open(r.src.options["compression"]); err != nil {
		return err
	}
	f.header = !r.src.csv || r.src.options["csv.header"] != "true" || f.mark.Offset > 0
	return nil
}

// Next implements connectors.Reader.
func (r *reader) Next(ctx context.Context) (*connectors.Chunk, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, f := range r.files {
			if ok, err := r.ready(f); err != nil {
				return nil, err
			} else if !ok {
				continue
			}
			c, err := r.read(f)
			if c != nil || err != nil {
				return c, err
			}
		}
		if !r.src.follow {
			if !r.told {
				r.told = true
				return r.news(true), nil
			}
			return nil, io.EOF
		}
		found, err := r.watch()
		if err != nil {
			return nil, err
		}
		if found {
			continue
		}
		if c, err := r.retire(); c != nil || err != nil {
			return c, err
		}
		if !r.caughtUp || !r.told {
			r.caughtUp, r.told = true, true
			return r.news(true), nil
		}
		select {
		case <-time.After(r.src.poll):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (r *reader) news(caughtUp bool) *connectors.Chunk {
	return &connectors.Chunk{Pos: r.pos().encode(), CaughtUp: caughtUp, Pending: 0}
}

func (r *reader) pos() position {
	p := position{Files: make([]mark, len(r.files))}
	for i, f := range r.files {
		p.Files[i] = f.mark
		p.Files[i].Done = r.src.follow && f.done()
	}
	return p
}

// read gives the next lines of a file, nil when there are none now.
func (r *reader) read(f *tail) (*connectors.Chunk, error) {
	if err := r.openFile(f); err != nil {
		return nil, err
	}
	for {
		last := f.atEOF && !(r.src.follow && f.plain)
		if !f.header {
			h, err := r.readHeader(f)
			if err != nil {
				return nil, err
			}
			if h != nil {
				if err := r.sameHeader(f, h); err != nil {
					return nil, err
				}
				f.header = true
			}
		}
		if f.header {
			c, err := r.lines(f, last)
			if c != nil || err != nil {
				return c, err
			}
		}
		if last {
			return nil, f.finish()
		}
		if err := f.unchanged(); err != nil {
			return nil, r.rewritten(f, err)
		}
		more, err := f.fill()
		if err != nil {
			return nil, err
		}
		if !more && f.atEOF && r.src.follow && f.plain {
			f.atEOF, f.quiet = false, true
			return nil, nil
		}
	}
}

// lines makes a chunk of the whole lines that are there, nil when there are none.
func (r *reader) lines(f *tail, last bool) (*connectors.Chunk, error) {
	var c *connectors.Chunk
	var offsets []int64
	bytesIn, lastLen := 0, 0
	for len(offsets) < chunkRows && bytesIn < chunkBytes {
		at := f.mark.Offset
		line, n, err := f.next(r.src.csv, last)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		lastLen = n
		if c == nil {
			c = &connectors.Chunk{}
		}
		if r.src.json && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		c.Payloads = append(c.Payloads, line)
		offsets = append(offsets, at)
		bytesIn += n
	}
	if c == nil {
		return nil, nil
	}
	f.sum(lastLen)
	path := f.mark.Path
	c.Where = func(i int) (string, string) { return path, "byte " + strconv.FormatInt(offsets[i], 10) }
	for k, t := range r.src.metaTypes() {
		v := vec.New(t, len(offsets))
		for _, o := range offsets {
			if r.src.wanted[k] == metaPath {
				v.AppendString(path)
			} else {
				v.AppendInt64(o)
			}
		}
		c.Meta = append(c.Meta, v)
	}
	c.Pos, c.Pending = r.pos().encode(), -1
	r.caughtUp, r.told = false, true
	return c, nil
}

// readHeader takes the first record of a file, nil when it is not there yet.
func (r *reader) readHeader(f *tail) ([]string, error) {
	for {
		line, n, err := f.next(true, f.atEOF && !r.src.follow)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			h, err := format.CSVFields(line, r.src.options)
			if err != nil {
				err = fmt.Errorf("file %q: its header: %w", f.mark.Path, err)
			}
			return h, err
		}
		more, err := f.fill()
		if err != nil || !more && f.atEOF {
			if len(f.block) == f.start || err != nil || r.src.follow {
				return nil, err
			}
		}
	}
}

// sameHeader holds a file's header against the one that the decoders go by.
func (r *reader) sameHeader(f *tail, h []string) error {
	want := r.src.header
	if len(want) == 0 { // no file had one when the decoders were made
		want = r.src.fields
	}
	if slices.Equal(h, want) {
		return nil
	}
	return sqlerr.New(sqlerr.CodeSchema, 0, "file %q has another header than the files before it", f.mark.Path).
		WithDetail("It has %q, expected was %q.", h, want)
}

// Close implements connectors.Reader.
func (r *reader) Close() error {
	for _, f := range r.files {
		f.close()
	}
	return nil
}
