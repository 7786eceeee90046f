package file

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/vec"
)

// writer writes the rows of a subtask into hidden files, which Seal ends and names in
// its token.
type writer struct {
	k    *sink
	wc   connectors.WriterContext
	enc  format.Encoder
	text []byte

	numbers int
	done    []hidden // files that are full, of the epoch under way
	cur     *part
}

// part is a file being written.
type part struct {
	name  hidden
	f     *os.File
	buf   *bufio.Writer
	z     io.WriteCloser // compressor, nil for none
	out   io.Writer
	bytes int64 // written, before compression
	began time.Time
}

// token is what the manifest keeps of a sealed epoch of one writer.
type token struct {
	Files []sealed `json:"files"`
}

type sealed struct {
	Hidden  string `json:"hidden"`
	Visible string `json:"visible"`
}

// OpenWriter implements connectors.Sink.
func (k *sink) OpenWriter(_ context.Context, wc connectors.WriterContext) (connectors.Writer, error) {
	return k.writer(wc)
}

func (k *sink) writer(wc connectors.WriterContext) (*writer, error) {
	enc, err := k.format.NewEncoder(k.cols, k.options)
	if err != nil {
		return nil, err
	}
	return &writer{k: k, wc: wc, enc: enc}, nil
}

// Write implements connectors.Writer.
func (w *writer) Write(_ context.Context, b *vec.Batch) error {
	for i := range b.N {
		if op := b.Op(i); op != vec.Insert {
			return sqlerr.New(sqlerr.CodeSinkChangelog, 0, "a file takes new rows only, not %s", op)
		}
		if err := w.room(); err != nil {
			return err
		}
		w.text = append(w.enc.Append(w.text[:0], b, i), '\n')
		w.cur.bytes += int64(len(w.text))
		if _, err := w.cur.out.Write(w.text); err != nil {
			return w.failed(err)
		}
	}
	return nil
}

func (w *writer) failed(err error) error {
	return failed("write file \""+filepath.Join(w.k.dir, w.cur.name.String())+"\"", err)
}

// room sees to it that there is a file with room for a row.
func (w *writer) room() error {
	if c := w.cur; c != nil {
		if c.bytes < w.k.size && (w.k.interval == 0 || time.Since(c.began) < w.k.interval) {
			return nil
		}
		if err := w.finish(); err != nil {
			return err
		}
	}
	w.numbers++
	c := &part{began: time.Now(), name: hidden{job: w.wc.Job, attempt: w.wc.Attempt, table: w.k.table, subtask: w.wc.Subtask, number: w.numbers}}
	path := filepath.Join(w.k.dir, c.name.String())
	var err error
	if c.f, err = os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644); err != nil {
		return failed("make file \""+path+"\"", err)
	}
	c.buf = bufio.NewWriterSize(c.f, 256<<10)
	c.out = c.buf
	switch w.k.compress {
	case "gzip":
		c.z = gzip.NewWriter(c.buf)
	case "zstd":
		if c.z, err = zstd.NewWriter(c.buf, zstd.WithEncoderConcurrency(1)); err != nil {
			return failed("compress file \""+path+"\"", err)
		}
	}
	if c.z != nil {
		c.out = c.z
	}
	w.cur = c
	if len(w.k.header) > 0 {
		if _, err := c.out.Write(w.k.header); err != nil {
			return w.failed(err)
		}
	}
	return nil
}

// finish ends the file under way and makes it durable.
func (w *writer) finish() error {
	c := w.cur
	if c == nil {
		return nil
	}
	var err error
	if c.z != nil {
		err = c.z.Close()
	}
	if err == nil {
		err = c.buf.Flush()
	}
	if err == nil {
		err = c.f.Sync()
	}
	if e := c.f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return w.failed(err)
	}
	w.done, w.cur = append(w.done, c.name), nil
	return nil
}

// Flush implements connectors.Writer. Nothing of an epoch counts before Seal, which is
// what makes it durable: until then replay writes it again.
func (w *writer) Flush(context.Context) error {
	if w.cur == nil {
		return nil
	}
	if err := w.cur.buf.Flush(); err != nil {
		return w.failed(err)
	}
	return nil
}

// Seal implements connectors.Writer.
func (w *writer) Seal(_ context.Context, epoch stream.Epoch) ([]byte, error) {
	if err := w.finish(); err != nil {
		return nil, err
	}
	if len(w.done) == 0 {
		return nil, nil
	}
	var t token
	for _, h := range w.done {
		from := h.String()
		h.epoch = epoch
		to := h.String()
		if err := w.k.point("seal"); err != nil {
			return nil, err
		}
		if err := os.Rename(filepath.Join(w.k.dir, from), filepath.Join(w.k.dir, to)); err != nil {
			return nil, failed("seal file \""+filepath.Join(w.k.dir, from)+"\"", err)
		}
		t.Files = append(t.Files, sealed{Hidden: to, Visible: h.visible(w.k.ending)})
	}
	if err := syncDir(w.k.dir); err != nil {
		return nil, err
	}
	w.done = w.done[:0]
	text, err := json.Marshal(t)
	if err != nil {
		return nil, sqlerr.Internalf("encode a token: %v", err)
	}
	return text, nil
}

// Close implements connectors.Writer. What was not sealed is removed.
func (w *writer) Close() error {
	if w.cur != nil {
		w.done = append(w.done, w.cur.name)
		w.cur.f.Close()
		w.cur = nil
	}
	for _, h := range w.done {
		if err := os.Remove(filepath.Join(w.k.dir, h.String())); err != nil && !os.IsNotExist(err) {
			return failed("remove a file of an epoch that was given up", err)
		}
	}
	w.done = nil
	return nil
}
