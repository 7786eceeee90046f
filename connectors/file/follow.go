package file

import (
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// A file that is followed is known by device and inode, and its content by mark.check,
// since inodes are used again. So rotation by renaming moves a file and its place, and
// rotation by copying is found out when the file is cut: the copy is read on where the
// file was left, and the file from its beginning.

const (
	// pollTime is how often a followed path is looked at.
	pollTime = 100 * time.Millisecond
	// copyTime is how long a file that may become a copy of another is left alone, and one
	// that was removed is read on.
	copyTime = 5 * time.Second
	// outOfUse is how long one is read on that was renamed out of the path, since its writer
	// may have it open; and the time after which one that nobody writes may be removed.
	outOfUse = 5 * time.Minute
)

// startFollowing finds the files that were read before, and adds those of the path; at a
// fresh start there is no copy among them.
func (r *reader) startFollowing(fresh bool) error {
	err := r.relocate()
	if err == nil {
		_, err = r.watch()
	}
	for _, f := range r.files {
		if err != nil {
			break
		}
		if f.cleared = f.cleared || fresh; fresh && !f.plain {
			err = r.unfollowable(f)
		}
	}
	if err != nil {
		_ = r.Close()
	}
	return err
}

// end is told that nothing more is to be read of a file that has this size.
func (t *tail) end(size int64) {
	t.close()
	t.mark.Ended, t.mark.Size = true, size
}

// finish is end of a file that was read to its end.
func (t *tail) finish() error {
	info, err := t.f.Stat()
	if err != nil {
		return unreadable(t.mark.Path, err)
	}
	t.end(info.Size())
	return nil
}

func (r *reader) unfollowable(f *tail) error {
	return sqlerr.NotSupported(0, "\"follow\" of compressed file \""+f.mark.Path+"\"").
		WithHint("Write \"path\" as a pattern that leaves compressed files out, such as logs/*.log.")
}

// watch compares the path with the files that are known, and reports whether there are
// new ones.
func (r *reader) watch() (found bool, err error) {
	paths, err := r.src.list()
	if err != nil {
		return false, err
	}
	known := map[identity]*tail{}
	for _, f := range r.files {
		known[f.mark.identity] = f
		f.listed = false
	}
	at := map[string]identity{}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			if os.IsNotExist(err) {
				continue
			}
			return found, unreadable(path, err)
		}
		id, _ := identityOf(info)
		at[path] = id
		f := known[id]
		if f != nil && f.f == nil && info.Size() != f.mark.Size {
			f = nil // the file is gone, and its inode another's
		}
		if f == nil {
			f = &tail{mark: mark{Path: path}}
			if err := r.openFile(f); err != nil {
				if now, e := os.Stat(path); e == nil && now.Size() == 0 || os.IsNotExist(e) {
					continue // a compressed file that has only begun, or one that is gone again
				}
				return found, err
			}
			known[f.mark.identity] = f
			r.files = append(r.files, f)
			found = true
		}
		f.listed = true
		if f.mark.Path != path && at[f.mark.Path] != id {
			f.mark.Path, f.moved = path, time.Now()
		}
	}
	for _, f := range r.files {
		if err := r.whereabouts(f); err != nil {
			return found, err
		}
	}
	r.files = slices.DeleteFunc(r.files, func(f *tail) bool { return f.mark.Ended && !f.listed })
	return found, nil
}

// whereabouts finds the new name of a file that is none of the path's any more.
func (r *reader) whereabouts(f *tail) error {
	if f.listed || f.f == nil {
		return nil
	}
	if f.moved.IsZero() {
		f.moved = time.Now()
	}
	info, err := f.f.Stat()
	if err != nil {
		return unreadable(f.mark.Path, err)
	}
	if now, err := os.Stat(f.mark.Path); err == nil && os.SameFile(info, now) {
		return nil
	}
	_, names := identityOf(info)
	if names == 0 {
		return nil
	}
	beside, err := besides(f.mark.Path)
	for _, b := range beside {
		if os.SameFile(info, b.info) {
			f.mark.Path = b.path
		}
	}
	return err
}

// done reports that all was read of a file that is out of use: renamed, removed or not
// written for long.
func (t *tail) done() bool {
	return t.mark.Ended || t.quiet && t.start == len(t.block) && (!t.moved.IsZero() || time.Since(t.written) >= outOfUse)
}

// retire ends a file that is out of the path and brings nothing any more, and gives its
// last line.
func (r *reader) retire() (*connectors.Chunk, error) {
	for _, f := range r.files {
		if f.f == nil || f.listed || f.moved.IsZero() || f.plain && !f.quiet {
			continue
		}
		info, err := f.f.Stat()
		if err != nil {
			return nil, unreadable(f.mark.Path, err)
		}
		wait := r.src.idle
		if _, names := identityOf(info); names == 0 {
			wait = r.src.settle
		}
		if time.Since(f.moved) < wait || time.Since(f.active) < wait || f.plain && info.Size() != f.taken() {
			continue
		}
		c, err := r.lines(f, true)
		if err != nil {
			return nil, err
		}
		f.end(info.Size())
		if c != nil {
			c.Pos = r.pos().encode()
			return c, nil
		}
	}
	return nil, nil
}

// ready reports whether a file may be read now.
func (r *reader) ready(f *tail) (bool, error) {
	switch {
	case f.mark.Ended:
		return false, nil
	case !r.src.follow || f.cleared:
		return true, nil
	case !f.plain:
		return false, r.knownCompressed(f)
	}
	info, err := f.f.Stat()
	if err != nil {
		return false, unreadable(f.mark.Path, err)
	}
	for _, of := range r.files {
		if of == f || of.f == nil || !of.plain || of.taken() == 0 {
			continue
		}
		whole, err := of.f.Stat()
		if err != nil {
			return false, unreadable(of.mark.Path, err)
		}
		if whole.Size() < of.taken() || of.mark.check(of.f, whole.Size()) != nil {
			return false, nil // it was cut, perhaps after it was copied to f: reading it finds out
		}
		if copied, err := begins(of.f, f.f, whole.Size(), info.Size()); err != nil || copied && r.wait(f, info.Size()) {
			return false, err
		}
	}
	f.cleared = true
	return true, nil
}

// wait reports whether a file of this size that may be a copy still has time to become
// one: when it stays as it is and the other is not cut, it is a file like any other.
func (r *reader) wait(f *tail, size int64) bool {
	if f.since.IsZero() || f.waiting != size {
		f.waiting, f.since = size, time.Now()
	}
	return time.Since(f.since) < r.src.settle
}

// begins reports whether the first n bytes of b are those of a, by what stands at their
// beginning and end.
func begins(a, b io.ReaderAt, sizeA, n int64) (bool, error) {
	if n > sizeA {
		return false, nil
	}
	for _, at := range []int64{0, max(0, n-maxTail)} {
		x, y := make([]byte, min(n, maxTail)), make([]byte, min(n, maxTail))
		_, err := a.ReadAt(x, at)
		if err == nil || errors.Is(err, io.EOF) {
			_, err = b.ReadAt(y, at)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if string(x) != string(y) {
			return false, nil
		}
	}
	return true, nil
}

// knownCompressed passes over a compressed file that holds what was read of another, once
// all others are read, and refuses what is new.
func (r *reader) knownCompressed(f *tail) error {
	for _, of := range r.files {
		if of.f != nil && of.plain && of.cleared && !of.quiet {
			return nil
		}
	}
	complete := true
	for _, of := range r.files {
		if of == f || of.mark.Offset == 0 {
			continue
		}
		ok, err := holds(f.mark.Path, &of.mark, r.src.options["compression"])
		if err == nil && ok {
			return f.finish()
		}
		complete = complete && err == nil
	}
	info, err := os.Stat(f.mark.Path)
	if os.IsNotExist(err) {
		f.end(0)
		return nil
	}
	if err != nil {
		return unreadable(f.mark.Path, err)
	}
	if !complete && r.wait(f, info.Size()) {
		return nil // it is being written
	}
	return r.unfollowable(f)
}
