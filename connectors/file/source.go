package file

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// source reads the files of a table.
type source struct {
	path    string
	options map[string]string
	csv     bool
	json    bool
	// header is the first record that every file of a table with csv.header must have,
	// empty when no file had one at the start; then it has to be fields.
	header []string
	fields []string
	wanted []string
	follow bool

	poll, settle, idle time.Duration // pollTime, copyTime and outOfUse
}

// openSource lists the files. With csv.header it reads the header of the first and sets
// the format's option csv.columns by it, so that decoders made afterwards know the
// order of the fields.
func openSource(_ context.Context, c connectors.Config) (connectors.Source, error) {
	if _, err := capabilities(c.Options, false); err != nil {
		return nil, err
	}
	s := &source{path: c.Options["path"], options: c.Options, csv: c.Format == "csv", json: c.Format == "json",
		fields: c.Fields, wanted: c.Meta, follow: c.Options["follow"] == "true",
		poll: pollTime, settle: copyTime, idle: outOfUse}
	for _, m := range c.Meta {
		if m != metaPath && m != metaOffset {
			return nil, sqlerr.New(sqlerr.CodeUndefinedColumn, 0, "connector \"file\" has no metadata %q", m).
				WithHint("It has path and offset.")
		}
	}
	if cols := c.Options[format.CSVColumns]; s.csv && cols != "" {
		var err error
		if s.fields, err = format.CSVFields([]byte(cols), c.Options); err != nil {
			return nil, err
		}
	}
	files, err := s.list()
	if err != nil {
		return nil, err
	}
	if len(files) == 0 && !s.follow {
		if err := s.exists(); err != nil {
			return nil, err
		}
	}
	if s.csv && c.Options["csv.header"] == "true" && len(files) > 0 {
		if err := s.learnHeader(files, c.Fields); err != nil {
			return nil, err
		}
		text, err := format.AppendCSVFields(nil, s.header, c.Options)
		if err != nil {
			return nil, err
		}
		c.Options[format.CSVColumns] = string(text)
	}
	return s, nil
}

// exists refuses a path at which no file could be: one that is not there, or a pattern
// in a directory that is not there or cannot be listed.
func (s *source) exists() error {
	path, dir := s.path, strings.HasSuffix(s.path, "/")
	if isPattern(path) {
		path, dir = directoryOf(path), true
	}
	info, err := os.Stat(path)
	switch {
	case dir && os.IsNotExist(err):
		return sqlerr.New(sqlerr.CodeSchema, 0, "directory %q does not exist", path)
	case err != nil:
		return unreadable(path, err)
	case dir && !info.IsDir():
		return sqlerr.New(sqlerr.CodeSchema, 0, "%q is no directory", path)
	case !info.IsDir():
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return unreadable(path, err)
	}
	return d.Close()
}

// directoryOf is the directory in which all files of a pattern are.
func directoryOf(pattern string) string {
	fixed := pattern[:strings.IndexAny(pattern, "*?[")]
	fixed = fixed[:strings.LastIndexByte(fixed, '/')+1]
	return filepath.Clean(strings.ReplaceAll(fixed, `\`, ""))
}

// checkHeader refuses a header in which a field that is read is missing or not the only
// one of its name.
func (s *source) checkHeader(path string, wanted []string) error {
	for _, field := range wanted {
		n := 0
		for _, h := range s.header {
			if h == field {
				n++
			}
		}
		if n == 1 || len(s.header) == 0 {
			continue
		}
		if n > 1 {
			return sqlerr.New(sqlerr.CodeSchema, 0, "file %q has more than one field %q", path, field).
				WithDetail("Its header is %q.", s.header)
		}
		e := sqlerr.New(sqlerr.CodeSchema, 0, "file %q has no field %q", path, field).WithDetail("Its header is %q.", s.header)
		if near := sqlerr.Nearest(field, s.header); near != "" {
			return e.WithHint("Did you mean %q?", near)
		}
		return e
	}
	return nil
}

// learnHeader reads the header of the first file that has one and holds it against the
// fields that are read.
func (s *source) learnHeader(files, wanted []string) error {
	for _, path := range files {
		r := &reader{src: s}
		f := &tail{mark: mark{Path: path}}
		if err := r.openFile(f); err != nil {
			return err
		}
		_, err := f.fill()
		if err == nil {
			s.header, err = r.readHeader(f)
		}
		f.close()
		if err != nil {
			return err
		}
		if s.header != nil {
			return s.checkHeader(path, wanted)
		}
	}
	s.header = []string{}
	return nil
}

// list gives the paths of the files, by name; hidden ones are left out.
func (s *source) list() ([]string, error) {
	if !isPattern(s.path) {
		info, err := os.Stat(s.path)
		switch {
		case os.IsNotExist(err):
			return nil, nil
		case err != nil:
			return nil, unreadable(s.path, err)
		case !info.IsDir():
			return []string{s.path}, nil
		}
	}
	pattern := s.path
	if !isPattern(pattern) {
		pattern = filepath.Join(escape(s.path), "*")
	}
	names, err := filepath.Glob(pattern)
	if err != nil {
		return nil, sqlerr.New(sqlerr.CodeOption, 0, "\"path\" has %q, which is no pattern", s.path)
	}
	var out []string
	for _, n := range names {
		info, err := os.Stat(n)
		if strings.HasPrefix(filepath.Base(n), ".") || err != nil || !info.Mode().IsRegular() {
			continue
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return out, nil
}

// escape makes a pattern of a path that holds none; a path without pattern letters is
// one already, a backslash aside.
func escape(path string) string { return strings.ReplaceAll(path, `\`, `\\`) }

// Splits implements connectors.Source.
func (s *source) Splits(context.Context) ([]connectors.Split, error) {
	if !perFile(s.options) {
		return []connectors.Split{{ID: s.path}}, nil
	}
	files, err := s.list()
	if err != nil {
		return nil, err
	}
	var out []connectors.Split
	for _, f := range files {
		out = append(out, connectors.Split{ID: f})
	}
	return out, nil
}

// Open implements connectors.Source.
func (s *source) Open(_ context.Context, split connectors.Split, at connectors.Position) (connectors.Reader, error) {
	r := &reader{src: s}
	if at != nil {
		p, err := decodePosition(at)
		if err != nil {
			return nil, err
		}
		for _, m := range p.Files {
			r.files = append(r.files, &tail{mark: m})
		}
	}
	if s.follow {
		return r, r.startFollowing(at == nil)
	}
	if perFile(s.options) {
		r.only = split.ID
	}
	if err := r.look(); err != nil {
		return nil, err
	}
	// What was read before has to be there still.
	for _, f := range r.files {
		if f.mark.Offset > 0 && !f.mark.Ended {
			if err := r.openFile(f); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// Close implements connectors.Source.
func (s *source) Close() error { return nil }

func (s *source) metaTypes() []types.Type {
	var ts []types.Type
	for _, m := range s.wanted {
		if m == metaPath {
			ts = append(ts, types.TText)
		} else {
			ts = append(ts, types.TBigInt)
		}
	}
	return ts
}
