package file

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// beside is a file in the directory of another.
type beside struct {
	path string
	info os.FileInfo
}

// besides lists the files in the directory of path, the newest first.
func besides(path string) ([]beside, error) {
	dir := filepath.Dir(path)
	list, err := os.ReadDir(dir)
	if err != nil {
		if os.IsNotExist(err) {
			return nil, nil
		}
		return nil, unreadable(dir, err)
	}
	var out []beside
	for _, e := range list {
		p := filepath.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), hiddenPrefix) {
			continue
		}
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
			out = append(out, beside{p, info})
		}
	}
	slices.SortStableFunc(out, func(a, b beside) int { return b.info.ModTime().Compare(a.info.ModTime()) })
	return out, nil
}

// holds reports whether the file at path begins with what a mark says was read. An error
// says that it cannot be read that far.
func holds(path string, m *mark, compression string) (bool, error) {
	t := &tail{mark: mark{Path: path}}
	if err := t.open(compression); err != nil {
		return false, err
	}
	defer t.close()
	if !t.plain {
		return m.checkStream(t.in)
	}
	info, err := t.f.Stat()
	if err != nil {
		return false, unreadable(path, err)
	}
	return m.check(t.f, info.Size()) == nil, nil
}

// relocate finds every file of the checkpoint: at its path, under another name, or as a
// copy, plain or compressed, in the same directory.
func (r *reader) relocate() error {
	found := make(map[identity]bool, len(r.files))
	for _, renamed := range []bool{true, false} { // first those that are what they were
		for _, f := range r.files {
			if f.f != nil || f.mark.Ended && f.listed {
				continue
			}
			ok, err := r.find(f, renamed, found)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			found[f.mark.identity] = true
			f.cleared, f.listed = f.mark.Offset > 0, true
			if f.mark.Ended {
				continue
			}
			if err := r.openFile(f); err != nil {
				return err
			}
		}
	}
	r.files = slices.DeleteFunc(r.files, func(f *tail) bool { return !f.listed })
	return nil
}

// find sets the path of a mark to where its file is, and reports whether there is
// something to go on with: first the same file under any name, then one of the same
// content, at the path or beside it.
func (r *reader) find(f *tail, same bool, found map[identity]bool) (bool, error) {
	m := &f.mark
	all, err := besides(m.Path)
	if err != nil {
		return false, err
	}
	nothing := m.Offset == 0 && m.HeadLen == 0 // by which it could be told from another
	var candidates []beside
	for _, b := range all {
		id, _ := identityOf(b.info)
		switch {
		case found[id] || same != (id == m.identity):
		case m.Ended:
			if same && b.info.Size() == m.Size {
				m.Path = b.path
				return true, nil
			}
		case same || b.path == m.Path:
			candidates = slices.Insert(candidates, 0, b)
		case !nothing:
			candidates = append(candidates, b)
		}
	}
	for _, packed := range []bool{false, true} {
		for _, b := range candidates {
			if packed != r.compressed(b.path) || packed && m.Offset == 0 {
				continue
			}
			if ok, _ := holds(b.path, m, r.src.options["compression"]); ok {
				m.Path = b.path
				m.identity, _ = identityOf(b.info)
				return true, nil
			}
		}
	}
	if same || nothing || m.Done || m.Ended {
		return false, nil
	}
	for _, b := range all {
		if b.path == m.Path && b.info.Size() < m.Offset {
			return false, m.shorter(b.info.Size(), m.Offset)
		} else if b.path == m.Path {
			return false, m.rewritten()
		}
	}
	return false, m.gone()
}

func (r *reader) compressed(path string) bool {
	return compressed(path, r.src.options["compression"]) != "none"
}

// rewritten goes on with a file that was cut, if there is a copy of what it held: cause is
// the error when there is none.
func (r *reader) rewritten(f *tail, cause error) error {
	if !r.src.follow {
		return cause
	}
	all, err := besides(f.mark.Path)
	if err != nil {
		return err
	}
	var copied *tail
	for _, packed := range []bool{false, true} {
		for _, b := range all {
			id, _ := identityOf(b.info)
			if copied != nil || id == f.mark.identity || packed != r.compressed(b.path) || r.reads(id) {
				continue
			}
			ok, _ := holds(b.path, &f.mark, r.src.options["compression"])
			switch {
			case ok && f.mark.Offset > 0:
				copied = &tail{mark: f.mark, cleared: true}
			case !packed && f.begins(b):
				copied = &tail{mark: mark{Offset: b.info.Size()}, cleared: true}
			default:
				continue
			}
			copied.mark.Path = b.path
		}
	}
	if copied == nil {
		return cause
	}
	if err := r.openFile(copied); err != nil {
		return err
	}
	if i := slices.IndexFunc(r.files, func(o *tail) bool { return o.mark.identity == copied.mark.identity }); i >= 0 {
		copied.listed = r.files[i].listed
		r.files[i].close()
		r.files[i] = copied
	} else {
		r.files = append(r.files, copied)
	}
	f.close()
	*f = tail{mark: mark{Path: f.mark.Path}, cleared: true, listed: f.listed}
	return r.openFile(f)
}

// reads reports whether something of a file was read under its own name.
func (r *reader) reads(id identity) bool {
	return slices.ContainsFunc(r.files, func(o *tail) bool { return o.mark.identity == id && o.mark.Offset > 0 })
}

// begins reports whether a file is the beginning of what was read: a copy that was made
// before the last lines were written.
func (t *tail) begins(b beside) bool {
	size := b.info.Size()
	n := min(size, maxTail)
	at := int64(t.start) - (t.mark.Offset - size) - n // in block
	if size == 0 || size > t.mark.Offset || at < 0 {
		return false
	}
	f, err := os.Open(b.path)
	if err != nil {
		return false
	}
	defer f.Close()
	end := make([]byte, n)
	_, err = f.ReadAt(end, size-n)
	return err == nil && bytes.Equal(end, t.block[at:at+n])
}
